"""The numbers of `vidshift cost` in files. A CSV grows: a measurement may be done in parts, one after another."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vidshift.bench.cost import Costs
from vidshift.bench.cost_bars import bars
from vidshift.engine.files import write_text
from vidshift.errors import UserError

FORMATS = (".csv", ".json")
TEXTS = ("reducer", "precision", "host", "clock", "backbone", "measured")
# Rows of parts that agree in these are one row: the same thing, measured on the same machine in the same way.
SETTING = ("host", "backbone", "frames", "height", "width", "batch", "rounds", "clock")
SAME = (*SETTING, "precision", "reducer", "asked")


def check_out(path: Path) -> None:
    """Before anything is measured."""
    if path.suffix not in FORMATS:
        raise UserError(f"--out {str(path)!r} has no known format; name it .csv or .json.", usage=True)
    if not path.parent.is_dir():
        raise UserError(f"--out {str(path)!r}: the folder {str(path.parent)!r} does not exist; make it first.")
    if path.suffix == ".json" and path.exists():
        raise UserError(f"--out {str(path)!r} exists; remove it, or name a .csv file, which new rows are added to.")
    if path.exists():
        read_csv(path)


def lines_of(costs: Costs) -> list[dict[str, Any]]:
    """One flat line a row, with the machine and the setting: lines of several runs can lie in one file."""
    plan, g = costs.plan, costs.plan.config.geometry
    setting = {
        "host": str(costs.host),
        "backbone": plan.backbone.name,
        "frames": g.frames,
        "height": g.height,
        "width": g.width,
        "batch": plan.batch,
        "rounds": plan.rounds,
        "clock": plan.clock,
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return [{**line, **setting} for line in costs.lines()]


def as_dict(costs: Costs) -> dict[str, Any]:
    plan, lines = costs.plan, costs.lines()
    setting = {
        "batch": plan.batch,
        "rounds": plan.rounds,
        "parts": list(plan.parts),
        "clock": plan.clock,
        "threads": plan.threads,
        "seed": plan.seed,
        "videos": [str(path) for path in plan.videos],
        "backbone": plan.config.as_dict(),
    }
    return {
        "host": costs.host.as_dict(),
        "plan": setting,
        "rows": lines,
        "bars": [bar.as_dict() for bar in bars(lines)],
    }


def as_csv(lines: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def save(costs: Costs, path: Path) -> None:
    """A CSV keeps the lines that it has."""
    if path.suffix == ".json":
        write_text(path, json.dumps(as_dict(costs), indent=2) + "\n")
        return
    before = read_csv(path) if path.exists() else []
    write_text(path, as_csv([*before, *lines_of(costs)]))


def read_csv(path: Path) -> list[dict[str, Any]]:
    """Lines that `save` wrote; a number that is not there is None."""
    if not path.is_file():
        raise UserError(f"{str(path)!r} is not there; name a CSV that `vidshift cost --out` wrote.", usage=True)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            heads, lines = reader.fieldnames or [], list(reader)
        if missing := [name for name in SAME if name not in heads]:
            raise ValueError(f"it lacks the column {missing[0]!r}")
        if any(None in line or None in line.values() for line in lines):
            raise ValueError("a line has not as many fields as its head")
        return [{name: _value(name, text) for name, text in line.items()} for line in lines]
    except (OSError, UnicodeDecodeError, ValueError, csv.Error) as error:
        raise UserError(f"{str(path)!r} is no CSV of `vidshift cost`: {error}; name another file.") from error


def _value(name: str, text: str) -> Any:
    if name in TEXTS:
        return text
    number = float(text) if text else None
    return int(number) if number is not None and number.is_integer() and "." not in text else number


def joined(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Parts of one row as one; where something was measured twice, the later counts."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in lines:
        row = rows.setdefault(tuple(line[name] for name in SAME), {})
        row |= {name: value for name, value in line.items() if value is not None}
    return list(rows.values())


def settings(lines: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The lines of each machine and setting apart: only those can be compared."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for line in lines:
        groups.setdefault(tuple(line[name] for name in SETTING), []).append(line)
    return list(groups.values())
