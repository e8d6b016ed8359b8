"""How two domains differ as videos: numbers per domain, and a distance between 0 (alike) and 1 (disjoint) for each.

For numbers the distance is that of Kolmogorov and Smirnov (the largest gap between the two cumulative distributions),
for words the total variation of the two histograms: both are shares of videos, whatever the unit.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vidshift.data.check.findings import Finding

NUMBERS = ("width", "height", "fps", "seconds", "brightness", "contrast", "motion")
WORDS = ("resolution", "codec", "format", "audio")


@dataclass(frozen=True)
class Spread:
    """The 10th, 50th and 90th percentile of a number over the videos of a domain."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One domain: spreads of its numbers and counts of its words, over the videos that decode."""

    videos: int
    numbers: Mapping[str, Spread]
    words: Mapping[str, Mapping[str, int]]
    kept: tuple[float, ...] | None
    """Mean share of tokens above each threshold, over the clips that have energies."""

    def as_dict(self) -> dict[str, Any]:
        numbers = {name: vars(spread) for name, spread in self.numbers.items()}
        return {"videos": self.videos, "numbers": numbers, "words": dict(self.words), "kept": self.kept}


def profile(findings: Sequence[Finding]) -> Profile:
    """The usable videos of a domain in a few numbers."""
    good = [finding for finding in findings if finding.motion is not None]
    numbers = {}
    for name in NUMBERS:
        value_N = _values(good, name)
        if len(value_N):
            numbers[name] = Spread(*(round(float(v), 4) for v in np.percentile(value_N, [10, 50, 90])))
    words = {name: dict(Counter(_words(good, name)).most_common()) for name in WORDS}
    return Profile(videos=len(good), numbers=numbers, words=words, kept=_mean_kept(good))


def distances(first: Sequence[Finding], second: Sequence[Finding]) -> dict[str, float]:
    """By name, how far two domains are apart; what one of them lacks is left out."""
    one = [finding for finding in first if finding.motion is not None]
    two = [finding for finding in second if finding.motion is not None]
    found: dict[str, float] = {}
    for name in NUMBERS:
        a_N, b_N = _values(one, name), _values(two, name)
        if len(a_N) and len(b_N):
            found[name] = round(kolmogorov(a_N, b_N), 4)
    for name in WORDS:
        a, b = Counter(_words(one, name)), Counter(_words(two, name))
        if a and b:
            found[name] = round(total_variation(a, b), 4)
    kept_one, kept_two = _mean_kept(one), _mean_kept(two)
    if kept_one is not None and kept_two is not None:
        # Shares above thresholds are one minus a cumulative distribution of energies.
        found["energy"] = round(float(np.abs(np.subtract(kept_one, kept_two)).max()), 4)
    return found


def kolmogorov(a_N: np.ndarray, b_N: np.ndarray) -> float:
    """The largest gap between two cumulative distributions."""
    at = np.concatenate([a_N, b_N])
    below_a = np.searchsorted(np.sort(a_N), at, side="right") / len(a_N)
    below_b = np.searchsorted(np.sort(b_N), at, side="right") / len(b_N)
    return float(np.abs(below_a - below_b).max())


def total_variation(a: Mapping[str, int], b: Mapping[str, int]) -> float:
    """Half the sum of the differences of two histograms of words."""
    sum_a, sum_b = sum(a.values()), sum(b.values())
    return sum(abs(a.get(word, 0) / sum_a - b.get(word, 0) / sum_b) for word in {*a, *b}) / 2


def _values(findings: Sequence[Finding], name: str) -> np.ndarray:
    return np.array([v for f in findings if (v := getattr(f, name)) is not None], dtype=np.float64)


def _words(findings: Sequence[Finding], name: str) -> list[str]:
    if name == "resolution":
        return [f"{f.width}x{f.height}" for f in findings if f.width and f.height]
    if name == "audio":
        return ["with sound" if f.audio else "silent" for f in findings if f.audio is not None]
    return [str(value) for f in findings if (value := getattr(f, name))]


def _mean_kept(findings: Sequence[Finding]) -> tuple[float, ...] | None:
    kept = [finding.kept for finding in findings if finding.kept is not None]
    if not kept:
        return None
    return tuple(round(float(share), 4) for share in np.mean(np.array(kept), axis=0))
