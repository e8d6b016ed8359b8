import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidshift.data.stickworld import raster

WHITE = (1.0, 1.0, 1.0)


def blank(frames: int = 1, size: int = 48) -> np.ndarray:
    return np.zeros((frames, size, size, 3), dtype=np.float32)


def area(canvas: np.ndarray) -> float:
    return float(canvas[0, ..., 0].sum())


@given(x=st.floats(16, 32), y=st.floats(16, 32), radius=st.floats(2, 12))
def test_a_disc_covers_its_area(x, y, radius):
    canvas = blank()
    raster.capsule(canvas, (x, y), (x, y), radius, WHITE)
    assert area(canvas) == pytest.approx(np.pi * radius**2, rel=0.06)


@given(angle=st.floats(-4, 4), long=st.floats(0, 16), radius=st.floats(1.5, 5))
def test_a_limb_covers_a_bar_and_two_half_discs(angle, long, radius):
    canvas = blank()
    end = (24 + long * np.cos(angle), 24 + long * np.sin(angle))
    raster.capsule(canvas, (24.0, 24.0), end, radius, WHITE)
    assert area(canvas) == pytest.approx(np.pi * radius**2 + 2 * radius * long, rel=0.05)


@given(angle=st.floats(-4, 4), wide=st.floats(2, 10), high=st.floats(2, 10))
def test_a_box_covers_its_area_however_it_is_turned(angle, wide, high):
    canvas = blank()
    raster.box(canvas, (24.0, 24.0), (wide, high), WHITE, angle=angle)
    assert area(canvas) == pytest.approx(4 * wide * high, rel=0.08)


def test_an_ellipse_covers_its_area():
    canvas = blank()
    raster.ellipse(canvas, (24.0, 24.0), (14.0, 7.0), WHITE)
    assert area(canvas) == pytest.approx(np.pi * 14 * 7, rel=0.05)


@given(x=st.floats(-200, 200), y=st.floats(-200, 200))
def test_shapes_beyond_the_edge_are_cut_off(x, y):
    whole, part = blank(size=480), blank()
    for canvas, shift in ((whole, 216.0), (part, 0.0)):
        raster.capsule(canvas, (x + shift, y + shift), (x + shift + 9, y + shift - 4), 5.0, WHITE)
        raster.box(canvas, (x + shift + 3, y + shift), (6.0, 3.0), (0.5, 0.5, 0.5), angle=0.4)
        raster.ellipse(canvas, (x + shift, y + shift + 6), (6.0, 3.0), WHITE)
    np.testing.assert_allclose(whole[:, 216:264, 216:264], part, atol=1e-3)


@given(seed=st.integers(0, 1000))
def test_many_frames_at_once_are_each_frame_alone(seed):
    rng = np.random.default_rng(seed)
    start, end = rng.uniform(-10, 58, (2, 20, 2)).astype(np.float32)
    turn = rng.uniform(-3, 3, 20).astype(np.float32)
    together = blank(frames=20)
    raster.capsule(together, start, end, 3.0, WHITE)
    raster.box(together, end, (4.0, 2.0), (0.2, 0.4, 0.6), angle=turn)
    for frame in range(20):
        alone = blank()
        raster.capsule(alone, start[frame : frame + 1], end[frame : frame + 1], 3.0, WHITE)
        raster.box(alone, end[frame : frame + 1], (4.0, 2.0), (0.2, 0.4, 0.6), angle=turn[frame : frame + 1])
        np.testing.assert_array_equal(together[frame], alone[0])


def test_a_veil_lets_the_ground_through():
    canvas = blank() + 100.0
    raster.capsule(canvas, (24.0, 24.0), (24.0, 24.0), 8.0, (0.0, 0.0, 0.0), alpha=0.25)
    assert canvas[0, 24, 24, 0] == pytest.approx(75.0)
    assert canvas[0, 0, 0, 0] == 100.0
