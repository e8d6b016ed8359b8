"""A model for others: saved, loaded and pushed with everything that a prediction needs."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import vidshift
from vidshift.data.clips import ClipShape
from vidshift.data.view import View
from vidshift.engine.model import export_model
from vidshift.engine.step import Network
from vidshift.errors import UserError
from vidshift.methods.base import Method, methods
from vidshift.models import hub
from vidshift.models.config import VitConfig
from vidshift.models.vit import VideoTransformer
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.reducers.lmft import LearnedThreshold
from vidshift.tokens.seeds import clip_seeds

CLASSES = ("drink", "pour", "walk")


class OwnHead(Method):
    """A method that predicts with a head of its own."""

    name = "own-head"

    def build(self, *, width: int, classes: int, generator: torch.Generator) -> None:
        self.head = nn.Linear(width, classes)

    def predict(self, ctx: Any, view: View, *, seeds_B: torch.Tensor) -> torch.Tensor:
        return self.head(ctx.forward(view, seeds_B=seeds_B, grad=False).pool_BD).softmax(-1)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    list(methods)
    monkeypatch.setitem(methods._entries, "own-head", OwnHead)
    config = VitConfig(geometry=Geometry(frames=4, height=32, width=32), width=24, depth=2, heads=2, classes=3)
    method, reducer = OwnHead(), LearnedThreshold(initial_threshold=0.2)
    method.build(width=24, classes=3, generator=torch.Generator())
    reducer.fix()
    export_model(
        tmp_path / "run" / "model",
        Network(VideoTransformer(config, seed=0), method, reducer, classes=3),
        classes=CLASSES,
        shape=ClipShape(frames=4, height=32, width=32),
        teacher="stick",
        precision="float32",
        backbone={"name": "MCG-NJU/videomae-base", "licence": hub.NON_COMMERCIAL},
    )
    return tmp_path / "run"


def predicted(model: Any) -> tuple[torch.Tensor, list[int]]:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (3, 4, 3, 32, 32), generator=generator, dtype=torch.uint8)
    view = View(pixels, ("a", "b", "c"))
    probabilities, seen = model.network.predict(view, clip_seeds(view.ids, run=0))
    return probabilities, seen.lengths


def test_saved_and_loaded_is_the_same_model(run: Path, tmp_path: Path) -> None:
    model = vidshift.AdaptedModel.open(run)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "notes.txt").write_text("mine")
    model.save_pretrained(tmp_path / "shared")
    expected, kept = predicted(model)
    assert expected.std() > 0.01
    assert max(kept) < 8
    for again in (vidshift.AdaptedModel.from_pretrained(tmp_path / "shared"), vidshift.load(tmp_path / "shared")):
        found, again_kept = predicted(again)
        assert torch.equal(found, expected)
        assert again_kept == kept
        assert again.classes == CLASSES
        assert again.shape == model.shape
    assert (tmp_path / "shared" / "notes.txt").read_text() == "mine"


def test_saving_again_what_was_loaded_changes_nothing(run: Path, tmp_path: Path) -> None:
    vidshift.AdaptedModel.open(run).save_pretrained(tmp_path / "one")
    vidshift.AdaptedModel.from_pretrained(tmp_path / "one").save_pretrained(tmp_path / "two")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["README.md", "config.json", "method.safetensors", "model.safetensors"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_model_card_names_licence_classes_and_threshold(run: Path, tmp_path: Path) -> None:
    from huggingface_hub import ModelCard

    model = vidshift.AdaptedModel.open(run)
    model.save_pretrained(tmp_path / "shared")
    card = ModelCard.load(tmp_path / "shared" / "README.md")
    assert card.data.to_dict()["license"] == "cc-by-nc-4.0"
    assert card.data.to_dict()["library_name"] == "vidshift"
    assert hub.NON_COMMERCIAL in card.text
    assert all(f"- {name}" in card.text for name in CLASSES)
    assert f"threshold {model.extras['threshold']:.6g}" in card.text
    assert "MCG-NJU/videomae-base" in card.text


def test_unknown_licences_are_not_invented(run: Path, tmp_path: Path) -> None:
    model = vidshift.AdaptedModel.open(run)
    model.extras["backbone"] = {}
    card = model.generate_model_card()
    assert "license" not in card.data.to_dict()
    assert "not known" in card.text
    for licence in ("see its model card", hub.described("openai/clip-vit-base-patch16").licence):
        model.extras["backbone"] = {"name": "x", "licence": licence}
        assert model.generate_model_card().data.to_dict()["license"] == "other"
        assert licence in model.generate_model_card().text


def test_push_uploads_the_whole_model(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed: dict[str, Any] = {}

    class Api:
        def __init__(self, token: object = None) -> None:
            pass

        def create_repo(self, repo_id: str, **_: object) -> Any:
            return type("Repo", (), {"repo_id": repo_id})()

        def upload_folder(self, *, repo_id: str, folder_path: Path, **_: object) -> str:
            pushed[repo_id] = sorted(path.name for path in Path(folder_path).iterdir())
            return f"https://hub/{repo_id}"

    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", Api)
    assert vidshift.AdaptedModel.open(run).push_to_hub("me/street") == "https://hub/me/street"
    assert pushed == {"me/street": ["README.md", "config.json", "method.safetensors", "model.safetensors"]}


def test_from_the_cache_of_the_hub_and_not_from_an_empty_one(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    for opener in (vidshift.load, vidshift.AdaptedModel.open, vidshift.AdaptedModel.from_pretrained):
        with pytest.raises(UserError, match=r"me/street is not in the local cache .* a model folder on this machine"):
            opener("me/street")
    root = tmp_path / "cache" / "models--me--street"
    (root / "refs").mkdir(parents=True)
    (root / "refs" / "main").write_text("a" * 40)
    vidshift.AdaptedModel.open(run).save_pretrained(root / "snapshots" / ("a" * 40))
    expected, _ = predicted(vidshift.AdaptedModel.open(run))
    for opener in (vidshift.load, vidshift.AdaptedModel.from_pretrained):
        assert torch.equal(predicted(opener("me/street"))[0], expected)
