import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from vidshift.data.augment import Augment, as_tchw, crop_box, to_tchw


def noise(frames: int = 4, height: int = 24, width: int = 32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (frames, height, width, 3), np.uint8)


@given(height=st.integers(1, 300), width=st.integers(1, 300), seed=st.integers(0, 10_000))
def test_the_box_lies_in_the_frame(height, width, seed):
    top, left, rows, cols = crop_box(height, width, (0.5, 1.0), (3 / 4, 4 / 3), np.random.default_rng(seed))
    assert 0 <= top <= top + rows <= height
    assert 0 <= left <= left + cols <= width
    assert rows >= 1
    assert cols >= 1


def test_the_box_has_the_share_and_the_shape_it_was_asked_for():
    boxes = [crop_box(400, 600, (0.5, 0.7), (3 / 4, 4 / 3), np.random.default_rng(seed)) for seed in range(300)]
    shares = np.array([rows * cols / (400 * 600) for _, _, rows, cols in boxes])
    ratios = np.array([(cols / 600) / (rows / 400) for _, _, rows, cols in boxes])
    assert 0.495 < shares.min() < 0.52
    assert 0.68 < shares.max() < 0.705
    assert 0.745 < ratios.min() < 0.8
    assert 1.25 < ratios.max() < 1.345
    # Every place in the frame is reached.
    assert min(top for top, *_ in boxes) < 5
    assert max(top + rows for top, _, rows, _ in boxes) > 395


def test_a_still_clip_stays_still():
    """One crop and one mirror for all frames: else every patch would seem to move."""
    still = np.repeat(noise(1), 6, axis=0)
    for seed in range(10):
        out = Augment()(to_tchw(still), np.random.default_rng(seed))
        assert out.shape == (6, 3, 24, 32)
        assert (out == out[:1]).all()


def test_one_frame_is_treated_as_in_its_clip():
    clip = to_tchw(noise())
    for seed in range(5):
        whole = Augment()(clip, np.random.default_rng(seed))
        for frame in range(4):
            alone = Augment()(clip[frame : frame + 1], np.random.default_rng(seed))
            assert (alone[0] == whole[frame]).all()


def test_pixels_are_those_of_the_crop_resized():
    clip = to_tchw(noise())
    for seed in range(20):
        rng = np.random.default_rng(seed)
        top, left, rows, cols = crop_box(24, 32, (0.5, 1.0), (3 / 4, 4 / 3), rng)
        part = clip[..., top : top + rows, left : left + cols].float()
        wanted = F.interpolate(part, size=(24, 32), mode="bilinear", antialias=True, align_corners=False)
        wanted = wanted.flip(-1) if rng.random() < 0.5 else wanted
        got = Augment()(clip, np.random.default_rng(seed))
        assert (got.float() - wanted).abs().max() <= 1.0  # bytes are rounded twice
        assert got.dtype == torch.uint8


def test_memory_order_does_not_matter():
    clip = noise(16, 96, 96)
    for seed in range(8):
        fast = Augment()(as_tchw(clip), np.random.default_rng(seed))
        assert (fast == Augment()(to_tchw(clip), np.random.default_rng(seed))).all()


def test_mirrors_about_half_of_the_clips_and_nothing_else_when_asked():
    clip = to_tchw(noise())
    only_flip = Augment(area=(1.0, 1.0), aspect=(1.0, 1.0))
    outs = [only_flip(clip, np.random.default_rng(seed)) for seed in range(100)]
    same = sum(bool((out == clip).all()) for out in outs)
    mirrored = sum(bool((out == clip.flip(-1)).all()) for out in outs)
    assert same + mirrored == 100
    assert 30 < mirrored < 70
