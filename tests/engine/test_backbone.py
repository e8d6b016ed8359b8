"""`--backbone` in all its forms."""

from pathlib import Path

import pytest
import torch

from vidshift.data.view import View
from vidshift.engine.backbone import open_backbone
from vidshift.engine.prepare import network_shape
from vidshift.engine.start import read_settings
from vidshift.errors import UserError
from vidshift.models.checkpoint import save_model
from vidshift.models.config import VitConfig
from vidshift.models.vit import VideoTransformer
from vidshift.tokens.geometry import Geometry

SMALL = VitConfig(geometry=Geometry(frames=4, height=32, width=32), width=48, depth=2, heads=4, classes=3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(tmp_path / "run" / "model", VideoTransformer(SMALL, seed=5), {"classes": ["a", "b", "c"]})
    return tmp_path / "run"


def test_sizes_are_fresh_and_follow_frames_and_pixels() -> None:
    backbone = open_backbone("small", frames=8, size=64)
    assert backbone.config.geometry.tokens == 4 * 16
    assert backbone.weights is None
    assert backbone.report is None
    config = backbone.config.with_(classes=4)
    same, other = (backbone.build(config, seed=seed) for seed in (1, 2))
    assert torch.equal(same.norm.weight, other.norm.weight)
    assert not torch.equal(same.embedding.patch.weight, other.embedding.patch.weight)


def test_built_in_backbone_is_the_shipped_one() -> None:
    backbone = open_backbone("stick", frames=16)
    one, two = (backbone.build(backbone.config.with_(classes=8), seed=seed) for seed in (1, 2))
    assert torch.equal(one.embedding.patch.weight, two.embedding.patch.weight)
    assert one.head is not None
    assert two.head is not None
    assert not torch.equal(one.head.weight, two.head.weight)


@pytest.mark.parametrize("place", ["", "model"])
def test_model_folder_gives_its_trunk_and_a_fresh_head(folder: Path, place: str) -> None:
    backbone = open_backbone(str(folder / place), frames=8)
    assert backbone.config.geometry.frames == 8
    built = backbone.build(backbone.config.with_(classes=7), seed=0)
    saved = VideoTransformer(SMALL, seed=5).state_dict()
    state = built.state_dict()
    assert all(torch.equal(state[name], value) for name, value in saved.items() if not name.startswith("head."))
    pixels = torch.zeros(1, 8, 3, 32, 32, dtype=torch.uint8)
    assert built.eval()(View(pixels, ("clip",))).logits_BK.shape == (1, 7)


def test_changed_shapes_are_refused_by_name(folder: Path) -> None:
    backbone = open_backbone(str(folder), frames=4)
    with pytest.raises(
        UserError, match=r"does not fit this run: embedding\.patch\.weight is \(48, 1536\) where .* \(96, 1536\)"
    ):
        backbone.build(backbone.config.with_(width=96), seed=0)


def test_bad_calls_are_told_in_one_sentence(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name, frames, size, options, said in (
        ("vit-bb", 16, None, None, r"unknown backbone 'vit-bb' \(did you mean 'vit-b'\?\)"),
        ("small", 15, None, None, "multiple of 2"),
        ("small", 16, 100, None, "multiple of 16"),
        (str(folder), 4, 33, None, "multiple of 16"),
        ("small", 16, None, {"pooling": "mean"}, "takes no options"),
        ("owner/name", 16, None, None, "--backbone stick"),
        ("owner/name", 16, None, {"eps": "mine"}, "own or checkpoint"),
        (str(tmp_path), 16, None, None, "holds no weights"),
    ):
        with pytest.raises(UserError, match=said) as caught:
            open_backbone(name, frames=frames, size=size, options=options)
        assert "\n" not in str(caught.value)


def test_settings_of_a_run_reach_the_weights(tmp_path: Path) -> None:
    """`--backbone FOLDER --backbone-option pooling=mean --set size=48`, with tiny CLIP weights."""
    torch.save(clip_state(), tmp_path / "clip.pth")
    pairs = {"backbone": ["pooling=mean", "tubelet=1"], "set": ["size=48"]}
    config = read_settings({"backbone": str(tmp_path / "clip.pth"), "frames": 4}, pairs)
    assert config.backbone_options == {"pooling": "mean", "tubelet": 1}
    backbone, shape = network_shape(config)
    assert (shape.frames, shape.height, shape.width) == (4, 48, 48)
    assert backbone.config.pooling == "mean"
    assert backbone.config.geometry.tokens == 4 * 9
    assert backbone.origin() == {
        "name": str(tmp_path / "clip.pth"),
        "licence": "MIT (code); none is named for the weights (as its authors publish theirs)",
    }
    with pytest.raises(UserError, match=r"pooling of backbone .* mean or class"):
        read_settings({}, {"backbone": ["pooling=median"]})


def clip_state() -> dict[str, torch.Tensor]:
    """One block of width 192 under CLIP's names, patches of 16 on 32 pixels."""
    state = {
        "embeddings.patch_embedding.weight": torch.zeros(192, 3, 16, 16),
        "embeddings.position_embedding.weight": torch.zeros(5, 192),
        "embeddings.class_embedding": torch.zeros(192),
        "encoder.layers.0.mlp.fc1.weight": torch.zeros(96, 192),
        "encoder.layers.0.mlp.fc1.bias": torch.zeros(96),
        "encoder.layers.0.mlp.fc2.weight": torch.zeros(192, 96),
        "encoder.layers.0.mlp.fc2.bias": torch.zeros(192),
    }
    for name in ("pre_layrnorm", "post_layernorm", "encoder.layers.0.layer_norm1", "encoder.layers.0.layer_norm2"):
        state |= {f"{name}.weight": torch.ones(192), f"{name}.bias": torch.zeros(192)}
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        attention = f"encoder.layers.0.self_attn.{name}"
        state |= {f"{attention}.weight": torch.zeros(192, 192), f"{attention}.bias": torch.zeros(192)}
    return state
