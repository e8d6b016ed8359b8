"""What the network gives to a method."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from torch import Tensor

from vidshift.tokens.base import Packed, Selection
from vidshift.tokens.pack import segment_means


@dataclass(frozen=True, eq=False)
class Features:
    """`pool_BD` after the last norm, `logits_BK`, and on demand the segment features; `taps` holds what was asked for.

    Segment features pass the norm that the pooled vector passes (`norm`, None where tokens were normed already), so
    that they live on the same scale. A segment of mass 0 kept no token: its feature is zero and must be masked
    (methods fall back to `pool_BD`).
    """

    pool_BD: Tensor
    logits_BK: Tensor
    packed: Packed
    selection: Selection
    taps: Mapping[str, Packed] = field(default_factory=dict)
    norm: Callable[[Tensor], Tensor] | None = None
    trace: tuple[tuple[int, ...], ...] = ()
    """Tokens of each clip as they enter each block, then as they leave the last: what a pass costs (`flops.py`)."""

    @cached_property
    def _segments(self) -> tuple[Tensor, Tensor]:
        segments_BSD, mass_BS = segment_means(self.packed)
        if self.norm is not None:
            segments_BSD = self.norm(segments_BSD) * (mass_BS > 0)[..., None]
        return segments_BSD, mass_BS

    @property
    def segments_BSD(self) -> Tensor:
        return self._segments[0]

    @property
    def segment_mass_BS(self) -> Tensor:
        return self._segments[1]

    def __repr__(self) -> str:
        return f"Features({self.pool_BD.shape[0]} clips, width {self.pool_BD.shape[1]}, taps {sorted(self.taps)})"
