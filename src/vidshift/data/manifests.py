"""Manifest files: a table with named columns, of which only `path` is required, as CSV, TSV, JSON lines or Parquet.

Paths are relative to the manifest's folder. Bytes of names that are not UTF-8 survive in all formats but Parquet. The
order of the classes lies in the Parquet file itself, and for the others beside it, in `NAME.classes.json`.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from vidshift.atomic import replacing
from vidshift.data.classes import classes_beside, name_labels, own_class_list
from vidshift.data.kinetics import is_kinetics, kinetics_row
from vidshift.data.manifest import Manifest, Row
from vidshift.data.manifest_formats import WRITTEN, header_of, read_table, write_table
from vidshift.data.names import readable, unique_ids
from vidshift.data.resolve import settle
from vidshift.data.splits import require_split
from vidshift.errors import UserError, unknown

__all__ = ["WRITTEN", "has_header", "read_manifest", "with_ids", "without_repeats", "write_manifest"]

COLUMNS = tuple(entry.name for entry in fields(Row))
# Other names that columns go by, where ours is not there.
ALIASES = {
    "path": ("file_name", "video_path", "filename", "filepath", "file", "video", "video_name", "clip", "name"),
    "label": ("class", "class_name", "category", "action", "activity"),
    "split": ("subset", "partition"),
    "id": ("video_id", "clip_id"),
    "raw_label": ("original_label",),
}
# HMDB51's own numbers, in the table that Hugging Face keeps of it.
SUBSETS = {"1": "train", "2": "test"}


def header_columns(names: Iterable[str]) -> dict[str, str]:
    """Column of a file -> ours; empty where there is no column of paths (then it is no manifest)."""
    there = {name.strip().casefold(): name for name in names}
    found = {there[column]: column for column in COLUMNS if column in there}
    for column, others in ALIASES.items():
        if column not in there:
            other = next((there[name] for name in others if name in there and there[name] not in found), None)
            found |= {other: column} if other is not None else {}
    return found if "path" in found.values() else {}


def has_header(path: Path) -> bool:
    """Whether a text file begins with the names of columns, one of which holds paths."""
    names = header_of(path)
    return bool(header_columns(names)) or is_kinetics(names)


def read_manifest(
    path: Path, *, root: Path | None = None, domain: str | None = None, split: str | None = None
) -> Manifest:
    """A manifest file. `root` is where its paths start, `domain` and `split` count where a row has none."""
    content = read_table(path)
    if not content.rows:
        raise UserError(f"the manifest '{path}' has no rows; accepted: one row for each video, with a column `path`.")
    kinetics = is_kinetics(content.rows[0])
    if kinetics:
        listed = zip(content.lines, content.rows, strict=True)
        clips = [kinetics_row(row, f"line {line} of '{path}'") for line, row in listed]
        content = replace(content, rows=clips, kind="Kinetics annotation")
    columns = header_columns({name for row in content.rows[:100] for name in row})
    if not columns:
        raise UserError(
            f"'{path}' has no column `path` (its columns: {', '.join(map(str, content.rows[0]))}); accepted: path and, "
            "where known, label, split, id, start, end."
        )
    rows = [
        _row(path, line, {ours: values.get(theirs) for theirs, ours in columns.items()})
        for line, values in zip(content.lines, content.rows, strict=True)
    ]
    root = root or path.parent
    names = [str(row.path.relative_to(root) if row.path.is_relative_to(root) else row.path) for row in rows]
    rows = [replace(row, domain=row.domain or domain, split=row.split or split) for row in rows]
    rows, dropped = without_repeats(path, with_ids(rows, [name.lstrip("/") for name in names]))
    known = content.classes or classes_beside(path)
    named, classes = name_labels((row.label for row in rows if row.label is not None), known, path)
    rows = [row if row.label is None else replace(row, label=named[row.label]) for row in rows]
    settled, notes = settle(rows, [str(row.path) for row in rows], root, f"'{path}'", youtube=kinetics)
    ignored = sorted({str(name) for row in content.rows[:100] for name in row} - set(columns))
    notes += (f"columns that were not used: {', '.join(ignored)}",) if ignored else ()
    notes += (f"{dropped} rows that stand twice were dropped",) if dropped else ()
    return Manifest(settled, classes, f"a {content.kind} manifest, '{path}'", notes)


def write_manifest(manifest: Manifest, path: Path) -> Path:
    """Writes a manifest in the format of its name's ending, whole or not at all."""
    if path.suffix.lower() not in WRITTEN:
        raise unknown("manifest format", path.suffix, WRITTEN)
    table = [_values(row, path.parent) for row in manifest.rows]
    used = [name for name in COLUMNS if name in ("id", "path", "label") or any(row[name] is not None for row in table)]
    with replacing(path) as partial:
        write_table(partial, table, used, manifest.classes)
    beside = own_class_list(path)
    if manifest.classes and path.suffix.lower() != ".parquet":
        with replacing(beside) as partial:
            partial.write_text(json.dumps(list(manifest.classes), indent=2) + "\n", encoding="utf-8")
    else:
        beside.unlink(missing_ok=True)
    return path


