"""Without --backbone and --teacher: built in for the built-in domains, the paper's for anybody's videos, and never the
one for the other."""

from pathlib import Path

import pytest
from trees import touch

from vidshift import cli
from vidshift.engine.config import RunConfig
from vidshift.engine.defaults import saying, with_defaults
from vidshift.engine.start import read_settings
from vidshift.models import hub

NOTHING: dict[str, tuple[str, ...]] = {}


@pytest.mark.parametrize(
    ("source", "target", "backbone", "teacher"),
    [
        ("studio", "street", "stick", "stick"),
        ("/a", "/b", "MCG-NJU/videomae-base", "clip"),
        ("/a", "street", "MCG-NJU/videomae-base", "clip"),
        ("daily-da:hmdb", "daily-da:arid", "MCG-NJU/videomae-base", "clip"),
    ],
)
def test_the_default_follows_the_data(source: str, target: str, backbone: str, teacher: str):
    for made in (
        with_defaults(RunConfig(source=source, target=target)),
        read_settings({"source": source, "target": target}, NOTHING),
    ):
        assert (made.backbone, made.teacher) == (backbone, teacher)
    named = read_settings({"source": source, "target": target, "backbone": "small", "teacher": "stick"}, NOTHING)
    assert (named.backbone, named.teacher) == ("small", "stick")


def test_the_layer_decay_goes_with_the_backbone_unless_it_is_named():
    assert with_defaults(RunConfig()).layer_decay == 0.5
    assert with_defaults(RunConfig(source="/a", target="/b")).layer_decay == 0.75
    assert with_defaults(RunConfig(backbone="small")).layer_decay == 0.75
    named = read_settings({}, {"set": ("layer_decay=0.9",)})
    assert with_defaults(named).layer_decay == 0.9
    assert with_defaults(with_defaults(RunConfig())) == with_defaults(RunConfig())


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    names = [f"{label}/{number}.mp4" for label in ("walk", "wave") for number in range(5)]
    touch(tmp_path / "a", names)
    touch(tmp_path / "b", names)
    return tmp_path


def adapt(folders: Path, *more: str, source: str = "a") -> int:
    ends = [str(folders / source), str(folders / "b")]
    return cli.run(["adapt", *ends, "--out", str(folders / "run"), "--cache", str(folders / "cache"), "-q", *more])


def test_without_a_network_every_way_out_is_named_and_nothing_is_put_in_its_place(folders: Path, capsys):
    assert adapt(folders) == 1
    told = capsys.readouterr().err
    for way in (
        "MCG-NJU/videomae-base", "--backbone PATH", "vidshift pretrain", "--backbone stick",
        "openai/clip-vit-base-patch16", "clip:FOLDER", "--teacher stick", "--teacher labels.csv", "--teacher source",
    ):  # fmt: skip
        assert way in told
    assert told.count("\n") == 1
    assert not (folders / "run").exists()


def test_a_missing_folder_is_told_before_a_missing_download(folders: Path, capsys):
    assert adapt(folders, source="nowhere") == 1
    assert "nowhere" in capsys.readouterr().err


def test_a_missing_teacher_alone_is_named_alone(folders: Path, capsys):
    assert adapt(folders, "--backbone", "small") == 1
    told = capsys.readouterr().err
    assert "--teacher source" in told
    assert "--backbone" not in told


def test_what_is_fetched_is_said_with_size_and_licence(folders: Path, monkeypatch: pytest.MonkeyPatch):
    assert saying(backbone="MCG-NJU/videomae-base", teacher="clip") == []  # nothing may be fetched
    monkeypatch.delenv("HF_HUB_OFFLINE")
    backbone, teacher = saying(backbone="MCG-NJU/videomae-base", teacher="clip")
    assert "about 377 MB" in backbone
    assert hub.NON_COMMERCIAL in backbone
    assert "openai/clip-vit-base-patch16 (about 599 MB; licence: " in teacher
    assert saying(backbone="stick", teacher="source") == saying(backbone="small", teacher="labels.csv") == []
    (own,) = saying(teacher="clip:some/body")
    assert "some/body (size unknown; licence: see its model card)" in own
