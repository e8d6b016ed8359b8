"""Masked motion modelling: some tubes of a clip are encoded into one vector, and a light decoder draws from it where,
when and how much everything moves.

Painting pixels teaches a narrow network little about actions: most of the loss is texture that stands still, or detail
that nobody could guess. What moves is the rest, and one vector must tell it for the whole clip (docs/standins.md).
"""

import torch
from torch import Tensor, nn

from vidshift.data.view import View
from vidshift.models.block import Block
from vidshift.models.layers import RowLinear, sinusoid
from vidshift.models.masked import DecoderShape
from vidshift.models.vit import VideoTransformer
from vidshift.tokens.base import Packed, Selection
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.pack import pool

# Changes up to about two grey levels are sensor and codec.
NOISE = 2 / 255


def motion_map(pixels_BTCHW: Tensor, geometry: Geometry, *, cell: int) -> Tensor:
    """`map_BNC`: how much each cell of `cell` x `cell` pixels changes in each frame of a token.

    A square root keeps fast limbs from drowning slow ones; each clip is divided by its own strength.
    """
    g, across = geometry, geometry.patch // cell
    scale = 255 if pixels_BTCHW.dtype == torch.uint8 else 1
    pixels = pixels_BTCHW.float() / scale
    change = (pixels[:, 1:] - pixels[:, :-1]).abs().mean(dim=2)
    change = torch.cat([change[:, :1], change], dim=1)  # the first frame's change is the second's
    shape = (-1, g.segments, g.tubelet, g.rows, across, cell, g.cols, across, cell)
    cells = change.reshape(shape).mean(dim=(5, 8)).permute(0, 1, 3, 5, 2, 4, 6).reshape(len(pixels), g.tokens, -1)
    found = (cells - NOISE).clamp_min(0).sqrt()
    return found / (found.square().mean(dim=(1, 2), keepdim=True).sqrt() + 1e-3)


class MotionMapModel(nn.Module):
    """`forward` gives the squared error as a share of what drawing the batch's mean map would cost, averaged over a map
    of whole patches and one of quarters of their sides."""

    places_ND: Tensor

    def __init__(self, encoder: VideoTransformer, shape: DecoderShape | None = None, *, seed: int = 0) -> None:
        super().__init__()
        if encoder.config.class_token:
            raise ValueError("masked modelling takes an encoder without a class token")
        shape = shape or DecoderShape()
        g, generator = encoder.geometry, torch.Generator().manual_seed(seed)
        config = encoder.config.with_(width=shape.width, depth=shape.depth, heads=shape.heads, drop_path=0.0)
        self.encoder = encoder
        self.cells = tuple(dict.fromkeys((g.patch, max(1, g.patch // 4))))
        self.enter = RowLinear(encoder.config.width, shape.width, generator=generator)
        self.blocks = nn.ModuleList(Block(config, generator=generator) for _ in range(shape.depth))
        self.norm = nn.LayerNorm(shape.width, config.eps)
        sizes = [g.tubelet * (g.patch // cell) ** 2 for cell in self.cells]
        self.draw = nn.ModuleList(RowLinear(shape.width, size, generator=generator) for size in sizes)
        self.register_buffer("places_ND", sinusoid(g.tokens, shape.width), persistent=False)

    def encode(self, view: View, keep_BN: Tensor) -> Tensor:
        """`pool_BD` of the shown tokens, as a classifier would see it."""
        packed = self.encoder.run(self.encoder.embedding(view, Selection(keep_BN))).packed
        return self.encoder.norm(pool(packed))

    def forward(self, view: View, keep_BN: Tensor) -> Tensor:
        pool_BD, (batch, count) = self.encode(view, keep_BN), keep_BN.shape
        tokens_MD = (self.places_ND + self.enter(pool_BD)[:, None]).flatten(0, 1)
        index_M = torch.arange(count, device=keep_BN.device).repeat(batch)
        packed = Packed(tokens_MD, index_M, (count,) * batch, self.encoder.geometry)
        for layer, block in enumerate(self.blocks):
            packed = block(packed, layer=layer, reducer=None, drop=None)
        drawn_MD = self.norm(packed.tokens_MD)
        losses = []
        for cell, head in zip(self.cells, self.draw, strict=True):
            target_MC = motion_map(view.pixels_BTCHW, self.encoder.geometry, cell=cell).flatten(0, 1)
            target_MC = target_MC - target_MC.mean(dim=0)
            error = (head(drawn_MD).float() - target_MC).square().mean()
            losses.append(error / target_MC.square().mean().clamp_min(1e-8))
        return torch.stack(losses).mean()
