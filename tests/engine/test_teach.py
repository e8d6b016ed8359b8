"""Guesses in the order of a run's clips, made once and found again."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import CLASSES as COUNT
from tiny import Memory, names
from torch import Tensor

from vidshift.data.view import View
from vidshift.engine.console import Quiet
from vidshift.engine.teach import guesses_of, teach_clips
from vidshift.teachers.base import Card
from vidshift.teachers.table import TeacherTable

CLASSES = ("a", "b", "c")


class Counting:
    """Guesses by the clip's number, and counts whom it was asked about."""

    def __init__(self, fingerprint: str = "weights") -> None:
        self.asked: list[str] = []
        self._fingerprint = fingerprint

    @property
    def card(self) -> Card:
        return Card(teacher="counting", fingerprint=self._fingerprint)

    def probabilities(self, view: View, classes: Sequence[str]) -> Tensor:
        self.asked += view.ids
        return 0.7 * torch.eye(COUNT)[[int(name[-1]) % COUNT for name in view.ids]] + 0.1


def test_clips_that_the_table_does_not_know_have_no_guess():
    probs = np.array([[0.9, 0.1, 0], [0, 0.4, 0.6]], np.float32)
    table = TeacherTable.make(["x", "y"], CLASSES, probs, card=Card(teacher="t"), gamma=0.8)
    found = guesses_of(table, ["y", "stranger", "x"])
    assert found.label_N.tolist() == [2, -1, 0]
    assert found.kept_N.tolist() == [False, False, True]
    assert found.confidence_N.tolist() == pytest.approx([0.6, 0, 0.9])
    assert found.probabilities_NK is not None
    assert found.probabilities_NK[1].tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("fingerprint", ["weights", ""])
def test_a_known_table_is_not_made_again_but_filtered_anew(tmp_path: Path, fingerprint: str):
    """A teacher without a fingerprint could have changed meanwhile: it is asked again."""
    clips, known = Memory(names(5)), tmp_path / "known.parquet"
    kept = []
    for number, gamma in enumerate((0.75, 0.85)):
        teacher = Counting(fingerprint)
        work = tmp_path / f"work{number}"
        taught = teach_clips(teacher, clips, CLASSES, gamma=gamma, work=work, console=Quiet(), known=known)
        assert teacher.asked == ([] if number and fingerprint else names(5))
        assert taught.table.labels == ("a", "b", "c", "a", "b")
        kept.append(taught.report.kept)
        assert not work.exists()
    assert kept == [5, 0]
