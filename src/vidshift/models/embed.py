"""Raw patches -> embedded tokens: choose, normalise, project, place."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from vidshift.data.view import View
from vidshift.models.config import VitConfig
from vidshift.models.layers import axes_sinusoid, rows_linear, sinusoid, truncated
from vidshift.tokens.base import Packed, Selection
from vidshift.tokens.pack import pack
from vidshift.tokens.pack import patches as cut

# What a token with a closed gate still counts: attention takes the logarithm of it, and the derivative of that.
SHUT = 1e-6


class PatchProjection(nn.Module):
    """A Conv3d whose kernel is one token, as a linear layer over (channel, time, row, column)."""

    def __init__(self, config: VitConfig, *, generator: torch.Generator) -> None:
        super().__init__()
        fan_in = config.geometry.patch_dim
        bound = fan_in**-0.5  # PyTorch's default for convolutions, which VideoMAE leaves as it is
        self.weight = nn.Parameter(torch.empty(config.width, fan_in).uniform_(-bound, bound, generator=generator))
        self.bias = (
            nn.Parameter(torch.empty(config.width).uniform_(-bound, bound, generator=generator))
            if config.patch_bias
            else None
        )

    def forward(self, x_MP: Tensor) -> Tensor:
        return rows_linear(x_MP.to(self.weight.dtype), self.weight, self.bias)


def gated(packed: Packed, gate_M: Tensor) -> Packed:
    """Each token counts as much as its gate is open. The tokens themselves stay, so that the gradient of a closed gate
    is about the token behind it and not about an empty one."""
    open_M = gate_M * (1 - SHUT) + SHUT
    return replace(packed, sizes_M=packed.sizes() * open_M, mass_MS=packed.mass() * open_M[:, None])


class Embedding(nn.Module):
    """Everything before the first block. Positions are rows of one table, by a token's original index."""

    scale_P: Tensor
    shift_P: Tensor
    table_ND: Tensor

    def __init__(self, config: VitConfig, *, generator: torch.Generator) -> None:
        super().__init__()
        self.config = config
        g = config.geometry
        self.patch = PatchProjection(config, generator=generator)
        each = g.patch_dim // g.channels
        std_P = torch.tensor(config.std).repeat_interleave(each)
        mean_P = torch.tensor(config.mean).repeat_interleave(each)
        self.register_buffer("scale_P", 1 / std_P, persistent=False)
        self.register_buffer("shift_P", -mean_P / std_P, persistent=False)
        if config.positions == "learned":
            self.positions = truncated(generator, g.tokens, config.width)
        else:
            table_ND = (
                axes_sinusoid(g.segments, g.rows, g.cols, config.width)
                if config.positions == "axes"
                else sinusoid(g.tokens, config.width)
            )
            self.register_buffer("table_ND", table_ND, persistent=False)
        self.lengths = truncated(generator, g.segments, config.width) if config.run_lengths else None
        self.class_token = nn.Parameter(truncated(generator, config.width)) if config.class_token else None
        self.pre_norm = nn.LayerNorm(config.width, config.eps) if config.pre_norm else nn.Identity()

    def normalise(self, rows_MP: Tensor) -> Tensor:
        """(pixels - mean) / std in float32, after unneeded patches are gone."""
        scale = self.scale_P.float() / 255 if rows_MP.dtype == torch.uint8 else self.scale_P.float()
        return torch.addcmul(self.shift_P.float(), rows_MP.float(), scale)

    def place(self, tokens_MD: Tensor, index_M: Tensor) -> Tensor:
        table = self.positions if self.config.positions == "learned" else self.table_ND
        return tokens_MD + table.index_select(0, index_M)

    def patches(self, view: View) -> Tensor:
        """[B, N, D] of every token, without positions."""
        rows = cut(view.pixels_BTCHW, self.config.geometry)
        return self.patch(self.normalise(rows.flatten(0, 1))).view(len(view), -1, self.config.width)

    def forward(self, view: View, selection: Selection) -> Packed:
        if selection.merged_BN is not None:
            packed = self._merged(view, selection, selection.merged_BN)
        else:
            raw = pack(view, selection, self.config.geometry)
            packed = raw.with_tokens(self.patch(self.normalise(raw.tokens_MD)))
        tokens_MD = self.place(packed.tokens_MD, packed.index_M)
        if self.lengths is not None and selection.lengths_BN is not None:
            run_M = selection.lengths_BN[selection.keep_BN].long() - 1
            tokens_MD = tokens_MD + self.lengths.index_select(0, run_M)
        if selection.gate_BN is not None:
            return gated(packed.with_tokens(tokens_MD), selection.gate_BN[selection.keep_BN].float())
        return packed.with_tokens(tokens_MD)

    def _merged(self, view: View, selection: Selection, merged_BN: Tensor) -> Packed:
        """Every token is embedded; a dropped one is averaged into its receiver, which then counts for both."""
        g, keep_BN = self.config.geometry, selection.keep_BN
        embedded_MD = self.patches(view).flatten(0, 1)
        own_BN = torch.arange(g.tokens, device=keep_BN.device).expand_as(keep_BN)
        receiver_BN = torch.where(keep_BN, own_BN, merged_BN.long())
        joins_BN = receiver_BN >= 0
        first_B1 = torch.arange(len(view), device=keep_BN.device)[:, None] * g.tokens
        target_M = (receiver_BN + first_B1)[joins_BN]
        if not bool(keep_BN.flatten()[target_M].all()):
            raise ValueError("a dropped token is merged into a token that is dropped itself")
        row_M = (keep_BN.flatten().cumsum(0) - 1)[target_M]
        kept = int(keep_BN.sum())
        index_M = own_BN[keep_BN]
        segment_M = (own_BN // g.per_segment)[joins_BN]
        mass_MS = torch.zeros(kept, g.segments, device=keep_BN.device)
        mass_MS = mass_MS.index_put((row_M, segment_M), mass_MS.new_ones(()), accumulate=True)
        sizes_M = mass_MS.sum(dim=1)
        sums = torch.zeros(kept, embedded_MD.shape[1], device=embedded_MD.device)
        sums = sums.index_add(0, row_M, embedded_MD[joins_BN.flatten()].float())
        tokens_MD = (sums / sizes_M[:, None]).to(embedded_MD.dtype)
        return Packed(tokens_MD, index_M, tuple(keep_BN.sum(dim=1).tolist()), g, sizes_M, mass_MS)
