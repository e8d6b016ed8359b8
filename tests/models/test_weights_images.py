"""CLIP's and DINOv2's image encoders, inflated: a still tubelet is the image."""

from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import CLIP_MEAN, CLIP_STD, SIZE, clip_vision, clips, dinov2, normalised, save, shaken, still

from vidshift.data.view import View
from vidshift.engine.backbone import open_backbone
from vidshift.errors import UserError
from vidshift.models.vit import VideoTransformer
from vidshift.models.weights import WeightsOptions, open_weights
from vidshift.models.weights.inflate import fit_positions, inflate_kernel
from vidshift.tokens.geometry import Geometry

CLOSE = 1e-4


def network(name: str, *, frames: int, size: int | None = None, **options: Any) -> VideoTransformer:
    backbone = open_backbone(name, frames=frames, size=size, options=options)
    return backbone.build(backbone.config, seed=0).eval()


def image(view: View, *statistics: tuple[float, ...]) -> torch.Tensor:
    return normalised(view, *statistics)[:, 0]


@torch.no_grad()
@pytest.mark.parametrize(("tubelet", "how"), [(1, "average"), (2, "average"), (2, "center"), (3, "center")])
def test_clip_on_one_still_tubelet_is_clip_on_the_image(tmp_path: Path, tubelet: int, how: str) -> None:
    theirs, view = clip_vision(), still(clips(frames=tubelet))
    ours = network(save(theirs, tmp_path), frames=tubelet, tubelet=tubelet, inflate=how)
    expected = theirs(image(view, CLIP_MEAN, CLIP_STD))
    found = ours(view)
    assert expected.pooler_output.std() > 0.1
    assert torch.allclose(found.pool_BD, expected.pooler_output, atol=CLOSE)
    tokens = theirs.post_layernorm(expected.last_hidden_state[:, 1:])
    assert torch.allclose(found.packed.tokens_MD.view(2, -1, 48), tokens, atol=CLOSE)


@torch.no_grad()
def test_clip_may_pool_its_patches(tmp_path: Path) -> None:
    theirs, view = clip_vision(), still(clips(frames=2))
    ours = network(save(theirs, tmp_path), frames=2, pooling="mean")
    hidden = theirs(image(view, CLIP_MEAN, CLIP_STD)).last_hidden_state[:, 1:]
    assert torch.allclose(ours(view).pool_BD, theirs.post_layernorm(hidden).mean(1), atol=CLOSE)


@torch.no_grad()
def test_whole_clip_file_gives_its_image_half(tmp_path: Path) -> None:
    from transformers.models.clip import CLIPConfig, CLIPModel

    config = CLIPConfig(
        text_config={"hidden_size": 24, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2},
        vision_config=clip_vision(hidden_act="gelu").config.to_dict(),
        projection_dim=16,
    )
    theirs = shaken(CLIPModel(config))
    name = save(theirs, tmp_path)
    report = open_weights(name, frames=2).report
    assert "the text half" in str(report)
    assert "the projection (1 tensor:" in str(report)
    view = still(clips(frames=2))
    expected = theirs.vision_model(image(view, CLIP_MEAN, CLIP_STD)).pooler_output
    assert torch.allclose(network(name, frames=2)(view).pool_BD, expected, atol=CLOSE)


@torch.no_grad()
def test_dinov2_on_one_still_tubelet(tmp_path: Path) -> None:
    theirs, view = dinov2(), still(clips(frames=2, height=70, width=70))
    name = save(theirs, tmp_path)
    ours = network(name, frames=2, size=70)
    hidden = theirs(image(view)).last_hidden_state
    assert hidden.std() > 0.1
    assert torch.allclose(ours(view).pool_BD, hidden[:, 1:].mean(1), atol=CLOSE)
    of_class = network(name, frames=2, size=70, pooling="class")
    assert torch.allclose(of_class(view).pool_BD, hidden[:, 0], atol=CLOSE)


