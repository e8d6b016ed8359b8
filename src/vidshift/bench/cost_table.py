"""Costs as a table for a person, and as CSV or JSON for a program."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from vidshift.bench.cost import Costs
from vidshift.engine.files import write_text
from vidshift.errors import UserError

FORMATS = (".csv", ".json")


def check_out(path: Path) -> None:
    """Before anything is measured."""
    if path.suffix not in FORMATS:
        raise UserError(f"--out {str(path)!r} has no known format; name it .csv or .json.", usage=True)
    if not path.parent.is_dir():
        raise UserError(f"--out {str(path)!r}: the folder {str(path.parent)!r} does not exist; make it first.")


def as_dict(costs: Costs) -> dict[str, Any]:
    plan = costs.plan
    setting = {
        "batch": plan.batch,
        "rounds": plan.rounds,
        "clock": plan.clock,
        "threads": plan.threads,
        "seed": plan.seed,
        "videos": [str(path) for path in plan.videos],
        "backbone": plan.config.as_dict(),
    }
    return {"host": costs.host.as_dict(), "plan": setting, "rows": costs.lines()}


def as_csv(costs: Costs) -> str:
    """One line a row; the machine and the setting are columns, so that files of several runs can be joined."""
    shared = {
        "host": str(costs.host),
        "batch": costs.plan.batch,
        "rounds": costs.plan.rounds,
        "clock": costs.plan.clock,
    }
    lines = [{**line, **shared} for line in costs.lines()]
    names = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def save(costs: Costs, path: Path) -> None:
    write_text(path, as_csv(costs) if path.suffix == ".csv" else json.dumps(as_dict(costs), indent=2) + "\n")


# Heads and how their cells are written from a line of `Costs.lines`.
Columns = dict[str, Callable[[dict[str, Any]], str]]
NAMES: Columns = {"reducer": lambda line: line["reducer"], "kept": lambda line: f"{line['kept']:.3f}"}
TIMES: Columns = NAMES | {
    "choose ms": lambda line: f"{(line['select_s'] + line['pack_s']) * 1e3:.4g}" if "select_s" in line else "",
    "forward ms": lambda line: _time(line, "forward"),
    "clips/s": lambda line: _rate(line["forward_clips_per_s"]),
    "/FLOPs": lambda line: f"{line['forward_over_flops']:.3f}",
    "step ms": lambda line: _time(line, "step"),
    "clips/s ": lambda line: _rate(line["step_clips_per_s"]),
    "/FLOPs ": lambda line: f"{line['step_over_flops']:.3f}",
}
LOADS: Columns = NAMES | {
    "tokens": lambda line: f"{line['tokens']:.4g}",
    "GFLOPs": lambda line: f"{line['flops_true'] / 1e9:.5g}",
    "of all": lambda line: f"{line['flops_ratio']:.3f}",
    "paper's": lambda line: f"{line['flops_paper'] / 1e9:.5g}",
    "optimizer ms": lambda line: _time(line, "optimizer"),
    "memory MiB": lambda line: _size(line.get("memory_after")),
    "peak MiB": lambda line: _size(line.get("memory_peak")),
}
NOTES = """choose: selection and packing, both inside the forward pass too. step: forward and backward, optimizer apart.
/FLOPs: time over the time of all tokens, divided by true FLOPs over those of all tokens: 1 is as fast as its FLOPs.
GFLOPs of a clip; the paper counts the linear layers of the blocks alone. ±: half the range of the rounds.
memory: of a fresh process after its first training step, and at its peak in two."""


def tables(costs: Costs) -> list[Table]:
    """Times and loads, for each precision."""
    plan, g, lines = costs.plan, costs.plan.config.geometry, costs.lines()
    clock = "wall time" if plan.clock == "wall" else "processor time"
    setting = f"{plan.backbone.name}, {plan.batch} clips of {g.frames} x {g.height} x {g.width}"
    found = []
    for precision in plan.precisions:
        chosen = [line for line in lines if line["precision"] == precision]
        found.append(_table(f"{setting}, {precision}: {clock}, medians of {plan.rounds} rounds", TIMES, chosen))
        found.append(_table(f"{setting}, {precision}: work and memory", LOADS, chosen))
    return found


def _table(title: str, columns: Columns, lines: list[dict[str, Any]]) -> Table:
    found = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place, head in enumerate(columns):
        found.add_column(head, justify="right" if place else "left")
    for line in lines:
        found.add_row(*(cell(line) for cell in columns.values()))
    return found


def _time(line: dict[str, Any], part: str) -> str:
    half = (line[f"{part}_high_s"] - line[f"{part}_low_s"]) / 2
    return f"{line[f'{part}_s'] * 1e3:.4g} ±{half / line[f'{part}_s']:.0%}"


def _rate(clips: float) -> str:
    return f"{clips:.3g}" if clips < 100 else f"{clips:.0f}"


def _size(value: int | None) -> str:
    return "" if value is None else f"{value / 2**20:,.0f}"
