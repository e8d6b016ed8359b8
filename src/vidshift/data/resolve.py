"""Names that a list gives -> files that are there, however the copy was unpacked (datasets.md section 10).

In this order: the exact path; the same with another extension, without one, or as a folder of pictures; folders that
differ in case, spaces, underscores or brackets; the same name under its class elsewhere in the tree, or in a flat
folder; Kinetics by YouTube id and start. A base name alone counts only where it is unique and no class folder says
otherwise.
"""

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from vidshift.data.classes import fold
from vidshift.data.container import VIDEO_SUFFIXES
from vidshift.data.manifest import Row
from vidshift.data.splits import SPLITS
from vidshift.data.tree import Tree, scan, split_suffix
from vidshift.errors import UserError

MISSING = ("missing", "there is no such file")
AMBIGUOUS = ("missing", "several files could be meant")

EXACT, SAME, FOLDED, ELSEWHERE, FLAT, BY_ID = "exact path", "extension", "folder name", "place", "flat", "YouTube id"
_YOUTUBE = re.compile(r"([\w-]{11})(?:[_-](\d{1,6})[_-](\d{1,6}))?", re.ASCII)


@dataclass(frozen=True)
class Found:
    """The file for a name (None: none, or `ambiguous`), and by what it was found."""

    name: str | None
    how: str = ""
    ambiguous: bool = False


