"""Energies and masks by hand and by definition (tokens.md sections 11 and 13 row 3)."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import GEOMETRY, film, names
from torch import Tensor

from vidshift.tokens.geometry import Geometry
from vidshift.tokens.motion import above, differences, energy, normalise, oddities

# 3 segments of 2 frames, 2 x 3 cells of 4 x 4 pixels.
SMALL = Geometry(frames=6, height=8, width=12, tubelet=2, patch=4)


def black(geometry: Geometry = SMALL) -> Tensor:
    g = geometry
    return torch.zeros(g.frames, g.channels, g.height, g.width, dtype=torch.uint8)


def fill(clip_TCHW: Tensor, t: int, y: int, x: int, value: int, geometry: Geometry = SMALL) -> None:
    """One token's pixels."""
    g = geometry
    frames = slice(t * g.tubelet, (t + 1) * g.tubelet)
    clip_TCHW[frames, :, y * g.patch : (y + 1) * g.patch, x * g.patch : (x + 1) * g.patch] = value


def kept(clip_TCHW: Tensor, threshold: float, geometry: Geometry = SMALL, floor: float = 0.0) -> Tensor:
    """[S, rows, cols]."""
    energy_BN, _ = energy(clip_TCHW[None], geometry, floor=floor)
    return above(energy_BN, threshold).view(geometry.segments, geometry.rows, geometry.cols)


def by_definition(clip_TCHW: np.ndarray, g: Geometry) -> np.ndarray:
    """The paper's formulas with loops, in float64, on pixels in [0, 1]: [S - 1, rows, cols]."""
    out = np.zeros((g.segments - 1, g.rows, g.cols))
    for t, y, x in itertools.product(range(g.segments - 1), range(g.rows), range(g.cols)):
        mean = [
            clip_TCHW[s * g.tubelet : (s + 1) * g.tubelet, :, y * g.patch : (y + 1) * g.patch][
                ..., x * g.patch : (x + 1) * g.patch
            ].mean(axis=0)
            for s in (t, t + 1)
        ]
        out[t, y, x] = np.abs(mean[1] - mean[0]).mean()
    return out


@st.composite
def geometries(draw: st.DrawFn) -> Geometry:
    tubelet, patch = draw(st.integers(1, 3)), draw(st.sampled_from([2, 4, 7]))
    return Geometry(
        frames=tubelet * draw(st.integers(1, 4)),
        height=patch * draw(st.integers(1, 4)),
        width=patch * draw(st.integers(1, 4)),
        tubelet=tubelet,
        patch=patch,
        channels=draw(st.sampled_from([1, 3])),
    )


@given(geometries(), st.integers(0, 2**32 - 1))
def test_energies_follow_the_definition(g: Geometry, seed: int) -> None:
    clip = np.random.default_rng(seed).integers(0, 256, (g.frames, g.channels, g.height, g.width), dtype=np.uint8)
    wanted = by_definition(clip / 255, g)
    found = differences(torch.from_numpy(clip)[None], g)[0]
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-6)
    as_float = differences(torch.from_numpy(clip / 255)[None].float(), g)[0]
    np.testing.assert_allclose(as_float.numpy(), wanted, atol=1e-6)
    energy_BN, odd = energy(torch.from_numpy(clip)[None], g)
    assert energy_BN.shape == (1, g.tokens)
    assert bool((energy_BN[0, : g.per_segment] == 1).all())
    if wanted.size and np.ptp(wanted) > 1e-3:
        np.testing.assert_allclose(
            energy_BN[0, g.per_segment :].numpy(), ((wanted - wanted.min()) / np.ptp(wanted)).ravel(), atol=1e-3
        )
        assert not bool(odd.static_B)


def test_a_moving_square_keeps_its_own_cells() -> None:
    clip = black()
    for t in range(3):
        fill(clip, t, 0, t, 255)
    keep_SYX = kept(clip, 0.5)
    assert keep_SYX[0].all()
    assert keep_SYX[1].tolist() == [[True, True, False], [False, False, False]]
    assert keep_SYX[2].tolist() == [[False, True, True], [False, False, False]]


def test_motion_inside_a_tubelet_is_averaged_away() -> None:
    """Only means of tubelets are compared: a flicker within each of them has no energy."""
    clip = black()
    clip[0::2] = 200
    assert torch.equal(differences(clip[None], SMALL), torch.zeros(1, 2, 2, 3))


def test_channels_are_not_averaged_before_the_difference() -> None:
    """Red to green has the energy 2/3 though the mean of the channels stays (tokens.md section 12 row 14)."""
    clip = black()
    clip[:2, 0], clip[2:, 1] = 255, 255
    assert differences(clip[None], SMALL)[0, 0].tolist() == pytest.approx(np.full((2, 3), 2 / 3))


def test_a_static_clip_keeps_the_first_segment_and_is_counted() -> None:
    clip = film("still", SMALL, frames=1).expand(6, -1, -1, -1)
    energy_BN, odd = energy(clip[None], SMALL)
    assert energy_BN.tolist() == [[1.0] * 6 + [0.0] * 12]
    assert kept(clip, 1e-6).sum() == SMALL.per_segment
    assert odd.counts() == {"static_clips": 1.0, "faint_clips": 0.0, "cut_clips": 0.0}


def test_a_clip_that_only_fades_evenly_is_static() -> None:
    """Every cell changes alike, so min-max has nothing to stretch."""
    clip = black()
    clip[2:4], clip[4:] = 60, 120
    energy_BN, odd = energy(clip[None], SMALL)
    assert energy_BN[0, 6:].tolist() == [0.0] * 12
    assert bool(odd.static_B)


