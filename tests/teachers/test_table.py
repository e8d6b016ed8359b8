"""The teacher table: filter, words, ids and probabilities."""

import numpy as np
import pytest

from vidshift.errors import UserError
from vidshift.teachers.base import Card
from vidshift.teachers.table import TeacherTable

CLASSES = ("run", "walk", "wave")


def make(probs: list[list[float]], gamma: float = 0.8) -> TeacherTable:
    ids = [f"v{k}" for k in range(len(probs))]
    return TeacherTable.make(ids, CLASSES, np.array(probs, np.float32), card=Card(teacher="t"), gamma=gamma)


def kept(table: TeacherTable) -> list[bool]:
    assert table.kept_N is not None
    return table.kept_N.tolist()


def test_the_filter_is_strict():
    table = make([[0.75, 0.25, 0], [0.8125, 0.1875, 0], [1, 0, 0]])
    assert kept(table.filter(0.75)) == [False, True, True]
    assert kept(table.filter(1.0)) == [False, False, False]
    assert kept(table.filter(0.0)) == [True, True, True]
    with pytest.raises(UserError, match=r"gamma 1\.5"):
        table.filter(1.5)


def test_a_clip_that_could_not_be_seen_is_left_out():
    table = make([[0.9, 0.1, 0], [np.nan] * 3, [0, 0.1, 0.9]])
    assert (table.ids, table.labels) == (("v0", "v2"), ("run", "wave"))
    assert table.label_N.tolist() == [0, 2]


def test_words_and_order_of_another_run():
    table = make([[0.9, 0.1, 0], [0, 0.2, 0.8]]).for_classes(("Wave", "RUN", "walk"))
    assert table.labels == ("RUN", "Wave")
    assert table.label_N.tolist() == [1, 0]
    assert table.probabilities()[1].tolist() == pytest.approx([0.8, 0, 0.2])
    with pytest.raises(UserError, match=r"the label 'Wave'.*did you mean 'weave'"):
        table.for_classes(("run", "walk", "weave"))


def test_ids_are_found_with_extensions_and_backslashes_but_never_guessed():
    table = TeacherTable(
        ids=("a\\one.mp4", "a/two.mp4", "a/two.avi"),
        labels=("run", "walk", "wave"),
        confidence_N=np.ones(3, np.float32),
        classes=CLASSES,
    )
    found = table.for_ids(["a/one", "a/two", "b/none"])
    assert (found.ids, found.labels) == (("a/one",), ("run",))  # two files are called a/two
    with pytest.raises(UserError, match="none of the 3 ids"):
        table.for_ids(["c/three"])


def test_a_bare_confidence_is_spread_over_the_other_classes():
    table = TeacherTable(ids=("a",), labels=("walk",), confidence_N=np.array([0.6], np.float32), classes=CLASSES)
    assert table.probabilities()[0].tolist() == pytest.approx([0.2, 0.6, 0.2])
