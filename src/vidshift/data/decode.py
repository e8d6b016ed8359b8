"""file or frame folder -> uint8 `clip_THWC`: the one function that every video comes in through."""

import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from vidshift.data import sampling as sample
from vidshift.data import torchcodec
from vidshift.data.container import (
    DecodeError,
    VideoInfo,
    declared_seconds,
    frame_rate,
    is_indexed,
    opened,
    pixel_aspect,
    stat_of,
)
from vidshift.data.fetch import ShortVideo, by_counting, by_seeking, damaged, from_packets
from vidshift.data.frames import NOMINAL_FPS, count_frames, probe_frames, read_frames
from vidshift.data.picture import Painter, plan
from vidshift.data.sampling import Sampling
from vidshift.data.table import Table, read_table

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

__all__ = ["Clip", "DecodeError", "VideoInfo", "decode", "decode_clip", "probe"]

Backend = Literal["pyav", "torchcodec"]

# Up to here a file's compressed frames are held in memory while it is decoded, so that it is read once.
KEEP_BYTES, KEEP_SECONDS = 64 * 2**20, 300.0


@dataclass(frozen=True, kw_only=True)
class Clip:
    """Decoded frames, the second in the file at which each is shown, and the real length of the file."""

    frames_THWC: np.ndarray
    time_T: np.ndarray
    seconds: float
    fps: float
    total: int


def probe(path: Path | str) -> VideoInfo:
    """What the header of a video (or a look at a frame folder) says, without decoding."""
    path = Path(path)
    found = stat_of(path)
    if stat.S_ISDIR(found.st_mode):
        return probe_frames(path)
    with opened(path, found) as (container, stream):
        context = stream.codec_context
        turn = _rotation(container, stream)
        shape = plan(
            context.width, context.height, aspect=pixel_aspect(stream), rotation=turn, size=None, resize="squash"
        )
        return VideoInfo(
            path=path,
            width=shape.out_width,
            height=shape.out_height,
            fps=frame_rate(stream),
            seconds=declared_seconds(container, stream),
            num_frames=stream.frames or None,
            codec=context.name,
            pix_fmt=context.pix_fmt or "",
            format=container.format.name,
            rotation=turn,
            audio=bool(container.streams.audio),
            bytes=found.st_size,
        )


def decode_clip(
    path: Path | str,
    *,
    frames: int,
    sampling: str | Sampling = "uniform",
    size: tuple[int, int] | None = None,
    rng: np.random.Generator | None = None,
    start: float | None = None,
    end: float | None = None,
    resize: str = "squash",
    backend: Backend = "pyav",
) -> np.ndarray:
    """`frames` frames of a video as uint8 `(T, height, width, 3)`; see `decode` for the arguments."""
    clip = decode(
        path, frames=frames, sampling=sampling, size=size, rng=rng, start=start, end=end, resize=resize, backend=backend
    )
    return clip.frames_THWC


def decode(
    path: Path | str,
    *,
    frames: int = 16,
    sampling: str | Sampling = "uniform",
    size: tuple[int, int] | None = None,
    rng: np.random.Generator | None = None,
    start: float | None = None,
    end: float | None = None,
    resize: str = "squash",
    backend: Backend = "pyav",
    position_T: np.ndarray | None = None,
) -> Clip:
    """Samples frames of a video file or frame folder by fractions of its real duration.

    With `rng` the sampling is random (training), without it centred (testing); `start` and `end` (seconds) trim first.
    `size` is (height, width): squashed to it by default as in the paper, or `resize="crop"` (short side, centre crop).
    `position_T` overrides the sampling. A file that cannot give the frames raises `DecodeError`; none is made up.
    """
    path, how = Path(path), Sampling.parse(sampling)
    if start is not None and end is not None and end <= start:
        raise DecodeError(
            path, stage="sample", status="too-short", reason=f"its part {start:g} s to {end:g} s is empty"
        )

    def choose(total: int) -> np.ndarray:
        return position_T if position_T is not None else sample.positions(how, frames, total=total, rng=rng)

    found = stat_of(path)
    if stat.S_ISDIR(found.st_mode):
        return _decode_folder(path, choose=choose, size=size, start=start, end=end, resize=resize)
    with opened(path, found) as (container, stream):
        painter = Painter(size=size, resize=resize, aspect=pixel_aspect(stream))
        declared = declared_seconds(container, stream)
        small = found.st_size <= KEEP_BYTES and (declared or 0.0) <= KEEP_SECONDS
        if not small and declared and is_indexed(container):
            total = max(1, round(declared * (frame_rate(stream) or 25.0)))
            return _decode_long(
                path, container, stream, painter, choose=choose, total=total, declared=declared, start=start, end=end
            )
        table = read_table(path, container, stream, keep=small)
        _refuse_cut(path, table, start)
        # A few packets of old AVI files hold no frame; the sampling is then repeated with the real count.
        state = rng.bit_generator.state if rng is not None else None
        for _ in range(2):
            index_T = table.indices(choose(table.count(start=start, end=end)), start=start, end=end)
            try:
                if backend == "torchcodec" and table.pts_N is not None:
                    frames_THWC = torchcodec.read_indices(path, index_T, painter)
                    return _clip(frames_THWC, index_T, table)
                return _clip(_paint(path, stream, table, index_T, painter), index_T, table)
            except ShortVideo as short:
                if table.total - short.count > max(2, 0.02 * table.total) or short.count == 0:
                    raise damaged(path, short.count / table.fps) from short
                table = table.shortened(short.count)
                stream.codec_context.flush_buffers()
                if rng is not None and state is not None:
                    rng.bit_generator.state = state
        raise damaged(path, table.seconds)


