"""`report.html` of a run: its closing table, its curves and its mistakes on one page, without a network or a script.

Everything is read from the files of the finished run; writing it again gives the same page.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from vidshift.data.names import readable
from vidshift.engine.adapt import Finished
from vidshift.engine.closing import table_rows
from vidshift.engine.config import load_config
from vidshift.engine.expected import expected
from vidshift.engine.files import remove_leftovers, write_text
from vidshift.engine.log import equal_spans, read_metrics

REPORT = "report.html"

# Chart title -> the lines in it: the name in the metrics, and what it is called.
STEPS: dict[str, dict[str, str]] = {
    "Loss": {"loss_source": "source", "loss_target": "target"},
    "Share of the tokens that is kept": {"kept_source": "source", "kept_target": "target"},
    "Threshold": {"threshold": "drawn for each step"},
    "Reward": {"reward": "of each step"},
}
EPOCHS = {"Source validation": {"source_validation_accuracy": "accuracy", "source_validation_confidence": "confidence"}}

_WIDE, _HIGH, _LEFT, _LOW = 420, 190, 46, 24
_POINTS = 120
_COLOURS = ("#2a6fdb", "#d9822b")

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .7rem .2rem 0; text-align: left; vertical-align: top; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem; } figure { margin: 0; } figcaption { font-size: .85rem; }
.matrix td, .matrix th { padding: .25rem .45rem; text-align: right; border: 1px solid var(--line); }
.scroll { overflow-x: auto; } .note { border-left: 3px solid #d9822b; padding-left: .8rem; }
pre { background: var(--soft); padding: 1rem; overflow-x: auto; } svg text { font-size: 11px; fill: currentColor; }
"""


def report_of(finished: Finished) -> Path | None:
    """The page of a run, written once; None where its folder can no longer be written to."""
    path = finished.folder / REPORT
    if not finished.anew and path.exists():
        return path
    try:
        return write_report(finished.folder, finished.summary)
    except OSError:  # a full disk, or a folder on a read-only one: the run is finished all the same
        return None


def write_report(folder: Path, summary: Mapping[str, Any]) -> Path:
    """The page of a finished run."""
    config = load_config(folder / "config.yaml")
    settings = (folder / "config.yaml").read_text(encoding="utf-8")
    page = report_page(
        summary,
        read_metrics(folder / "metrics.jsonl"),
        rows=table_rows(summary, expected(config)),
        settings=settings,
    )
    remove_leftovers(folder)  # of a process killed while it wrote the page
    write_text(folder / REPORT, readable(page))
    return folder / REPORT


def report_page(
    summary: Mapping[str, Any],
    metrics: Sequence[Mapping[str, Any]],
    *,
    rows: Sequence[tuple[str, str]],
    settings: str,
) -> str:
    """The whole page as text."""
    title = f"{summary['source']} to {summary['target_domain']}"
    named = f"{summary['method']} with {summary['reducer']}, seed {summary['seed']}, {summary['steps']} steps"
    found = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    notes = "".join(f'<p class="note">{escape(text)}</p>' for text in summary.get("warnings", ()))
    parts = [
        f"<h1>{escape(title)}</h1><p>{escape(named)}</p><table>{found}</table>{notes}",
        _charts(metrics),
        _mistakes("Target test", summary["target"], summary["classes"]),
        _mistakes("Source validation", summary["source_validation"], summary["classes"]),
        f"<h2>Settings</h2><pre>{escape(settings)}</pre>",
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n" + "\n".join(filter(None, parts)) + "\n</body></html>\n"
    )


def _charts(metrics: Sequence[Mapping[str, Any]]) -> str:
    drawn = []
    for kind, charts in (("step", STEPS), ("epoch", EPOCHS)):
        lines = [line for line in metrics if line["kind"] == kind]
        for title, names in charts.items():
            series = {shown: series_of(lines, name) for name, shown in names.items()}
            series = {shown: points for shown, points in series.items() if len(points) > 1}
            if series:
                drawn.append(f"<figure>{chart(series)}<figcaption>{escape(title)}</figcaption></figure>")
    return f'<h2>Training</h2><div class="charts">{"".join(drawn)}</div>' if drawn else ""


def series_of(lines: Sequence[Mapping[str, Any]], name: str) -> list[tuple[float, float]]:
    """(step, value), thinned to means over equal spans of steps."""
    found = [(float(line["total_step"]), float(line[name])) for line in lines if line.get(name) is not None]
    return [(part[-1][0], sum(y for _, y in part) / len(part)) for part in equal_spans(found, at_most=_POINTS)]


def chart(series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Lines over steps as SVG; the axis begins at 0 unless something is below it."""
    every = [point for points in series.values() for point in points]
    right = max(x for x, _ in every)
    low, high = min(0.0, *(y for _, y in every)), max(y for _, y in every)
    high = high if high > low else low + 1.0
    wide, tall = _WIDE - _LEFT - 8, _HIGH - _LOW - 8

    def place(x: float, y: float) -> str:
        return f"{_LEFT + x / right * wide:.1f},{8 + (high - y) / (high - low) * tall:.1f}"

    bottom = 8 + tall
    shapes = [
        f'<line x1="{_LEFT}" y1="{bottom}" x2="{_LEFT + wide}" y2="{bottom}" stroke="currentColor" opacity=".4"/>',
        f'<text x="{_LEFT - 6}" y="16" text-anchor="end">{high:.3g}</text>',
        f'<text x="{_LEFT - 6}" y="{bottom}" text-anchor="end">{low:.3g}</text>',
        f'<text x="{_LEFT + wide}" y="{_HIGH - 8}" text-anchor="end">step {right:g}</text>',
    ]
    for number, (shown, points) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        line = " ".join(place(x, y) for x, y in points)
        shapes.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        where = _LEFT + 4 + 110 * number
        shapes.append(f'<text x="{where}" y="{_HIGH - 8}" style="fill:{colour}">{escape(shown)}</text>')
    label = escape(", ".join(series))
    return f'<svg viewBox="0 0 {_WIDE} {_HIGH}" width="{_WIDE}" role="img" aria-label="{label}">{"".join(shapes)}</svg>'


def _mistakes(title: str, scored: Mapping[str, Any], classes: Sequence[str]) -> str:
    """What each class was taken for: a row a true class, a column an answer."""
    if not scored.get("confusion"):
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in classes)
    rows = []
    for name, counts in zip(classes, scored["confusion"], strict=True):
        total = max(1, sum(counts))
        cells = "".join(
            f'<td style="background:rgb(42 111 219 / {count / total:.2f})">{count or ""}</td>' for count in counts
        )
        right = scored["per_class"].get(name)
        share = f"{right[0] / right[1]:.0%}" if right and right[1] else ""
        rows.append(f"<tr><th>{escape(name)}</th>{cells}<td>{share}</td></tr>")
    return (
        f"<h2>{escape(title)}: what each class was taken for</h2><div class='scroll'><table class='matrix'>"
        f"<tr><th></th>{head}<th>right</th></tr>{''.join(rows)}</table></div>"
    )
