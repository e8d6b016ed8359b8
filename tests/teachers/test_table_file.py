"""Teacher tables on disk: ours come back as they were, anybody's are read, and what is wrong is named."""

from pathlib import Path

import numpy as np
import pytest

from vidshift.errors import UserError
from vidshift.teachers.base import Card
from vidshift.teachers.table import TeacherTable
from vidshift.teachers.table_file import read_table, write_table

CLASSES = ("run", "walk, slowly")
PROBS = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8]], np.float32)


def table() -> TeacherTable:
    card = Card(teacher="clip", prompt='a "video" of {class}', temperature=100.0)
    return TeacherTable.make(["a/é", "b", "c,d"], CLASSES, PROBS, card=card, gamma=0.75)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv"])
def test_a_table_comes_back_as_it_was(tmp_path: Path, suffix: str):
    path = tmp_path / f"labels{suffix}"
    write_table(table(), path)
    found = read_table(path, classes=CLASSES)
    assert (found.ids, found.labels) == (table().ids, ("run", "walk, slowly", "walk, slowly"))
    assert found.kept_N is not None
    assert found.kept_N.tolist() == [True, False, True]
    assert np.array_equal(found.probabilities(), PROBS)
    assert found.confidence_N.tolist() == PROBS.max(1).tolist()
    assert (found.card.teacher, found.card.prompt, found.card.temperature) == ("clip", 'a "video" of {class}', 100.0)
    first = path.read_bytes()
    write_table(found, path)
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]


def test_id_and_label_are_enough(tmp_path: Path):
    path = tmp_path / "mine.csv"
    path.write_text("label,id\nRun,a\n,b\nrun,c\n")
    found = read_table(path, classes=("run", "walk"))
    assert (found.ids, found.labels) == (("a", "c"), ("run", "run"))
    assert found.confidence_N.tolist() == [1, 1]
    assert found.kept_N is None
    assert found.card.teacher == "table:mine.csv"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("id,lable\na,run\n", "no column 'label' .did you mean 'lable'"),
        ("id,label\n", "labels no video"),
        ("id,label\na,\n", "labels no video"),
        ("id,label\na,run\na,walk\n", "the id 'a' more than once"),
        ("id,label\na,run,3\n", "line 2 of .* has 3 values where its header has 2"),
        ("id,label,confidence\na,run,1.5\n", "'1.5' in column 'confidence' for id 'a'"),
        ("id,label,confidence\na,run,high\n", "'high' in column 'confidence'"),
        ("id,label,kept\na,run,maybe\n", "'maybe' in column 'kept'"),
        ("id,label\na,fly\n", "the label 'fly'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, told: str):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=told):
        read_table(path, classes=("run", "walk"))


def test_a_file_that_is_no_table(tmp_path: Path):
    with pytest.raises(UserError, match="no teacher table"):
        read_table(tmp_path / "labels.xlsx")
    with pytest.raises(UserError, match="there is no teacher table"):
        read_table(tmp_path / "labels.csv")
    (tmp_path / "labels.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match="cannot be read as Parquet"):
        read_table(tmp_path / "labels.parquet")
    (tmp_path / "labels.csv").write_bytes(b"id,label\n\xff,\xfe\n")
    with pytest.raises(UserError, match="UTF-8"):
        read_table(tmp_path / "labels.csv")
