"""Labelling in shards: a process that is killed in the middle goes on, and ends with the very same table."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from vidshift.data.view import View
from vidshift.teachers.base import Card
from vidshift.teachers.labelling import label_videos
from vidshift.teachers.table import TeacherTable
from vidshift.teachers.table_file import write_table

CLASSES = ("a", "b", "c")
IDS = [f"v{k}" for k in range(7)]


class Slow:
    """Guesses from the pixels; kills its process at one clip."""

    def __init__(self, *, dies_at: str = "", fingerprint: str = "one") -> None:
        self.card = Card(teacher="slow", fingerprint=fingerprint)
        self.dies_at, self.asked = dies_at, list[str]()

    def probabilities(self, view: View, classes: Sequence[str]) -> Tensor:
        if self.dies_at in view.ids:
            os.kill(os.getpid(), signal.SIGKILL)
        self.asked += view.ids
        return view.pixels_BTCHW.float().mean((1, 3, 4)).softmax(-1)


def load(ids: Sequence[str]) -> View | None:
    """`v3` cannot be read."""
    good = [name for name in ids if name != "v3"]
    if not good:
        return None
    pixels = torch.stack(
        [torch.full((2, 3, 4, 4), float(int(name[1:]))) * torch.tensor([0.1, 0.2, 0.3]).view(3, 1, 1) for name in good]
    )
    return View(pixels, tuple(good))


def label(work: Path, teacher: Slow) -> TeacherTable:
    return label_videos(teacher, IDS, CLASSES, load, work=work, batch=2)


def bytes_of(table: TeacherTable, path: Path) -> bytes:
    write_table(table, path)
    return path.read_bytes()


@pytest.mark.parametrize("dies_at", ["v0", "v4", "v6"])
def test_killed_in_the_middle_it_goes_on_with_the_same_table(tmp_path: Path, dies_at: str):
    whole = label(tmp_path / "whole", Slow())
    pid = os.fork()
    if pid == 0:
        torch.set_num_threads(1)  # the threads of the parent's pool do not exist here
        label(tmp_path / "work", Slow(dies_at=dies_at))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    again = Slow()
    table = label(tmp_path / "work", again)
    assert bytes_of(table, tmp_path / "a.csv") == bytes_of(whole, tmp_path / "b.csv")
    first = IDS.index(dies_at) // 2 * 2
    assert again.asked == [name for name in IDS[first:] if name != "v3"]
    assert not (tmp_path / "work").exists()


def test_a_video_that_cannot_be_read_is_not_in_the_table(tmp_path: Path):
    assert label(tmp_path / "work", Slow()).ids == ("v0", "v1", "v2", "v4", "v5", "v6")


def test_another_teacher_does_not_go_on_with_the_shards_of_the_first(tmp_path: Path):
    shards = tmp_path / "work"

    class Stops(Slow):
        def probabilities(self, view: View, classes: Sequence[str]) -> Tensor:
            if "v4" in view.ids:
                raise KeyboardInterrupt
            return super().probabilities(view, classes)

    with pytest.raises(KeyboardInterrupt):
        label(shards, Stops())
    other = Slow(fingerprint="two")
    label(shards, other)
    assert other.asked == [name for name in IDS if name != "v3"]
    assert shards.exists()  # what the first has done is still there for it
    first = Slow()
    label(shards, first)
    assert first.asked == ["v4", "v5", "v6"]
