"""Video files that prove themselves whole: a checksum of the file stands in its last box, where players skip it.

So there is no index that could disagree with the files, and any number of processes can write side by side.
"""

import hashlib
import os
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vidshift.data.stickworld.encode import encode

_DIGEST_BYTES = 16
# An MP4 box is its size, its kind and its content; what lies in a `free` box means nothing to a player.
_HEAD = struct.pack(">I4s", 8 + _DIGEST_BYTES, b"free")


def _seal_of(content: bytes) -> bytes:
    return _HEAD + hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()


def write_sealed(path: Path, clip_THWC: NDArray[np.uint8], *, fps: int) -> None:
    """Writes the clip under a temporary name and renames it. A file that a power cut tears fails its checksum later, so
    nothing waits for the disk."""
    partial = path.with_name(f".{path.stem}.{os.getpid()}.partial")
    try:
        encode(partial, clip_THWC, fps=fps)
        content = partial.read_bytes()
        with partial.open("ab") as file:
            file.write(_seal_of(content))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def is_whole(path: Path) -> bool:
    """Whether the file is there and is just what was written."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    end = len(content) - len(_HEAD) - _DIGEST_BYTES
    return end > 0 and content[end:] == _seal_of(content[:end])