@lru_cache(maxsize=65536)
def _folded(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Folders as they are compared: without case and separators, with one name for each split."""
    return tuple(SPLITS.get(name.casefold(), fold(name)) for name in folders)


def _parts(name: str) -> tuple[tuple[str, ...], str]:
    *folders, base = (part for part in name.split("/") if part not in ("", "."))
    return tuple(folders), unicodedata.normalize("NFC", base)


class Finder:
    """Looks names up in a tree that was walked once.

    `classes` are the class folders that there are in the data set, so that a file in another one's folder is not taken;
    `flat=False` never matches by base name alone (Moments in Time repeats names across classes); `youtube` matches by
    id and start, with the class folder as a hint only.
    """

    def __init__(self, tree: Tree, *, classes: Iterable[str] = (), flat: bool = True, youtube: bool = False) -> None:
        self.tree, self.flat, self.youtube = tree, flat, youtube
        self.classes = frozenset(fold(name) for name in classes)
        self._names = frozenset((*tree.names, *tree.others))
        self._by_base: dict[str, list[str]] = {}
        self._by_id: dict[str, list[tuple[str, int | None]]] = {}
        for name in tree.names:
            base = _parts(split_suffix(name)[0])[1]
            self._by_base.setdefault(base, []).append(name)
            if youtube and (match := _YOUTUBE.fullmatch(base)):
                self._by_id.setdefault(match[1], []).append((name, int(match[2]) if match[2] else None))
        self._odd: dict[str, list[str]] = {}
        for name in tree.others:
            base = _parts(name)[1]
            for key in {base, os.path.splitext(base)[0]}:
                self._odd.setdefault(key, []).append(name)

    def find(self, name: str) -> Found:
        """The file for one relative name."""
        if name in self._names:
            return Found(name, EXACT)
        folders, base = _parts(name)
        stem = split_suffix(base)[0]
        for candidates in (self._by_base.get(stem, ()), self._odd.get(stem, ())):
            found = self._best(folders, name, candidates)
            if found.name or found.ambiguous:
                return found
        found = self._best(folders, name, self._same_video(stem))
        return replace(found, how=BY_ID) if found.name else found

    def _same_video(self, stem: str) -> list[str]:
        wanted = _YOUTUBE.fullmatch(stem) if self.youtube else None
        if wanted is None:
            return []
        there = self._by_id.get(wanted[1], [])
        start = int(wanted[2]) if wanted[2] else None
        timed = [name for name, begin in there if begin is not None and begin == start]
        return timed or [name for name, begin in there if begin is None or start is None]

    def _best(self, folders: tuple[str, ...], name: str, candidates: Sequence[str]) -> Found:
        ranked: dict[tuple[int, int], list[tuple[str, str]]] = {}
        for candidate in candidates:
            theirs = _parts(candidate)[0]
            rank = self._rank(folders, theirs)
            if rank is not None:
                order, how = rank
                shared = _shared_end(_folded(folders), _folded(theirs))
                ranked.setdefault((order, -shared), []).append((candidate, how))
        if not ranked:
            return Found(None)
        suffix = split_suffix(name)[1].casefold()
        liked: dict[int, list[tuple[str, str]]] = {}
        for candidate, how in ranked[min(ranked)]:
            liked.setdefault(_preference(candidate, suffix), []).append((candidate, how))
        best = liked[min(liked)]
        if len({_parts(candidate)[0] for candidate, _ in best}) > 1:
            return Found(None, ambiguous=True)
        return Found(*min(best))

    def _rank(self, wanted: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[int, str] | None:
        """How well a candidate's folders fit; None where they say another class."""
        if wanted == theirs:
            return 0, SAME
        mine, other = _folded(wanted), _folded(theirs)
        if mine == other:
            return 1, FOLDED
        own = next((folder for folder in reversed(mine) if folder not in SPLITS), None)
        if own is not None and own in other:
            return 2, ELSEWHERE
        disagrees = any(folder in self.classes for folder in other) and own is not None
        if disagrees or not self.flat:
            return (4, ELSEWHERE) if self.youtube else None
        return 3, FLAT


def _shared_end(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    count = 0
    for one, other in zip(reversed(first), reversed(second)):
        if one != other:
            break
        count += 1
    return count


def _preference(candidate: str, suffix: str) -> int:
    """Of files that differ in their extension: the one that was asked for, then videos, then pictures and others."""
    own = split_suffix(candidate)[1].casefold()
    return 0 if own == suffix and suffix else 1 if own in VIDEO_SUFFIXES else 2


def locate(
    names: Sequence[str], root: Path, *, classes: Iterable[str] = (), flat: bool = True, youtube: bool = False
) -> tuple[list[Found], tuple[str, ...]]:
    """All names of a list under `root`. The tree is walked only if some are not where the list says."""
    exact = [os.path.lexists(root / name) for name in names]
    if all(exact):
        return [Found(name, EXACT) for name in names], ()
    if not root.is_dir():
        return [Found(name, EXACT) if there else Found(None) for name, there in zip(names, exact)], ()
    finder = Finder(scan(root, others=True), classes=classes, flat=flat, youtube=youtube)
    found = [Found(name, EXACT) if there else finder.find(name.lstrip("/")) for name, there in zip(names, exact)]
    return found, how_found(found)


def how_found(found: Sequence[Found]) -> tuple[str, ...]:
    """What was not where the list says, in words."""
    words = {
        SAME: "with another extension or as pictures",
        FOLDED: "under folder names written otherwise",
        ELSEWHERE: "elsewhere under their class",
        FLAT: "by their names in a folder without classes",
        BY_ID: "by YouTube id",
    }
    times = Counter(item.how for item in found if item.name is not None)
    notes = [f"{times[how]} videos were found {text}" for how, text in words.items() if times[how]]
    unclear = sum(item.ambiguous for item in found)
    notes += [f"{unclear} names fit several files each; point at a folder that holds one copy"] if unclear else []
    return tuple(notes)


def settle(
    rows: Sequence[Row], names: Sequence[str], root: Path, what: str, **options: bool
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Rows with the paths of their files under `root`; those that are not there are marked as missing."""
    classes = {folders[-1] for folders, _ in map(_parts, names) if folders}
    found, notes = locate(names, root, classes=classes, **options)
    settled: list[Row] = []
    for row, name, item in zip(rows, names, found, strict=True):
        if item.name is not None:
            known = {"status": None, "reason": None} if row.status == MISSING[0] else {}
            settled.append(replace(row, path=root / item.name, **known))
        else:
            status, reason = AMBIGUOUS if item.ambiguous else MISSING
            settled.append(replace(row, path=root / name, status=status, reason=reason))
    missing = sum(item.name is None for item in found)
    if missing == len(rows):
        raise UserError(
            f"none of the {len(rows)} videos of {what} is under '{root}' (the first: '{names[0]}'); say where they "
            "lie, such as LIST@FOLDER."
        )
    if missing:
        first = next(name for name, item in zip(names, found) if item.name is None)
        notes = (*notes, f"{missing} of {len(rows)} videos are not there (the first: '{first}')")
    return tuple(settled), notes
