import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from clipmaker import write_numbers
from tinyclip import save_tiny_clip

from vidshift.cli import run
from vidshift.data.clips import ClipShape, LiveClips
from vidshift.data.layouts import read
from vidshift.data.loader import test_view as view_of
from vidshift.teachers.clip import ClipTeacher
from vidshift.teachers.prompts import Prompts
from vidshift.teachers.table_file import read_table

Call = Callable[..., int]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clip")
    save_tiny_clip(folder, scale=4.6)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("data")
    for name in ("walk/1", "walk/2", "wave/3", "wave/4"):
        write_numbers(here / "street" / f"{name}.mp4", 30 + int(name[-1]), fps=20 + int(name[-1]))
        write_numbers(here / "flat" / f"{name[-1]}.mp4", 30)
    write_numbers(here / "bad" / "walk" / "a.mp4", 30)
    write_numbers(here / "bad" / "wave" / "b.mp4", 30)
    (here / "bad" / "wave" / "page.mp4").write_text("<html>")
    with (here / "labels.csv").open("w", newline="") as file:
        rows = [("id", "label", "confidence"), ("walk/1.mp4", "walk", 0.9), ("walk/2", "Wave", 0.2), ("wave/3", "", "")]
        csv.writer(file).writerows([*rows, ("wave/4", "wave", 0.95)])
    return here


@pytest.fixture
def call(data: Path, clip: Path, tmp_path: Path) -> Call:
    def label(target: str, *more: str, teacher: str | None = None) -> int:
        asked = ["label", str(data / target), "--teacher", teacher or f"clip:{clip}", "--frames", "4"]
        return run([*asked, "--cache", str(tmp_path / "cache"), "--workers", "1", "-q", *more])

    return label


def test_the_table_holds_what_the_teacher_says_of_every_video(call: Call, data: Path, clip: Path, tmp_path: Path):
    out = tmp_path / "new" / "labels.csv"
    sentences = ("a photo of {class}", "someone {class}")
    assert call("street", "--out", str(out), *(word for s in sentences for word in ("--prompt", s))) == 0
    table, manifest = read_table(out), read(data / "street")
    assert table.ids == tuple(row.id for row in manifest.rows)
    teacher = ClipTeacher(where=str(clip), prompts=Prompts(sentences))
    view = view_of(LiveClips(manifest, ClipShape(frames=4, height=32, width=32)), range(4))
    told = teacher.probabilities(view, ("walk", "wave"))
    torch.testing.assert_close(torch.from_numpy(table.probabilities()), told, atol=1e-6, rtol=0)
    assert table.labels == tuple(("walk", "wave")[k] for k in told.argmax(1).tolist())
    assert table.card.prompt == " | ".join(sentences)
    assert not list(out.parent.glob(".*"))


def test_coverage_confidence_and_score_are_shown(call: Call, data: Path, tmp_path: Path, capsys):
    out = tmp_path / "again.parquet"
    assert call("street", "--out", str(out), "--json", teacher=str(data / "labels.csv")) == 0
    shown = capsys.readouterr().out
    assert "3 of 4 videos labelled by table:labels.csv" in shown
    assert "right: 66.7% (2 of 3 videos with a label); of the kept ones 100.0%" in shown
    assert "WARNING: 1 of 4 target videos are not in the teacher table." in shown
    last = json.loads(shown.splitlines()[-1])
    assert (last["videos"], last["labelled"], last["kept"], last["coverage"]) == (4, 3, 2, 0.5)
    assert last["classes"]["wave"] == {"guessed": 2, "kept": 1, "confidence": pytest.approx(0.575)}
    assert (last["accuracy"], last["kept_accuracy"]) == (pytest.approx(2 / 3), 1.0)
    # Anybody's labels come out as they went in, however unsure: in the classes' words, under the videos' ids.
    table = read_table(out)
    assert (table.ids, table.labels) == (("walk/1", "walk/2", "wave/4"), ("walk", "wave", "wave"))
    assert table.confidence_N.tolist() == pytest.approx([0.9, 0.2, 0.95])


