"""The last words of a run: a short table, where it lies, and what to try next."""

from collections.abc import Mapping
from typing import Any

from vidshift.engine.adapt import CONFIG, Finished
from vidshift.engine.config import load_config
from vidshift.engine.expected import Expected, expected


def closing(finished: Finished) -> str:
    """What stands on the screen when `vidshift adapt` is done."""
    folder, summary = finished.place.folder, finished.summary
    lines = [] if finished.anew else [f"The run in {folder} was finished before; nothing is changed."]
    lines += ["", *table_lines(summary, expected(load_config(folder / CONFIG))), ""]
    lines += [f"Note: {warning}" for warning in summary.get("warnings", ())]
    lines.append(f"The run: {folder}")
    lines += _next(folder, summary)
    return "\n".join(lines)


def table_rows(summary: Mapping[str, Any], told: Expected | None = None) -> list[tuple[str, str]]:
    """The short table: what and how much, and what the study found for this setting."""
    target, kept, flops = summary["target"], summary["kept_ratio"], summary["flops_per_clip"]
    teacher, seconds = summary.get("teacher"), summary["seconds"]
    rows: list[tuple[str, str]] = []
    if teacher is not None:
        used = f"{teacher['coverage']:.0%} of its guesses used"
        right = f", {teacher['kept_accuracy']:.1%} of those right" if teacher["kept_accuracy"] is not None else ""
        alone = "teacher alone (weak: the source model)" if teacher.get("weak") else "teacher alone"
        rows.append((alone, f"{_percent(teacher['accuracy'])} on the target's training clips ({used}{right})"))
    named = f"adapted model ({summary['method']}, {summary['reducer']})"
    if target["accuracy"] is None:
        rows.append((named, f"accuracy unknown: the target has no labels (mean confidence {target['confidence']:.2f})"))
    else:
        counted = f"{target['correct']} of {target['found']} test clips"
        if target["found"] < target["expected"]:
            counted += f", {target['expected'] - target['found']} more unreadable"
        rows.append((named, f"{_percent(target['accuracy'])} of the target ({counted}){_marks(summary)}"))
    if told is not None:
        rows.append(("the same in the study", str(told)))
    rows.append(("source validation", _percent(summary["source_validation"]["accuracy"])))
    if kept["target"] is not None:
        threshold = f", threshold {summary['threshold']:.4f}" if summary.get("threshold") is not None else ""
        rows.append(
            ("kept tokens", f"{kept['target']:.0%} of the target, {kept['source']:.0%} of the source{threshold}")
        )
    if flops is not None:
        rows.append(("cost", f"{flops['true_ratio']:.2f} of all tokens' FLOPs ({flops['true'] / 1e9:.3g} G a clip)"))
    speed = summary.get("clips_per_second")
    rate = f" ({speed:.0f} clips/s)" if speed else ""
    rows.append(("time", f"{_time(seconds['total'])}: training {_time(seconds['train'])}{rate}"))
    return rows


def table_lines(summary: Mapping[str, Any], told: Expected | None = None) -> list[str]:
    rows = table_rows(summary, told)
    width = max(len(name) for name, _ in rows)
    return [f"  {name:<{width}}  {value}" for name, value in rows]


def _marks(summary: Mapping[str, Any]) -> str:
    marks = []
    if summary["checkpoint"] == "oracle":
        marks.append("checkpoint chosen by target labels")
    if summary["oracle_labels"]:
        marks.append("trained on target labels")
    if summary["transductive"]:
        marks.append("tested on its training clips")
    return f" [{'; '.join(marks)}]" if marks else ""


def _next(folder: Any, summary: Mapping[str, Any]) -> list[str]:
    other = "none" if summary["reducer"] != "none" else "lmft"
    said = [f"Next: vidshift adapt --reducer {other}    the same with {'all' if other == 'none' else 'fewer'} tokens"]
    return [*said, f"      vidshift predict {folder} VIDEO...    label videos with it"]


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
