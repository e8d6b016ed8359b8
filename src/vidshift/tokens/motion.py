"""Motion energies: how much each token changed since the segment before it.

The paper's Approach; its gaps are decided in docs/method.md section 5.

E(t, y, x) = mean over channels and the patch of |P(t+1) - P(t)|, with P(t) the mean frame of tubelet t, pixels in
[0, 1]; min-max normalised over the clip; the first segment, which has nothing before it, is set to 1.

Three kinds of clips make such energies say little, and are counted (`Oddities`): static ones keep only their first
segment; in faint ones noise may be what is stretched to [0, 1]; a hard cut sets the scale of its whole clip.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from vidshift.tokens.geometry import Geometry

# Below this range (in pixels of [0, 1]) a clip counts as static (docs/method.md section 5 row 8).
STATIC_RANGE = 1e-6
# Below this range noise may be most of what is normalised (the floor of docs/method.md section 5 row 9).
FAINT_RANGE = 0.02
# A cut changes most of the picture at once: the median cell by this much (in pixels of [0, 1]), and by several times
# what it changes at any other moment.
CUT_CHANGE, CUT_FACTOR = 0.05, 3.0
# The largest threshold: float32 has no numbers between this and 1, where the strict comparison would drop the first
# segment too (docs/method.md section 5 row 11).
HIGHEST_THRESHOLD = 1 - 1e-6


@dataclass(frozen=True)
class Oddities:
    """Which clips' energies say little; `counts` is for the log."""

    static_B: Tensor
    faint_B: Tensor
    cut_B: Tensor

    def counts(self) -> dict[str, float]:
        found = {"static_clips": self.static_B, "faint_clips": self.faint_B, "cut_clips": self.cut_B}
        return {name: float(clips_B.sum()) for name, clips_B in found.items()}


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
        # ONNX runtimes cannot add 16-bit numbers.
        short = g.tubelet * 255 < 2**15 and not torch.compiler.is_exporting()
        total = frames[:, :, 0].to(torch.int16 if short else torch.int32)
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


def oddities(raw_BSYX: Tensor) -> Oddities:
    """Told from unnormalised energies. A clip of one segment has nothing to compare and counts as static."""
    flat = raw_BSYX.flatten(1)
    if flat.shape[1] == 0:
        nothing = torch.zeros(len(flat), dtype=torch.bool, device=flat.device)
        return Oddities(~nothing, nothing, nothing)
    range_B = flat.amax(1) - flat.amin(1)
    static_B = range_B < STATIC_RANGE
    change_BS = raw_BSYX.flatten(2).median(dim=2).values.sort(dim=1, descending=True).values
    others_B = change_BS[:, 1] if change_BS.shape[1] > 1 else torch.zeros_like(change_BS[:, 0])
    cut_B = (change_BS[:, 0] > CUT_CHANGE) & (change_BS[:, 0] > CUT_FACTOR * others_B)
    return Oddities(static_B, (range_B < FAINT_RANGE) & ~static_B, cut_B)


def normalise(raw_BSYX: Tensor, *, floor: float = 0.0) -> Tensor:
    """Min-max per clip, in [0, 1]; all zeros for a static clip (docs/method.md section 5 row 8).

    `floor` divides by at least that range, so that the noise of a clip without motion is not stretched to [0, 1]
    (row 9; 0 is the paper's).
    """
    if raw_BSYX.numel() == 0:  # one segment: nothing to compare, nothing to drop
        return raw_BSYX
    flat = raw_BSYX.flatten(1)
    low_B, high_B = flat.amin(1), flat.amax(1)
    range_B = high_B - low_B
    static_B = range_B < STATIC_RANGE
    divisor_B = range_B.clamp_min(max(floor, STATIC_RANGE))
    scaled = (raw_BSYX - low_B[:, None, None, None]) / divisor_B[:, None, None, None]
    return scaled.masked_fill_(static_B[:, None, None, None], 0.0)


@torch.no_grad()
def energy(clean_BTCHW: Tensor, geometry: Geometry, *, floor: float = 0.0) -> tuple[Tensor, Oddities]:
    """`energy_BN` in [0, 1] with the first segment at 1, and which clips' energies say little."""
    raw_BSYX = differences(clean_BTCHW, geometry)
    first = raw_BSYX.new_ones(raw_BSYX.shape[0], 1, geometry.rows, geometry.cols)
    energy_BSYX = torch.cat([first, normalise(raw_BSYX, floor=floor)], dim=1)
    return energy_BSYX.flatten(1), oddities(raw_BSYX)


def above(energy_BN: Tensor, threshold: float) -> Tensor:
    """`keep_BN`: the strict comparison of the paper's selection mask, with the first segment always kept."""
    return energy_BN > min(threshold, HIGHEST_THRESHOLD)
