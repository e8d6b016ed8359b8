"""Videos kept as folders of pictures: `<prefix>_<number>.jpg`, in the order of the numbers."""

import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vidshift.data.container import IMAGE_SUFFIXES, MAX_PIXELS, DecodeError, VideoInfo, quiet, require_file
from vidshift.data.picture import Painter

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

# A folder of pictures carries no rate; this one only gives start and end (seconds) a meaning.
NOMINAL_FPS = 25.0
_NAME = re.compile(r"(.*?)(\d+)$")
_MAGIC = ((b"\xff\xd8\xff", "mjpeg"), (b"\x89PNG", "png"), (b"BM", "bmp"), (b"RIFF", "webp"))


def frame_files(folder: Path) -> tuple[Path, ...]:
    """The numbered pictures of a folder in numeric order; where several prefixes stand side by side (colour beside
    optical flow), those called img, image or frame, else the most numerous."""
    groups: dict[str, list[tuple[int, str]]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            stem, suffix = os.path.splitext(entry.name)
            found = _NAME.match(stem)
            if found and suffix.lower() in IMAGE_SUFFIXES and not entry.name.startswith("."):
                groups.setdefault(found[1], []).append((int(found[2]), entry.name))
    if not groups:
        return ()
    colour = [name for name in groups if name.strip("_- ").lower() in ("img", "image", "frame", "")]
    sizes = Counter({name: len(files) for name, files in groups.items() if not colour or name in colour})
    return tuple(folder / name for _, name in sorted(groups[sizes.most_common(1)[0][0]]))


def is_frame_folder(folder: Path) -> bool:
    return folder.is_dir() and bool(frame_files(folder))


def probe_frames(folder: Path) -> VideoInfo:
    """What a frame folder holds, from the number of its pictures and the size of the first."""
    files = _require(folder)
    first = Painter(size=None, resize="squash").paint(_read(files[0]))
    return VideoInfo(
        path=folder,
        width=first.shape[1],
        height=first.shape[0],
        fps=None,
        seconds=None,
        num_frames=len(files),
        codec=files[0].suffix.lower().lstrip("."),
        pix_fmt="rgb24",
        format="frames",
    )


def count_frames(folder: Path) -> int:
    return len(_require(folder))


def read_frames(folder: Path, indices: np.ndarray, *, size: tuple[int, int] | None, resize: str) -> np.ndarray:
    """The pictures of the given numbers as `clip_THWC`."""
    files, painter = _require(folder), Painter(size=size, resize=resize)
    return painter.paint_clip(((i, _read(files[i])) for i in sorted(set(indices.tolist()))), indices)


def _require(folder: Path) -> tuple[Path, ...]:
    files = frame_files(folder)
    if not files:
        raise DecodeError(
            folder,
            stage="open",
            status="not-a-file",
            reason="it is a folder, and holds no numbered pictures (img_00001.jpg)",
        )
    return files


def _read(path: Path) -> "VideoFrame":
    import av
    from av.error import FFmpegError

    require_file(path)
    data = path.read_bytes()
    codec = next((name for magic, name in _MAGIC if data.startswith(magic)), None)
    if codec is None:
        raise _damaged(path, "is not a picture")
    quiet()
    context: Any = av.CodecContext.create(codec, "r")
    context.thread_count = 1
    context.options = {"max_pixels": str(MAX_PIXELS)}
    try:
        frames = context.decode(av.Packet(data)) or context.decode(None)
    except FFmpegError as error:
        raise _damaged(path, f"is damaged ({error})") from error
    if not frames or frames[0].is_corrupt:
        raise _damaged(path, "is damaged or cut off")
    return frames[0]


def _damaged(picture: Path, what: str) -> DecodeError:
    return DecodeError(picture.parent, stage="decode", status="corrupt", reason=f"its picture {picture.name} {what}")
