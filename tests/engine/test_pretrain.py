"""Pretraining, from videos to a backbone that `adapt` opens."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from clipmaker import write_video
from safetensors.torch import load_file
from tiny import GEOMETRY, names, tiny_vit

from vidshift import cli
from vidshift.engine import pretrain
from vidshift.engine.backbone import open_backbone
from vidshift.engine.console import Quiet
from vidshift.engine.fit import Fit, Plan
from vidshift.engine.log import read_metrics
from vidshift.engine.looks import Crop, LoadedFrames
from vidshift.engine.pretrain import PretrainConfig, Recipe, new_model, pretrain_videos, step_loss
from vidshift.engine.signals import Interrupted
from vidshift.errors import UserError
from vidshift.models.config import PRESETS
from vidshift.models.masked import DecoderShape
from vidshift.tokens.geometry import Geometry

TINY = {"backbone": "mini", "frames": 4, "epochs": 3, "batch": 3, "mask": 0.75}


@pytest.fixture(autouse=True)
def mini(monkeypatch: pytest.MonkeyPatch):
    """A size that trains in milliseconds."""
    shape = Geometry(frames=4, height=32, width=32, tubelet=2, patch=8)
    config = PRESETS["small"].with_(geometry=shape, width=32, depth=2, heads=2)
    monkeypatch.setattr("vidshift.engine.backbone.PRESETS", {**PRESETS, "mini": config})


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("videos")
    rng = np.random.default_rng(0)
    for place in range(5):
        ground = np.full((48, 64, 3), rng.integers(0, 200, 3), np.uint8)
        frames = []
        for number in range(12):
            frame = ground.copy()
            frame[10:26, 3 * number : 3 * number + 14] = (250, 60 * place % 250, 30)
            frames.append(frame)
        write_video(folder / f"clip{place}.mp4", frames, fps=12)
    return folder


class Waves:
    """Clips that can be guessed from a part of them: plane waves, each wandering in its own direction."""

    def __init__(self, count: int) -> None:
        self.ids, self.frames = names(count), GEOMETRY.frames

    def __len__(self) -> int:
        return len(self.ids)

    def grid_THWC(self, index: int) -> np.ndarray:
        t, y, x = np.meshgrid(np.arange(2 * self.frames), np.arange(32), np.arange(32), indexing="ij")
        angle = 2.4 * index
        phase = 0.35 * (np.cos(angle) * x + np.sin(angle) * y) + 0.2 * t
        return (127 + 100 * np.stack([np.sin(phase), np.cos(phase), np.sin(phase + 1)], axis=-1)).astype(np.uint8)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model" / "model.safetensors")


def run(videos: Path, out: Path, **changes: object) -> pretrain.Pretrained:
    settings = {**TINY, "data": (str(videos),), **changes}
    return pretrain_videos(settings, out=out, cache=out.parent / "cache", workers=1, quiet=True)


def test_the_loss_falls_below_that_of_grey_patches(tmp_path: Path):
    still = Crop(area=(1.0, 1.0), aspect=(1.0, 1.0), flip=0.0)
    recipe = Recipe(mask=0.5, decoder=DecoderShape(width=32, depth=1, heads=2), batch=4, crop=still)
    model = new_model(tiny_vit(classes=0), recipe)
    store = LoadedFrames(Waves(4), torch.device("cpu"))
    fit = Fit(model, Plan(steps=100, lr=1e-2), tmp_path, name="pretraining", go_on="again")
    fit.run(step_loss(model, store, recipe, per_clip=2 * GEOMETRY.frames), Quiet())
    losses = [line["loss"] for line in read_metrics(tmp_path / "metrics.jsonl")]
    assert losses[0] > 0.95
    assert losses[-1] < 0.8


def test_a_folder_of_videos_becomes_a_backbone(videos: Path, tmp_path: Path):
    done = run(videos, tmp_path / "out")
    assert done.summary["clips"] == 5
    assert done.summary["steps"] == 5
    opened = open_backbone(str(tmp_path / "out"), frames=4)
    built = opened.build(opened.config.with_(classes=3), seed=1)
    saved = weights(tmp_path / "out")
    assert not any(name.startswith(("decoder", "head")) for name in saved)
    assert torch.equal(built.state_dict()["blocks.1.mlp.fc1.weight"], saved["blocks.1.mlp.fc1.weight"])
    assert "label" not in (tmp_path / "out" / "metrics.jsonl").read_text()


def test_a_stopped_pretraining_ends_with_the_same_weights(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run(videos, tmp_path / "whole")
    real = pretrain.step_loss

    def stopping(*args: object, **options: object):
        plain = real(*args, **options)  # pyright: ignore[reportArgumentType]

        def loss(step: int) -> torch.Tensor:
            if step == 2:
                os.kill(os.getpid(), signal.SIGINT)
            return plain(step)

        return loss

    with monkeypatch.context() as patch:
        patch.setattr(pretrain, "step_loss", stopping)
        with pytest.raises(Interrupted, match=r"step 3 of 5.*vidshift pretrain --resume"):
            run(videos, tmp_path / "parts")
    assert not (tmp_path / "parts" / "model").exists()
    pretrain_videos({}, resume=tmp_path / "parts", cache=tmp_path / "cache", workers=1, quiet=True)
    whole, parts = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    assert all(torch.equal(value, parts[name]) for name, value in whole.items())
    assert read_metrics(tmp_path / "whole" / "metrics.jsonl") == read_metrics(tmp_path / "parts" / "metrics.jsonl")


def test_going_on_from_a_trained_model_drops_its_head(videos: Path, tmp_path: Path):
    run(videos, tmp_path / "first")
    again = run(videos, tmp_path / "second", backbone=str(tmp_path / "first"), lr=1e-8)
    assert again.summary["steps"] == 5
    first, second = weights(tmp_path / "first"), weights(tmp_path / "second")
    assert (first["blocks.0.qkv.weight"] - second["blocks.0.qkv.weight"]).abs().max() < 1e-5


def test_two_data_sets_are_one(videos: Path, tmp_path: Path):
    done = run(videos, tmp_path / "out", data=(str(videos), str(videos)), epochs=1)
    assert done.summary["clips"] == 10


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mask": 1.5}, "mask ratio 1.5"),
        ({"epochs": 0}, "epochs 0"),
        ({"lr": -1.0}, "lr -1"),
        ({"backbone": "smal"}, "did you mean 'small'"),
        ({"data": ("no-such-folder",)}, "no-such-folder"),
        ({"frames": 5}, "multiple of 2"),
    ],
)
def test_wrong_settings_write_nothing(videos: Path, tmp_path: Path, settings: dict, said: str):
    with pytest.raises(UserError, match=said):
        run(videos, tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()


def test_a_used_folder_is_refused_with_both_ways_out(videos: Path, tmp_path: Path):
    run(videos, tmp_path / "out")
    before = (tmp_path / "out" / "summary.json").read_bytes()
    with pytest.raises(UserError, match=r"not empty: go on with it by --resume .* or give --out another"):
        run(videos, tmp_path / "out")
    with pytest.raises(UserError, match=r"was started with lr 0\.001, not 0\.1"):
        pretrain_videos({"lr": 0.1}, resume=tmp_path / "out", quiet=True)
    with pytest.raises(UserError, match="--out a new folder, or --resume"):
        pretrain_videos({}, quiet=True)
    assert (tmp_path / "out" / "summary.json").read_bytes() == before


def test_settings_come_back_from_their_file(tmp_path: Path):
    from vidshift.engine.config import load_settings, settings_yaml

    config = PretrainConfig(data=("a", "b"), mask=0.8)
    (tmp_path / "config.yaml").write_text(settings_yaml(config))
    assert load_settings(tmp_path / "config.yaml", PretrainConfig) == config
    found = yaml.safe_load((tmp_path / "config.yaml").read_text())
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({**found, "masks": 1}))
    with pytest.raises(UserError, match="did you mean 'mask'"):
        load_settings(tmp_path / "config.yaml", PretrainConfig)


def test_the_command_says_how_to_use_the_result(videos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "out"
    call = ["pretrain", str(videos), "--out", str(out), "--cache", str(tmp_path / "cache"), "--workers", "1"]
    call += ["--backbone", "mini", "--frames", "4", "--epochs", "1", "--batch", "3", "--quiet", "--json"]
    assert cli.run(call) == 0
    said = capsys.readouterr().out
    assert f"vidshift adapt SOURCE TARGET --backbone {out}" in said
    assert '"clips": 5' in said.splitlines()[-1]
    assert cli.run(call) == 2
    assert "not empty" in capsys.readouterr().err
