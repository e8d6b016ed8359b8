"""The report of a check as text, for a person."""

from collections.abc import Iterable, Sequence

from vidshift.data.status import STATUSES
from vidshift.engine.check import THRESHOLDS, Checked, Report

SHOWN = 20  # bad files listed by name on the screen; the manifest and --json have all
_UNITS = {"fps": "frames/s", "seconds": "s", "width": "pixels", "height": "pixels"}


def lines(report: Report, *, verbose: bool = False) -> Iterable[str]:
    """The whole report, line by line."""
    for checked in report.data:
        yield from _one(checked, verbose=verbose)
        yield ""
    if len(report.data) == 2:
        yield from _shift(report)


def _one(checked: Checked, *, verbose: bool) -> Iterable[str]:
    yield f"{checked.name}: {checked.usable} of {len(checked.findings)} videos usable"
    yield f"  read as {checked.manifest.origin}"
    for note in checked.manifest.notes:
        yield f"  {note}"
    counts = checked.statuses
    order = [name for name in STATUSES if counts[name]]
    width = max((len(name) for name in order), default=0)
    for name in order:
        yield f"  {name:<{width}} {counts[name]:>7}  {STATUSES[name].meaning}"
    remarked = [(row, f) for row, f in zip(checked.manifest.rows, checked.findings, strict=True) if f.reason]
    remarked.sort(key=lambda pair: STATUSES[pair[1].status].usable)
    for row, finding in remarked if verbose else remarked[:SHOWN]:
        yield f"    {finding.status}: {row.path}: {finding.reason}"
    if len(remarked) > SHOWN and not verbose:
        yield f"    and {len(remarked) - SHOWN} more (--verbose lists them, --output FILE keeps them)"
    if checked.manifest.classes:
        shown = (f"{n} {g}" if g == all_ else f"{n} {g} of {all_}" for n, (g, all_) in checked.classes.items())
        yield f"  classes: {', '.join(shown)}"
    elif checked.findings:
        yield "  no labels"


def _shift(report: Report) -> Iterable[str]:
    one, two = report.data
    yield f"shift from {one.name} to {two.name} (0: alike, 1: disjoint)"
    rows: list[Sequence[str]] = []
    for name, distance in report.distance.items():
        if name == "energy":
            continue
        rows.append((_named(name), _value(one, name), _value(two, name), f"{distance:.2f}"))
    if "energy" in report.distance:
        rows.append(("motion energy", "", "", f"{report.distance['energy']:.2f}"))
    yield from _columns(rows)
    if one.profile.kept is not None and two.profile.kept is not None:
        yield "kept tokens to expect at a threshold"
        kept = zip(THRESHOLDS, one.profile.kept, two.profile.kept, strict=True)
        yield from _columns([(f"{t:g}", f"{100 * a:.1f} %", f"{100 * b:.1f} %") for t, a, b in kept])
    if report.classes_note:
        yield f"classes: {report.classes_note}"


def _named(name: str) -> str:
    return f"{name} ({_UNITS[name]})" if name in _UNITS else name


def _value(checked: Checked, name: str) -> str:
    spread = checked.profile.numbers.get(name)
    if spread is not None:
        return f"{spread.middle:g} [{spread.low:g}-{spread.high:g}]"
    words = checked.profile.words.get(name, {})
    total = sum(words.values())
    top = [f"{word} {100 * count / total:.0f} %" for word, count in list(words.items())[:2]]
    return ", ".join(top) + (" ..." if len(words) > 2 else "")


def _columns(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))] if rows else []
    for row in rows:
        yield ("  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))).rstrip()
