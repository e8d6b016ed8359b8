"""Means, intervals and paired tests over seeds and clips."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A mean with its 95 % interval by hierarchical bootstrap: seeds are drawn again, and clips within each seed."""

    mean: float
    low: float
    high: float
    seeds: int

    def __str__(self) -> str:
        return f"{100 * self.mean:+.1f} [{100 * self.low:+.1f}, {100 * self.high:+.1f}]"


def _resampled_means(values_SN: Sequence[NDArray[np.float64]], rng: np.random.Generator, draws: int) -> NDArray:
    """`draws` means of means. The mean of n clips drawn again is binomial-like; for the few distinct values that
    per-clip results take (-1, 0, 1), the counts of a redraw are multinomial, which is exact and fast."""
    levels = np.unique(np.concatenate(values_SN))
    shares = [np.array([(values == level).mean() for level in levels]) for values in values_SN]
    sizes = [len(values) for values in values_SN]
    chosen = rng.integers(0, len(values_SN), (draws, len(values_SN)))
    found = np.zeros(draws)
    for column in range(chosen.shape[1]):
        for seed in range(len(values_SN)):
            mine = np.flatnonzero(chosen[:, column] == seed)
            if len(mine):
                counts = rng.multinomial(sizes[seed], shares[seed], size=len(mine))
                found[mine] += counts @ levels / sizes[seed]
    return found / chosen.shape[1]


def interval(values_SN: Sequence[NDArray[np.float64]], *, draws: int = DRAWS, seed: int = 0) -> Interval:
    """`values_SN`: one array of per-clip values for each seed (0 or 1 for hits, -1, 0, 1 for paired differences)."""
    if not values_SN:
        raise ValueError("an interval needs at least one seed")
    means = _resampled_means(values_SN, np.random.default_rng(seed), draws)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(
        mean=float(np.mean([values.mean() for values in values_SN])),
        low=float(low),
        high=float(high),
        seeds=len(values_SN),
    )


def difference(
    hits_SN: Sequence[NDArray[np.bool_]], others_SN: Sequence[NDArray[np.bool_]], *, draws: int = DRAWS
) -> Interval:
    """Paired by seed and clip: how much more often the first is right than the second."""
    pairs = zip(hits_SN, others_SN, strict=True)
    return interval([a.astype(np.float64) - b.astype(np.float64) for a, b in pairs], draws=draws)


@dataclass(frozen=True, kw_only=True)
class Mcnemar:
    """`only_first`: clips that only the first model gets right; `p`: the exact two-sided probability."""

    only_first: int
    only_second: int
    p: float


def mcnemar(first_N: NDArray[np.bool_], second_N: NDArray[np.bool_]) -> Mcnemar:
    """McNemar's exact test on shared clips: under equal error rates the disagreements are a fair coin."""
    only_first = int((first_N & ~second_N).sum())
    only_second = int((second_N & ~first_N).sum())
    count, few = only_first + only_second, min(only_first, only_second)
    if count == 0:
        return Mcnemar(only_first=0, only_second=0, p=1.0)
    log_terms = [
        math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) - count * math.log(2)
        for k in range(few + 1)
    ]
    top = max(log_terms)
    tail = math.exp(top) * sum(math.exp(term - top) for term in log_terms)
    return Mcnemar(only_first=only_first, only_second=only_second, p=min(1.0, 2 * tail))


def pack_hits(hits_N: NDArray[np.bool_]) -> str:
    """Right or wrong for each clip in order, as hexadecimal."""
    return f"{len(hits_N)}:{np.packbits(hits_N).tobytes().hex()}"


def unpack_hits(text: str) -> NDArray[np.bool_]:
    count, _, digits = text.partition(":")
    return np.unpackbits(np.frombuffer(bytes.fromhex(digits), dtype=np.uint8))[: int(count)].astype(np.bool_)
