"""Finished runs -> tables: means with intervals, differences from one row, and the same as CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vidshift.bench.cells import Cell
from vidshift.bench.compare import Line
from vidshift.bench.statistics import Interval, Mcnemar, difference, interval, mcnemar, unpack_hits


@dataclass(frozen=True)
class Row:
    """One row of a comparison in one direction and variant: its runs by seed."""

    name: str
    direction: str
    variant: str
    runs: Mapping[int, Line]

    def __repr__(self) -> str:
        return f"Row({self.name}, {self.direction}, {self.variant or 'default'}, {len(self.runs)} seeds)"

    @cached_property
    def hits(self) -> dict[int, NDArray[np.bool_]]:
        return {seed: unpack_hits(line.values["hits"]) for seed, line in self.runs.items() if line.values["hits"]}

    @cached_property
    def accuracy(self) -> Interval | None:
        return interval([hits.astype(np.float64) for hits in self.hits.values()]) if self.hits else None

    @property
    def spread(self) -> float:
        """The standard deviation of the accuracy over seeds."""
        found = [hits.mean() for hits in self.hits.values()]
        return float(np.std(found, ddof=1)) if len(found) > 1 else 0.0

    def mean(self, *path: str) -> float | None:
        """The mean over seeds of a number of the runs, such as `mean("flops_per_clip", "true_ratio")`."""
        found = []
        for line in self.runs.values():
            value: Any = line.values
            for name in path:
                value = None if value is None else value.get(name)
            if value is None:
                return None
            found.append(float(value))
        return float(np.mean(found)) if found else None

    def minus(self, other: "Row") -> tuple[Interval, Mcnemar] | None:
        """Paired by the seeds that both have, and within them by clip."""
        seeds = sorted(set(self.hits) & set(other.hits))
        if not seeds:
            return None
        mine, theirs = [self.hits[seed] for seed in seeds], [other.hits[seed] for seed in seeds]
        return difference(mine, theirs), mcnemar(np.concatenate(mine), np.concatenate(theirs))


def rows_of(done: Mapping[Cell, Line]) -> list[Row]:
    """Rows in the order of their first run."""
    found: dict[tuple[str, str, str], dict[int, Line]] = {}
    for cell, line in done.items():
        found.setdefault((cell.row, cell.direction, cell.variant), {})[cell.seed] = line
    return [Row(*place, runs) for place, runs in found.items()]


def markdown(rows: Sequence[Row], *, against: str = "", seconds: Mapping[str, float] | None = None) -> str:
    """One table for each variant and direction. `against` names the row that all others are paired with; `seconds`
    are training times by row, where they were measured."""
    parts = []
    for variant, direction in dict.fromkeys((row.variant, row.direction) for row in rows):
        mine = [row for row in rows if (row.variant, row.direction) == (variant, direction)]
        base = next((row for row in mine if row.name == against), None)
        parts.append(_table(mine, base, title=f"{direction}, {variant or 'default variant'}", seconds=seconds))
    return "\n\n".join(parts)


def _table(rows: Sequence[Row], base: Row | None, *, title: str, seconds: Mapping[str, float] | None) -> str:
    head = ["row", "accuracy % [95 %]", "sd", "kept", "true FLOPs", "threshold"]
    head += [f"minus {base.name}", "McNemar p"] if base else []
    head += ["training s"] if seconds else []
    lines = [f"### {title} ({_seeds(rows)})", "", _line(head), _line(["---"] * len(head))]
    for row in rows:
        deviation = f"{100 * row.spread:.1f}" if len(row.runs) > 1 else ""  # one run has none, and not one of zero
        cells = [row.name, _accuracy(row), deviation, _share(row.mean("kept_ratio", "target"))]
        cells += [_share(row.mean("flops_per_clip", "true_ratio")), _number(row.mean("threshold"))]
        if base:
            pair = None if row is base else row.minus(base)
            cells += ["", ""] if pair is None else [str(pair[0]), f"{pair[1].p:.2g}"]
        if seconds:
            cells.append(f"{seconds[row.name]:.0f}" if row.name in seconds else "")
        lines.append(_line(cells))
    return "\n".join(lines)


def _seeds(rows: Sequence[Row]) -> str:
    counts = sorted({len(row.runs) for row in rows})
    return f"{counts[0]} seeds" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"


def _accuracy(row: Row) -> str:
    found = row.accuracy
    return "no labels" if found is None else f"{100 * found.mean:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


_TARGET = ("accuracy", "macro_accuracy", "correct", "found")


def as_csv(rows: Sequence[Row]) -> str:
    """One line a run, for other programs."""
    text = io.StringIO()
    lines = [_csv_line(row, seed, line) for row in rows for seed, line in sorted(row.runs.items())]
    writer = csv.DictWriter(text, list(lines[0]) if lines else ["row"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _csv_line(row: Row, seed: int, line: Line) -> dict[str, Any]:
    values, teacher = line.values, line.values["teacher"] or {}
    flops = values["flops_per_clip"] or {}
    return {
        "row": row.name,
        "source": line.cell.source,
        "target": line.cell.target,
        "variant": row.variant,
        "seed": seed,
        **{name: values["target"][name] for name in _TARGET},
        "kept_target": values["kept_ratio"]["target"],
        "true_flops_ratio": flops.get("true_ratio"),
        "true_flops": flops.get("true"),
        "paper_flops": flops.get("paper"),
        "threshold": values["threshold"],
        "teacher_accuracy": teacher.get("accuracy"),
        "coverage": teacher.get("coverage"),
        "steps": values["steps"],
    }
