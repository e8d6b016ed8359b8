"""Costs as tables for a person: on the screen, and as Markdown for a document."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from vidshift.bench.cost_bars import bars
from vidshift.bench.cost_file import joined, settings

Line = Mapping[str, Any]

# Heads and how their cells are written from a line; a cell of something that was not measured is empty.
Columns = Mapping[str, Callable[[Line], str]]


def _cell(column: str, form: Callable[[Any], str]) -> Callable[[Line], str]:
    return lambda line: "" if line.get(column) is None else form(line[column])


def _time(part: str) -> Callable[[Line], str]:
    def form(line: Line) -> str:
        if line.get(f"{part}_s") is None:
            return ""
        half = (line[f"{part}_high_s"] - line[f"{part}_low_s"]) / 2
        return f"{line[f'{part}_s'] * 1e3:.4g} ±{half / line[f'{part}_s']:.0%}"

    return form


def _rate(clips: float) -> str:
    return f"{clips:.3g}" if clips < 100 else f"{clips:.0f}"


def _ratio(value: float) -> str:
    return f"{value:.3f}"


def _mebibytes(value: int) -> str:
    return f"{value / 2**20:,.0f}"


NAMES: Columns = {"reducer": lambda line: line["reducer"], "kept": _cell("kept", _ratio)}
TIMES: Columns = {
    **NAMES,
    "choose %": _cell("choosing_share", lambda share: f"{100 * share:.2g}"),
    "forward ms": _time("forward"),
    "clips/s": _cell("forward_clips_per_s", _rate),
    "/FLOPs": _cell("forward_over_flops", _ratio),
    "step ms": _time("step"),
    "clips/s ": _cell("step_clips_per_s", _rate),
    "/FLOPs ": _cell("step_over_flops", _ratio),
    "optimizer ms": _time("optimizer"),
}
LOADS: Columns = {
    **NAMES,
    "tokens": _cell("tokens", lambda tokens: f"{tokens:.4g}"),
    "GFLOPs": _cell("flops_true", lambda flops: f"{flops / 1e9:.5g}"),
    "of all": _cell("flops_ratio", _ratio),
    "paper's": _cell("flops_paper", lambda flops: f"{flops / 1e9:.5g}"),
    "memory MiB": _cell("memory_after", _mebibytes),
    "peak MiB": _cell("memory_peak", _mebibytes),
}
NOTES = """choose: energies, selection and packing over a full forward pass; they are inside the forward pass too. step:
forward and backward, optimizer apart. /FLOPs: time over the time of all tokens, divided by true FLOPs over those of all
tokens: 1 is as fast as its FLOPs. GFLOPs of a clip; the paper counts the linear layers of the blocks alone. ±: half the
range of the rounds. memory: of a fresh process after its first training step, and at its peak in two."""


@dataclass(frozen=True)
class Section:
    """A table before it has a form; columns without any entry are left out."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, title: str, columns: Columns, lines: Sequence[Line]) -> "Section":
        cells = {head: [form(line) for line in lines] for head, form in columns.items()}
        shown = {head: column for head, column in cells.items() if any(column)}
        return cls(title, tuple(shown), tuple(zip(*shown.values(), strict=True)))

    @property
    def says_something(self) -> bool:
        return len(self.heads) > len(NAMES)

    def table(self) -> Table:
        found = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for place, head in enumerate(self.heads):
            found.add_column(head, justify="right" if place else "left")
        for row in self.rows:
            found.add_row(*row)
        return found

    def markdown(self) -> str:
        lines = [f"**{self.title}**", "", _row(self.heads), _row(["---"] + ["---:"] * (len(self.heads) - 1))]
        return "\n".join([*lines, *(_row(row) for row in self.rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.strip() for cell in cells)} |"


def sections(lines: Sequence[Line]) -> list[Section]:
    """Times and loads for each precision, of lines of one setting (`cost_file.lines_of`)."""
    first = lines[0]
    clock = "wall time" if first["clock"] == "wall" else "processor time"
    clips = f"{first['backbone']}, {first['batch']} clips of {first['frames']} x {first['height']} x {first['width']}"
    found: list[Section] = []
    for precision in dict.fromkeys(line["precision"] for line in lines):
        chosen = [line for line in lines if line["precision"] == precision]
        timed = f"{clips}, {precision}: {clock}, medians of {first['rounds']} interleaved rounds after a warm-up"
        found.append(Section.of(timed, TIMES, chosen))
        found.append(Section.of(f"{clips}, {precision}: work and memory", LOADS, chosen))
    return [section for section in found if section.says_something]


def markdown(lines: Sequence[Line]) -> str:
    """Everything in a CSV that grew, joined: tables and bars of every machine and setting."""
    texts: list[str] = []
    for group in settings(joined(lines)):
        texts.append(f"Measured on {group[0]['host']}.")
        texts += [section.markdown() for section in sections(group)]
        texts.append("\n".join(f"- {bar}" for bar in bars(group)))
    return "\n\n".join([*texts, NOTES])
