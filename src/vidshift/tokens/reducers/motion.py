"""`motion` and `motion-topk`: the energies of LMFT with a fixed threshold or a fixed count, and no learning."""

from typing import Any

from torch import Tensor

from vidshift.data.view import View
from vidshift.tokens import motion
from vidshift.tokens.base import Probe, Reducer, Selection, reducers
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.reducers.parts import check_floor, check_fraction, keep_top


def select_above(view: View, geometry: Geometry, *, threshold: float, floor: float) -> Selection:
    """The paper's mask at one threshold, with the threshold and the number of odd clips for the log."""
    energy_BN, odd = motion.energy(view.clean_BTCHW, geometry, floor=floor)
    return Selection(motion.above(energy_BN, threshold), info={"threshold": threshold, **odd.counts()})


def keep_moving(energy_BN: Tensor, geometry: Geometry, *, keep: float) -> Tensor:
    """`keep_BN`: the first segment and then the highest energies, round(keep * N) in all."""
    energy_BN = energy_BN.clone()
    energy_BN[:, : geometry.per_segment] = 2.0  # before a token whose energy is the clip's maximum, 1
    return keep_top(energy_BN, max(round(keep * geometry.tokens), geometry.per_segment))


@reducers.register("motion")
class FixedThreshold(Reducer):
    name = "motion"

    def __init__(self, *, threshold: float = 0.05, floor: float = 0.0) -> None:
        self.threshold = check_fraction("threshold", threshold, open_end=True)
        self.floor = check_floor(floor)

    def options(self) -> dict[str, Any]:
        return {"threshold": self.threshold, "floor": self.floor}

    def select(
        self, view: View, geometry: Geometry, *, seeds_B: Tensor, training: bool, net: Probe | None
    ) -> Selection:
        return select_above(view, geometry, threshold=self.threshold, floor=self.floor)


@reducers.register("motion-topk")
class MotionTopK(Reducer):
    """The first segment and then the most moving tokens, round(keep * N) in all for every clip."""

    name = "motion-topk"

    def __init__(self, *, keep: float = 0.5) -> None:
        self.keep = check_fraction("keep", keep)

    def options(self) -> dict[str, Any]:
        return {"keep": self.keep}

    def select(
        self, view: View, geometry: Geometry, *, seeds_B: Tensor, training: bool, net: Probe | None
    ) -> Selection:
        energy_BN, odd = motion.energy(view.clean_BTCHW, geometry)
        return Selection(keep_moving(energy_BN, geometry, keep=self.keep), info=odd.counts())