def _values(row: Row, folder: Path) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in COLUMNS}
    inside = row.path.is_relative_to(folder) and row.path != folder
    values["path"] = str(row.path.relative_to(folder) if inside else row.path.absolute())
    return values


def _row(path: Path, line: int, values: Mapping[str, Any]) -> Row:
    """One row's values as their types; an empty one is None."""

    def text(name: str) -> str | None:
        value = values.get(name)
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # labels that passed through a table with gaps: 3.0
        return readable(str(value))

    def number(name: str) -> float | None:
        value = text(name)
        try:
            found = None if value is None else float(value)
        except ValueError:
            found = math.nan
        if found is not None and not math.isfinite(found):
            raise UserError(
                f"line {line} of '{path}' has {value!r} in column {name!r}; accepted: a number, or nothing."
            )
        return found

    place = values.get("path")
    if not isinstance(place, str) or not place:
        what = "no path" if place in (None, "") else f"a path that is no text but {type(place).__name__}"
        raise UserError(f"line {line} of '{path}' has {what}; accepted: the path of a video file or frame folder.")
    split = text("split")

    def whole(name: str) -> int | None:
        value = number(name)
        return None if value is None else int(value)

    return Row(
        id=text("id") or "",
        path=Path(place),
        label=text("label"),
        split=None if split is None else SUBSETS.get(split) or require_split(split),
        domain=text("domain"),
        raw_label=text("raw_label"),
        start=number("start"),
        end=number("end"),
        num_frames=whole("num_frames"),
        fps=number("fps"),
        width=whole("width"),
        height=whole("height"),
        seconds=number("seconds"),
        status=text("status"),
        reason=text("reason"),
    )


def with_ids(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """Ids where there are none: the path without its extension, with the trim where one file is cut into several."""
    times = Counter(names)
    key_of = dict(zip(times, unique_ids(tuple(times))))
    found = []
    for row, name in zip(rows, names, strict=True):
        whole = times[name] == 1 or (row.start is None and row.end is None)
        trim = "" if whole else f"@{row.start or 0:g}-{'' if row.end is None else format(row.end, 'g')}"
        found.append(row if row.id else replace(row, id=key_of[name] + trim))
    return found


def without_repeats(path: Path, rows: Iterable[Row]) -> tuple[list[Row], int]:
    """Rows without repetitions; two that differ under one id are refused."""
    seen: dict[str, Row] = {}
    dropped = 0
    for row in rows:
        other = seen.setdefault(row.id, row)
        if other is row:
            continue
        if other != row:
            differs = next(name for name in COLUMNS if getattr(other, name) != getattr(row, name))
            raise UserError(
                f"'{path}' has the id {row.id!r} twice, with {differs} {getattr(other, differs)} and "
                f"{getattr(row, differs)}; give each video one row, or a column `id`."
            )
        dropped += 1
    return list(seen.values()), dropped
