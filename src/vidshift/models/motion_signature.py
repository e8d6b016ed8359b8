"""Masked motion modelling: from a few tubes of a clip, one vector must tell what moves, how and how often.

Painting pixels teaches a narrow network little about actions: most of the loss is texture that stands still. As HOG is
painted in MaskFeat, so here a signature of the motion is: where around the mover things change, and with what rhythm.
It is told in the mover's own frame, so that it says nothing of where somebody stands or how large (docs/standins.md).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vidshift.data.view import View
from vidshift.models.layers import RowLinear
from vidshift.models.vit import VideoTransformer
from vidshift.tokens.base import Selection
from vidshift.tokens.pack import pool

# Changes up to this (in pixels of [0, 1]) beyond twice the clip's median change are sensor and codec.
NOISE = 0.01
# The mover's frame reaches so many deviations of the change to either side of its middle, and at least so large a share
# of the picture's longer side.
REACH, SMALLEST = 2.2, 0.18
GRID = 48
RHYTHM_CELLS, SHAPE_CELLS = 8, 12
HIDDEN = 512


def changes(pixels_BTCHW: Tensor) -> Tensor:
    """`change_BTHW`, one frame fewer and half as large: how much each place changes, above the clip's noise.

    A square root keeps fast limbs from drowning slow ones.
    """
    pixels = pixels_BTCHW.float() / (255 if pixels_BTCHW.dtype == torch.uint8 else 1)
    small = F.avg_pool2d(pixels.flatten(1, 2), 2).unflatten(1, pixels.shape[1:3])
    change = (small[:, 1:] - small[:, :-1]).abs().mean(dim=2)
    still_B = change[:, ::2].flatten(1).median(dim=1).values
    return (change - 2 * still_B[:, None, None, None] - NOISE).clamp_min(0).sqrt()


def mover_box(change_BTHW: Tensor) -> Tensor:
    """[B, 4]: centre (x, y) and deviations (x, y) of all change, in [-1, 1] of the picture."""
    total_BHW = change_BTHW.mean(dim=1) + 1e-6
    share_BHW = total_BHW / total_BHW.sum(dim=(1, 2), keepdim=True)
    found = []
    for share_BL in (share_BHW.sum(dim=1), share_BHW.sum(dim=2)):
        length = share_BL.shape[1]
        at_L = (2 * torch.arange(length, device=share_BL.device) + 1 - length) / length
        centre_B = (share_BL * at_L).sum(dim=1)
        spread_B = (share_BL * (at_L - centre_B[:, None]).square()).sum(dim=1).sqrt()
        found.append((centre_B, spread_B))
    (x, wide), (y, tall) = found
    return torch.stack([x, y, wide, tall], dim=1)


@torch.no_grad()
def signature(pixels_BTCHW: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`rhythm_BC` (amplitudes over time of an 8 x 8 map), `shape_BC` (a 12 x 12 map of all change), `box_BC`.

    Both maps are taken in the mover's frame and divided by the clip's strength. Amplitudes are the same wherever in
    its cycle a movement is met.
    """
    change_BTHW = changes(pixels_BTCHW)
    height, width = change_BTHW.shape[-2:]
    box_B4 = mover_box(change_BTHW)
    x, y, wide, tall = box_B4.unbind(1)
    reach = (REACH * torch.maximum(wide * width, tall * height)).clamp_min(SMALLEST * max(height, width))
    zero = torch.zeros_like(x)
    theta = torch.stack([reach / width, zero, x, zero, reach / height, y], dim=1).view(-1, 2, 3)
    grid = F.affine_grid(theta, [len(x), 1, GRID, GRID], align_corners=False)
    own = F.grid_sample(change_BTHW, grid, align_corners=False)
    cells = F.avg_pool2d(own, GRID // RHYTHM_CELLS)
    strength_B1 = cells.flatten(1).square().mean(dim=1, keepdim=True).sqrt() + 1e-4
    rhythm = torch.fft.rfft(cells, dim=1).abs().flatten(1) / cells.shape[1]
    shape = F.avg_pool2d(own.mean(dim=1, keepdim=True), GRID // SHAPE_CELLS).flatten(1)
    return rhythm / strength_B1, shape / strength_B1, box_B4


class MotionSignatureModel(nn.Module):
    """`forward` gives the squared error as a share of what saying the batch's mean would cost, averaged over the
    signature's parts. The two layers that say it from the pooled vector are thrown away afterwards."""

    def __init__(self, encoder: VideoTransformer, *, seed: int = 0) -> None:
        super().__init__()
        if encoder.config.class_token:
            raise ValueError("masked modelling takes an encoder without a class token")
        generator = torch.Generator().manual_seed(seed)
        self.encoder = encoder
        frequencies = (encoder.geometry.frames - 1) // 2 + 1
        sizes = (frequencies * RHYTHM_CELLS**2, SHAPE_CELLS**2, 4)
        self.enter = RowLinear(encoder.config.width, HIDDEN, generator=generator)
        self.say = nn.ModuleList(RowLinear(HIDDEN, size, generator=generator) for size in sizes)

    def encode(self, view: View, keep_BN: Tensor) -> Tensor:
        """`pool_BD` of the shown tokens, as a classifier would see it."""
        packed = self.encoder.run(self.encoder.embedding(view, Selection(keep_BN))).packed
        return self.encoder.norm(pool(packed))

    def forward(self, view: View, keep_BN: Tensor) -> Tensor:
        hidden_BD = F.gelu(self.enter(self.encode(view, keep_BN)))
        losses = []
        for head, target_BC in zip(self.say, signature(view.pixels_BTCHW), strict=True):
            target_BC = target_BC - target_BC.mean(dim=0)
            error = (head(hidden_BD).float() - target_BC).square().mean()
            losses.append(error / target_BC.square().mean().clamp_min(1e-8))
        return torch.stack(losses).mean()
