"""`random` and `random-keep-first`: so many tokens per clip, drawn without looking at it."""

from typing import Any

import torch
from torch import Tensor

from vidshift.data.view import View
from vidshift.tokens import seeds
from vidshift.tokens.base import Probe, Reducer, Selection, reducers
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.reducers.parts import check_fraction, keep_top


def keep_random(seeds_B: Tensor, geometry: Geometry, *, keep: float, keep_first: bool) -> Tensor:
    """`keep_BN` with exactly round(keep * N) tokens a clip, at least one; with `keep_first` the first segment is among
    them."""
    rank_BN = seeds.uniform(seeds_B, geometry.tokens, stream="random tokens")
    count = max(1, round(keep * geometry.tokens))
    if keep_first:
        rank_BN[:, : geometry.per_segment] += 1
        count = max(count, geometry.per_segment)
    return keep_top(rank_BN, count)


@reducers.register("random")
class RandomTokens(Reducer):
    """Drawn afresh for each clip and epoch in training; at test time by a hash of the clip's id alone."""

    name = "random"
    keep_first = False

    def __init__(self, *, keep: float = 0.5) -> None:
        self.keep = check_fraction("keep", keep)

    def options(self) -> dict[str, Any]:
        return {"keep": self.keep}

    def select(
        self, view: View, geometry: Geometry, *, seeds_B: Tensor, training: bool, net: Probe | None
    ) -> Selection:
        seeds_B = seeds_B if training else seeds.clip_seeds(view.ids, run=0)
        device = view.pixels_BTCHW.device
        keep_BN = keep_random(seeds_B.to(device), geometry, keep=self.keep, keep_first=self.keep_first)
        return Selection(keep_BN.to(torch.bool))


@reducers.register("random-keep-first")
class RandomKeepFirst(RandomTokens):
    """The control for the first segment, which motion selection always keeps."""

    name = "random-keep-first"
    keep_first = True