def test_a_video_that_cannot_be_read_is_left_out_and_named(call: Call, tmp_path: Path, capsys):
    assert call("bad", "--out", str(tmp_path / "t.csv"), "--gamma", "0", "--json") == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["labelled"] == 2
    assert any("1 of 3 videos" in note for note in last["notes"])


@pytest.mark.parametrize(("gamma", "told"), [("1", "all filtered out"), ("0.9", "keeps only one class")])
def test_a_filter_that_leaves_nothing_to_learn_is_said_loudly(
    call: Call, data: Path, tmp_path: Path, gamma: str, told: str, capsys
):
    assert call("street", "--out", str(tmp_path / "t.csv"), "--gamma", gamma, teacher=str(data / "labels.csv")) == 0
    assert f"WARNING: the teacher{chr(39) + 's labels are' if gamma == '1' else ''} {told}" in capsys.readouterr().out


@pytest.mark.parametrize("named", [["--classes", "wave, walk"], ["--source", "street"], ["--classes", "classes.json"]])
def test_an_unlabelled_target_is_asked_about_in_named_classes(call: Call, data: Path, tmp_path: Path, named, capsys):
    (tmp_path / "classes.json").write_text('[{"name": "wave", "prompt": "greeting"}, "walk"]')
    place = {"street": str(data / "street"), "classes.json": str(tmp_path / "classes.json")}
    assert call("flat", "--out", str(tmp_path / "t.csv"), *(place.get(word, word) for word in named)) == 0
    assert "right: unknown" in capsys.readouterr().out
    expected = ("walk", "wave") if "street" in named else ("wave", "walk")
    assert read_table(tmp_path / "t.csv").classes == expected


def test_the_words_of_a_class_list_change_what_is_asked(call: Call, tmp_path: Path):
    plain, worded = tmp_path / "plain.csv", tmp_path / "worded.csv"
    (tmp_path / "c.json").write_text('[{"name": "wave", "prompt": "zzz"}, "walk"]')
    assert call("flat", "--out", str(plain), "--classes", "wave,walk") == 0
    assert call("flat", "--out", str(worded), "--classes", str(tmp_path / "c.json")) == 0
    assert (read_table(plain).probabilities() != read_table(worded).probabilities()).all()


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["flat"], 2, "says no class names: name them by --classes"),
        (["flat", "--classes", "walk"], 2, "two names or more"),
        (["flat", "--classes", "a,b", "--source", "x"], 2, "give one of them"),
        (["street", "--classes", "run,wave"], 1, "'walk'"),
        (["street", "--split", "test"], 2, "it has none"),
        (["street", "--split", "tset"], 2, "did you mean 'test'?"),
        (["street", "--gamma", "2"], 2, "--gamma 2"),
        (["street", "--frames", "0"], 2, "--frames cannot be 0"),
        (["street", "--prompt", "a person"], 2, "{class}"),
        (["street", "--out", "labels.txt"], 2, "accepted: .parquet, .csv, .tsv"),
        (["street", "--out", "there.csv"], 2, "is there already"),
        (["street", "--teacher", "source"], 2, "--method source-only"),
        (["street", "--teacher", "source:nowhere"], 2, "nowhere"),
        (["flat", "--classes", "walk,wave", "--teacher", "there.csv"], 1, "none of the 1 ids"),
        (["nowhere"], 1, "no file or folder"),
    ],
)
def test_bad_calls(
    data: Path, clip: Path, tmp_path: Path, monkeypatch, arguments: list[str], status: int, told: str, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("id,label\nsomewhere,walk\n")
    target, *more = arguments
    teacher = [] if "--teacher" in more else ["--teacher", f"clip:{clip}"]
    out = [] if "--out" in more else ["--out", "new.csv"]
    assert run(["label", str(data / target), *more, *teacher, *out, "--cache", "cache", "-q"]) == status
    shown = capsys.readouterr()
    assert told in shown.err
    assert shown.err.count("\n") == 1
    assert not (tmp_path / "new.csv").exists()
    assert (tmp_path / "there.csv").read_text() == "id,label\nsomewhere,walk\n"
