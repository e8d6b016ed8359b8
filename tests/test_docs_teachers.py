"""What docs/teachers.md names is there."""

import re
from pathlib import Path

import pytest

from vidshift.cli import run
from vidshift.data.wordings import TEMPLATE
from vidshift.engine.defaults import TEACHER
from vidshift.teachers.base import Card, TeacherSpec
from vidshift.teachers.hub import DEFAULT
from vidshift.teachers.table import TeacherTable
from vidshift.teachers.table_file import write_table

PAGE = (Path(__file__).parents[1] / "docs" / "teachers.md").read_text(encoding="utf-8")


def test_every_option_that_is_named_is_one(capsys: pytest.CaptureFixture[str]):
    for command in ("label", "adapt"):
        run([command, "--help"])
    shown = capsys.readouterr().out
    named = set(re.findall(r"--[a-z][a-z-]+", PAGE))
    assert {"--teacher", "--prompt", "--classes", "--time-limit", "--yes"} <= named
    assert [option for option in named if option not in shown] == []


def test_the_teachers_that_are_named_are_understood():
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `") and "guess" not in line]
    specs = [spec for row in rows for spec in re.findall(r"`([^`.]+(?:\.csv)?)`", row)]
    for spec in ("clip", "stick", "source", "source:RUN", "labels.csv"):
        assert spec in specs
        assert TeacherSpec.parse(spec)
    assert f"`{DEFAULT}`" in PAGE
    assert f"| `{TEACHER}` |" in PAGE
    assert f"`{TEMPLATE}`" in PAGE


def test_the_columns_of_the_table_are_those_that_are_written(tmp_path: Path):
    import numpy as np

    probs = np.array([[0.7, 0.3]], np.float32)
    table = TeacherTable.make(("a",), ("CLASS", "OTHER"), probs, card=Card(teacher="t"), gamma=0.8)
    write_table(table, tmp_path / "t.csv")
    for column in (tmp_path / "t.csv").read_text().splitlines()[0].split(","):
        assert f"`{column}`" in PAGE or column == "p:OTHER"
