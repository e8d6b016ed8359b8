"""Masked video modelling after VideoMAE: a few tubes of patches are encoded, a light decoder paints the rest.

The encoder is the packed `VideoTransformer`, so that hidden patches are never touched: they are not embedded, and no
mask token enters it. What is left over afterwards is a backbone; the decoder is thrown away.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d

from vidshift.data.view import View
from vidshift.errors import UserError
from vidshift.models.block import Block
from vidshift.models.config import VitConfig
from vidshift.models.layers import RowLinear, sinusoid, truncated
from vidshift.models.vit import VideoTransformer
from vidshift.tokens.base import Packed, Selection
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.pack import patches
from vidshift.tokens.seeds import uniform

Target = Literal["pixels", "motion"]

# Beside the mean weight of all places, 1.
STILL_WEIGHT = 0.05


def visible_per_segment(geometry: Geometry, ratio: float) -> int:
    """How many patches of each segment are shown: at least one, and at least one is hidden."""
    if not 0 < ratio < 1:
        raise UserError(f"the mask ratio {ratio:g} is outside (0, 1); VideoMAE's is 0.9.", usage=True)
    return min(geometry.per_segment - 1, max(1, round(geometry.per_segment * (1 - ratio))))


def tube_mask(seeds_B: Tensor, geometry: Geometry, *, ratio: float, weight_BP: Tensor | None = None) -> Tensor:
    """`keep_BN`, true where a patch is shown: the same places in every segment, so that a hidden patch cannot be copied
    from the frame before. Which places follows from each clip's seed; with weights, heavier ones are shown more often
    (drawn one by one without replacement, by exponential races)."""
    shown = visible_per_segment(geometry, ratio)
    draws_BP = uniform(seeds_B, geometry.per_segment, stream="tube-mask")
    if weight_BP is not None:
        draws_BP = -torch.log1p(-draws_BP) / weight_BP.to(draws_BP.device).clamp_min(1e-9)
    place_BV = draws_BP.argsort(dim=1, stable=True)[:, :shown]
    keep_BP = torch.zeros_like(draws_BP, dtype=torch.bool).scatter_(1, place_BV, True)
    return keep_BP.repeat(1, geometry.segments)


def motion_weights(pixels_BTCHW: Tensor, geometry: Geometry) -> Tensor:
    """[B, places]: how much a place moves over the clip above what most places do; a still one keeps a small weight, so
    that a background is seen too. Half a patch is averaged first: that costs little, and sensor noise goes."""
    pixels = pixels_BTCHW.float() / (255 if pixels_BTCHW.dtype == torch.uint8 else 1)
    small = avg_pool2d(pixels.flatten(1, 2), max(1, geometry.patch // 2)).unflatten(1, pixels.shape[1:3])
    change_BHW = (small[:, 1:] - small[:, :-1]).abs().mean(dim=(1, 2))
    energy_BP = avg_pool2d(change_BHW, small.shape[-1] // geometry.cols).flatten(1)
    moved_BP = (energy_BP - 1.5 * energy_BP.median(dim=1, keepdim=True).values).clamp_min(0)
    return moved_BP / moved_BP.mean(dim=1, keepdim=True).clamp_min(1e-6) + STILL_WEIGHT


def normalised_patches(pixels_BTCHW: Tensor, geometry: Geometry, *, eps: float = 1e-6) -> Tensor:
    """`target_BNP`: each channel of each patch with mean 0 and deviation 1 (VideoMAE's normalised pixels).

    The deviation is the unbiased one, and `eps` is added to it, for pixels in [0, 1].
    """
    rows = patches(pixels_BTCHW, geometry)
    scale = 255 if pixels_BTCHW.dtype == torch.uint8 else 1
    channels = (rows.float() / scale).unflatten(-1, (geometry.channels, -1))
    centred = channels - channels.mean(dim=-1, keepdim=True)
    return (centred / (channels.std(dim=-1, keepdim=True) + eps)).flatten(-2)


@dataclass(frozen=True, kw_only=True)
class DecoderShape:
    """Light beside the encoder: it sees every token, where the encoder sees one in ten."""

    width: int = 96
    depth: int = 2
    heads: int = 3


class Decoder(nn.Module):
    """Encoded tokens at their places and one learned token at every other place -> pixels of the hidden patches."""

    places_ND: Tensor

    def __init__(self, encoder: VitConfig, shape: DecoderShape, *, generator: torch.Generator) -> None:
        super().__init__()
        config = encoder.with_(width=shape.width, depth=shape.depth, heads=shape.heads, drop_path=0.0)
        self.geometry = encoder.geometry
        self.enter = RowLinear(encoder.width, shape.width, generator=generator, bias=False)
        self.mask_token = truncated(generator, shape.width)
        self.blocks = nn.ModuleList(Block(config, generator=generator) for _ in range(shape.depth))
        self.norm = nn.LayerNorm(shape.width, config.eps)
        self.paint = RowLinear(shape.width, encoder.geometry.patch_dim, generator=generator)
        self.register_buffer("places_ND", sinusoid(encoder.geometry.tokens, shape.width), persistent=False)

    def forward(self, encoded: Packed, keep_BN: Tensor) -> Tensor:
        """`painted_MP` for the hidden tokens, clip by clip in their original order."""
        batch, count = keep_BN.shape
        entered_MD = self.enter(encoded.tokens_MD)
        full = self.mask_token.to(entered_MD.dtype).expand(batch * count, -1)
        full = full.masked_scatter(keep_BN.flatten()[:, None], entered_MD)
        tokens_MD = full + self.places_ND.repeat(batch, 1)
        index_M = torch.arange(count, device=keep_BN.device).repeat(batch)
        packed = Packed(tokens_MD, index_M, (count,) * batch, self.geometry)
        for layer, block in enumerate(self.blocks):
            packed = block(packed, layer=layer, reducer=None, drop=None)
        hidden_MD = packed.tokens_MD[~keep_BN.flatten()]
        return self.paint(self.norm(hidden_MD))


@torch.no_grad()
def begin(model: nn.Module, encoder: VideoTransformer, *, seed: int, difference: float = 0.0) -> None:
    """Weights to pretrain from: Glorot's for every matrix, as VideoMAE pretrains, and half of the patch filters as
    differences of a tubelet's first two frames, `difference` times as strong: to them a still background says nothing.
    """
    generator = torch.Generator().manual_seed(seed)
    patch = encoder.embedding.patch.weight
    for parameter in model.parameters():
        if parameter.dim() == 2 and parameter is not patch:
            nn.init.xavier_uniform_(parameter, generator=generator)
    g = encoder.geometry
    if difference and g.tubelet > 1:
        half = len(patch) // 2
        filters = patch.view(len(patch), g.channels, g.tubelet, -1)
        first = difference * filters[:half, :, 0]
        filters[:half] = 0
        filters[:half, :, 0], filters[:half, :, 1] = first, -first


class MaskedModel(nn.Module):
    """`forward` gives the squared error on the hidden patches as a share of what painting nothing would cost."""

    def __init__(
        self,
        encoder: VideoTransformer,
        shape: DecoderShape | None = None,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if encoder.config.class_token:
            raise ValueError("masked modelling takes an encoder without a class token")
        self.encoder = encoder
        generator = torch.Generator().manual_seed(seed)
        self.decoder = Decoder(encoder.config, shape or DecoderShape(), generator=generator)

    def encode(self, view: View, keep_BN: Tensor) -> Packed:
        """The shown tokens after the encoder's last norm."""
        packed = self.encoder.run(self.encoder.embedding(view, Selection(keep_BN))).packed
        return packed.with_tokens(self.encoder.norm(packed.tokens_MD))

    def forward(self, view: View, keep_BN: Tensor) -> Tensor:
        painted_MP = self.decoder(self.encode(view, keep_BN), keep_BN)
        target_MP = normalised_patches(view.pixels_BTCHW, self.encoder.geometry)[~keep_BN]
        return (painted_MP.float() - target_MP).square().mean() / target_MP.square().mean().clamp_min(1e-8)