def _paint(path: Path, stream: "VideoStream", table: Table, index_T: np.ndarray, painter: Painter) -> np.ndarray:
    wanted = sorted(set(index_T.tolist()))
    if table.packets:
        try:
            return painter.paint_clip(from_packets(path, stream, table, wanted), index_T)
        except DecodeError:
            if table.pts_N is None:
                raise
        # A container may call a frame a key frame that is none: then only decoding from the beginning tells.
        stream.codec_context.flush_buffers()
        return painter.paint_clip(from_packets(path, stream, table, wanted, jumps=False), index_T)
    with opened(path) as (fresh, fresh_stream):
        return painter.paint_clip(by_counting(path, fresh, fresh_stream, table, wanted), index_T)


def _clip(frames_THWC: np.ndarray, index_T: np.ndarray, table: Table) -> Clip:
    return Clip(
        frames_THWC=frames_THWC, time_T=table.time_N[index_T], seconds=table.seconds, fps=table.fps, total=table.total
    )


def _decode_long(
    path: Path,
    container: "InputContainer",
    stream: "VideoStream",
    painter: Painter,
    *,
    choose: Callable[[int], np.ndarray],
    total: int,
    declared: float,
    start: float | None,
    end: float | None,
) -> Clip:
    """A long file with an index: the header's length is believed, and each frame is sought."""
    begin, stop = start or 0.0, min(declared, end if end is not None else declared)
    _refuse_start(path, begin, declared)
    count = max(1, round(total * (stop - begin) / declared))
    time_T = begin + choose(count) * (stop - begin)
    unique, back = np.unique(time_T, return_inverse=True)
    return Clip(
        frames_THWC=painter.paint_clip(by_seeking(path, container, stream, unique), back),
        time_T=time_T,
        seconds=declared,
        fps=total / declared,
        total=total,
    )


def _decode_folder(
    path: Path,
    *,
    choose: Callable[[int], np.ndarray],
    size: tuple[int, int] | None,
    start: float | None,
    end: float | None,
    resize: str,
) -> Clip:
    total = count_frames(path)
    seconds = total / NOMINAL_FPS
    begin, stop = start or 0.0, min(seconds, end if end is not None else seconds)
    _refuse_start(path, begin, seconds)
    first = int(begin * NOMINAL_FPS + 1e-6)
    count = max(1, min(total, round(stop * NOMINAL_FPS)) - first)
    index_T = first + sample.to_indices(choose(count), count)
    frames_THWC = read_frames(path, index_T, size=size, resize=resize)
    return Clip(frames_THWC=frames_THWC, time_T=index_T / NOMINAL_FPS, seconds=seconds, fps=NOMINAL_FPS, total=total)


def _refuse_cut(path: Path, table: Table, start: float | None) -> None:
    if table.cut:
        raise DecodeError(
            path,
            stage="read",
            status="truncated",
            reason=f"it is cut off at {table.seconds:.1f} s of {table.declared or 0:.1f} s",
        )
    _refuse_start(path, start or 0.0, table.seconds)


def _refuse_start(path: Path, start: float, seconds: float) -> None:
    if start >= seconds:
        raise DecodeError(
            path,
            stage="sample",
            status="too-short",
            reason=f"its part begins at {start:g} s but it ends at {seconds:.1f} s",
        )


def _rotation(container: "InputContainer", stream: "VideoStream") -> int:
    """Degrees to turn a frame left, from the first packet's or the stream's display matrix."""
    from av.error import FFmpegError

    try:
        for frame in container.decode(stream):
            return int(frame.rotation)
    except FFmpegError:
        return 0
    return 0
