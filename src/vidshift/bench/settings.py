"""Reducers set so that they keep the same share of the tokens of given clips."""

import inspect
from collections.abc import Callable, Sequence
from typing import cast

from vidshift.data.view import View
from vidshift.errors import UserError
from vidshift.tokens import motion
from vidshift.tokens.base import Reducer, reducers
from vidshift.tokens.geometry import Geometry


def parse_kept(text: str) -> tuple[float, ...]:
    """`"1,0.8,0.5"` as shares in (0, 1], the largest first."""
    try:
        shares = sorted({float(part) for part in text.split(",")}, reverse=True)
    except ValueError:
        shares = [0.0]
    if not all(0 < share <= 1 for share in shares):
        raise UserError(f"--kept {text!r} is not a list of shares above 0 and up to 1, such as 1,0.8,0.5.", usage=True)
    return tuple(shares)


def options_of(name: str) -> frozenset[str]:
    return frozenset(inspect.signature(reducers[name]).parameters)


def is_adjustable(name: str) -> bool:
    """Whether the share of tokens that a reducer keeps can be set."""
    return bool({"keep", "threshold", "initial_threshold"} & options_of(name))


def threshold_for(view: View, geometry: Geometry, kept: float) -> float:
    """The threshold that keeps this share of all tokens of these clips; of single clips it keeps more or less."""
    if kept <= 1 / geometry.segments:
        raise UserError(
            f"--kept {kept:g} cannot be reached by a motion threshold: the first of {geometry.segments} segments is "
            f"always kept; give more than {1 / geometry.segments:.3g}.",
            usage=True,
        )
    energy_BN, _ = motion.energy(view.clean_BTCHW, geometry)
    descending = energy_BN.flatten().sort(descending=True).values
    return min(max(float(descending[min(round(kept * len(descending)), len(descending) - 1)]), 1e-6), 1 - 1e-6)


def reducer_at(name: str, kept: float, view: View, geometry: Geometry) -> Reducer:
    """The reducer, at this share where it can be set and at its defaults where not."""
    known, make = options_of(name), cast(Callable[..., Reducer], reducers[name])
    if "keep" in known:
        return make(keep=kept)
    if "threshold" in known:
        return make(threshold=threshold_for(view, geometry, kept))
    if "initial_threshold" in known:
        # Fixed, as after training: drawn thresholds would keep another share in every step.
        threshold = threshold_for(view, geometry, kept)
        reducer = make(initial_threshold=threshold)
        reducer.load_state_dict({**reducer.state_dict(), "fixed": threshold})
        return reducer
    return make()


def cases(names: Sequence[str], kept: Sequence[float]) -> list[tuple[str, float]]:
    """Which reducer is measured at which share: all tokens once, adjustable reducers at every share below 1."""
    found = [("none", 1.0)]
    for name in names:
        if name == "none":
            continue
        shares = [share for share in kept if share < 1] if is_adjustable(name) else [1.0]
        found += [(name, share) for share in shares]
    return found
