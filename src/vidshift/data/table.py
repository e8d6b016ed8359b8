"""The frames of an opened video, counted from its packets: header counts are not trusted (datasets.md section 8)."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vidshift.data.container import DecodeError, declared_seconds, frame_rate, is_timed

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.stream import VideoStream

# A frame is lost at each end by many encoders; a file is called cut only beyond half a second and a tenth.
CUT_SECONDS, CUT_SHARE = 0.5, 0.1


@dataclass(frozen=True, kw_only=True)
class Table:
    """`pts_N` are the times of the shown frames in order, or None where only the order can be relied on.

    `seconds` is the real length; `declared` what the header claims. `packets` are the compressed frames, kept when
    they were few; `key_packet_N` is then the packet from which frame n can be decoded.
    """

    total: int
    fps: float
    seconds: float
    declared: float | None
    pts_N: np.ndarray | None
    time_N: np.ndarray
    packets: "tuple[Packet[VideoStream], ...]"
    key_packet_N: np.ndarray
    damaged: bool

    @cached_property
    def steady(self) -> bool:
        """A constant frame rate, up to the rounding of times (Matroska: to milliseconds)."""
        return bool(np.abs(self.time_N * self.fps - np.arange(self.total)).max() < 0.5)

    @property
    def cut(self) -> bool:
        """Much shorter than its header says."""
        return self.declared is not None and self.declared - self.seconds > max(CUT_SECONDS, CUT_SHARE * self.declared)

    def shortened(self, count: int) -> "Table":
        """The same video when fewer frames came out than were counted."""
        return replace(self, total=count, seconds=count / self.fps, time_N=self.time_N[:count])

    def indices(self, position_T: np.ndarray, *, start: float | None = None, end: float | None = None) -> np.ndarray:
        """The frame shown at each fraction of the time between `start` and `end` (seconds from the first frame)."""
        begin, stop = start or 0.0, self.seconds if end is None else min(end, self.seconds)
        time_T = begin + np.asarray(position_T) * max(stop - begin, 0.0)
        grid_N = np.arange(self.total) / self.fps if self.steady else self.time_N
        found_T = np.searchsorted(grid_N, time_T + 1e-6 / self.fps, side="right") - 1
        return np.minimum(np.maximum(found_T, 0), self.total - 1)

    def count(self, *, start: float | None = None, end: float | None = None) -> int:
        """How many frames there are between two times."""
        if start is None and end is None:
            return self.total
        first, last = self.indices(np.array([0.0, 1.0 - 1e-9]), start=start, end=end)
        return int(last - first) + 1


def read_table(path: Path, container: "InputContainer", stream: "VideoStream", *, keep: bool) -> Table:
    """Reads every packet once; with `keep` they stay in memory, so that a short file is read a single time."""
    from av.error import FFmpegError

    packets: list[Packet[VideoStream]] = []
    pts: list[int | None] = []
    keys: list[bool] = []
    durations: list[int] = []
    damaged = False
    try:
        for packet in container.demux(stream):
            if packet.size == 0:
                continue
            damaged |= packet.is_corrupt
            pts.append(packet.pts)
            keys.append(packet.is_keyframe)
            durations.append(packet.duration or 0)
            if packet.is_discard or packet.size == 1:  # outside an edit list; the placeholder of packed XviD
                pts[-1] = _HIDDEN
            if keep:
                packets.append(packet)
    except FFmpegError as error:
        if not pts:
            raise DecodeError(path, stage="read", status="corrupt", reason=f"no frame can be read ({error})") from error
        damaged = True
    return _table(path, container, stream, packets=packets, pts=pts, keys=keys, durations=durations, damaged=damaged)


_HIDDEN = -(2**62)


def _table(
    path: Path,
    container: "InputContainer",
    stream: "VideoStream",
    *,
    packets: "list[Packet[VideoStream]]",
    pts: list[int | None],
    keys: list[bool],
    durations: list[int],
    damaged: bool,
) -> Table:
    # Plain lists: for the few dozen frames of a short clip each call of numpy would cost more than it saves.
    first_key = keys.index(True) if True in keys else 0  # nothing can be decoded before the first key frame
    order = [i for i in range(first_key, len(pts)) if pts[i] != _HIDDEN]
    if not order:
        raise DecodeError(path, stage="read", status="no-video-stream", reason="its video stream holds no frame")
    rate = frame_rate(stream)
    tick = float(stream.time_base) if stream.time_base else 0.0
    declared = declared_seconds(container, stream)
    stamps = [(at, i) for i in order if (at := pts[i]) is not None]
    timed = is_timed(container) and tick > 0 and len({at for at, _ in stamps}) == len(order)
    if not timed:
        fps = rate or 25.0
        return Table(
            total=len(order), fps=fps, seconds=len(order) / fps, declared=declared, pts_N=None,
            time_N=np.arange(len(order)) / fps, packets=tuple(packets), damaged=damaged,
            key_packet_N=np.zeros(len(order), dtype=np.int64),
        )  # fmt: skip
    if True in keys and order[0] == first_key:
        # Pictures shown before the first key frame lean on ones that are not in the file.
        stamps = [stamp for stamp in stamps if stamp >= stamps[0]]
    stamps.sort()
    pts_N = np.array([at for at, _ in stamps], dtype=np.int64)
    step = _last_step(pts_N, durations[stamps[-1][1]], rate, tick)
    seconds = (int(pts_N[-1] - pts_N[0]) + step) * tick
    return Table(
        total=len(pts_N), fps=len(pts_N) / seconds, seconds=seconds, declared=declared, pts_N=pts_N,
        time_N=(pts_N - pts_N[0]) * tick, packets=tuple(packets), damaged=damaged,
        key_packet_N=_key_packets(pts_N, pts, keys, first_key),
    )  # fmt: skip


def _last_step(pts_N: np.ndarray, duration: int, rate: float | None, tick: float) -> float:
    """How long the last frame is shown."""
    if duration > 0:
        return float(duration)
    if len(pts_N) > 1:
        return float(np.median(np.diff(pts_N)))
    return 1.0 / ((rate or 25.0) * tick)


def _key_packets(pts_N: np.ndarray, pts: list[int | None], keys: list[bool], first_key: int) -> np.ndarray:
    """For each frame the latest key packet that is shown no later than it."""
    key_packets = [i for i, key in enumerate(keys) if key and pts[i] not in (None, _HIDDEN)]
    if len(key_packets) < 2:
        return np.full(len(pts_N), first_key, dtype=np.int64)
    key_pts = np.array([pts[i] for i in key_packets], dtype=np.int64)
    by_time = np.argsort(key_pts, kind="stable")
    found = np.searchsorted(key_pts[by_time], pts_N, side="right") - 1
    return np.where(found < 0, first_key, np.array(key_packets)[by_time][np.maximum(found, 0)])