@torch.no_grad()
def test_dinov2_at_another_size_resamples_as_transformers_does(tmp_path: Path) -> None:
    theirs, view = dinov2(), still(clips(frames=2, height=98, width=98))
    ours = network(save(theirs, tmp_path), frames=2, size=98)
    expected = theirs(image(view)).last_hidden_state[:, 1:].mean(1)
    assert torch.allclose(ours(view).pool_BD, expected, atol=CLOSE)


def test_dinov2_names_of_transformers_5_in_memory(tmp_path: Path) -> None:
    theirs = dinov2()
    save(theirs, tmp_path / "disk")
    assert any("attention.attention.query" in name for name in load_file(tmp_path / "disk" / "model.safetensors"))
    assert any("q_proj" in name for name in theirs.state_dict())
    (tmp_path / "memory").mkdir()
    save_file(dict(theirs.state_dict()), tmp_path / "memory" / "model.safetensors")
    (tmp_path / "memory" / "config.json").write_text((tmp_path / "disk" / "config.json").read_text())
    disk, memory = (open_weights(str(tmp_path / kind), frames=2, size=70).state for kind in ("disk", "memory"))
    assert disk.keys() == memory.keys()
    assert all(torch.equal(disk[name], memory[name]) for name in disk)


def test_positions_repeat_for_every_segment() -> None:
    positions_PD = torch.randn(16, 6, generator=torch.Generator().manual_seed(0))
    geometry = Geometry(frames=6, height=32, width=32, tubelet=2, patch=8)
    fitted = fit_positions(positions_PD, geometry).view(3, 16, 6)
    assert all(torch.equal(segment, positions_PD) for segment in fitted)


def test_kernel_of_one_frame_is_the_images() -> None:
    kernel = torch.randn(4, 3, 2, 2, generator=torch.Generator().manual_seed(0))
    for how in ("average", "center"):
        assert torch.equal(inflate_kernel(kernel, 1, how)[:, :, 0], kernel)
        assert torch.allclose(inflate_kernel(kernel, 4, how).sum(2), kernel)
    assert inflate_kernel(kernel, 3, "center")[:, :, [0, 2]].abs().max() == 0


def test_moving_pictures_are_not_their_first_frame(tmp_path: Path) -> None:
    """The control of the tests above: without stillness the two differ."""
    theirs, view = clip_vision(), clips(frames=2)
    ours = network(save(theirs, tmp_path), frames=2)
    with torch.no_grad():
        expected = theirs(image(view, CLIP_MEAN, CLIP_STD)).pooler_output
        assert not torch.allclose(ours(view).pool_BD, expected, atol=0.01)


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    name = save(clip_vision(), tmp_path)
    with pytest.raises(UserError, match="multiple of 2"):
        open_weights(name, frames=3)
    with pytest.raises(UserError, match="multiple of 8"):
        open_weights(name, frames=2, size=SIZE + 1)
    with pytest.raises(UserError, match="'average', 'center'"):
        WeightsOptions(inflate=cast(Any, "centre"))
    with pytest.raises(UserError, match="average or center"):
        network(name, frames=2, inflate="centre")
    with pytest.raises(UserError, match="did you mean 'pooling'"):
        network(name, frames=2, poolin="mean")
    with pytest.raises(UserError, match="tubelet 0"):
        network(name, frames=2, tubelet=0)
    save(clip_vision(hidden_act="relu"), tmp_path / "relu")
    with pytest.raises(UserError, match="activation 'relu'"):
        open_weights(str(tmp_path / "relu"), frames=2)


def test_licences_and_assumptions_are_said(tmp_path: Path) -> None:
    report = str(open_weights(save(clip_vision(), tmp_path / "clip"), frames=2).report)
    assert "none is named for the weights" in report
    assert "positions repeat" in report
    assert "Apache-2.0" in str(open_weights(save(dinov2(), tmp_path / "dino"), frames=2).report)
    wide = clip_vision(hidden_size=192, num_attention_heads=3)
    save(wide, tmp_path / "alone")
    (tmp_path / "alone" / "config.json").unlink()
    opened = open_weights(str(tmp_path / "alone"), frames=2)
    assert opened.config.activation == "quick_gelu"
    assert "the activation is taken to be quick_gelu" in str(opened.report)
