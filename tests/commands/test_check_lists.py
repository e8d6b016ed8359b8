"""`vidshift check` on benchmarks, and the manifest that it writes."""

import json
from pathlib import Path

import pytest
from clipmaker import write_numbers
from trees import touch

from vidshift.cli import run
from vidshift.data.benchmarks import daily_da
from vidshift.data.layouts import read


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = touch(tmp_path / "lists", [])
    (folder / "hmdb51_msda_train.txt").write_text("0\t0\tdrink/a.avi\n")
    (folder / "hmdb51_msda_test.txt").write_text("0\t7\twave/b.avi\n")
    counts = {("hmdb", "train"): (1, *[0] * 7), ("hmdb", "test"): (*[0] * 7, 1)}
    monkeypatch.setattr(daily_da, "COUNTS", counts)
    return folder


def test_a_benchmark_is_compared_and_remembered(tmp_path: Path, lists: Path, capsys: pytest.CaptureFixture[str]):
    root = touch(tmp_path / "hmdb51", ["drink/a.avi"])
    call = ["check", "daily-da", "--hmdb", str(root), "--lists", str(lists), "--cache", str(tmp_path / "cache")]
    assert run([*call, "--json"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "daily-da: 1 of 2 videos found"
    last = json.loads(out[-1])
    assert (last["found"], last["expected"]) == (1, 2)
    assert [Path(path).name for path in last["written"]] == ["daily-da-hmdb.parquet", "daily-da-hmdb-missing.txt"]
    assert Path(last["written"][1]).read_text() == "wave/b.avi\n"
    assert run([*call, "--strict"]) == 1
    assert [row.status for row in read("daily-da:hmdb", cache=tmp_path / "cache").rows] == [None, "missing"]
    (root / "drink" / "a.avi").unlink()
    assert run(call) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["daily-da", "ucf-hmdb"], "a benchmark is checked alone"),
        (["somewhere", "--hmdb", "x"], "--hmdb belongs to a benchmark"),
        (["a", "b", "--output", "m.csv"], "--output writes the manifest of one DATA"),
    ],
)
def test_wrong_calls(call: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert run(["check", *call]) == 2
    assert message in capsys.readouterr().err


def test_the_manifest_that_is_written_keeps_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_numbers(tmp_path / "data" / "walk" / "good.mp4", 30)
    touch(tmp_path / "data", ["run/empty.mp4"])
    output = tmp_path / "data" / "checked.csv"
    call = ["check", str(tmp_path / "data"), "--size", "32", "--frames", "4", "--cache", str(tmp_path / "cache"), "-q"]
    assert run([*call, "--output", str(output)]) == 0
    assert f"written: {output}" in capsys.readouterr().out
    manifest = read(output)
    assert {row.id: (row.label, row.status) for row in manifest.rows} == {
        "walk/good": ("walk", "ok"),
        "run/empty": ("run", "empty"),
    }
    assert {row.num_frames for row in manifest.rows if row.usable} == {30}
