"""The teacher table on disk: Parquet or CSV by its suffix, ours or anybody's."""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vidshift.atomic import replacing
from vidshift.errors import UserError, did_you_mean
from vidshift.teachers.base import TABLE_SUFFIXES, Card
from vidshift.teachers.table import TeacherTable

_CLASS = "p:"
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


def write_table(table: TeacherTable, path: Path) -> None:
    """Whole or not at all; the same table gives the same bytes."""
    columns = _columns(table)
    with replacing(path) as partial:
        if path.suffix == ".parquet":
            import pyarrow as pa
            from pyarrow import parquet

            parquet.write_table(pa.table(columns), partial)
        else:
            text = io.StringIO(newline="")
            writer = csv.writer(text, delimiter=_delimiter(path), lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*(_cells(values) for values in columns.values()), strict=True))
            partial.write_text(text.getvalue(), encoding="utf-8")


def read_table(path: Path, *, classes: Sequence[str] | None = None) -> TeacherTable:
    """Anybody's table with the columns id and label; with `classes` in their words and order."""
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise UserError(f"{path} is no teacher table; accepted: a file ending in {', '.join(TABLE_SUFFIXES)}.")
    if not path.is_file():
        raise UserError(f"there is no teacher table {path}; make one with `vidshift label TARGET --out {path}`.")
    columns = _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_text(path)
    for needed in ("id", "label"):
        if needed not in columns:
            have = ", ".join(columns) or "none"
            raise UserError(
                f"{path} has no column {needed!r}{did_you_mean(needed, columns)}; it has {have}, and needs id, label."
            )
    # An empty label means that nobody has labelled this video.
    rows = [row for row, label in enumerate(columns["label"]) if _text(label)]
    if not rows:
        raise UserError(f"{path} labels no video at all; every row needs an id and a label.")
    ids = [_text(columns["id"][row]) for row in rows]
    if len(set(ids)) < len(ids):
        twice = next(name for row, name in enumerate(ids) if name in ids[:row])
        raise UserError(f"{path} has the id {twice!r} more than once; keep one row for each video.")
    labels = tuple(_text(columns["label"][row]) for row in rows)
    stored = [name[len(_CLASS) :] for name in columns if name.startswith(_CLASS)]
    probs = np.stack([_numbers(path, columns, f"{_CLASS}{name}", rows) for name in stored], axis=1) if stored else None
    known = set(stored)
    table = TeacherTable(
        ids=tuple(ids),
        labels=labels,
        confidence_N=_numbers(path, columns, "confidence", rows, default=1.0),
        classes=tuple(stored + sorted({label for label in labels if label not in known})),
        kept_N=_flags(path, columns, rows) if "kept" in columns else None,
        probs_NK=probs if probs is not None and known.issuperset(labels) else None,
        card=_card(path, columns, rows),
    )
    return table if classes is None else table.for_classes(classes, origin=str(path))


def _columns(table: TeacherTable) -> dict[str, Any]:
    count, card = len(table), table.card
    kept = np.ones(count, np.bool_) if table.kept_N is None else table.kept_N
    columns: dict[str, Any] = {
        "id": list(table.ids),
        "label": list(table.labels),
        "confidence": table.confidence_N,
        "kept": kept,
        "teacher": [card.teacher] * count,
        "prompt": [card.prompt] * count,
        "temperature": np.full(count, math.nan if card.temperature is None else card.temperature),
    }
    if table.probs_NK is not None:
        columns |= {f"{_CLASS}{name}": table.probs_NK[:, k] for k, name in enumerate(table.classes)}
    return columns


def _cells(values: Any) -> list[str]:
    """Numbers in the shortest form that reads back the same."""
    if isinstance(values, np.ndarray) and values.dtype == np.bool_:
        return ["true" if value else "false" for value in values]
    if isinstance(values, np.ndarray):
        return ["" if math.isnan(value) else str(value) for value in values]
    return list(values)


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _read_parquet(path: Path) -> dict[str, list[Any]]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return {name: list(values) for name, values in parquet.read_table(path).to_pydict().items()}
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path} cannot be read as Parquet ({str(error).splitlines()[0].split('. ')[0]}).") from error


def _read_text(path: Path) -> dict[str, list[Any]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file, delimiter=_delimiter(path), strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as UTF-8 text with columns ({error}).") from error
    if not rows:
        raise UserError(f"{path} is empty; it needs a header line with id and label, and one line for each video.")
    header = [name.strip() for name in rows[0]]
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise UserError(f"line {line} of {path} has {len(row)} values where its header has {len(header)}.")
    return {name: [row[k] for row in rows[1:]] for k, name in enumerate(header)}


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _numbers(
    path: Path, columns: dict[str, list[Any]], name: str, rows: Sequence[int], *, default: float | None = None
) -> NDArray[np.float32]:
    if name not in columns and default is not None:
        return np.full(len(rows), default, dtype=np.float32)
    values = np.empty(len(rows), dtype=np.float32)
    for place, row in enumerate(rows):
        try:
            values[place] = float(columns[name][row])
        except (TypeError, ValueError):
            values[place] = math.nan
        if not 0 <= values[place] <= 1:
            raise UserError(
                f"{path} has {columns[name][row]!r} in column {name!r} for id {_text(columns['id'][row])!r}; "
                "accepted: a number from 0 to 1."
            )
    return values


def _flags(path: Path, columns: dict[str, list[Any]], rows: Sequence[int]) -> NDArray[np.bool_]:
    flags = np.empty(len(rows), dtype=np.bool_)
    for place, row in enumerate(rows):
        word = _text(columns["kept"][row]).lower()
        if word not in _TRUE + _FALSE:
            raise UserError(
                f"{path} has {columns['kept'][row]!r} in column 'kept' for id {_text(columns['id'][row])!r}; "
                "accepted: true or false."
            )
        flags[place] = word in _TRUE
    return flags


def _card(path: Path, columns: dict[str, list[Any]], rows: Sequence[int]) -> Card:
    """What the first row says of its teacher; a table of unknown origin is named after its file."""

    def first(name: str) -> str:
        return _text(columns[name][rows[0]]) if name in columns else ""

    try:
        temperature = float(first("temperature"))
    except ValueError:
        temperature = math.nan
    teacher = first("teacher") or f"table:{path.name}"
    return Card(
        teacher=teacher,
        prompt=first("prompt"),
        temperature=None if math.isnan(temperature) else temperature,
        weak=teacher.partition(":")[0] == "source",
        reads_pixels=False,
    )
