"""Decoded clips, kept once as a memory map or decoded when asked for: the same frames either way."""

import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from vidshift.data.loader import GRID
from vidshift.data.manifest import Manifest, Row
from vidshift.errors import UserError

CACHE_FORMAT = 1
# A run has four parts, each of at most the limit; what was used in the last hour may belong to this one.
_MAPS_KEPT = 4
_IN_USE_SECONDS = 3600.0
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class ClipShape:
    """What a network reads of a video: so many frames of such a size, resized in such a way."""

    frames: int = 16
    height: int = 224
    width: int = 224
    resize: str = "squash"

    @property
    def bytes(self) -> int:
        return GRID * self.frames * self.height * self.width * 3


def decode_grid(row: Row, shape: ClipShape) -> np.ndarray:
    """`GRID * frames` uniformly spaced frames of one video, uint8 THWC."""
    from vidshift.data.decode import decode_clip

    return decode_clip(
        row.path,
        frames=GRID * shape.frames,
        size=(shape.height, shape.width),
        resize=shape.resize,
        start=row.start,
        end=row.end,
    )


class LiveClips:
    """Decodes each clip when it is asked for: nothing is stored."""

    def __init__(self, manifest: Manifest, shape: ClipShape) -> None:
        self.rows = manifest.rows
        self.shape = shape
        self.frames = shape.frames
        self.ids: Sequence[str] = [row.id for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def grid_THWC(self, index: int) -> np.ndarray:
        return decode_grid(self.rows[index], self.shape)


class CachedClips:
    """A memory map of all clips of a manifest."""

    def __init__(self, path: Path, ids: Sequence[str], shape: ClipShape) -> None:
        self.path = path
        self.ids: Sequence[str] = list(ids)
        self.frames = shape.frames
        self.shape = shape

    @cached_property
    def _map(self) -> np.ndarray:
        return np.load(self.path, mmap_mode="r")

    def __len__(self) -> int:
        return len(self.ids)

    def grid_THWC(self, index: int) -> np.ndarray:
        return self._map[index]


def cache_key(manifest: Manifest, shape: ClipShape) -> str:
    """Changes with any file, its size or time, the trim, the frames or their size."""
    digest = hashlib.sha256(json.dumps([CACHE_FORMAT, GRID, *vars(shape).values()]).encode())
    for row in manifest.rows:
        stat = os.stat(row.path)
        fields = (row.id, str(row.path.resolve()), stat.st_size, stat.st_mtime_ns, row.start, row.end)
        digest.update(json.dumps(fields).encode())
    return digest.hexdigest()[:24]


def _fill(path: str, first: int, rows: Sequence[Row], shape: ClipShape) -> int:
    clips = np.load(path, mmap_mode="r+")
    for offset, row in enumerate(rows):
        clips[first + offset] = decode_grid(row, shape)
    clips.flush()
    return len(rows)


def open_clips(
    manifest: Manifest,
    shape: ClipShape,
    *,
    cache: Path | None,
    limit_bytes: int,
    workers: int = 1,
    progress: Progress | None = None,
) -> CachedClips | LiveClips:
    """The clips of a manifest, decoded once into `cache` where they fit within `limit_bytes`, live otherwise.

    The map is written under a name of this process and renamed when complete, so that runs side by side and killed
    runs leave either a whole map or none.
    """
    if cache is None or shape.bytes * len(manifest) > limit_bytes or not len(manifest):
        return LiveClips(manifest, shape)
    ids = [row.id for row in manifest.rows]
    path = cache / "clips" / f"{cache_key(manifest, shape)}.npy"
    full = (len(ids), GRID * shape.frames, shape.height, shape.width, 3)
    if _is_whole(path, full):
        os.utime(path)  # used now: it is the last to be dropped
        if progress:
            progress(len(ids), len(ids))
        return CachedClips(path, ids, shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    _make_room(path.parent, keep_bytes=_MAPS_KEPT * limit_bytes - shape.bytes * len(ids))
    partial = path.with_name(f"{path.stem}.{os.getpid()}.partial")
    try:
        _reserve(partial, full)
        _fill_all(partial, manifest.rows, shape, workers=workers, progress=progress)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return CachedClips(path, ids, shape)


def _is_whole(path: Path, full: tuple[int, ...]) -> bool:
    try:
        return np.load(path, mmap_mode="r").shape == full
    except FileNotFoundError:
        return False
    except (ValueError, EOFError):  # cut off by something outside
        return False


def _reserve(partial: Path, full: tuple[int, ...]) -> None:
    """An empty map with all its blocks: a disk that fills up under a sparse one ends the process without a word."""
    np.lib.format.open_memmap(partial, mode="w+", dtype=np.uint8, shape=full).flush()
    if not hasattr(os, "posix_fallocate"):
        return
    size = partial.stat().st_size
    try:
        with partial.open("rb+") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise UserError(
            f"{size / 2**30:.1f} GiB of decoded clips do not fit into '{partial.parent}'; make room there or choose "
            "another cache folder."
        ) from error


def _make_room(folder: Path, *, keep_bytes: int) -> None:
    """Drops the maps that were not used for longest until the rest fits, and what killed runs have left.

    A run that still reads a dropped map keeps it until it ends.
    """
    now, found = time.time(), []
    for path in folder.iterdir():
        try:
            stat = path.stat()
        except FileNotFoundError:  # another run was faster
            continue
        old = now - stat.st_mtime > _IN_USE_SECONDS
        if path.suffix == ".partial" and old:
            path.unlink(missing_ok=True)
        elif path.suffix == ".npy":
            found.append((stat.st_mtime, stat.st_size, path, old))
    total = sum(size for _, size, _, _ in found)
    for _, size, path, old in sorted(found):
        if total <= keep_bytes or not old:
            return
        path.unlink(missing_ok=True)
        total -= size


def _fill_all(partial: Path, rows: Sequence[Row], shape: ClipShape, *, workers: int, progress: Progress | None) -> None:
    chunk = max(1, min(32, len(rows) // max(workers, 1)))
    tasks = [(first, rows[first : first + chunk]) for first in range(0, len(rows), chunk)]
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        if progress:
            progress(done, len(rows))

    if workers <= 1:
        for first, part in tasks:
            report(_fill(str(partial), first, part, shape))
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="decode") as pool:  # decoding releases the interpreter lock
        futures = [pool.submit(_fill, str(partial), first, part, shape) for first, part in tasks]
        try:
            for future in as_completed(futures):
                report(future.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
