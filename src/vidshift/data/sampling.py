"""Which frames of a video are looked at: pure functions over fractions of its real duration.

Positions are fractions in [0, 1): decoders disagree about frame numbers by a few frames (datasets.md section 6), so a
fraction is what can be stored, compared and replayed; `to_indices` makes frame numbers of it once the real count is
known.
"""

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from vidshift.errors import UserError


@dataclass(frozen=True)
class Sampling:
    """`uniform`: one frame from each of T equal segments. `dense`: every `stride`-th frame of one window."""

    kind: Literal["uniform", "dense"] = "uniform"
    stride: int = 1

    @staticmethod
    def parse(text: "str | Sampling") -> "Sampling":
        """`uniform`, `dense` (stride 4, the 16x4 of VideoMAE) or `dense:STRIDE`."""
        if isinstance(text, Sampling):
            return text
        if text == "uniform":
            return Sampling()
        match = re.fullmatch(r"dense(?::([1-9]\d*))?", text)
        if match is None:
            raise UserError(
                f"unknown sampling {text!r}; accepted: 'uniform' or 'dense:STRIDE', such as 'dense:4'.", usage=True
            )
        return Sampling("dense", int(match[1] or 4))

    def __str__(self) -> str:
        return self.kind if self.kind == "uniform" else f"dense:{self.stride}"


def uniform(frames: int, *, rng: np.random.Generator | None = None) -> np.ndarray:
    """One position a segment: random inside it where a generator is given (training), its centre without (testing)."""
    offset_T = np.full(frames, 0.5) if rng is None else rng.random(frames)
    return (np.arange(frames) + offset_T) / frames


def dense(
    frames: int, *, stride: int, total: int, rng: np.random.Generator | None = None, place: float = 0.5
) -> np.ndarray:
    """A window of `frames` frames, `stride` apart, begun at random (training) or at `place` of the room there is.

    A video shorter than the window is covered by a smaller step. Repeating its last frame instead would show frames
    without any motion, which a motion mask takes for background (datasets.md section 7, consequence b).
    """
    if total < 1:
        raise ValueError("a video has at least one frame")
    step = min(float(stride), total / frames)
    room = total - step * (frames - 1) - 1
    begin = max(room, 0.0) * (place if rng is None else rng.random())
    # The middle of each frame, so that rounding at either end cannot slip into a neighbour.
    return np.clip((np.floor(begin + step * np.arange(frames) + 1e-9) + 0.5) / total, 0.0, np.nextafter(1.0, 0.0))


def positions(sampling: Sampling, frames: int, *, total: int, rng: np.random.Generator | None = None) -> np.ndarray:
    """The positions of one clip under a sampling."""
    if sampling.kind == "uniform":
        return uniform(frames, rng=rng)
    return dense(frames, stride=sampling.stride, total=total, rng=rng)


def views(sampling: Sampling, frames: int, *, total: int, count: int) -> np.ndarray:
    """Several temporal looks at one video for testing, `(count, frames)`; one view is the centred clip."""
    if count < 1:
        raise UserError(f"cannot take {count} temporal views; accepted: 1 or more.", usage=True)
    place_V = (np.arange(count) + 0.5) / count
    if sampling.kind == "uniform":
        return (np.arange(frames)[None] + place_V[:, None]) / frames
    if count > 1:
        place_V = np.arange(count) / (count - 1)
    return np.stack([dense(frames, stride=sampling.stride, total=total, place=float(place)) for place in place_V])


def to_indices(position_T: np.ndarray, total: int) -> np.ndarray:
    """Frame numbers of positions in a video of `total` equally long frames."""
    return np.clip(np.floor(np.asarray(position_T) * total + 1e-9).astype(np.int64), 0, total - 1)


def windows(seconds: float, *, length: float, hop: float | None = None) -> tuple[tuple[float, float], ...]:
    """The (start, end) windows that cover a long video; the last one ends with it and keeps its length."""
    hop = length if hop is None else hop
    if length <= 0 or hop <= 0:
        raise UserError(f"window length {length:g} s and hop {hop:g} s must both be above zero.", usage=True)
    if seconds <= length:
        return ((0.0, seconds),)
    count = int(np.ceil((seconds - length) / hop - 1e-9)) + 1
    starts = (min(k * hop, seconds - length) for k in range(count))
    return tuple((start, start + length) for start in starts)
