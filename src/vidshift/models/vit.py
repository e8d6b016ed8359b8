"""The video transformer on packed batches: only kept patches are embedded, and nothing is padded."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from vidshift.data.view import View
from vidshift.errors import unknown
from vidshift.models.block import AttnView, Block, DropPath, join_class, split_class
from vidshift.models.config import VitConfig
from vidshift.models.embed import Embedding
from vidshift.models.features import Features
from vidshift.models.layers import RowLinear
from vidshift.models.params import grouped
from vidshift.tokens.base import Packed, Reducer, Selection
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.pack import pool
from vidshift.tokens.seeds import clip_seeds


@dataclass(frozen=True, eq=False)
class Trunk:
    """What leaves the blocks, before the last norm: tokens, class tokens if there are any, and what was asked for."""

    packed: Packed
    class_BD: Tensor | None
    taps: dict[str, Packed]
    trace: tuple[tuple[int, ...], ...]


class VideoTransformer(nn.Module):
    """`forward(view)` gives `Features`; a reducer or a selection says which tokens go in.

    A clip's result does not depend on its batch mates: rows of matrix products are independent from 12 rows on
    (`layers.MIN_ROWS`), attention is computed clip by clip or in batches with equal bits, drop path is drawn from the
    clip's own seed. The same weights, clip and choice of tokens give the same bits in every batch (tested).
    """

    def __init__(self, config: VitConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        generator = torch.Generator().manual_seed(seed)
        self.embedding = Embedding(config, generator=generator)
        self.blocks = nn.ModuleList(Block(config, generator=generator) for _ in range(config.depth))
        self.norm = nn.LayerNorm(config.width, config.eps)
        self.head: RowLinear | None = None
        self.reset_head(config.classes, seed=seed)

    def reset_head(self, classes: int, *, seed: int = 0) -> None:
        """A new head for other classes; 0 classes: none, and logits with no columns."""
        self.config = self.config.with_(classes=classes)
        if classes == 0:
            self.head = None
            return
        head = RowLinear(self.config.width, classes, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            head.weight.mul_(self.config.head_scale)
        self.head = head.to(self.norm.weight.device, self.norm.weight.dtype)

    @property
    def geometry(self) -> Geometry:
        return self.config.geometry

    def forward(
        self,
        view: View,
        *,
        reducer: Reducer | None = None,
        selection: Selection | None = None,
        seeds_B: Tensor | None = None,
        taps: tuple[str, ...] = (),
    ) -> Features:
        """`selection` overrides what the reducer would choose; without either, all tokens go in. `seeds_B` is needed
        in training; outside it comes from the clips' ids. `taps` names what else to return: "embed" or "block0"..."""
        if seeds_B is None:
            if self.training:
                raise ValueError("training needs seeds_B: drop path and reducers draw from it")
            seeds_B = clip_seeds(view.ids, run=0)
        active = reducer if reducer is not None else Reducer()
        if selection is None:
            selection = active.select(view, self.geometry, seeds_B=seeds_B, training=self.training, net=self)
        if selection.gate_BN is not None and not active.proportional:
            raise ValueError(f"reducer {active.name!r} gates tokens, so its attention has to be proportional")
        self._check_taps(taps)
        embedded = self.embedding(view, selection)
        trunk = self.run(embedded, reducer=reducer, seeds_B=seeds_B, taps=taps)
        if "embed" in taps:
            trunk.taps["embed"] = embedded
        return self._finish(trunk, selection)

    def run(
        self,
        packed: Packed,
        *,
        reducer: Reducer | None = None,
        seeds_B: Tensor | None = None,
        taps: tuple[str, ...] = (),
    ) -> Trunk:
        """All blocks on embedded tokens."""
        drop = None
        if self.training and seeds_B is not None:
            drop = DropPath.draw(seeds_B, self._rates(), packed.tokens_MD.device)
        trace, tapped = [packed.lengths], dict[str, Packed]()
        packed = self._enter(packed)
        extra = 0 if self.embedding.class_token is None else 1
        for layer, block in enumerate(self.blocks):
            packed = block(packed, layer=layer, reducer=reducer, drop=drop)
            trace.append(tuple(n - extra for n in packed.lengths))
            if f"block{layer}" in taps:
                tapped[f"block{layer}"] = self._leave(packed)[0]
        return Trunk(*self._leave(packed), tapped, tuple(trace))

    def _rates(self) -> list[float]:
        """Stochastic depth grows linearly with the layer (tokens.md section 7.1)."""
        return torch.linspace(0, self.config.drop_path, self.config.depth).tolist()

    def _check_taps(self, taps: tuple[str, ...]) -> None:
        known = ["embed", *(f"block{i}" for i in range(self.config.depth))]
        for tap in taps:
            if tap not in known:
                raise unknown("tap", tap, known)

    def _enter(self, packed: Packed) -> Packed:
        """Class tokens and the norm before the blocks, for networks that have them."""
        if self.embedding.class_token is not None:
            class_BD = self.embedding.class_token.to(packed.tokens_MD.dtype).expand(len(packed.lengths), -1)
            packed = join_class(packed, class_BD)
        return packed.with_tokens(self.embedding.pre_norm(packed.tokens_MD))

    def _leave(self, packed: Packed) -> tuple[Packed, Tensor | None]:
        if self.embedding.class_token is None:
            return packed, None
        rest, class_BD, _ = split_class(packed)
        return rest, class_BD

    def _finish(self, trunk: Trunk, selection: Selection) -> Features:
        packed, class_BD = trunk.packed, trunk.class_BD
        if self.config.norm_tokens:
            packed = packed.with_tokens(self.norm(packed.tokens_MD))
            class_BD = None if class_BD is None else self.norm(class_BD)
        pooled = class_BD if self.config.pooling == "class" and class_BD is not None else pool(packed)
        pooled = pooled.to(self.norm.weight.dtype)
        if not self.config.norm_tokens:
            pooled = self.norm(pooled)
        logits = pooled.new_zeros(pooled.shape[0], 0) if self.head is None else self.head(pooled)
        norm = None if self.config.norm_tokens else self._norm_vectors
        return Features(pooled, logits, packed, selection, trunk.taps, norm, trunk.trace)

    def _norm_vectors(self, x: Tensor) -> Tensor:
        return self.norm(x.to(self.norm.weight.dtype))

    def embed(self, view: View) -> Tensor:
        """[B, N, D]: patch embeddings of every token, without positions (`tokens.base.Probe`)."""
        return self.embedding.patches(view)

    @torch.no_grad()
    def attention(self, view: View) -> Tensor:
        """[B, N]: attention that each token receives in the last block (`tokens.base.Probe`)."""
        keep_BN = torch.ones(len(view), self.geometry.tokens, dtype=torch.bool, device=view.pixels_BTCHW.device)
        packed = self._enter(self.embedding(view, Selection(keep_BN)))
        *earlier, last = self.blocks
        for layer, block in enumerate(earlier):
            packed = block(packed, layer=layer, reducer=None, drop=None)
        assert isinstance(last, Block)
        q, k, _ = last.project(packed)
        patch_M = None if self.embedding.class_token is None else packed.index_M >= 0
        attn = AttnView(q, k, packed.lengths, bias_M=None, patch_M=patch_M)
        return attn.column_means().view(len(view), -1)

    def param_groups(self, *, lr: float, weight_decay: float, layer_decay: float = 1.0) -> list[dict[str, Any]]:
        """Optimizer groups, each with its own absolute `lr` (see `params.grouped`)."""
        return grouped(self, depth=self.config.depth, lr=lr, weight_decay=weight_decay, layer_decay=layer_decay)
