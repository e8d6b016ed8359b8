"""Decoding just the wanted frames of an opened video, in flat memory.

Three ways, all yielding (frame number, frame) in order: from packets kept in memory (short files: each file is read
once, and key frames are jumped to), by seeking (long files with an index), and by counting from the beginning.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vidshift.data.container import DecodeError
from vidshift.data.table import Table

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

# Skipping fewer packets than this is not worth emptying the decoder.
JUMP = 12
# Reference frames that are never shown (VP8) leave holes in the table; a frame this near stands for them, as in a
# player.
HOLE = 3


class ShortVideo(Exception):
    """Fewer frames came out than packets went in; `count` is the real number."""

    def __init__(self, count: int) -> None:
        super().__init__(str(count))
        self.count = count


@dataclass
class Feed:
    """Frames of a list of packets from any key packet on."""

    path: Path
    stream: "VideoStream"
    table: Table
    at: int = 0
    drained: bool = False
    ready: "deque[VideoFrame]" = field(default_factory=deque)

    def jump(self, packet: int) -> None:
        self.stream.codec_context.flush_buffers()
        self.at, self.drained = packet, False
        self.ready.clear()

    def next(self) -> "VideoFrame | None":
        ready, packets, decode = self.ready, self.table.packets, self.stream.decode
        if ready:
            return ready.popleft()
        from av.error import FFmpegError

        try:
            while self.at < len(packets):
                self.at += 1
                if came := decode(packets[self.at - 1]):
                    ready.extend(came)
                    return ready.popleft()
            if not self.drained:
                self.drained = True
                ready.extend(decode(None))
        except FFmpegError as error:
            raise damaged(self.path, self._seconds(), error) from error
        return ready.popleft() if ready else None

    def _seconds(self) -> float:
        return self.table.seconds * self.at / max(len(self.table.packets), 1)


def damaged(path: Path, seconds: float, error: "Exception | None" = None) -> DecodeError:
    from av.error import DecoderNotFoundError, PatchWelcomeError

    if isinstance(error, (DecoderNotFoundError, PatchWelcomeError)):
        return DecodeError(
            path, stage="decode", status="unreadable-codec", reason=f"its codec cannot be decoded here ({error})"
        )
    return DecodeError(path, stage="decode", status="corrupt", reason=f"the picture data is damaged at {seconds:.1f} s")


def from_packets(
    path: Path, stream: "VideoStream", table: Table, wanted: list[int], *, jumps: bool = True
) -> "Iterator[tuple[int, VideoFrame]]":
    """The wanted frames (ascending numbers) from a table that kept its packets."""
    feed = Feed(path, stream, table)
    if table.pts_N is None:
        yield from in_order(path, iter(feed.next, None), wanted, table)
        return
    before: VideoFrame | None = None
    for number in wanted:
        target = int(table.pts_N[number])
        key = int(table.key_packet_N[number])
        if jumps and key - feed.at >= JUMP:
            feed.jump(key)
            before = None
        while (frame := feed.next()) is not None:
            if frame.pts is None or frame.pts < target:
                before = frame
                continue
            if frame.pts > target:
                feed.ready.appendleft(frame)
                frame = _nearest(table, number, before, frame)
            break
        else:
            frame = _nearest(table, number, before, None)
        if frame is None:
            raise damaged(path, float(table.time_N[number]))
        yield number, _whole(path, frame, float(table.time_N[number]))


def _nearest(table: Table, number: int, before: "VideoFrame | None", after: "VideoFrame | None") -> "VideoFrame | None":
    """The neighbour that a player would show for a number that never comes out, if it is near enough."""
    assert table.pts_N is not None
    if before is not None and before.pts is not None and before.pts >= table.pts_N[max(number - HOLE, 0)]:
        return before
    if after is not None and after.pts is not None and after.pts <= table.pts_N[min(number + HOLE, table.total - 1)]:
        return after
    return None


def _whole(path: Path, frame: "VideoFrame", seconds: float) -> "VideoFrame":
    if frame.is_corrupt:
        raise damaged(path, seconds)
    return frame


def in_order(
    path: Path, frames: "Iterator[VideoFrame]", wanted: list[int], table: Table
) -> "Iterator[tuple[int, VideoFrame]]":
    """The wanted frames by counting those that come out."""
    waiting = deque(wanted)
    count = 0
    for frame in frames:
        if frame.is_corrupt and waiting[0] == count:
            raise damaged(path, count / table.fps)
        if waiting[0] == count:
            yield waiting.popleft(), frame
        count += 1
        if not waiting:
            return
    raise ShortVideo(count)


def by_counting(
    path: Path, container: "InputContainer", stream: "VideoStream", table: Table, wanted: list[int]
) -> "Iterator[tuple[int, VideoFrame]]":
    """The wanted frames of a container that stands at its beginning."""

    def frames() -> "Iterator[VideoFrame]":
        from av.error import FFmpegError

        at = 0.0
        try:
            for frame in container.decode(stream):
                yield frame
                at += 1 / table.fps
        except FFmpegError as error:
            raise damaged(path, at, error) from error

    return in_order(path, frames(), wanted, table)


def by_seeking(
    path: Path, container: "InputContainer", stream: "VideoStream", time_T: np.ndarray
) -> "Iterator[tuple[int, VideoFrame]]":
    """For each time (ascending, seconds from the first frame) the frame shown then: (place in `time_T`, frame)."""
    from av.error import FFmpegError

    tick = float(stream.time_base or 1)
    origin = stream.start_time or 0
    frames: Iterator[VideoFrame] = iter(())
    before: VideoFrame | None = None
    held: VideoFrame | None = None
    for place, time in enumerate(time_T.tolist()):
        target = origin + round(time / tick)
        at = before.pts if before is not None and before.pts is not None else None
        try:
            if at is None or (target - at) * tick > 1.0:
                before, held, frames = _seek(container, stream, target, tick)
            while held is None or (held.pts or 0) <= target:
                if held is not None:
                    before = held
                held = next(frames, None)
                if held is None:
                    break
        except FFmpegError as error:
            raise damaged(path, time, error) from error
        found = before if before is not None else held
        if found is None:
            raise DecodeError(
                path, stage="decode", status="truncated", reason=f"nothing can be read at {time:.1f} s; it is cut off"
            )
        if held is None and (target - (found.pts or 0)) * tick > 2.0:
            last = ((found.pts or 0) - origin) * tick
            raise DecodeError(
                path, stage="decode", status="truncated", reason=f"it ends at {last:.1f} s, before {time:.1f} s"
            )
        yield place, _whole(path, found, time)


def _seek(
    container: "InputContainer", stream: "VideoStream", target: int, tick: float
) -> "tuple[None, VideoFrame | None, Iterator[VideoFrame]]":
    """Stands at a key frame no later than the target; an index that points too late is backed away from."""
    first: VideoFrame | None = None
    frames: Iterator[VideoFrame] = iter(())
    for back in (0.0, 10.0, 60.0, 1e9):
        aim = max(target - round(back / tick), min(stream.start_time or 0, 0)) if back < 1e9 else 0
        container.seek(aim, stream=stream, backward=True)
        frames = iter(container.decode(stream))
        first = next(frames, None)
        if first is not None and first.pts is not None and first.pts <= target:
            break
    return None, first, frames
