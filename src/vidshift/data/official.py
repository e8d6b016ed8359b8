"""The split files that UCF101 and HMDB51 came with, read as they are.

UCF101: `trainlist01.txt` with `Class/NAME.avi LABEL` (labels from 1), `testlist01.txt` with paths alone; the class is
the folder. HMDB51: one file for each class, `CLASS_test_split1.txt` with `NAME.avi ID`, where ID is no label but the
part: 1 train, 2 test, 0 in neither.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vidshift.data.lists import read_lines
from vidshift.data.manifest import Manifest, Row
from vidshift.data.resolve import settle
from vidshift.errors import UserError

Kind = Literal["UCF101", "HMDB51"]
PARTS = {"1": "train", "2": "test", "0": None}
_UCF = re.compile(r"(train|test)list0?([123])\.txt", re.IGNORECASE)
_HMDB = re.compile(r"(.+)_test_split([123])\.txt", re.IGNORECASE)


@dataclass(frozen=True)
class Entry:
    """One video of an official split: `name` is CLASS/FILE."""

    name: str
    raw_class: str
    split: str


def kind_of(names: Iterable[str]) -> Kind | None:
    """Whose split files these file names are, if anybody's."""
    for name in names:
        if _UCF.fullmatch(name):
            return "UCF101"
        if _HMDB.fullmatch(name):
            return "HMDB51"
    return None


def find_folder(root: Path, kind: Kind, *, depth: int = 8) -> Path | None:
    """The first folder at or up to `depth` levels below `root` that holds a data set's split files."""
    for folder, inside, names in os.walk(root):
        inside[:] = sorted(inside) if len(Path(folder).relative_to(root).parts) < depth else []
        if any(kind_of([name]) == kind for name in names):
            return Path(folder)
    return None


def entries(folder: Path, kind: Kind, *, fold: int = 1) -> list[Entry]:
    """All videos of one of the three official splits (the literature on adaptation uses the first)."""
    found = _ucf(folder, fold) if kind == "UCF101" else _hmdb(folder, fold)
    if not found:
        raise UserError(f"'{folder}' has no files of {kind}'s split {fold}; accepted: the official split files.")
    return found


def _ucf(folder: Path, fold: int) -> list[Entry]:
    found: list[Entry] = []
    for part in ("train", "test"):
        files = [path for path in _files(folder) if (m := _UCF.fullmatch(path.name)) and _is(m, part, fold)]
        if not files:
            raise UserError(f"'{folder}' lacks {part}list0{fold}.txt, one of UCF101's split files; add it.")
        for line in read_lines(files[0]):
            name = re.sub(r"\s+\d+$", "", line)
            found.append(Entry(name, name.split("/")[0], part))
    return found


def _is(match: re.Match[str], part: str, fold: int) -> bool:
    return match[1].casefold() == part and int(match[2]) == fold


def _hmdb(folder: Path, fold: int) -> list[Entry]:
    found: list[Entry] = []
    for path in _files(folder):
        match = _HMDB.fullmatch(path.name)
        if match is None or int(match[2]) != fold:
            continue
        for line in read_lines(path):
            name, _, part = line.rpartition(" ")
            if part not in PARTS:
                raise UserError(
                    f"'{path}' has the line {line!r}; accepted: NAME.avi and 0, 1 or 2 (unused, train, test)."
                )
            split = PARTS[part]
            if split is not None:
                found.append(Entry(f"{match[1]}/{name.rstrip()}", match[1], split))
    return found


def _files(folder: Path) -> list[Path]:
    return sorted(folder / entry.name for entry in os.scandir(folder) if not entry.name.startswith("."))


def read_official(
    folder: Path, kind: Kind, *, root: Path | None = None, fold: int = 1, domain: str | None = None
) -> Manifest:
    """The videos under `root` (by default the folder itself, or the one above it) by their official split."""
    listed = entries(folder, kind, fold=fold)
    where = root or (folder if _holds(folder, listed) else folder.absolute().parent)
    rows = [
        Row(
            id=entry.name.removesuffix(".avi"),
            path=Path(entry.name),
            label=entry.raw_class,
            raw_label=entry.raw_class,
            split=entry.split,
            domain=domain,
        )
        for entry in listed
    ]
    settled, notes = settle(rows, [entry.name for entry in listed], where, f"{kind}'s split {fold}")
    there = {row.label for row in settled if row.status != "missing"}
    classes = tuple(dict.fromkeys(entry.raw_class for entry in listed if entry.raw_class in there))
    absent = len({entry.raw_class for entry in listed}) - len(classes)
    kept = tuple(row for row in settled if row.label in there)
    notes += (f"{absent} of {kind}'s classes have no video here and are left out",) if absent else ()
    parts = Counter(row.split for row in kept)
    shown = ", ".join(f"{name} ({parts[name]})" for name in ("train", "test"))
    return Manifest(kept, classes, f"{kind} with its official split {fold}, {shown}, '{where}'", notes)


def _holds(folder: Path, listed: Sequence[Entry]) -> bool:
    return any((folder / name).is_dir() for name in {entry.raw_class for entry in listed})
