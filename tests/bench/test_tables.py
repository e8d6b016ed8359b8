"""Finished runs as tables: means, spreads and pairs worked out by hand."""

import csv
import io
import math

import numpy as np
import pytest

from vidshift.bench.cells import Cell
from vidshift.bench.compare import Line
from vidshift.bench.statistics import pack_hits
from vidshift.bench.tables import as_csv, markdown, rows_of


def line(reducer: str, seed: int, hits: str, kept: float | None = 0.5) -> tuple[Cell, Line]:
    """`hits`: 1 right, 0 wrong, one letter a clip."""
    right = np.array([letter == "1" for letter in hits])
    cell = Cell(source="studio", target="street", method="joint", reducer=reducer, seed=seed)
    values = {
        "hits": pack_hits(right),
        "target": {"accuracy": right.mean(), "macro_accuracy": 0.5, "correct": int(right.sum()), "found": len(right)},
        "kept_ratio": {"source": kept, "target": kept},
        "flops_per_clip": {"true": 5.0, "paper": 4.0, "true_ratio": 0.5},
        "threshold": None,
        "teacher": None,
        "steps": 7,
    }
    return cell, Line(cell, values)


DONE = dict(
    [line("none", 0, "1100", 1.0), line("none", 1, "1000", 1.0), line("lmft", 0, "1110"), line("lmft", 1, "1011")]
)


def test_rows_hold_their_seeds():
    none, lmft = rows_of(DONE)
    assert [none.name, lmft.name] == ["joint + none", "joint + lmft"]
    assert sorted(lmft.runs) == [0, 1]
    assert none.accuracy is not None
    assert none.accuracy.mean == pytest.approx((0.5 + 0.25) / 2)
    assert none.spread == pytest.approx(math.sqrt(2 * 0.125**2))
    assert lmft.mean("kept_ratio", "target") == 0.5
    assert lmft.mean("threshold") is None
    assert lmft.mean("teacher", "accuracy") is None


def test_one_run_has_no_deviation():
    (row,) = rows_of(dict([line("lmft", 0, "1110")]))
    shown = [cell.strip() for cell in markdown([row]).split("\n")[-1].split("|")]
    assert shown[1] == "joint + lmft"
    assert shown[3] == ""
    assert " 0.0 |" not in markdown([row])


def test_differences_are_paired_by_seed_and_clip():
    none, lmft = rows_of(DONE)
    pair = lmft.minus(none)
    assert pair is not None
    gap, test = pair
    assert gap.mean == pytest.approx((0.25 + 0.5) / 2)
    assert (test.only_first, test.only_second) == (3, 0)
    assert test.p == pytest.approx(2 / 2**3)


def test_rows_without_a_shared_seed_are_not_compared():
    one, other = rows_of(dict([line("none", 0, "10"), line("lmft", 1, "11")]))
    assert one.minus(other) is None


def test_the_table_as_text():
    text = markdown(rows_of(DONE), against="joint + none")
    assert text.startswith("### studio->street, default variant (2 seeds)")
    head, _, base, other = text.splitlines()[2:]
    assert head.endswith("| minus joint + none | McNemar p |")
    assert base.startswith("| joint + none | 37.5 [")
    assert other.startswith("| joint + lmft | 75.0 [")
    assert "| 0.500 | 0.500 |" in other
    assert other.endswith("| 0.25 |")
    assert {row.count("|") for row in (head, base, other)} == {9}


def test_one_line_a_run_for_other_programs():
    found = list(csv.DictReader(io.StringIO(as_csv(rows_of(DONE)))))
    assert [(row["row"], row["seed"], row["correct"]) for row in found] == [
        ("joint + none", "0", "2"),
        ("joint + none", "1", "1"),
        ("joint + lmft", "0", "3"),
        ("joint + lmft", "1", "3"),
    ]
    assert found[0]["true_flops_ratio"] == "0.5"
    assert found[0]["threshold"] == ""
