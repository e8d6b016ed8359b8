import torch

from vidshift.bench.clips import drawn_view
from vidshift.tokens import motion
from vidshift.tokens.geometry import Geometry

GEOMETRY = Geometry(frames=8, height=64, width=64)


def test_drawn_clips_repeat_and_differ():
    view, again = drawn_view(3, GEOMETRY), drawn_view(3, GEOMETRY)
    assert torch.equal(view.pixels_BTCHW, again.pixels_BTCHW)
    assert view.pixels_BTCHW.dtype == torch.uint8
    assert not torch.equal(view.pixels_BTCHW[0], view.pixels_BTCHW[1])
    assert not torch.equal(view.pixels_BTCHW, drawn_view(3, GEOMETRY, seed=1).pixels_BTCHW)


def test_a_clip_does_not_depend_on_how_many_are_drawn():
    assert torch.equal(drawn_view(1, GEOMETRY).pixels_BTCHW, drawn_view(3, GEOMETRY).pixels_BTCHW[:1])


def test_energies_have_a_long_tail_and_other_shares_in_every_clip():
    energy_BN, odd = motion.energy(drawn_view(8, GEOMETRY).pixels_BTCHW, GEOMETRY)
    later_BN = energy_BN[:, GEOMETRY.per_segment :]
    assert not odd.static_B.any()
    assert (later_BN.median(dim=1).values < 0.5 * later_BN.mean(dim=1)).sum() >= 4
    assert len(set(motion.above(energy_BN, 0.2).sum(dim=1).tolist())) > 4
