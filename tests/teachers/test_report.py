"""What a teacher table amounts to, counted by hand, and what is said loudly about it."""

import numpy as np
import pytest

from vidshift.teachers.report import report
from vidshift.teachers.table import TeacherTable

CLASSES = ("walk", "run", "wave")


def table(*guesses: tuple[str, float]) -> TeacherTable:
    return TeacherTable(
        ids=tuple(f"v{n}" for n in range(len(guesses))),
        labels=tuple(label for label, _ in guesses),
        confidence_N=np.array([confidence for _, confidence in guesses], np.float32),
        classes=CLASSES,
    )


def test_guesses_are_counted_by_class():
    found = report(table(("walk", 0.9), ("walk", 0.5), ("run", 0.95)), asked=4, gamma=0.8)
    assert [(c.name, c.guessed, c.kept) for c in found.classes] == [("walk", 2, 1), ("run", 1, 1), ("wave", 0, 0)]
    assert found.classes[0].confidence == pytest.approx(0.7)
    assert found.classes[2].confidence is None
    assert (found.found, found.kept, found.coverage) == (3, 2, 0.5)


@pytest.mark.parametrize(
    ("guesses", "told"),
    [
        ([("walk", 0.5), ("run", 0.6)], ["none passes confidence > 0.8", "lower --gamma"]),
        ([("walk", 0.9), ("run", 0.6)], ["only one class", "'walk'"]),
        ([("walk", 0.9), ("run", 0.9)], ["is of wave", "for something else", "lower --gamma", "--method source-only"]),
    ],
)
def test_what_would_teach_little_is_said(guesses: list[tuple[str, float]], told: list[str]):
    (warning,) = report(table(*guesses), gamma=0.8).warnings()
    for part in told:
        assert part in warning


def test_a_filter_that_keeps_everything_cannot_be_lowered():
    (warning,) = report(table(("walk", 0.3), ("run", 0.3)), gamma=0).warnings()
    assert "is of wave" in warning
    assert "--gamma" not in warning


def test_a_table_without_gaps_is_silent_and_missing_videos_are_counted():
    whole = table(("walk", 0.9), ("run", 0.9), ("wave", 0.9))
    assert report(whole, gamma=0.8).warnings() == []
    assert report(whole, asked=5, gamma=0.8).warnings() == ["2 of 5 target videos are not in the teacher table."]
