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
from vidshift.tokens.base import Packed, Selection
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.pack import pool

# Changes up to this (in pixels of [0, 1]) beyond twice the clip's median change are sensor and codec.
NOISE = 0.01
# The mover's frame reaches so many deviations of the change to either side of its middle, and at least so large a share
# of the picture's longer side.
REACH, SMALLEST = 2.2, 0.18
GRID = 48
CELLS = 8
# The course is told for the whole mover and for quarters of its frame, the rhythm for sixteenths too: with 16 frames
# these are 15 and 60, and 8, 32 and 128 numbers.
COURSE_SCALES, RHYTHM_SCALES = (1, 2), (1, 2, 4)
# A shown token tells its own changes in so many parts of its sides.
LOCAL = 4
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
def signature(change_BTHW: Tensor) -> tuple[Tensor, ...]:
    """`course_BC` for each of `COURSE_SCALES`, `rhythm_BC` for each of `RHYTHM_SCALES`, and `box_BC`.

    A course is how much changes at each time; a rhythm is the amplitude of every frequency over time, the same wherever
    in its cycle a movement is met. Both are taken cell by cell in the mover's frame, divided by the clip's strength and
    then averaged over larger cells.
    """
    height, width = change_BTHW.shape[-2:]
    box_B4 = mover_box(change_BTHW)
    x, y, wide, tall = box_B4.unbind(1)
    reach = (REACH * torch.maximum(wide * width, tall * height)).clamp_min(SMALLEST * max(height, width))
    zero = torch.zeros_like(x)
    theta = torch.stack([reach / width, zero, x, zero, reach / height, y], dim=1).view(-1, 2, 3)
    grid = F.affine_grid(theta, [len(x), 1, GRID, GRID], align_corners=False)
    own = F.grid_sample(change_BTHW, grid, align_corners=False)
    cells = F.avg_pool2d(own, GRID // CELLS)
    strength_B111 = cells.square().mean(dim=(1, 2, 3), keepdim=True).sqrt() + 1e-4
    course = cells / strength_B111
    rhythm = torch.fft.rfft(course, dim=1).abs() / course.shape[1]
    parts = [(course, scale) for scale in COURSE_SCALES] + [(rhythm, scale) for scale in RHYTHM_SCALES]
    return (*(F.avg_pool2d(maps, CELLS // scale).flatten(1) for maps, scale in parts), box_B4)


def local_parts(geometry: Geometry) -> int:
    """Into how many parts a token's sides are cut; its changes are known at half the resolution."""
    return next(count for count in (LOCAL, 2, 1) if (geometry.patch // 2) % count == 0 and geometry.patch // 2 >= count)


@torch.no_grad()
def local_changes(change_BTHW: Tensor, geometry: Geometry) -> Tensor:
    """[B, N, C]: how much each part of a token changes into each of its frames, by the clip's strength."""
    g, parts = geometry, local_parts(geometry)
    change_BTHW = torch.cat([change_BTHW[:, :1], change_BTHW], dim=1)  # the first frame's change is the second's
    cells = F.avg_pool2d(change_BTHW, g.patch // 2 // parts)
    shape = (-1, g.segments, g.tubelet, g.rows, parts, g.cols, parts)
    found = cells.reshape(shape).permute(0, 1, 3, 5, 2, 4, 6).flatten(4).flatten(1, 3)
    return found / (found.square().mean(dim=(1, 2), keepdim=True).sqrt() + 1e-4)


def unexplained(said_BC: Tensor, target_BC: Tensor) -> Tensor:
    """The mean squared error where each number was brought to mean 0 and variance 1 over the batch: 1 is saying 0."""
    variance_C, mean_C = torch.var_mean(target_BC, dim=0, unbiased=False)
    scale_C = (variance_C + 1e-3 * variance_C.mean() + 1e-8).sqrt()
    return (said_BC.float() - (target_BC - mean_C) / scale_C).square().mean()


class MotionSignatureModel(nn.Module):
    """`forward` gives the squared error as a share of the batch's variance (1 is saying the mean), averaged over parts:
    what the pooled vector tells of the whole clip, and what every shown token tells of itself, which is learned first.

    Each number's error counts by its own variance: else the constant part of the spectrum would be nearly all there is.
    The layers that tell are thrown away afterwards.
    """

    def __init__(self, encoder: VideoTransformer, *, seed: int = 0) -> None:
        super().__init__()
        if encoder.config.class_token:
            raise ValueError("masked modelling takes an encoder without a class token")
        generator = torch.Generator().manual_seed(seed)
        self.encoder = encoder
        frequencies = (encoder.geometry.frames - 1) // 2 + 1
        times = encoder.geometry.frames - 1
        sizes = (
            *(times * scale**2 for scale in COURSE_SCALES),
            *(frequencies * scale**2 for scale in RHYTHM_SCALES),
            4,
        )
        near = local_parts(encoder.geometry) ** 2 * encoder.geometry.tubelet
        self.enter = RowLinear(encoder.config.width, HIDDEN, generator=generator)
        self.say = nn.ModuleList(RowLinear(HIDDEN, size, generator=generator) for size in sizes)
        self.near = RowLinear(encoder.config.width, near, generator=generator)

    def encode(self, view: View, keep_BN: Tensor) -> Packed:
        """The shown tokens before the encoder's last norm."""
        return self.encoder.run(self.encoder.embedding(view, Selection(keep_BN))).packed

    def forward(self, view: View, keep_BN: Tensor) -> Tensor:
        packed = self.encode(view, keep_BN)
        hidden_BD = F.gelu(self.enter(self.encoder.norm(pool(packed))))
        with torch.no_grad():
            change_BTHW = changes(view.pixels_BTCHW)
        said = zip(self.say, signature(change_BTHW), strict=True)
        losses = [unexplained(head(hidden_BD), target_BC) for head, target_BC in said]
        near_MC = self.near(self.encoder.norm(packed.tokens_MD))
        losses.append(unexplained(near_MC, local_changes(change_BTHW, self.encoder.geometry)[keep_BN]))
        return torch.stack(losses).mean()
