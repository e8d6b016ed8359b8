"""Batches without state: which clips a step sees, and how they are augmented, follows from (seed, step) alone.

So a resumed run needs only its step, several processes can share one order, and nothing depends on worker timing.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from vidshift.data.augment import Augment, as_tchw
from vidshift.data.keys import key
from vidshift.data.view import View

GRID = 2  # candidate frames per sampled frame: training picks one of them at random, testing the one at the centre

T = TypeVar("T")


class Clips(Protocol):
    """Decoded clips: `GRID * frames` uniformly spaced frames each, at the network's size."""

    @property
    def ids(self) -> Sequence[str]: ...

    @property
    def frames(self) -> int: ...

    def __len__(self) -> int: ...

    def grid_THWC(self, index: int) -> np.ndarray: ...


@dataclass(frozen=True)
class Draw:
    """One place in the endless order of a domain: which clip, in which pass over the data."""

    index: int
    epoch: int


def draws(step: int, *, batch: int, total: int, seed: int, domain: str) -> list[Draw]:
    """The clips of one step: pass after pass over a domain, each in a new order, without gap or remainder."""
    places = (divmod(position, total) for position in range(step * batch, (step + 1) * batch))
    return [Draw(int(_order(seed, domain, epoch, total)[place]), epoch) for epoch, place in places]


@lru_cache(maxsize=8)  # of millions of clips an order takes longer to draw than a batch
def _order(seed: int, domain: str, epoch: int, total: int) -> np.ndarray:
    order = _rng("order", seed, domain, epoch).permutation(total)
    order.flags.writeable = False
    return order


def _rng(*parts: int | str) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(key(*parts) & ((1 << 64) - 1)))


def pick_frames(frames: int, rng: np.random.Generator | None) -> np.ndarray:
    """Rows of the grid: a random candidate of each segment, or the one just past its centre."""
    offset_T = rng.integers(0, GRID, frames) if rng is not None else np.full(frames, GRID // 2)
    return np.arange(frames) * GRID + offset_T


def training_view(clips: Clips, found: Sequence[Draw], *, seed: int, stream: str, augment: Augment | None) -> View:
    """One augmented view of a step's clips; equal streams give equal views."""
    parts = []
    for draw in found:
        rng = _rng("augment", seed, draw.epoch, clips.ids[draw.index], stream)
        clip_TCHW = as_tchw(clips.grid_THWC(draw.index)[pick_frames(clips.frames, rng)])
        parts.append(clip_TCHW if augment is None else augment(clip_TCHW, rng))
    return View(_stack(parts), tuple(clips.ids[draw.index] for draw in found))


def test_view(clips: Clips, indices: Sequence[int]) -> View:
    """The centred, unaugmented view of some clips."""
    rows = pick_frames(clips.frames, None)
    pixels = _stack([as_tchw(clips.grid_THWC(i)[rows]) for i in indices])
    return View(pixels, tuple(clips.ids[i] for i in indices))


def _stack(parts: Sequence[Tensor]) -> Tensor:
    """Clips of any memory order as one contiguous `[B, T, C, H, W]`."""
    whole = torch.empty((len(parts), *parts[0].shape), dtype=parts[0].dtype)
    for place, part in zip(whole, parts, strict=True):
        place.copy_(part)
    return whole


def draw_seeds(clips: Clips, found: Sequence[Draw], *, seed: int) -> Tensor:
    """`seeds_B`: one per clip and pass, for everything the network and the reducer draw."""
    return torch.tensor([key(seed, draw.epoch, clips.ids[draw.index]) for draw in found], dtype=torch.int64)


def ahead(make: Callable[[int], T], steps: range) -> Iterator[T]:
    """`make(step)` for each step, the next one prepared in the background while this one is used."""
    if not steps:
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="loader") as pool:
        pending = pool.submit(make, steps[0])
        for step in steps:
            current = pending.result()
            if step + 1 in steps:
                pending = pool.submit(make, step + 1)
            yield current
