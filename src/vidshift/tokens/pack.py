"""Ragged batches: only kept patches are touched, in one long row of tokens without padding."""

import torch
from torch import Tensor

from vidshift.data.view import View
from vidshift.tokens.base import Packed, Selection
from vidshift.tokens.geometry import Geometry


def patches(pixels_BTCHW: Tensor, geometry: Geometry) -> Tensor:
    """[B, N, P] with P in the order (channel, time, row, column) of a Conv3d kernel; one copy, same dtype."""
    g = geometry
    cut = pixels_BTCHW.reshape(-1, g.segments, g.tubelet, g.channels, g.rows, g.patch, g.cols, g.patch)
    return cut.permute(0, 1, 4, 6, 3, 2, 5, 7).reshape(-1, g.tokens, g.patch_dim)


def pack(view: View, selection: Selection, geometry: Geometry) -> Packed:
    """The kept raw patches of a batch, clip by clip and in original order within a clip; dtype as in the view."""
    expected = (geometry.frames, geometry.channels, geometry.height, geometry.width)
    if tuple(view.pixels_BTCHW.shape[1:]) != expected:
        raise ValueError(
            f"clips are {tuple(view.pixels_BTCHW.shape[1:])} where the geometry says {expected} (T, C, H, W)"
        )
    keep_BN = selection.keep_BN
    if keep_BN.shape != (len(view), geometry.tokens):
        raise ValueError(f"a selection of {tuple(keep_BN.shape)} for {len(view)} clips of {geometry.tokens} tokens")
    lengths = tuple(keep_BN.sum(dim=1).tolist())
    if 0 in lengths:
        raise ValueError(f"the reducer keeps no token of clip {view.ids[lengths.index(0)]!r}: keep at least one")
    all_BNP = patches(view.pixels_BTCHW, geometry)
    batch, count = keep_BN.shape
    if sum(lengths) == batch * count:
        index_M = torch.arange(count, device=keep_BN.device).repeat(batch)
        return Packed(all_BNP.reshape(batch * count, -1), index_M, lengths, geometry)
    flat_M = keep_BN.flatten().nonzero().squeeze(1)
    rows = all_BNP.view(batch * count, -1).index_select(0, flat_M)
    return Packed(rows, flat_M % count, lengths, geometry)


def pool(packed: Packed) -> Tensor:
    """[B, D]: the mean over a clip's tokens, each weighted by how many original tokens it stands for, in float32."""
    tokens = packed.tokens_MD.float()
    if packed.sizes_M is None and len(set(packed.lengths)) == 1:
        return tokens.view(len(packed.lengths), -1, tokens.shape[-1]).mean(dim=1)
    parts = tokens.split(packed.lengths)
    if packed.sizes_M is None:
        return torch.stack([part.mean(dim=0) for part in parts])
    sizes = packed.sizes_M.float().split(packed.lengths)
    return torch.stack([(part * size[:, None]).sum(0) / size.sum() for part, size in zip(parts, sizes, strict=True)])


def segment_means(packed: Packed) -> tuple[Tensor, Tensor]:
    """`segments_BSD` and `segment_mass_BS`: mass-weighted means by temporal segment; zeros where the mass is zero."""
    tokens, mass_MS = packed.tokens_MD.float(), packed.mass().float()
    features, masses = [], []
    for part, mass in zip(tokens.split(packed.lengths), mass_MS.split(packed.lengths), strict=True):
        total_S = mass.sum(dim=0)
        features.append((mass.t() @ part) / total_S.clamp_min(1e-12)[:, None])
        masses.append(total_S)
    return torch.stack(features), torch.stack(masses)
