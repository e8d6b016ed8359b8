"""The sound of a video as a waveform, aligned to its pictures; decoded only when somebody asks."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vidshift.data.container import DecodeError, container_of, require_file
from vidshift.data.decode import Clip

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer

RATE = 16_000
# A jump of the times by more than this is a gap (filled with silence), less is rounding.
GAP_SECONDS = 0.04
# A decoder needs a little run-up before the first sample that counts.
RUN_UP_SECONDS = 0.5


@dataclass(frozen=True)
class Waveform:
    """`samples_CN` in [-1, 1], float32; sample 0 is heard at `start` seconds after the first picture."""

    samples_CN: np.ndarray
    rate: int
    start: float

    @property
    def seconds(self) -> float:
        return self.samples_CN.shape[1] / self.rate


def clip_audio(path: Path | str, clip: Clip, *, rate: int = RATE, mono: bool = True) -> Waveform | None:
    """What is heard from the first to the last frame of a decoded clip, each shown for its time."""
    return read_audio(
        path, start=float(clip.time_T[0]), end=float(clip.time_T[-1]) + 1 / clip.fps, rate=rate, mono=mono
    )


def read_audio(
    path: Path | str, *, start: float = 0.0, end: float | None = None, rate: int = RATE, mono: bool = True
) -> Waveform | None:
    """The sound between two times, in seconds from the first picture; None where a video has none.

    Where the sound begins later or ends earlier than asked there is silence, so the length is what was asked for.
    Without `end` it reaches to the end of the sound.
    """
    path = Path(path)
    if path.is_dir():
        return None  # a folder of pictures
    require_file(path)
    with container_of(path) as container:
        if not container.streams.audio:
            return None
        stream = container.streams.audio[0]
        if getattr(stream, "codec_context", None) is None:
            raise DecodeError(
                path, stage="sound", status="unreadable-codec", reason="there is no decoder here for its sound"
            )
        pieces = list(_pieces(path, container, stream, start=start, end=end, rate=rate, mono=mono))
    channels = 1 if mono else max((piece_CN.shape[0] for _, piece_CN in pieces), default=1)
    last = max((at + piece_CN.shape[1] for at, piece_CN in pieces), default=0)
    count = max(0, last if end is None else round((end - start) * rate))
    samples_CN = np.zeros((channels, count), np.float32)
    for at, piece_CN in pieces:
        first, stop = max(at, 0), min(at + piece_CN.shape[1], count)
        if stop > first:
            samples_CN[:, first:stop] = piece_CN[:, first - at : stop - at]
    return Waveform(samples_CN, rate, start)


def _pieces(
    path: Path,
    container: "InputContainer",
    stream: "AudioStream",
    *,
    start: float,
    end: float | None,
    rate: int,
    mono: bool,
) -> Iterator[tuple[int, np.ndarray]]:
    """`(place of its first sample, samples_CN)` of each stretch without a gap, resampled."""
    heard = _frames(path, container, stream, start=start, end=end)
    resampler: Any = None
    parts: list[np.ndarray] = []
    began = following = 0.0
    for time, frame in heard:
        if resampler is not None and abs(time - following) > GAP_SECONDS:
            yield _stretch(began, start, rate, [*parts, *_resampled(resampler, None)])
            resampler, parts = None, []
        if resampler is None:
            resampler, began = _resampler(frame, rate=rate, mono=mono), time
        parts.extend(_resampled(resampler, frame))
        following = time + frame.samples / frame.sample_rate
    if resampler is not None:
        yield _stretch(began, start, rate, [*parts, *_resampled(resampler, None)])


def _stretch(began: float, start: float, rate: int, parts: list[np.ndarray]) -> tuple[int, np.ndarray]:
    return round((began - start) * rate), np.concatenate(parts, axis=1) if parts else np.zeros((1, 0), np.float32)


def _resampler(frame: "AudioFrame", *, rate: int, mono: bool) -> Any:
    from av import AudioResampler

    return AudioResampler(format="fltp", layout="mono" if mono else frame.layout.name, rate=rate)


def _resampled(resampler: Any, frame: "AudioFrame | None") -> list[np.ndarray]:
    return [part.to_ndarray() for part in resampler.resample(frame)]


def _frames(
    path: Path, container: "InputContainer", stream: "AudioStream", *, start: float, end: float | None
) -> "Iterator[tuple[float, AudioFrame]]":
    """Decoded sound with the second at which each part begins, counted from the first picture."""
    from av.error import FFmpegError

    tick = float(stream.time_base or 1)
    pictures = container.streams.video[0] if container.streams.video else None
    leader = pictures if pictures is not None and pictures.start_time is not None else stream
    origin = float((leader.start_time or 0) * (leader.time_base or 1))
    following = 0.0
    try:
        if start > 2 * RUN_UP_SECONDS:
            container.seek(round((origin + start - RUN_UP_SECONDS) / tick), stream=stream, backward=True)
            following = start
        for frame in container.decode(stream):
            time = following if frame.pts is None else frame.pts * tick - origin
            following = time + frame.samples / frame.sample_rate
            if end is not None and time >= end:
                return
            if following > start - RUN_UP_SECONDS:
                yield time, frame
    except FFmpegError as error:
        raise DecodeError(
            path, stage="sound", status="corrupt", reason=f"its sound is damaged at {following:.1f} s ({error})"
        ) from error
