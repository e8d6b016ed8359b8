"""A benchmark's table against the files that are there: counts by domain, split and class, and what is missing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vidshift.data.manifest import Manifest, Row
from vidshift.data.resolve import AMBIGUOUS, MISSING, Found, locate
from vidshift.data.tree import split_suffix


@dataclass(frozen=True)
class Entry:
    """One video of a benchmark: its name in the raw data set, its class (an index) and its split."""

    name: str
    label: int
    split: str
    raw_class: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a data set's names may be matched (`data/resolve.py`), and what to tell somebody who lacks some."""

    flat: bool = True
    youtube: bool = False
    hint: str = ""


@dataclass(frozen=True)
class Cell:
    """One class of one split of one domain."""

    domain: str
    split: str
    name: str
    expected: int
    found: int


@dataclass(frozen=True, kw_only=True)
class BenchmarkReport:
    """Expected against found. `manifests` hold all videos, the missing ones marked; `missing` their wanted names."""

    name: str
    classes: tuple[str, ...]
    cells: tuple[Cell, ...]
    manifests: Mapping[str, Manifest] = field(repr=False)
    missing: Mapping[str, tuple[str, ...]] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def expected(self) -> int:
        return sum(cell.expected for cell in self.cells)

    @property
    def found(self) -> int:
        return sum(cell.found for cell in self.cells)

    def totals(self) -> dict[tuple[str, str], tuple[int, int]]:
        """(domain, split) -> (found, expected)."""
        sums: dict[tuple[str, str], tuple[int, int]] = {}
        for cell in self.cells:
            found, expected = sums.get((cell.domain, cell.split), (0, 0))
            sums[cell.domain, cell.split] = found + cell.found, expected + cell.expected
        return sums

    def as_dict(self) -> dict[str, Any]:
        return {
            "benchmark": self.name,
            "found": self.found,
            "expected": self.expected,
            "cells": [vars(cell) for cell in self.cells],
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """A table for a person: found of expected, or one number where all are there."""
        header = ["domain", "split", *self.classes, "all"]
        table = [header]
        for (domain, split), total in self.totals().items():
            mine = {c.name: (c.found, c.expected) for c in self.cells if (c.domain, c.split) == (domain, split)}
            table.append([domain, split, *(_of(mine.get(name, (0, 0))) for name in self.classes), _of(total)])
        width = [max(len(row[k]) for row in table) for k in range(len(header))]
        shown = ["  ".join(f"{text:{'<' if k < 2 else '>'}{width[k]}}" for k, text in enumerate(row)) for row in table]
        return [f"{self.name}: {self.found:,} of {self.expected:,} videos found", *shown, *self.notes]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _of(pair: tuple[int, int]) -> str:
    found, expected = pair
    return str(expected) if found == expected else f"{found}/{expected}"


def compare(
    name: str,
    classes: Sequence[str],
    tables: Mapping[str, Sequence[Entry]],
    roots: Mapping[str, Path],
    rules: Mapping[str, Rules],
    *,
    notes: Sequence[str] = (),
) -> BenchmarkReport:
    """Looks for every video of every domain under the domain's folder. With some folders given only their domains
    count; with none, all of them are wanted."""
    wanted = [domain for domain in tables if domain in roots] or list(tables)
    manifests: dict[str, Manifest] = {}
    missing: dict[str, tuple[str, ...]] = {}
    said = list(notes)
    for domain in wanted:
        entries, rule, root = tables[domain], rules.get(domain, Rules()), roots.get(domain)
        found, how = _look(entries, root, rule)
        origin = f"{name}:{domain}, '{root}'"
        manifests[domain] = Manifest(_rows(entries, found, root, domain, classes), tuple(classes), origin)
        missing[domain] = tuple(entry.name for entry, item in zip(entries, found, strict=True) if item.name is None)
        said.extend(f"{domain}: {note}" for note in how)
        if missing[domain] and rule.hint and root is not None:
            said.append(f"{domain}: {len(missing[domain]):,} are missing; {rule.hint}")
    return BenchmarkReport(
        name=name,
        classes=tuple(classes),
        cells=_cells(manifests, classes),
        manifests=manifests,
        missing={domain: names for domain, names in missing.items() if names},
        notes=tuple(said),
    )


def _look(entries: Sequence[Entry], root: Path | None, rule: Rules) -> tuple[list[Found], tuple[str, ...]]:
    if root is None:
        return [Found(None)] * len(entries), ()
    raw = {entry.raw_class for entry in entries if entry.raw_class}
    return locate([entry.name for entry in entries], root, classes=raw, flat=rule.flat, youtube=rule.youtube)


def _rows(
    entries: Sequence[Entry], found: Sequence[Found], root: Path | None, domain: str, classes: Sequence[str]
) -> tuple[Row, ...]:
    rows: list[Row] = []
    for entry, item in zip(entries, found, strict=True):
        status, reason = (None, None) if item.name is not None else AMBIGUOUS if item.ambiguous else MISSING
        rows.append(
            Row(
                id=split_suffix(entry.name)[0],
                path=(root or Path()) / (item.name or entry.name),
                label=classes[entry.label],
                raw_label=entry.raw_class,
                split=entry.split,
                domain=domain,
                status=status,
                reason=reason,
            )
        )
    return tuple(rows)


def _cells(manifests: Mapping[str, Manifest], classes: Sequence[str]) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for domain, manifest in manifests.items():
        every = Counter((row.split, row.label) for row in manifest.rows)
        there = Counter((row.split, row.label) for row in manifest.rows if row.status is None)
        for split in ("train", "test"):
            mine = [(split, name) for name in classes if every[split, name]]
            cells.extend(Cell(domain, split, name, every[split, name], there[split, name]) for _, name in mine)
    return tuple(cells)
