"""Randomness keyed by what it is for, so that no draw depends on batch mates, order, device or process.

A clip's seed comes from (run, epoch, clip id); every number drawn for the clip comes from its seed, a stream (which
use) and a position. The mixing is SplitMix64's finaliser, in wrapping 64-bit integers on any device.
"""

import zlib
from collections.abc import Sequence

import torch
from torch import Tensor

from vidshift.data.keys import key

_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)  # 2^64 / golden ratio, the SplitMix64 increment, as a signed number
_MIX1 = 0xBF58476D1CE4E5B9 - (1 << 64)
_MIX2 = 0x94D049BB133111EB - (1 << 64)


def _shift_right(x: Tensor, bits: int) -> Tensor:
    """Logical shift: torch shifts int64 with the sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def mix(x: Tensor) -> Tensor:
    """SplitMix64's finaliser on int64 (wrapping)."""
    x = (x ^ _shift_right(x, 30)) * _MIX1
    x = (x ^ _shift_right(x, 27)) * _MIX2
    return x ^ _shift_right(x, 31)


def clip_seeds(ids: Sequence[str], *, run: int, epoch: int = 0) -> Tensor:
    """`seeds_B`: int64, one per clip."""
    return torch.tensor([key(run, epoch, clip_id) for clip_id in ids], dtype=torch.int64)


def uniform(seeds_B: Tensor, count: int, *, stream: str) -> Tensor:
    """[B, count] numbers in [0, 1), float32, from each clip's seed."""
    offset = zlib.crc32(stream.encode())
    position = torch.arange(1, count + 1, dtype=torch.int64, device=seeds_B.device) * _GOLDEN
    state_B = mix(seeds_B + offset)
    bits = mix(state_B[:, None] + position[None, :])
    return _shift_right(bits, 40).float() * 2.0**-24


def generator(*parts: int | str) -> torch.Generator:
    """A CPU generator for draws that belong to no clip."""
    return torch.Generator().manual_seed(key(*parts) & ((1 << 63) - 1))
