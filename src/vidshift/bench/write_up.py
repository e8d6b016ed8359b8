"""A finished comparison as files: markdown tables, one CSV line a run, figures, and the printed numbers apart."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from vidshift.bench import paper, tables
from vidshift.bench.cells import Cell
from vidshift.bench.compare import Line
from vidshift.bench.figures import Mark, accuracy_against_cost, training_curves
from vidshift.bench.tables import Row
from vidshift.bench.timed import StepTime
from vidshift.bench.timed import markdown as timed_markdown
from vidshift.engine.files import write_text
from vidshift.errors import UserError

_PRINTED = (
    "## Printed in the paper\n\nOther data (Daily-DA), another backbone (ViT-B/16, VideoMAE) and one run a number: for "
    "reading beside the tables above, not for ranking with them."
)


def write_up(
    folder: Path,
    blocks: Mapping[str, Sequence[Cell]],
    done: Mapping[Cell, Line],
    *,
    against: str = "",
    times: Sequence[StepTime] = (),
    host: str = "",
) -> list[Path]:
    """Writes what the finished runs amount to, and returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    seconds = {entry.row: entry.training_seconds for entry in times}
    parts = [_head(done)]
    everything: dict[Cell, Line] = {}
    for name, cells in blocks.items():
        mine = {cell: done[cell] for cell in cells if cell in done}
        everything |= mine
        if mine:
            rows = tables.rows_of(mine)
            parts.append(f"## {name}\n\n{tables.markdown(rows, against=against, seconds=seconds)}")
    if times:
        parts.append(f"## Training time\n\n{timed_markdown(times, host=host)}")
    parts += [_PRINTED, *(table.markdown() for table in paper.ALL)]
    text, lines = folder / "tables.md", folder / "runs.csv"
    write_text(text, "\n\n".join(parts) + "\n")
    write_text(lines, tables.as_csv(tables.rows_of(everything)))
    return [text, lines, *draw(folder, blocks, done, seconds=seconds)]


def _head(done: Mapping[Cell, Line]) -> str:
    hosts = sorted({line.values["host"] for line in done.values()})
    codes = sorted({line.values["code"] for line in done.values()})
    return (
        f"# Comparison\n\n{len(done)} runs, code {', '.join(codes)}, on {'; '.join(hosts)}. Intervals: 95 %, "
        "hierarchical bootstrap over seeds and clips. Differences are paired by seed and clip; McNemar's p pools the "
        "clips of all seeds. Kept tokens and FLOPs are means over the target's test clips."
    )


def draw(
    folder: Path,
    blocks: Mapping[str, Sequence[Cell]],
    done: Mapping[Cell, Line],
    *,
    seconds: Mapping[str, float],
) -> list[Path]:
    """Accuracy against cost for each block, direction and variant, and the curves of everything that learned."""
    written = []
    for name, cells in blocks.items():
        rows = tables.rows_of({cell: done[cell] for cell in cells if cell in done})
        for direction, variant in dict.fromkeys((row.direction, row.variant) for row in rows):
            mine = [row for row in rows if (row.direction, row.variant) == (direction, variant)]
            label = "-".join([name, direction.replace("->", "-to-"), variant.replace(",", "+")]).strip("-")
            for axis, title, cost in (
                ("flops", "true FLOPs, share of all tokens'", _flops_share),
                ("seconds", "training seconds", lambda row: seconds.get(row.name)),
            ):
                marks = [mark for row in mine if (mark := _mark(row, cost(row))) is not None]
                if len(marks) > 1:
                    written.append(_save(folder, f"{axis}-{label}.png", accuracy_against_cost(marks, cost=title)))
            curves = {row.name: [line.values["curve"] for line in row.runs.values()] for row in mine}
            learned = {row: runs for row, runs in curves.items() if any("mu" in run[-1] for run in runs if run)}
            if learned:
                written.append(_save(folder, f"curves-{label}.png", training_curves(learned)))
    return written


def _flops_share(row: Row) -> float | None:
    return row.mean("flops_per_clip", "true_ratio")


def _mark(row: Row, cost: float | None) -> Mark | None:
    found = row.accuracy
    if found is None or cost is None:
        return None
    group = "fixed threshold" if "+ motion(" in row.name else ""
    return Mark(name=row.name, cost=cost, accuracy=found.mean, low=found.low, high=found.high, group=group)


def _save(folder: Path, name: str, figure: object) -> Path:
    from matplotlib.figure import Figure

    if not isinstance(figure, Figure):
        raise UserError("figures need matplotlib: pip install 'vidshift[plots]'.")
    path = folder / name
    figure.savefig(path, dpi=120)
    import matplotlib.pyplot as plt

    plt.close(figure)
    return path
