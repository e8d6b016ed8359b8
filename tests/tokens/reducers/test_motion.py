import pytest
import torch
from tiny import GEOMETRY, film, names, view_of

from vidshift.data.view import View
from vidshift.errors import UserError
from vidshift.tokens import motion
from vidshift.tokens.base import Reducer, Selection
from vidshift.tokens.reducers.motion import FixedThreshold, MotionTopK
from vidshift.tokens.seeds import clip_seeds


def select(reducer: Reducer, view: View) -> Selection:
    return reducer.select(view, GEOMETRY, seeds_B=clip_seeds(view.ids, run=0), training=True, net=None)


def test_a_fixed_threshold_is_the_paper_s_mask() -> None:
    view = view_of(names(5))
    energy_BN, _ = motion.energy(view.pixels_BTCHW, GEOMETRY)
    selection = select(FixedThreshold(threshold=0.1), view)
    assert torch.equal(selection.keep_BN, energy_BN > 0.1)
    assert selection.info["threshold"] == 0.1
    assert 0.25 < selection.kept_ratio < 1


def test_energies_come_from_the_clean_pixels() -> None:
    """Noise over what the network reads changes nothing of what is kept (section 12 row 15)."""
    clean = view_of(names(3))
    noise = torch.randint(0, 256, clean.pixels_BTCHW.shape, generator=torch.Generator().manual_seed(0))
    erased = View(noise.to(torch.uint8), clean.ids, clean.pixels_BTCHW)
    for reducer in (FixedThreshold(threshold=0.1), MotionTopK(keep=0.4)):
        assert torch.equal(select(reducer, erased).keep_BN, select(reducer, clean).keep_BN)


@pytest.mark.parametrize("keep", [0.01, 0.3, 0.5, 1.0])
def test_topk_keeps_as_many_of_every_clip(keep: float) -> None:
    view = view_of(names(4))
    kept_BN = select(MotionTopK(keep=keep), view).keep_BN
    count = max(round(keep * GEOMETRY.tokens), GEOMETRY.per_segment)
    assert kept_BN.sum(1).tolist() == [count] * 4
    assert bool(kept_BN[:, : GEOMETRY.per_segment].all())
    energy_BN, _ = motion.energy(view.pixels_BTCHW, GEOMETRY)
    for keep_N, energy_N in zip(kept_BN, energy_BN, strict=True):
        dropped = energy_N[~keep_N]
        if len(dropped) and count > GEOMETRY.per_segment:
            assert energy_N[keep_N].min() >= dropped.max()


def test_static_clips_are_counted() -> None:
    still = film("still", frames=1).expand(GEOMETRY.frames, -1, -1, -1)
    view = View(torch.stack([still, film("clip0")]), ("still", "clip0"))
    for reducer in (FixedThreshold(), MotionTopK()):
        assert select(reducer, view).info["static_clips"] == 1
    assert select(FixedThreshold(), view).kept_B[0] == GEOMETRY.per_segment


def test_a_floor_keeps_noise_out() -> None:
    generator = torch.Generator().manual_seed(0)
    g = GEOMETRY
    grey = torch.randint(120, 123, (1, g.frames, 3, g.height, g.width), generator=generator).to(torch.uint8)
    view = View(grey, ("grey",))
    assert select(FixedThreshold(threshold=0.3), view).kept_ratio > 0.5
    assert select(FixedThreshold(threshold=0.3, floor=0.02), view).kept_B[0] == g.per_segment


@pytest.mark.parametrize("threshold", [0.0, 1.0, -1.0, float("nan")])
def test_a_threshold_outside_its_interval_is_refused(threshold: float) -> None:
    with pytest.raises(UserError, match="above 0 and below 1"):
        FixedThreshold(threshold=threshold)
    with pytest.raises(UserError, match="above 0 and at most 1"):
        MotionTopK(keep=-0.1)
