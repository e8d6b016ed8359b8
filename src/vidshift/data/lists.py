"""List files as they are met in the wild (datasets.md section 4), told apart by their content.

Lines are read from the right, so that paths may hold spaces; no character starts a comment, since names begin with
`-` and hold `#`, `!` and brackets.
"""

import csv
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vidshift.data.classes import classes_beside, name_labels
from vidshift.data.container import VIDEO_SUFFIXES
from vidshift.data.frames import NOMINAL_FPS
from vidshift.data.manifest import Manifest, Row
from vidshift.data.manifests import with_ids, without_repeats
from vidshift.data.names import readable
from vidshift.data.resolve import settle
from vidshift.errors import UserError

_VIDEO = "|".join(sorted(suffix[1:] for suffix in VIDEO_SUFFIXES))
_SAMPLE = 64


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a list: numbers are as written, frames counted from 1."""

    path: str
    label: str | None = None
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True)
class Format:
    """A format of lists: its words, and what it makes of all lines (None: they are not of this format)."""

    words: str
    parse: Callable[[Sequence[str]], "list[Line] | None"]


def _by_pattern(pattern: str, accept: Callable[[list[dict[str, str]]], bool] | None = None):
    """A parser from a pattern with the groups `path`, `label`, `first`, `last`; others are dropped."""
    compiled = re.compile(pattern, re.IGNORECASE | re.DOTALL)

    def parse(lines: Sequence[str]) -> list[Line] | None:
        found: list[dict[str, str]] = []
        for line in lines:
            match = compiled.fullmatch(line)
            if match is None:
                return None
            found.append(match.groupdict())
        if accept is not None and not accept(found):
            return None
        return [
            Line(
                path=groups["path"],
                label=None if "label" not in groups else readable(groups["label"]),
                first=int(groups["first"]) if "first" in groups else None,
                last=int(groups["last"]) if "last" in groups else None,
            )
            for groups in found
        ]

    return parse


def _quoted(lines: Sequence[str]) -> list[Line] | None:
    """Comma-separated with quotes around what holds commas."""
    rows = list(csv.reader(lines, skipinitialspace=True))
    if any(len(row) != 2 or not row[0] or not row[1] for row in rows):
        return None
    return [Line(path=row[0], label=readable(row[1].strip())) for row in rows]


def _starts(found: list[dict[str, str]]) -> bool:
    """Whether a middle column is a start, not a number of frames: no clip has 0 or 1 frames throughout."""
    return all(int(groups["count"]) == -1 for groups in found) or all(int(groups["start"]) <= 1 for groups in found)


def _lengths(found: list[dict[str, str]]) -> bool:
    return any(int(groups["frames"]) > 1 for groups in found)


# In the order in which they are tried; where several fit, the one whose paths are there wins.
FORMATS = (
    Format("lines 'index, label, path' with tabs", _by_pattern(r"\d+\t(?P<label>\d+)\t(?P<path>.+)")),
    Format("lines 'path, frames, label' with tabs", _by_pattern(r"(?P<path>.+)\t\d+\t(?P<label>\d+)")),
    Format("lines 'path, label' with tabs", _by_pattern(r"(?P<path>[^\t]+)\t\s*(?P<label>[^\t]+)")),
    Format("paths alone", _by_pattern(rf"(?P<path>.+\.(?:{_VIDEO}))")),
    Format("lines 'path, frames, label' with commas", _by_pattern(r"(?P<path>.+),\s*\d+,\s*(?P<label>\d+)")),
    Format("lines 'path, label' with commas", _by_pattern(r"(?P<path>[^\"].*),\s*(?P<label>\d+)")),
    Format("lines 'path, class' with commas", _by_pattern(rf"(?P<path>[^\"].*\.(?:{_VIDEO})),\s*(?P<label>[^,]+)")),
    Format("lines 'path, class' with commas and quotes", _quoted),
    Format(
        "lines 'path start stop label' with spaces",
        _by_pattern(r"(?P<path>.+?)\s+(?P<first>\d+)\s+(?P<last>\d+)\s+(?P<label>\d+)"),
    ),
    Format(
        "lines 'path start frames' with spaces, without labels",
        _by_pattern(r"(?P<path>.+?)\s+(?P<start>\d+)\s+(?P<count>-?\d+)", _starts),
    ),
    Format(
        "lines 'path frames label' with spaces",
        _by_pattern(r"(?P<path>.+?)\s+(?P<frames>\d+)\s+(?P<label>\d+)", _lengths),
    ),
    Format("lines 'path label' with spaces", _by_pattern(r"(?P<path>.+?)\s+(?P<label>\d+)")),
    Format("lines 'path class' with spaces", _by_pattern(rf"(?P<path>.+\.(?:{_VIDEO}))\s+(?P<label>.+)")),
    Format("paths alone", _by_pattern(r"(?P<path>\S.*)")),
)


def read_lines(path: Path) -> list[str]:
    """The lines of a text file that hold something, without the blanks that some lists end their lines with."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read the list '{path}': {error.strerror}.") from error
    if b"\0" in data[:65536]:
        raise UserError(
            f"'{path}' is neither a video, by its name, nor a text list; accepted: videos (.mp4, .avi, .webm ...), "
            "lists, and .csv, .tsv, .jsonl or .parquet manifests."
        )
    text = data.decode("utf-8", errors="surrogateescape").removeprefix("\ufeff")
    lines = [line.rstrip() for line in re.split(r"\r\n|\n|\r", text)]
    lines = [line for line in lines if line]
    if not lines:
        raise UserError(f"the list '{path}' is empty; accepted: one line for each video.")
    return lines


