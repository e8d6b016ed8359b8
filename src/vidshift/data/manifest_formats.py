"""The formats that manifests are kept in: CSV, TSV, JSON lines and Parquet, as rows of named values."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidshift.data.classes import ClassList
from vidshift.errors import UserError

FLOATS = ("start", "end", "fps", "seconds")
INTEGERS = ("num_frames", "width", "height")
WRITTEN = (".csv", ".tsv", ".jsonl", ".parquet")
_CLASSES_KEY = b"vidshift.classes"
_TEXT: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}


Table = list[dict[str, Any]]


@dataclass(frozen=True)
class Content:
    """What a file holds, before anything is made of it."""

    rows: Table
    lines: Sequence[int]
    kind: str
    classes: ClassList | None = None


def read_table(path: Path) -> Content:
    """All rows of a file, by the format of its name's ending; any other text is taken as CSV."""
    return _READERS.get(path.suffix.lower(), _read_delimited)(path)


def write_table(path: Path, table: Table, columns: Sequence[str], classes: tuple[str, ...]) -> None:
    """Writes rows in the format of the name's ending, which is one of `WRITTEN`."""
    _WRITERS[path.suffix.lower()](path, table, columns, classes)


def header_of(path: Path) -> list[str]:
    """The first line of a text file as the names of columns; empty for what is no text."""
    try:
        with path.open(**_TEXT) as file:
            first = file.readline(65536).lstrip("\ufeff").strip()
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}; check the file and its permissions.") from error
    return [] if "\0" in first else next(csv.reader([first], delimiter=_separator(first)), [])


def _separator(header: str) -> str:
    return "\t" if "\t" in header else ";" if ";" in header and "," not in header else ","


def _read_delimited(path: Path) -> Content:
    with path.open(**_TEXT) as file:
        first = file.readline().lstrip("\ufeff")
        file.seek(0)
        delimiter = _separator(first)
        reader = csv.reader(file, delimiter=delimiter)
        header = [name.strip().lstrip("\ufeff") for name in next(reader, [])]
        rows: Table = []
        lines: list[int] = []
        for values in reader:
            if not values:
                continue
            if len(values) > len(header):
                raise UserError(
                    f"line {reader.line_num} of '{path}' has {len(values)} values for {len(header)} columns; put "
                    "quotes around values that hold the separator."
                )
            rows.append(dict(zip(header, values)))
            lines.append(reader.line_num)
    return Content(rows, lines, "TSV" if delimiter == "\t" else "CSV")


def _read_jsonl(path: Path) -> Content:
    rows: Table = []
    lines: list[int] = []
    with path.open(**_TEXT) as file:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            try:
                value = json.loads(text.lstrip("\ufeff"))
            except ValueError as error:
                raise UserError(
                    f"line {line} of '{path}' is not JSON ({error}); accepted: one object a line."
                ) from error
            if not isinstance(value, dict):
                raise UserError(f"line {line} of '{path}' is {value!r}; accepted: one JSON object a line.")
            rows.append(value)
            lines.append(line)
    return Content(rows, lines, "JSON lines")


def _read_parquet(path: Path) -> Content:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
    except (ArrowException, OSError) as error:
        raise UserError(f"cannot read the Parquet file '{path}': {str(error).splitlines()[0]}.") from error
    rows: Table = table.to_pylist()
    stored = (table.schema.metadata or {}).get(_CLASSES_KEY)
    classes = ClassList(tuple(json.loads(stored))) if stored and stored != b"[]" else None
    return Content(rows, range(1, len(rows) + 1), "Parquet", classes)


def _write_delimited(path: Path, table: Table, columns: Sequence[str], classes: tuple[str, ...]) -> None:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open("w", **_TEXT) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\r\n")  # so that a lone \r is quoted too
        writer.writerow(columns)
        writer.writerows([["" if row[name] is None else row[name] for name in columns] for row in table])


def _write_jsonl(path: Path, table: Table, columns: Sequence[str], classes: tuple[str, ...]) -> None:
    with path.open("w", **_TEXT) as file:
        for row in table:
            file.write(json.dumps({name: row[name] for name in columns if row[name] is not None}) + "\n")


def _write_parquet(path: Path, table: Table, columns: Sequence[str], classes: tuple[str, ...]) -> None:
    import pyarrow
    from pyarrow import parquet

    kinds = {**dict.fromkeys(FLOATS, pyarrow.float64()), **dict.fromkeys(INTEGERS, pyarrow.int64())}
    schema = pyarrow.schema(
        [(name, kinds.get(name, pyarrow.string())) for name in columns], metadata={_CLASSES_KEY: json.dumps(classes)}
    )
    try:
        content = pyarrow.Table.from_pylist(table, schema=schema)
    except UnicodeEncodeError as error:
        raise UserError(
            f"cannot write '{path}': the name {error.object!r} is not Unicode, as Parquet needs; write .csv or .jsonl."
        ) from error
    parquet.write_table(content, path)


_READERS = {".jsonl": _read_jsonl, ".ndjson": _read_jsonl, ".parquet": _read_parquet}
_WRITERS = {
    ".csv": _write_delimited,
    ".tsv": _write_delimited,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}
