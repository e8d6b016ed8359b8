"""Videos of any origin through worker processes, in order: what cannot be read comes back as its error."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from vidshift.data.container import DecodeError
from vidshift.data.decode import decode_clip, probe
from vidshift.data.workers import Lost, guarded

FILE_SECONDS = 120.0
# Answers wait for a slower one before them; so many at most.
CHUNK = 64

A = TypeVar("A", bound="Part")
R = TypeVar("R")


@dataclass(frozen=True)
class Part:
    """A video or, with times in seconds, a part of it."""

    path: Path
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True, kw_only=True)
class Wanted(Part):
    """The frames to sample from a part, and which of them to send."""

    frames: int
    size: tuple[int, int]
    resize: str
    pick: tuple[int, ...]


def read_seconds(
    parts: Iterable[Part], *, workers: int, timeout: float = FILE_SECONDS
) -> Iterator[float | DecodeError | None]:
    """For each video the length that its header says."""
    return _in_order(_seconds, parts, workers=workers, timeout=timeout)


def read_clips(
    wanted: Iterable[Wanted], *, workers: int, timeout: float = FILE_SECONDS
) -> Iterator[np.ndarray | DecodeError]:
    """For each part its frames, uint8 THWC."""
    return _in_order(_clip, wanted, workers=workers, timeout=timeout)


def _seconds(part: Part) -> float | DecodeError | None:
    try:
        return probe(part.path).seconds
    except DecodeError as error:
        return error


def _clip(part: Wanted) -> np.ndarray | DecodeError:
    try:
        frames_THWC = decode_clip(
            part.path, frames=part.frames, size=part.size, resize=part.resize, start=part.start, end=part.end
        )
    except DecodeError as error:
        return error
    return frames_THWC[list(part.pick)]


def _in_order(
    function: Callable[[A], R | DecodeError], parts: Iterable[A], *, workers: int, timeout: float
) -> Iterator[R | DecodeError]:
    waiting = iter(parts)
    while chunk := list(islice(waiting, CHUNK)):
        answers: dict[int, R | DecodeError] = {}
        following = 0
        for place, answer in guarded(function, chunk, workers=min(workers, len(chunk)), timeout=timeout):
            answers[place] = _lost(chunk[place], answer) if isinstance(answer, Lost) else answer
            while following in answers:
                yield answers.pop(following)
                following += 1


def _lost(part: Part, lost: Lost) -> DecodeError:
    return DecodeError(part.path, stage="decode", status=lost.kind, reason=lost.reason)
