import os
from dataclasses import replace
from pathlib import Path

import pytest
from clipmaker import number_frame, write_numbers, write_video

from vidshift.data.check.run import Look, check_manifest, checked, with_findings
from vidshift.data.layouts import read
from vidshift.data.manifest import Manifest
from vidshift.data.manifests import write_manifest

LOOK = Look(frames=8, height=32, width=32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commonest kinds of bad files beside good ones."""
    root = tmp_path_factory.mktemp("bad")
    good = write_numbers(root / "good.mp4", 60).read_bytes()
    write_numbers(root / "other.mp4", 60, fps=30)
    (root / "same.mp4").write_bytes(good)
    (root / "empty.mp4").touch()
    (root / "page.mp4").write_bytes(b"<!DOCTYPE html><html>404</html>")
    (root / "no-index.mp4").write_bytes(good[: len(good) // 2])
    front = write_numbers(root / "front.mp4", 60, container_options={"movflags": "faststart"}, gop=10).read_bytes()
    (root / "cut.mp4").write_bytes(front[: len(front) // 2])
    write_video(root / "still.mp4", [number_frame(7)] * 30)
    write_numbers(root / "one.mp4", 1)
    write_numbers(root / "five.mp4", 5)
    os.mkfifo(root / "pipe.mp4")
    (root / "folder.mp4").mkdir()
    (root / "link.mp4").symlink_to(root / "nowhere.mp4")
    return root


EXPECTED = {
    "good": "ok",
    "other": "ok",
    "front": "ok",
    "same": "duplicate",
    "empty": "empty",
    "page": "not-a-video",
    "no-index": "truncated",
    "cut": "truncated",
    "still": "static",
    "one": "too-short",
    "five": "few-frames",
    "pipe": "not-a-file",
    "folder": "not-a-file",
    "link": "missing",
}


def statuses(manifest: Manifest) -> dict[str, str | None]:
    return {row.path.stem: row.status for row in manifest.rows}


def test_each_kind_gets_its_status_and_a_reason(folder: Path, tmp_path: Path):
    manifest = read(folder)
    looked = with_findings(manifest, check_manifest(manifest, LOOK, workers=2, timeout=60.0))
    assert statuses(looked) == EXPECTED
    assert all(row.reason for row in looked.rows if row.status != "ok")
    found = checked(manifest, LOOK, workers=2, timeout=60.0)
    assert statuses(found) == {**EXPECTED, "same": "ok"}  # a duplicate can be trained on: training does not compare
    (note,) = [note for note in found.notes if "skipped" in note]
    assert note.startswith("8 of 14 videos")
    assert {row.path.stem for row in found.where(usable=True).rows} == {
        "good", "other", "front", "same", "still", "five"
    }  # fmt: skip


def test_what_was_found_is_not_looked_at_again(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    memory = tmp_path / "memory.jsonl"
    first = check_manifest(read(folder), LOOK, workers=2, memory=memory)
    asked: list[str] = []

    def watched(self: Look, row: object, *, send: bool) -> object:
        asked.append(Path(row.path).name)  # pyright: ignore[reportAttributeAccessIssue]
        return original(self, row, send=send)  # pyright: ignore[reportArgumentType]

    original = Look.task
    monkeypatch.setattr(Look, "task", watched)
    # What cannot be opened has no size or time to be known by; asking it again costs nothing.
    assert check_manifest(read(folder), LOOK, workers=2, memory=memory) == first
    assert asked == ["link.mp4"]
    os.utime(folder / "other.mp4")
    (folder / "good.mp4").chmod(0o600)
    memory.write_text(memory.read_text()[:-40])  # a kill leaves half a line
    assert check_manifest(read(folder), LOOK, workers=2, memory=memory) == first
    assert set(asked[1:]) >= {"link.mp4", "other.mp4", "good.mp4"}
    assert len(asked[1:]) in (3, 4)  # the half line may have been that of one of them


def test_what_a_manifest_calls_bad_stays_out_of_training(folder: Path):
    manifest = read(folder).where(usable=True)
    taken_out = replace(manifest.rows[3], status="excluded", reason="blurred faces")
    rows = (*manifest.rows[:3], taken_out, *manifest.rows[4:])
    found = checked(replace(manifest, rows=rows), LOOK, workers=2, timeout=60.0)
    assert found.rows[3] == taken_out
    others = {row.path.stem: row.status for row in found.rows if row is not found.rows[3]}
    expected = {**EXPECTED, "same": "ok"}
    expected.pop(taken_out.path.stem)
    assert others == expected


def test_a_manifest_that_a_check_has_written_is_not_checked_again(folder: Path, tmp_path: Path):
    manifest = read(folder)
    found = with_findings(manifest, check_manifest(manifest, LOOK, workers=2))
    write_manifest(found, tmp_path / "checked.csv")
    known = read(tmp_path / "checked.csv")
    # A file that was missing may have come.
    assert {row.path.stem for row in known.rows if row.status is None} <= {"link"}
    again = checked(known, LOOK, workers=1, timeout=60.0)
    assert statuses(again) == EXPECTED
    assert [row.reason for row in again.rows] == [row.reason for row in found.rows]
    assert any(note.startswith("8 of 14 videos") for note in again.notes)
