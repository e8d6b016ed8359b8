"""Masked video modelling: the mask, the targets, and who may see what."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import GEOMETRY, names, tiny_vit, view_of

from vidshift.data.view import View
from vidshift.errors import UserError
from vidshift.models.masked import (
    STILL_WEIGHT,
    DecoderShape,
    MaskedModel,
    motion_weights,
    normalised_patches,
    tube_mask,
    visible_per_segment,
)
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.pack import patches
from vidshift.tokens.seeds import clip_seeds

SHAPE = DecoderShape(width=16, depth=1, heads=2)


def model(seed: int = 0) -> MaskedModel:
    return MaskedModel(tiny_vit(classes=0), SHAPE, seed=seed).eval()


def mask(view: View, ratio: float = 0.75) -> torch.Tensor:
    return tube_mask(clip_seeds(view.ids, run=0), GEOMETRY, ratio=ratio)


def with_patches(view: View, chosen_BN: torch.Tensor, value: int) -> View:
    """The same clips with some of their patches painted over."""
    g = GEOMETRY
    keep = (~chosen_BN).view(-1, g.segments, 1, 1, g.rows, 1, g.cols, 1).to(torch.uint8)
    cut = view.pixels_BTCHW.view(-1, g.segments, g.tubelet, g.channels, g.rows, g.patch, g.cols, g.patch)
    return View((cut * keep + value * (1 - keep)).reshape(view.pixels_BTCHW.shape), view.ids)


@given(ratio=st.floats(0.02, 0.98), seed=st.integers(0, 2**31), side=st.sampled_from([16, 24, 48]))
def test_a_tube_mask_is_the_same_in_every_segment_and_shows_the_exact_count(ratio: float, seed: int, side: int):
    geometry = Geometry(frames=6, height=side, width=side, patch=8)
    keep_BSP = tube_mask(torch.tensor([seed, seed + 1]), geometry, ratio=ratio).view(2, 3, -1)
    assert (keep_BSP == keep_BSP[:, :1]).all()
    shown = visible_per_segment(geometry, ratio)
    assert (keep_BSP.sum(-1) == shown).all()
    assert abs(shown - geometry.per_segment * (1 - ratio)) <= 1
    assert 1 <= shown < geometry.per_segment


def test_the_small_preset_shows_four_of_36_places_at_nine_tenths():
    assert visible_per_segment(Geometry(frames=16, height=96, width=96), 0.9) == 4


def test_masks_follow_from_the_clip_alone_and_show_every_place_alike():
    seeds_B = torch.arange(3000)
    keep_BP = tube_mask(seeds_B, GEOMETRY, ratio=0.75)[:, : GEOMETRY.per_segment]
    assert torch.equal(keep_BP[7], tube_mask(seeds_B[7:8], GEOMETRY, ratio=0.75)[0, : GEOMETRY.per_segment])
    # A binomial with p = 1/4 of 3000 has a deviation of .0079; five of them.
    assert (keep_BP.float().mean(0) - 0.25).abs().max() < 0.04


@pytest.mark.parametrize("ratio", [0.0, 1.0, -0.5, 7.0])
def test_a_mask_ratio_outside_0_1_is_refused(ratio: float):
    with pytest.raises(UserError, match="outside"):
        visible_per_segment(GEOMETRY, ratio)


def test_targets_by_hand():
    """One patch of 2 x 2 pixels, one frame: red 0, 0, 255, 255; green constant; blue 0, 51, 102, 153."""
    geometry = Geometry(frames=1, height=2, width=2, tubelet=1, patch=2)
    red, green, blue = [[0, 0], [255, 255]], [[9, 9], [9, 9]], [[0, 51], [102, 153]]
    pixels = torch.tensor([[[red, green, blue]]], dtype=torch.uint8)
    found = normalised_patches(pixels, geometry)[0, 0]
    r = 0.5 / np.sqrt(1 / 3)  # mean .5, unbiased variance (4 x .25) / 3
    b = np.array([-0.3, -0.1, 0.1, 0.3]) / np.sqrt(0.2 / 3)  # variance (.09 + .01 + .01 + .09) / 3
    expected = torch.tensor([-r, -r, r, r, 0, 0, 0, 0, *b], dtype=torch.float32)
    assert torch.allclose(found, expected, atol=1e-4)


def test_targets_do_not_change_with_a_patch_s_own_brightness_and_contrast():
    view = view_of(names(2))
    pixels = view.pixels_BTCHW.float() / 255
    one = normalised_patches(pixels, GEOMETRY)
    other = normalised_patches(0.3 + 0.5 * pixels, GEOMETRY)
    varied = patches(pixels, GEOMETRY).unflatten(-1, (3, -1)).std(-1).min(-1).values > 1e-3
    assert varied.any()
    assert torch.allclose(one[varied], other[varied], atol=2e-3)
    assert torch.allclose(normalised_patches(view.pixels_BTCHW, GEOMETRY), one, atol=1e-3)


def test_hidden_patches_never_reach_the_encoder():
    net, view = model(), view_of(names(3))
    keep_BN = mask(view)
    encoded = net.encode(view, keep_BN)
    assert encoded.lengths == (GEOMETRY.segments * visible_per_segment(GEOMETRY, 0.75),) * 3
    hidden_changed = with_patches(view, ~keep_BN, 77)
    assert not torch.equal(hidden_changed.pixels_BTCHW, view.pixels_BTCHW)
    assert torch.equal(net.encode(hidden_changed, keep_BN).tokens_MD, encoded.tokens_MD)
    painted = net.decoder(encoded, keep_BN)
    assert torch.equal(net.decoder(net.encode(hidden_changed, keep_BN), keep_BN), painted)
    shown_changed = with_patches(view, keep_BN, 77)
    assert not torch.allclose(net.encode(shown_changed, keep_BN).tokens_MD, encoded.tokens_MD)


def test_the_decoder_sees_where_it_paints():
    net, view = model(), view_of(names(1))
    keep_BN = mask(view)
    with torch.no_grad():
        painted = net.decoder(net.encode(view, keep_BN), keep_BN)
        net.decoder.places_ND.zero_()
        blind = net.decoder(net.encode(view, keep_BN), keep_BN)
    assert painted.shape == (int((~keep_BN).sum()), GEOMETRY.patch_dim)
    assert torch.pdist(painted).min() > 1e-4
    # Without positions every hidden token is the same mask token, and is painted alike.
    assert (blind - blind[0]).abs().max() < 1e-4


def test_encoded_tokens_enter_the_decoder_at_their_own_places():
    """With nothing but the entrance, the visible rows come out where the mask says."""
    net, view = model(), view_of(names(2))
    keep_BN = mask(view)
    encoded = net.encode(view, keep_BN)
    seen: list[torch.Tensor] = []
    net.decoder.blocks[0].register_forward_pre_hook(lambda _, args: seen.append(args[0].tokens_MD))
    net.decoder(encoded, keep_BN)
    bare = seen[0] - net.decoder.places_ND.repeat(2, 1)
    flat = keep_BN.flatten()
    assert torch.allclose(bare[flat], net.decoder.enter(encoded.tokens_MD), atol=1e-5)
    assert torch.allclose(bare[~flat], net.decoder.mask_token.expand(int((~flat).sum()), -1), atol=1e-5)


def test_the_loss_counts_hidden_patches_alone():
    net, view = MaskedModel(tiny_vit(classes=0), SHAPE), view_of(names(2))
    keep_BN = mask(view)
    target = normalised_patches(view.pixels_BTCHW, GEOMETRY)
    painted = net.decoder(net.encode(view, keep_BN), keep_BN)
    nothing = float(target[~keep_BN].square().mean())
    rows = [float((p - t).square().mean().detach()) for p, t in zip(painted, target[~keep_BN], strict=True)]
    assert float(net(view, keep_BN).detach()) == pytest.approx(np.mean(rows) / nothing, rel=1e-5)


def test_weights_follow_from_the_seed():
    first, again, other = model(3), model(3), model(4)
    assert torch.equal(first.decoder.paint.weight, again.decoder.paint.weight)
    assert not torch.equal(first.decoder.paint.weight, other.decoder.paint.weight)


def test_an_encoder_with_a_class_token_is_refused():
    with pytest.raises(ValueError, match="class token"):
        MaskedModel(tiny_vit(class_token=True), SHAPE)


def test_places_that_move_weigh_more_and_are_shown_more_often():
    pixels = torch.full((1, GEOMETRY.frames, 3, 32, 32), 90, dtype=torch.uint8)
    pixels[:, 1::2, :, 8:16, 16:24] = 200  # the place in the second row and third column of 4 x 4
    weight_BP = motion_weights(pixels, GEOMETRY)
    assert int(weight_BP.argmax()) == 6
    assert torch.equal(weight_BP[0, :6], torch.full((6,), STILL_WEIGHT))
    seeds_B = torch.arange(400)
    ratio = 0.75
    plain = tube_mask(seeds_B, GEOMETRY, ratio=ratio)
    guided = tube_mask(seeds_B, GEOMETRY, ratio=ratio, weight_BP=weight_BP.expand(400, -1))
    assert guided.sum(1).unique().tolist() == plain.sum(1).unique().tolist()
    assert plain[:, 6].float().mean() < 0.35
    assert guided[:, 6].float().mean() > 0.95
    assert guided[:, 0].float().mean() > 0.05  # a still place is seen too
