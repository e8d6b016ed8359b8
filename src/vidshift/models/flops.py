"""What a forward pass costs, by formula from the tokens that were really there (tokens.md section 9).

Two accountings, both in FLOPs (two for each multiplication with its addition):

- `true`: patch embedding + the linear layers of the blocks + attention's two matrix products.
- `paper`: the blocks' linear layers alone. The paper's 266 GFLOPs for ViT-B/16 is this number: PyTorch's profiler
  counts neither the Conv3d nor fused attention.

The head (width x classes) and elementwise work are left out of both.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from vidshift.models.config import VitConfig
from vidshift.models.features import Features


@dataclass(frozen=True)
class Flops:
    true: float
    paper: float

    def __add__(self, other: "Flops") -> "Flops":
        return Flops(self.true + other.true, self.paper + other.paper)

    def __mul__(self, factor: float) -> "Flops":
        return Flops(self.true * factor, self.paper * factor)

    def __repr__(self) -> str:
        return f"Flops(true {self.true / 1e9:.2f} G, paper {self.paper / 1e9:.2f} G)"


def matmul(rows: float, inner: float, cols: float) -> float:
    return 2.0 * rows * inner * cols


def clip_flops(config: VitConfig, counts: Sequence[int], *, embedded: int | None = None) -> Flops:
    """One clip. `counts` holds its tokens as they enter each block, then as they leave the last (depth + 1 numbers,
    so that tokens merged inside block i cost attention there but no MLP), or one number for all.

    `embedded`: how many patches were embedded, if not just the tokens that enter the first block.
    """
    if len(counts) == 1:
        counts = [counts[0]] * (config.depth + 1)
    if len(counts) != config.depth + 1:
        raise ValueError(f"{len(counts)} token counts for {config.depth} blocks (one more is needed)")
    extra = 1 if config.class_token else 0
    linears = attention = 0.0
    for before, after in pairwise(counts):
        linears += matmul(before + extra, config.width, 4 * config.width)
        linears += 2 * matmul(after + extra, config.width, config.hidden)
        attention += 2 * matmul(before + extra, config.width, before + extra)
    patch = matmul(counts[0] if embedded is None else embedded, config.geometry.patch_dim, config.width)
    return Flops(linears + attention + patch, linears)


def mean_flops(config: VitConfig, trace: Sequence[Sequence[int]], *, embedded: Sequence[int] | None = None) -> Flops:
    """The mean cost of a clip over a batch: cost is quadratic in the tokens, so clips are counted one by one.

    `trace` is `Features.trace`: for each step (as in `clip_flops`), the tokens of every clip.
    """
    clips = list(zip(*trace, strict=True))
    costs = [
        clip_flops(config, counts, embedded=None if embedded is None else embedded[clip])
        for clip, counts in enumerate(clips)
    ]
    return _total(costs) * (1 / len(costs))


def features_flops(config: VitConfig, features: Features) -> Flops:
    """The mean cost of the pass that made these features, without what the reducer itself computed."""
    merged = features.selection.merged_BN is not None
    embedded = [config.geometry.tokens] * len(features.trace[0]) if merged else None
    return mean_flops(config, features.trace, embedded=embedded)


def _total(costs: Iterable[Flops]) -> Flops:
    return sum(costs, Flops(0.0, 0.0))


def full_flops(config: VitConfig) -> Flops:
    """A clip with all its tokens."""
    return clip_flops(config, [config.geometry.tokens])


def bipartite_flops(config: VitConfig, counts: Sequence[int]) -> Flops:
    """ToMe's matching: half of a block's tokens against the other half, on keys averaged over heads. Eager matrix
    products are seen by both accountings."""
    cost = sum(matmul(n / 2, config.head_dim, n / 2) for n in counts[:-1])
    return Flops(cost, cost)


def similarity_flops(config: VitConfig) -> Flops:
    """All tokens of a clip against all, over the full width (DivPrune's distances; PruMerge's scores)."""
    tokens = config.geometry.tokens
    cost = matmul(tokens, config.width, tokens)
    return Flops(cost, cost)


def patch_flops(config: VitConfig) -> Flops:
    """Embedding every patch as a counted matrix product."""
    cost = matmul(config.geometry.tokens, config.geometry.patch_dim, config.width)
    return Flops(cost, cost)
