"""`--backbone` in all its forms."""

from pathlib import Path

import pytest
import torch

from vidshift.data.view import View
from vidshift.engine.backbone import open_backbone
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