def detect(lines: Sequence[str], root: Path) -> tuple[Format, list[Line]] | None:
    """The format of some lines: of those that fit every line, the one under which most paths are there."""
    fitting = [(form, found) for form in FORMATS if (found := form.parse(lines)) is not None]
    if len(fitting) <= 1:
        return fitting[0] if fitting else None
    return max(fitting, key=lambda pair: _there(pair[1], root))  # the first of equals


def _there(found: Sequence[Line], root: Path) -> int:
    step = max(1, len(found) // _SAMPLE)
    return sum(os.path.lexists(root / line.path) for line in found[::step])


def read_list(path: Path, *, root: Path | None = None, domain: str | None = None, split: str | None = None) -> Manifest:
    """A list file; its paths start at `root`, by default at the list's own folder."""
    root = root or path.parent
    detected = detect(read_lines(path), root)
    if detected is None:
        raise UserError(
            f"'{path}' is no list that is known here; accepted: lines such as 'path label' or 'path,label'."
        )
    form, found = detected
    named, classes = name_labels((line.label for line in found if line.label is not None), classes_beside(path), path)
    rows = [
        Row(
            id="",
            path=Path(line.path),
            label=None if line.label is None else named[line.label],
            raw_label=line.label,
            split=split,
            domain=domain,
            # Pictures carry no rate: seconds are frames at the rate that frame folders are read with.
            start=None if line.first is None else max(line.first - 1, 0) / NOMINAL_FPS,
            end=None if line.last is None else line.last / NOMINAL_FPS,
        )
        for line in found
    ]
    rows, dropped = without_repeats(path, with_ids(rows, [str(row.path).lstrip("/") for row in rows]))
    settled, notes = settle(rows, [str(row.path) for row in rows], root, f"'{path}'")
    notes += (f"{dropped} lines that stand twice were dropped",) if dropped else ()
    return Manifest(settled, classes, f"a list of {form.words}, '{path}'{_labels(found, named)}", notes)


def _labels(found: Sequence[Line], named: dict[str, str]) -> str:
    """The labels in words, so that a person sees an index that is off by one."""
    numbers = [int(label) for label in named if label.isascii() and label.isdigit()]
    if not named:
        return ""
    if len(numbers) < len(named):
        return f", {len(named)} classes"
    first = min(named, key=int)
    called = f" ({first} is {named[first]!r})" if named[first] != first else ""
    return f", labels {min(numbers)} to {max(numbers)}{called}"
