"""A real process is killed while it labels; the same command goes on, and the table is the very same."""

import signal
from pathlib import Path

import pytest
from nursery import Nursery
from tinyclip import save_tiny_clip


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clip")
    save_tiny_clip(folder)
    return folder


@pytest.mark.parametrize(
    "plan",
    [
        {"call": "vidshift.teachers.labelling:_label", "nth": 2},
        {"call": "vidshift.engine.teach:write_table", "nth": 1},
        {"call": "vidshift.engine.label:write_table", "nth": 1},
    ],
    ids=lambda plan: plan["call"],
)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_kill_loses_nothing(
    nursery: Nursery, tiny_cache: Path, tiny_table: Path, clip: Path, tmp_path: Path, plan: dict, suffix: str
):
    def label(out: Path, cache: str, **how: object):
        where = ["--out", str(out), "--cache", str(tmp_path / cache), "--workers", "1"]
        videos = str(tiny_cache / "stickworld")
        return nursery.run(
            ["label", videos, "--unlabelled", "--classes", "walk,run", "--teacher", f"clip:{clip}", *where], **how
        )

    whole, cut = tmp_path / f"whole{suffix}", tmp_path / "here" / f"cut{suffix}"
    assert label(whole, "one").status == 0
    assert label(cut, "two", **plan).status == -signal.SIGKILL
    assert not cut.exists()
    ended = label(cut, "two")
    assert ended.status == 0, ended.err
    assert cut.read_bytes() == whole.read_bytes()
    assert [path.name for path in cut.parent.iterdir()] == [cut.name]
