import json
from pathlib import Path

import pytest
from clipmaker import write_numbers

from vidshift.cli import run
from vidshift.data.layouts import read


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_numbers(tmp_path / "data" / "a.mp4", 40)
    write_numbers(tmp_path / "data" / "b.mp4", 40, fps=30)
    (tmp_path / "data" / "page.mp4").write_text("<html>")
    return tmp_path / "data"


def call(folder: Path, *more: str) -> int:
    return run(["check", str(folder), "--cache", str(folder.parent / "cache"), "--size", "32", "--workers", "1", *more])


def test_it_says_what_is_bad_and_why(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert call(folder, "--json") == 0
    shown = capsys.readouterr()
    assert "2 of 3 videos usable" in shown.out
    assert f"not-a-video: {folder / 'page.mp4'}: it is a web page" in shown.out
    assert "3/3" in shown.err
    last = json.loads(shown.out.splitlines()[-1])
    assert last["bad"] == 1
    assert last["data"][0]["statuses"] == {"ok": 2, "not-a-video": 1}


def test_strict_fails_and_so_does_a_folder_without_any_good_video(folder: Path, tmp_path: Path):
    assert call(folder, "-q", "--strict") == 1
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.mp4").touch()
    assert call(tmp_path / "bad", "-q") == 1


def test_the_manifest_it_writes_is_read_again_with_each_status(folder: Path, tmp_path: Path):
    out = tmp_path / "checked.parquet"
    assert call(folder, "-q", "--output", str(out)) == 0
    rows = {row.path.name: row for row in read(out).rows}
    assert rows["page.mp4"].status == "not-a-video"
    assert "web page" in (rows["page.mp4"].reason or "")
    assert (rows["a.mp4"].status, rows["a.mp4"].num_frames, rows["b.mp4"].fps) == ("ok", 40, 30.0)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["nothing"], "there is no file or folder"),
        (["data", "--size", "33"], "a multiple of 16"),
        (["data", "--frames", "3"], "an even number"),
        (["data", "--timeout", "0"], "above zero"),
    ],
)
def test_a_wrong_call(folder: Path, wrong: list[str], told: str, capsys: pytest.CaptureFixture[str]):
    path, *options = wrong
    assert run(["check", str(folder.parent / path), "--cache", str(folder.parent / "cache"), *options]) in (1, 2)
    assert told in capsys.readouterr().err
