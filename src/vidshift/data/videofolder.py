"""Hugging Face's VideoFolder: videos beside `metadata.csv`, `.jsonl` or `.parquet` with a column `file_name`."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from vidshift.data.classes import classes_beside
from vidshift.data.folders import read_folder
from vidshift.data.manifest import Manifest, Row
from vidshift.data.manifests import read_manifest
from vidshift.data.splits import split_of
from vidshift.errors import UserError

NAMES = ("metadata.csv", "metadata.jsonl", "metadata.parquet")


def metadata_files(folder: Path) -> list[Path]:
    """The metadata of a folder, or of the splits in it."""
    places = [folder, *sorted(path for path in folder.iterdir() if split_of(path.name) and path.is_dir())]
    return [place / name for place in places for name in NAMES if (place / name).is_file()]


def read_videofolder(folder: Path, files: Iterable[Path], *, domain: str | None = None) -> Manifest:
    """The videos that the metadata names. Without a label column the labels are those of the class folders, if any."""
    parts = [
        _prefixed(folder, file, read_manifest(file, domain=domain, split=split_of(file.parent.name))) for file in files
    ]
    rows = [row for part in parts for row in part.rows]
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    known = classes_beside(folder)
    if all(row.label is None for row in rows):
        rows, folder_note = _labels_of_folders(folder, rows)
        notes += folder_note
    used = {row.label for row in rows if row.label is not None}
    listed = known.names if known else tuple(dict.fromkeys(name for part in parts for name in part.classes))
    classes = listed if used <= set(listed) else tuple(sorted(used))
    splits = sorted({row.split for row in rows if row.split})
    below = f", splits {', '.join(splits)}" if splits else ""
    return Manifest(tuple(rows), classes, f"a Hugging Face video folder, '{folder}'{below}", notes)


def _prefixed(folder: Path, file: Path, part: Manifest) -> Manifest:
    """Ids relative to the whole folder, so that two splits may use one name."""
    if file.parent == folder:
        return part
    rows = tuple(replace(row, id=f"{file.parent.name}/{row.id}") for row in part.rows)
    return replace(part, rows=rows)


def _labels_of_folders(folder: Path, rows: list[Row]) -> tuple[list[Row], tuple[str, ...]]:
    """Labels and splits by the folders that the named files lie in."""
    try:
        tree = {row.path: row for row in read_folder(folder).rows}
    except UserError:
        return rows, ("the metadata names no labels, and the folders are no classes",)
    if not any(row.label for row in tree.values()):
        return rows, ("the metadata names no labels",)
    found = [
        replace(row, label=of.label, raw_label=of.raw_label, split=row.split or of.split)
        if (of := tree.get(row.path))
        else row
        for row in rows
    ]
    return found, ("the metadata names no labels: those of the class folders are used",)
