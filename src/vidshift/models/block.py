"""One pre-norm transformer block on a packed batch, with the place where a reducer may merge tokens."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from vidshift.models.attention import attend
from vidshift.models.config import VitConfig
from vidshift.models.layers import Mlp, Qkv, RowLinear, added
from vidshift.tokens.base import Packed, Reducer
from vidshift.tokens.seeds import uniform

# Rows of the attention matrix held at once where it must be explicit: 12 heads x 196 x 1568 floats are 15 MB where
# the whole of it would be 118 MB a clip (tokens.md section 3.2).
QUERY_ROWS = 196


class AttnView:
    """What a reducer may ask of a block's attention (`tokens.base.Attn`); computed when asked for, without gradient.

    `patch_M` marks the rows that are patch tokens where a network also has class tokens: those attend and are attended
    to, but a reducer never sees them.
    """

    def __init__(
        self, q_MHd: Tensor, k_MHd: Tensor, lengths: tuple[int, ...], *, bias_M: Tensor | None, patch_M: Tensor | None
    ) -> None:
        self._q, self._k = q_MHd.detach(), k_MHd.detach()
        self._lengths, self._patch_M = lengths, patch_M
        self._bias_M = None if bias_M is None else bias_M.detach()

    def _patches(self, rows_M: Tensor) -> Tensor:
        return rows_M if self._patch_M is None else rows_M[self._patch_M]

    def _span(self, clip: int) -> slice:
        start = sum(self._lengths[:clip])
        return slice(start, start + self._lengths[clip])

    def _matrix(self, span: slice, first: int, last: int) -> Tensor:
        """[H, last - first, n] attention of some queries of one clip, float32."""
        q = self._q[span][first:last].transpose(0, 1).float()
        k = self._k[span].permute(1, 2, 0).float()
        logits = (q @ k) * self._q.shape[-1] ** -0.5
        if self._bias_M is not None:
            logits = logits + self._bias_M[span].float()
        return logits.softmax(-1)

    def keys(self) -> Tensor:
        """[M, d]: keys averaged over heads."""
        return self._patches(self._k.mean(dim=1))

    @torch.no_grad()
    def column_means(self) -> Tensor:
        """[M]: attention received, averaged over heads and the queries of the same clip."""
        received = []
        for clip, length in enumerate(self._lengths):
            span, total = self._span(clip), 0
            for first in range(0, length, QUERY_ROWS):
                total = total + self._matrix(span, first, first + QUERY_ROWS).sum(dim=(0, 1))
            received.append(torch.as_tensor(total) / (length * self._q.shape[1]))
        return self._patches(torch.cat(received))

    @torch.no_grad()
    def head_means(self, clip: int) -> Tensor:
        """[n, n]: the attention matrix of one clip averaged over heads."""
        span, length = self._span(clip), self._lengths[clip]
        rows = [self._matrix(span, first, first + QUERY_ROWS).mean(0) for first in range(0, length, QUERY_ROWS)]
        matrix = torch.cat(rows)
        if self._patch_M is None:
            return matrix
        patch = self._patch_M[span]
        return matrix[patch][:, patch]


@dataclass(frozen=True)
class DropPath:
    """Stochastic depth, drawn per clip from its seed: nothing depends on batch mates or order.

    Drawing once for the whole packed batch (as a padded network's layer would) makes all clips share a fate.
    """

    factors_BL2: Tensor

    @classmethod
    def draw(cls, seeds_B: Tensor, rates_L: list[float], device: torch.device) -> "DropPath | None":
        """Factors 0 or 1 / (1 - rate) for both branches of each block; None where no rate is positive."""
        if not any(rates_L):
            return None
        draws = uniform(seeds_B, 2 * len(rates_L), stream="drop-path").unflatten(1, (len(rates_L), 2))
        rates = torch.tensor(rates_L, device=draws.device)[:, None]
        return cls(((draws >= rates) / (1 - rates)).to(device))

    @cached_property
    def _clips(self) -> dict[tuple[int, ...], Tensor]:
        return {}

    def add(self, x_MD: Tensor, branch_MD: Tensor, layer: int, half: int, packed: Packed) -> Tensor:
        if packed.lengths not in self._clips:
            self._clips[packed.lengths] = packed.clip_M
        factor_M = self.factors_BL2[:, layer, half].to(branch_MD.dtype)[self._clips[packed.lengths]]
        return torch.addcmul(x_MD, branch_MD, factor_M[:, None])


def split_class(packed: Packed) -> tuple[Packed, Tensor, Tensor]:
    """The patch tokens alone, the class tokens [B, D], and which rows are patches."""
    patch_M = packed.index_M >= 0
    rest = Packed(
        packed.tokens_MD[patch_M],
        packed.index_M[patch_M],
        tuple(n - 1 for n in packed.lengths),
        packed.geometry,
        None if packed.sizes_M is None else packed.sizes_M[patch_M],
        None if packed.mass_MS is None else packed.mass_MS[patch_M],
    )
    return rest, packed.tokens_MD[~patch_M], patch_M


def join_class(packed: Packed, class_BD: Tensor) -> Packed:
    """A class token before each clip's tokens, with the index -1: it stands for no segment."""

    def before(rows: Tensor, first: Tensor) -> Tensor:
        parts = rows.split(packed.lengths)
        return torch.cat([piece for pair in zip(first.split(1), parts, strict=True) for piece in pair])

    batch = len(packed.lengths)
    sizes = None if packed.sizes_M is None else before(packed.sizes_M, packed.sizes_M.new_ones(batch))
    mass = (
        None
        if packed.mass_MS is None
        else before(packed.mass_MS, packed.mass_MS.new_zeros(batch, packed.mass_MS.shape[1]))
    )
    return Packed(
        before(packed.tokens_MD, class_BD),
        before(packed.index_M, packed.index_M.new_full((batch,), -1)),
        tuple(n + 1 for n in packed.lengths),
        packed.geometry,
        sizes,
        mass,
    )


class Scale(nn.Module):
    """DINOv2's learned scale of each branch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class Block(nn.Module):
    """x += attention(norm x); a reducer may merge here; x += mlp(norm x)."""

    def __init__(self, config: VitConfig, *, generator: torch.Generator) -> None:
        super().__init__()
        self.heads = config.heads
        self.norm1 = nn.LayerNorm(config.width, config.eps)
        self.qkv = Qkv(config.width, bias=config.qkv_bias, generator=generator)
        self.proj = RowLinear(config.width, config.width, generator=generator)
        self.norm2 = nn.LayerNorm(config.width, config.eps)
        self.mlp = Mlp(config.width, config.hidden, activation=config.activation, generator=generator)
        self.scale1 = Scale(config.width) if config.layer_scale else nn.Identity()
        self.scale2 = Scale(config.width) if config.layer_scale else nn.Identity()

    def project(self, packed: Packed) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, [M, H, d] each: views of one matrix."""
        q, k, v = self.qkv(self.norm1(packed.tokens_MD)).unflatten(1, (3, self.heads, -1)).unbind(1)
        return q, k, v

    def forward(self, packed: Packed, *, layer: int, reducer: Reducer | None, drop: DropPath | None) -> Packed:
        x = packed.tokens_MD
        q, k, v = self.project(packed)
        sizes_M = packed.sizes_M if reducer is not None and reducer.proportional else None
        branch = self.scale1(self.proj(attend(q, k, v, packed.lengths, sizes_M=sizes_M).flatten(1)))
        x = added(x, branch) if drop is None else drop.add(x, branch, layer, 0, packed)
        packed = packed.with_tokens(x)
        if reducer is not None and reducer.reduces_inside:
            packed = self._reduce(packed, q, k, sizes_M, layer=layer, reducer=reducer)
            x = packed.tokens_MD
        branch = self.scale2(self.mlp(self.norm2(x)))
        x = added(x, branch) if drop is None else drop.add(x, branch, layer, 1, packed)
        return packed.with_tokens(x)

    def _reduce(
        self, packed: Packed, q: Tensor, k: Tensor, sizes_M: Tensor | None, *, layer: int, reducer: Reducer
    ) -> Packed:
        bias_M = None if sizes_M is None else sizes_M.log()
        if not bool((packed.index_M[:1] < 0).any()):
            return reducer.reduce(layer, packed, AttnView(q, k, packed.lengths, bias_M=bias_M, patch_M=None))
        patches, class_BD, patch_M = split_class(packed)
        attn = AttnView(q, k, packed.lengths, bias_M=bias_M, patch_M=patch_M)
        return join_class(reducer.reduce(layer, patches, attn), class_BD)
