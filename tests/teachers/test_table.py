from pathlib import Path

import numpy as np
import pytest

from vidshift.errors import UserError
from vidshift.teachers.base import Card, TeacherSpec
from vidshift.teachers.table import TeacherTable
from vidshift.teachers.table_file import read_table, write_table

PROBS = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.4, 0.35, 0.25]], np.float32)


def made(gamma: float = 0.5) -> TeacherTable:
    card = Card(teacher="clip", prompt="a {class}", temperature=100.0)
    return TeacherTable.make(("x/a", "x/b", "y/c"), ("walk", "run", "wave"), PROBS, card=card, gamma=gamma)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv"])
def test_a_table_comes_back_as_it_was_written(tmp_path: Path, suffix: str):
    write_table(made(), tmp_path / f"t{suffix}")
    back = read_table(tmp_path / f"t{suffix}", classes=("walk", "run", "wave"))
    assert (back.ids, back.labels, back.card.prompt) == (made().ids, ("walk", "wave", "walk"), "a {class}")
    np.testing.assert_array_equal(back.probabilities(), PROBS)
    assert back.kept_N is not None
    assert back.kept_N.tolist() == [True, True, False]


def test_a_label_corrected_by_hand_counts_and_so_does_its_confidence(tmp_path: Path):
    path = tmp_path / "t.csv"
    write_table(made(), path)
    lines = path.read_text().splitlines()
    lines[1] = lines[1].replace("x/a,walk,0.7", "x/a,run,1")
    lines[2] = lines[2].replace("x/b,wave,0.6", "x/b,wave,0.9")
    path.write_text("\n".join(lines))
    table = read_table(path, classes=("wave", "run", "walk"))
    assert table.labels == ("run", "wave", "walk")
    np.testing.assert_allclose(table.probabilities(), [[0, 1, 0], [0.9, 0.05, 0.05], [0.25, 0.35, 0.4]], atol=1e-6)


def test_the_filter_is_strict():
    table = TeacherTable.make(("a",), ("x", "y"), np.array([[0.75, 0.25]], np.float32), card=Card(teacher="t"), gamma=0)
    assert [bool(table.filter(gamma).kept_N.any()) for gamma in (0.7, 0.75, 0.8)] == [True, False, False]  # pyright: ignore


def test_ids_fit_with_an_extension_and_with_backslashes_and_nothing_is_guessed():
    table = TeacherTable(
        ids=("x\\a.mp4", "x/b.avi", "z/a"), labels=("run", "walk", "run"), confidence_N=np.ones(3, np.float32),
        classes=("run", "walk"),
    )  # fmt: skip
    found = table.for_ids(("x/b", "x/a", "y/q"))
    assert (found.ids, found.labels) == (("x/b", "x/a"), ("walk", "run"))
    with pytest.raises(UserError, match=r"none of the 3 ids of labels.csv .* is a video of this run"):
        table.for_ids(("q",), origin="labels.csv")


@pytest.mark.parametrize(
    ("text", "kind", "where"),
    [
        ("stick", "stick", None),
        ("clip", "clip", None),
        ("clip:a/b", "clip", "a/b"),
        ("source", "source", None),
        ("source:runs/x", "source", "runs/x"),
        ("labels.csv", "table", "labels.csv"),
        ("table:labels.parquet", "table", "labels.parquet"),
    ],
)
def test_who_is_meant(text: str, kind: str, where: str | None):
    assert TeacherSpec.parse(text) == TeacherSpec(kind, where)


@pytest.mark.parametrize(("text", "told"), [("stick:x", "unknown teacher"), ("source:", "names no place")])
def test_what_is_no_teacher(text: str, told: str):
    with pytest.raises(UserError, match=told):
        TeacherSpec.parse(text)
