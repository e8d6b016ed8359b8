"""Image weights for video: a patch kernel over several frames, and positions for every segment and any size."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from vidshift.tokens.geometry import Geometry

Inflation = Literal["average", "center"]


def inflate_kernel(kernel_DCYX: Tensor, tubelet: int, how: Inflation) -> Tensor:
    """`kernel_DCTYX`. "average" divides by the tubelet, so that a tubelet embeds as its mean frame; "center" reads the
    middle frame alone. For a still tubelet both equal the image."""
    kernel = kernel_DCYX[:, :, None].expand(-1, -1, tubelet, -1, -1)
    if how == "average":
        return kernel / tubelet
    mask_T = torch.zeros(tubelet, dtype=kernel.dtype)
    mask_T[tubelet // 2] = 1
    return kernel * mask_T[:, None, None]


def fit_positions(positions_PD: Tensor, geometry: Geometry) -> Tensor:
    """`positions_ND` for a geometry from those of a square image, the same in every segment.

    Another size is resampled bicubically over the grid, in float32, as CLIP's and DINOv2's own code does.
    """
    side = round(positions_PD.shape[0] ** 0.5)
    grid_DYX = positions_PD.float().view(side, side, -1).permute(2, 0, 1)
    if (side, side) != (geometry.rows, geometry.cols):
        size = (geometry.rows, geometry.cols)
        grid_DYX = interpolate(grid_DYX[None], size=size, mode="bicubic", align_corners=False)[0]
    return grid_DYX.permute(1, 2, 0).reshape(geometry.per_segment, -1).repeat(geometry.segments, 1)
