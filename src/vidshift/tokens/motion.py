"""Motion energies: how much each token changed since the segment before it.

The paper's Approach; its gaps are decided in tokens.md section 11.

E(t, y, x) = mean over channels and the patch of |P(t+1) - P(t)|, with P(t) the mean frame of tubelet t, pixels in
[0, 1]; min-max normalised over the clip; the first segment, which has nothing before it, is set to 1.
"""

import torch
from torch import Tensor

from vidshift.tokens.geometry import Geometry

# Below this range (in pixels of [0, 1]) a clip counts as static (tokens.md section 11 step 3).
STATIC_RANGE = 1e-6


def differences(clean_BTCHW: Tensor, geometry: Geometry) -> Tensor:
    """Unnormalised energies, [B, S-1, rows, cols], float32, in pixels of [0, 1].

    For uint8 the sums are over integers below 2**24 and so exact in float32: the result does not depend on the order
    of summation, the batch or the number of threads.
    """
    g = geometry
    batch, _, channels, _, _ = clean_BTCHW.shape
    frames = clean_BTCHW.unflatten(1, (g.segments, g.tubelet))
    integer = clean_BTCHW.dtype == torch.uint8
    if integer:
        total = frames[:, :, 0].to(torch.int16)
        for step in range(1, g.tubelet):
            total += frames[:, :, step]
        moved = (total[:, 1:] - total[:, :-1]).abs_().to(torch.float32)
    else:
        total = frames.float().sum(dim=2)
        moved = (total[:, 1:] - total[:, :-1]).abs_()
    cells = moved.view(batch, g.segments - 1, channels * g.rows, g.patch, g.width).sum(dim=3)
    cells = cells.view(batch, g.segments - 1, channels, g.rows, g.cols, g.patch).sum(dim=(2, 5))
    scale = g.tubelet * channels * g.patch * g.patch * (255 if integer else 1)
    return cells / scale


def normalise(raw_BSYX: Tensor, *, floor: float = 0.0) -> tuple[Tensor, Tensor]:
    """Min-max per clip; returns the energies in [0, 1] and which clips are static (all zeros there).

    `floor` divides by at least that range, so that the noise of a clip without motion is not stretched to [0, 1]
    (tokens.md section 12 row 10; 0 is the paper's).
    """
    batch = raw_BSYX.shape[0]
    if raw_BSYX.numel() == 0:  # one segment: nothing to compare, nothing to drop
        return raw_BSYX, torch.zeros(batch, dtype=torch.bool, device=raw_BSYX.device)
    flat = raw_BSYX.flatten(1)
    low_B, high_B = flat.amin(1), flat.amax(1)
    range_B = high_B - low_B
    static_B = range_B < STATIC_RANGE
    divisor_B = torch.where(static_B, torch.ones_like(range_B), range_B.clamp_min(floor))
    scaled = (raw_BSYX - low_B[:, None, None, None]) / divisor_B[:, None, None, None]
    return torch.where(static_B[:, None, None, None], torch.zeros_like(scaled), scaled), static_B


@torch.no_grad()
def energy(clean_BTCHW: Tensor, geometry: Geometry, *, floor: float = 0.0) -> tuple[Tensor, Tensor]:
    """`energy_BN` in [0, 1] with the first segment at 1, and `static_B`: the clips in which nothing moves."""
    scaled, static_B = normalise(differences(clean_BTCHW, geometry), floor=floor)
    first = (
        torch.ones_like(scaled[:, :1])
        if scaled.shape[1]
        else scaled.new_ones(clean_BTCHW.shape[0], 1, geometry.rows, geometry.cols)
    )
    return torch.cat([first, scaled], dim=1).flatten(1), static_B


def above(energy_BN: Tensor, threshold: float | Tensor) -> Tensor:
    """`keep_BN`: the strict comparison of the paper's selection mask."""
    return energy_BN > threshold
