"""Labelling videos: files, folders, windows of long ones, from the command line and in three lines of Python."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from clipmaker import write_numbers, write_video
from tiny import GEOMETRY, network_of, tiny_vit

import vidshift
from vidshift import cli
from vidshift.data.clips import ClipShape
from vidshift.engine.model import export_model
from vidshift.engine.predict import Guess, parts_of, videos_in
from vidshift.errors import UserError
from vidshift.methods.base import methods
from vidshift.tokens.reducers.motion import FixedThreshold

CLASSES = ("jump", "run", "walk")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with a model in it."""
    folder = tmp_path_factory.mktemp("run")
    network = network_of(methods["source-only"](), FixedThreshold(threshold=0.2), net=tiny_vit(seed=3))
    shape = ClipShape(frames=GEOMETRY.frames, height=GEOMETRY.height, width=GEOMETRY.width)
    export_model(folder / "model", network, classes=CLASSES, shape=shape, teacher="stick", precision="float32")
    return folder


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """25 frames a second: `short` lasts 2 s, `long` 24 s."""
    folder = tmp_path_factory.mktemp("videos")
    write_numbers(folder / "short.mp4", 50)
    write_numbers(folder / "below" / "a name with spaces.mp4", 30)
    write_numbers(folder / "long.mp4", 600)
    (folder / "notes.txt").write_text("no video")
    return folder


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_three_lines_of_python_label_a_video(run: Path, videos: Path):
    model = vidshift.load(run)
    guess = model.predict(videos / "short.mp4")
    assert guess.label in CLASSES
    assert sum(guess.probabilities.values()) == pytest.approx(1, abs=1e-5)
    assert guess.confidence == max(guess.probabilities.values()) == guess.probabilities[guess.label]
    assert guess.kept_ratio is not None
    assert 1 / GEOMETRY.segments <= guess.kept_ratio < 1
    assert model.predict(videos / "long.mp4").start is None


def test_files_and_folders_become_one_json_line_each(run: Path, videos: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.run(["predict", str(run), str(videos / "short.mp4"), str(videos / "below"), "--workers", "1"]) == 0
    found = lines(capsys)
    assert [Path(line["path"]).name for line in found] == ["short.mp4", "a name with spaces.mp4"]
    alone = vidshift.load(run).predict(videos / "short.mp4")
    assert found[0]["probabilities"] == pytest.approx(dict(alone.probabilities), abs=2e-6)
    assert found[0]["start"] is None


def test_a_long_video_is_cut_into_windows_unless_taken_whole(
    run: Path, videos: Path, capsys: pytest.CaptureFixture[str]
):
    call = ["predict", str(run), str(videos / "long.mp4"), "--workers", "1", "--quiet"]
    assert cli.run(call) == 0
    assert [(line["start"], line["end"]) for line in lines(capsys)] == [(0, 10), (10, 20), (14, 24)]
    assert cli.run([*call, "--window", "0"]) == 0
    assert [line["start"] for line in lines(capsys)] == [None]
    assert cli.run([*call, "--window", "8", "--hop", "4"]) == 0
    assert [line["start"] for line in lines(capsys)] == [0, 4, 8, 12, 16]


def test_a_window_is_what_the_same_seconds_alone_would_be(run: Path, tmp_path: Path):
    """The second half of a video that changes there is labelled as that half cut out."""
    still = np.full((48, 48, 3), 90, np.uint8)
    bar = still.copy()
    bar[:, :12] = 220
    moving = [np.roll(bar, 3 * k, axis=1) for k in range(50)]
    whole = write_video(tmp_path / "whole.mp4", [*[still] * 50, *moving], gop=50, options={"crf": "1"})
    model = vidshift.load(run)
    first, second = (g for g in model.predict_many([whole], window=2.0) if isinstance(g, Guess))
    part = model.predict(write_video(tmp_path / "part.mp4", moving, options={"crf": "1"}))
    assert first.kept_ratio == pytest.approx(1 / GEOMETRY.segments, abs=1e-4)
    assert second.kept_ratio == pytest.approx(part.kept_ratio, abs=0.05)
    assert dict(second.probabilities) == pytest.approx(dict(part.probabilities), abs=0.02)


def test_a_video_that_cannot_be_read_costs_itself_alone(
    run: Path, videos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    shutil.copy(videos / "short.mp4", tmp_path / "a.mp4")
    (tmp_path / "b.mp4").write_bytes(b"\0" * 100)
    shutil.copy(videos / "short.mp4", tmp_path / "c.mp4")
    assert cli.run(["predict", str(run), str(tmp_path), "--workers", "1", "--quiet"]) == 1
    found = lines(capsys)
    assert [sorted({"label", "error"} & set(line)) for line in found] == [["label"], ["error"], ["label"]]
    assert "b.mp4" in found[1]["error"]


@pytest.mark.parametrize(
    ("seconds", "window", "hop", "starts"),
    [
        (20.0, None, None, [None]),
        (20.5, None, None, [0.0, 10.0, 10.5]),
        (None, None, None, [None]),
        (None, 5.0, None, [None]),
        (3.0, 5.0, None, [0.0]),
        (12.0, 5.0, 2.5, [0.0, 2.5, 5.0, 7.0]),
    ],
)
def test_parts_by_length(seconds: float | None, window: float | None, hop: float | None, starts: list[float | None]):
    parts = parts_of(Path("v.mp4"), seconds, window=window, hop=hop)
    assert [part.start for part in parts] == starts
    assert len({part.id for part in parts}) == len(parts)


def test_places_that_hold_nothing_are_named(tmp_path: Path):
    with pytest.raises(UserError, match="holds no videos"):
        videos_in([tmp_path])
    with pytest.raises(UserError, match=r"nowhere\.mp4 does not exist") as caught:
        videos_in([tmp_path / "nowhere.mp4"])
    assert caught.value.exit_code == 2


def test_a_model_says_the_same_after_it_was_saved(run: Path, videos: Path):
    """Bit for bit: the folder holds all that a prediction needs."""
    one, two = vidshift.load(run), vidshift.load(run / "model")
    weights = (dict(model.network.state_dict()) for model in (one, two))
    assert all(torch.equal(a, b) for a, b in zip(*(w.values() for w in weights), strict=True))
    assert one.predict(videos / "short.mp4") == two.predict(videos / "short.mp4")
