"""What a clip's motion signature says, and what it must not say."""

import pytest
import torch
from tiny import GEOMETRY, names, tiny_vit, view_of

from vidshift.models.masked import tube_mask
from vidshift.models.motion_signature import (
    MotionSignatureModel,
    changes,
    local_changes,
    mover_box,
    signature,
    unexplained,
)
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.seeds import clip_seeds

SIZE = 96


def dot(frames: int = 17, *, period: float = 4.0, x: int = 48, y: int = 48, reach: int = 12, side: int = 6):
    """[1, T, 3, H, W]: a square that swings up and down on a grey ground."""
    clip = torch.full((1, frames, 3, SIZE, SIZE), 80, dtype=torch.uint8)
    for t in range(frames):
        top = y + round(reach * float(torch.sin(torch.tensor(2 * torch.pi * t / period))))
        clip[0, t, :, top - side : top + side, x - side : x + side] = 230
    return clip


def test_the_box_is_where_things_move():
    x, y, wide, tall = mover_box(changes(dot(x=72, y=30)))[0].tolist()
    assert x == pytest.approx((72.5 - 48) / 48, abs=0.04)
    assert y == pytest.approx((30.5 - 48) / 48, abs=0.08)
    assert tall > 1.5 * wide


def test_the_rhythm_does_not_tell_where_somebody_stands():
    *told, box = signature(changes(torch.cat([dot(), dot(x=66, y=60)])))
    for part in told:
        assert torch.allclose(part[0], part[1], atol=0.25)
        assert (part[0] - part[1]).abs().mean() < 0.03
    assert (box[0] - box[1]).abs().max() > 0.2


def test_coarser_rhythms_are_means_of_finer_ones():
    course, _, whole, quarters, fine, _ = signature(changes(dot()))
    assert course.shape == (1, 16)
    assert (whole.shape, quarters.shape, fine.shape) == ((1, 9), (1, 36), (1, 144))
    assert torch.allclose(quarters.view(9, 4).mean(1), whole[0], atol=1e-6)
    assert torch.allclose(fine.view(9, 16).mean(1), whole[0], atol=1e-6)


def test_the_rhythm_tells_how_fast():
    _, _, whole, *_ = signature(changes(torch.cat([dot(period=4), dot(period=16)])))
    fast, slow = whole[:, 1:].argmax(1) + 1
    assert fast > slow


def test_a_still_background_and_faint_noise_say_nothing():
    clip = dot()
    ground = torch.rand(3, SIZE, SIZE, generator=torch.Generator().manual_seed(0))
    other = clip.clone()
    still = (clip == 80).all(dim=1, keepdim=True).expand_as(clip)
    other[still] = (60 + 40 * ground).to(torch.uint8).expand_as(clip)[still]
    for one, two in zip(signature(changes(clip)), signature(changes(other)), strict=True):
        assert (one - two).abs().mean() < 0.05


def test_a_clip_without_motion_has_a_finite_signature():
    still = torch.full((2, 16, 3, SIZE, SIZE), 100, dtype=torch.uint8)
    told = signature(changes(still))
    assert all(torch.isfinite(part).all() for part in told)
    assert told[0].abs().max() == 0
    assert torch.isfinite(local_changes(changes(still), Geometry(frames=16, height=SIZE, width=SIZE))).all()


def test_a_token_tells_its_own_changes_by_hand():
    """Two frames, two tokens; the left half of the second one changes."""
    g = Geometry(frames=2, height=16, width=32)
    clip = torch.zeros(1, 2, 3, 16, 32, dtype=torch.uint8)
    clip[:, 1, :, :, 16:24] = 200
    found = local_changes(changes(clip), g).view(2, 2, 4, 4)
    assert found[0].abs().max() == 0
    assert torch.equal(found[1, 0], found[1, 1])  # the first frame's change is the second's
    assert (found[1, 0, :, :2] > 0).all()
    assert found[1, 0, :, 2:].abs().max() == 0


def test_each_number_counts_the_same_whatever_its_scale():
    """Of two clips with numbers that scatter by 1 and by 10, what is missed of either costs half."""
    target = torch.tensor([[0.0, 0.0], [2.0, 20.0]])
    for said, lost in (((0, 0), 1), ((1, 0), 0.5), ((0, 1), 0.5), ((1, 1), 0)):
        rows = torch.tensor([[-float(x) for x in said], [float(x) for x in said]])
        assert float(unexplained(rows, target)) == pytest.approx(lost, abs=0.03)


def test_the_loss_is_a_share_of_what_the_mean_costs_and_falls():
    view = view_of(names(6))
    keep_BN = tube_mask(clip_seeds(view.ids, run=0), GEOMETRY, ratio=0.5)
    model = MotionSignatureModel(tiny_vit(classes=0))
    for head in (*model.say, model.near):
        torch.nn.init.zeros_(head.get_parameter("weight"))
    assert float(model(view, keep_BN).detach()) == pytest.approx(1, rel=0.05)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):
        optimizer.zero_grad()
        model(view, keep_BN).backward()
        optimizer.step()
    assert float(model(view, keep_BN).detach()) < 0.7


def test_only_shown_patches_are_read():
    """The vector is the same whatever lies under the mask."""
    view = view_of(names(2))
    keep_BN = tube_mask(clip_seeds(view.ids, run=0), GEOMETRY, ratio=0.5)
    model = MotionSignatureModel(tiny_vit(classes=0)).eval()
    hidden = ~keep_BN.view(2, GEOMETRY.segments, 1, 1, GEOMETRY.rows, 1, GEOMETRY.cols, 1)
    g = GEOMETRY
    cut = view.pixels_BTCHW.view(2, g.segments, g.tubelet, g.channels, g.rows, g.patch, g.cols, g.patch)
    painted = torch.where(hidden, torch.full_like(cut, 9), cut).view(view.pixels_BTCHW.shape)
    other = type(view)(painted, view.ids)
    assert torch.equal(model.encode(view, keep_BN).tokens_MD, model.encode(other, keep_BN).tokens_MD)


def test_weights_follow_from_the_seed_and_a_class_token_is_refused():
    one, other = (MotionSignatureModel(tiny_vit(classes=0), seed=seed) for seed in (3, 4))
    assert torch.equal(one.enter.weight, MotionSignatureModel(tiny_vit(classes=0), seed=3).enter.weight)
    assert not torch.equal(one.enter.weight, other.enter.weight)
    with pytest.raises(ValueError, match="class token"):
        MotionSignatureModel(tiny_vit(class_token=True))
