"""Geometric augmentation, the same for every frame of a clip and keyed by the clip's seed.

Crops and flips only: they keep motion energies meaningful. Erasing and mixing across clips would put noise into the
pixels that energies are computed from (docs/method.md section 5 row 14).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True, kw_only=True)
class Augment:
    """Random resized crop of a share of the frame, and a mirror (docs/method.md section 5 row 14)."""

    area: tuple[float, float] = (0.5, 1.0)
    aspect: tuple[float, float] = (3 / 4, 4 / 3)
    flip: float = 0.5

    def __call__(self, clip_TCHW: Tensor, rng: np.random.Generator) -> Tensor:
        height, width = clip_TCHW.shape[-2:]
        top, left, rows, cols = crop_box(height, width, self.area, self.aspect, rng)
        mirrored = rng.random() < self.flip
        out = clip_TCHW[..., top : top + rows, left : left + cols]
        if (rows, cols) != (height, width):
            out = F.interpolate(out, size=(height, width), mode="bilinear", antialias=True, align_corners=False)
        return out.flip(-1) if mirrored else out


def crop_box(
    height: int, width: int, area: tuple[float, float], aspect: tuple[float, float], rng: np.random.Generator
) -> tuple[int, int, int, int]:
    """(top, left, rows, cols) of a random box inside the frame; the share is taken smaller where it would not fit."""
    share = rng.uniform(*area)
    ratio = np.exp(rng.uniform(np.log(aspect[0]), np.log(aspect[1])))  # width over height, relative to the frame's
    rows = min(height, max(1, round(height * float(np.sqrt(share / ratio)))))
    cols = min(width, max(1, round(width * float(np.sqrt(share * ratio)))))
    top = int(rng.integers(0, height - rows + 1))
    left = int(rng.integers(0, width - cols + 1))
    return top, left, rows, cols


def to_tchw(clip_THWC: np.ndarray) -> Tensor:
    """The clip as the network reads it."""
    return as_tchw(clip_THWC).contiguous()


def as_tchw(clip_THWC: np.ndarray) -> Tensor:
    """The same memory, with channels last as it was decoded: resizing such pixels takes half the time."""
    return torch.from_numpy(np.ascontiguousarray(clip_THWC)).permute(0, 3, 1, 2)