def test_one_segment_keeps_everything() -> None:
    g = Geometry(frames=2, height=8, width=8, tubelet=2, patch=4)
    energy_BN, odd = energy(film("short", g)[None], g)
    assert energy_BN.tolist() == [[1.0] * 4]
    assert odd.counts() == {"static_clips": 1.0, "faint_clips": 0.0, "cut_clips": 0.0}


def test_a_hard_cut_keeps_its_segment_and_is_counted() -> None:
    clip = torch.cat([film("scene one", SMALL, frames=1)] * 4 + [film("scene two", SMALL, frames=1)] * 2)
    keep_SYX = kept(clip, 0.01)
    assert keep_SYX[1].sum() == 0
    assert keep_SYX[2].sum() >= SMALL.per_segment - 1  # the clip's minimum is dropped where it lies in the cut
    assert energy(clip[None], SMALL)[1].counts() == {"static_clips": 0.0, "faint_clips": 0.0, "cut_clips": 1.0}


def test_ordinary_motion_is_not_counted_as_odd() -> None:
    clips_BTCHW = torch.stack([film(name) for name in names(6)])
    assert sum(energy(clips_BTCHW, GEOMETRY)[1].counts().values()) == 0


def test_the_threshold_is_strict() -> None:
    """Energies 0, 1/2 and 1: a token at the threshold itself is dropped."""
    clip = black()
    fill(clip, 1, 0, 0, 100)
    fill(clip, 1, 0, 1, 50)
    energy_BN, _ = energy(clip[None], SMALL)
    assert energy_BN[0, 6:9].tolist() == [1.0, 0.5, 0.0]
    assert kept(clip, 0.5)[1, 0].tolist() == [True, False, False]
    assert kept(clip, float(np.nextafter(np.float32(0.5), np.float32(0))))[1, 0].tolist() == [True, True, False]


@given(st.floats(0, 1, exclude_min=True, exclude_max=True), st.integers(0, 50))
def test_the_first_segment_is_always_kept(threshold: float, number: int) -> None:
    """Also by thresholds that float32 would round to 1; the least of the energies always goes, the greatest stays."""
    keep_SYX = kept(film(f"clip{number}", SMALL), threshold)
    assert keep_SYX[0].all()
    energy_BN, _ = energy(film(f"clip{number}", SMALL)[None], SMALL)
    later_N = energy_BN[0, 6:]
    keep_N = keep_SYX.flatten()[6:]
    assert not keep_N[later_N.argmin()]
    assert keep_N[later_N.argmax()]


def test_repeated_last_frames_are_dropped() -> None:
    """32 frames at a stride of 4 fill half of 16 frames: the last 3 of the 7 transitions are empty (section 7.5)."""
    g = Geometry(frames=16, height=32, width=32)
    short = film("short", g, frames=8)
    clip = torch.cat([short, short[-1:].expand(8, -1, -1, -1)])
    keep_SYX = kept(clip, 0.0109, g)
    assert keep_SYX[5:].sum() == 0
    assert all(keep_SYX[t].any() for t in range(5))


def test_pure_noise_is_stretched_and_counted_and_a_floor_stops_it() -> None:
    """A still picture with noise of deviation .01 keeps most tokens at .5 and 99.9 % at .0109 (section 11.1:
    .73 and .999; the former depends on the picture)."""
    g = Geometry()
    generator = torch.Generator().manual_seed(0)
    still = torch.rand(1, 3, 224, 224, generator=generator) * 0.8 + 0.1
    clip = still + 0.01 * torch.randn(16, 3, 224, 224, generator=generator)
    assert kept(clip, 0.5, g).float().mean() > 0.5
    assert kept(clip, 0.0109, g).float().mean() == pytest.approx(0.999, abs=0.001)
    assert kept(clip, 0.5, g, floor=0.02).sum() == g.per_segment
    assert energy(clip[None], g)[1].counts() == {"static_clips": 0.0, "faint_clips": 1.0, "cut_clips": 0.0}


@given(st.lists(st.integers(0, 20), min_size=1, max_size=6), st.sampled_from([1, 2]), st.booleans())
def test_energies_do_not_depend_on_batch_mates(numbers: list[int], threads: int, as_float: bool) -> None:
    clips_BTCHW = torch.stack([film(f"clip{n}") for n in numbers])
    if as_float:
        clips_BTCHW = clips_BTCHW.float() / 255
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        together = energy(clips_BTCHW, GEOMETRY)[0]
        alone = torch.cat([energy(clip[None], GEOMETRY)[0] for clip in clips_BTCHW])
    finally:
        torch.set_num_threads(before)
    assert torch.equal(together, alone)


def test_normalise_reaches_exactly_zero_and_one() -> None:
    raw = torch.rand(5, 3, 4, 4, generator=torch.Generator().manual_seed(1)) * 0.1 + 0.05
    scaled = normalise(raw)
    assert scaled.flatten(1).amin(1).tolist() == [0.0] * 5
    assert scaled.flatten(1).amax(1).tolist() == [1.0] * 5


def test_a_pan_is_no_cut() -> None:
    raw = torch.full((1, 4, 3, 3), 0.3) + torch.rand(1, 4, 3, 3, generator=torch.Generator().manual_seed(1)) * 0.1
    assert not bool(oddities(raw).cut_B)
