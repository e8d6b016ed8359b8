"""What lies under a folder: every video file and every frame folder, by its relative name."""

import os
from dataclasses import dataclass
from pathlib import Path

from vidshift.data.container import IMAGE_SUFFIXES, VIDEO_SUFFIXES
from vidshift.errors import UserError


@dataclass(frozen=True)
class Tree:
    """`names` are relative, with `/`, sorted; `frames` marks those that are folders of pictures, `others` are files
    that are neither (listed only when asked for)."""

    root: Path
    names: tuple[str, ...]
    frames: frozenset[str]
    folders: tuple[str, ...]
    notes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)


def split_suffix(name: str) -> tuple[str, str]:
    """A name without its video suffix, and the suffix (empty where it has none: dots occur in names)."""
    stem, suffix = os.path.splitext(name)
    return (stem, suffix) if suffix.lower() in VIDEO_SUFFIXES else (name, "")


def scan(root: Path, *, others: bool = False) -> Tree:
    """Walks a folder once. Hidden files and macOS `._*` companions are left out; links are followed, loops are not.

    A name that ends like a video counts whatever it is (a pipe, a broken link, a folder), so that a check can say so.
    `others` lists the remaining files too: a copy whose videos have lost their extensions.
    """
    found: list[str] = []
    rest: list[str] = []
    frames: set[str] = set()
    folders: list[str] = []
    seen: set[tuple[int, int]] = set()
    left_out = 0
    notes: list[str] = []
    waiting = [""]
    while waiting:
        here = waiting.pop()
        folder = root / here
        try:
            status = folder.stat()
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            if not here:
                raise UserError(f"cannot list the folder '{root}': {error.strerror}; check the path.") from error
            notes.append(f"the folder '{here}' could not be listed: {error.strerror}")
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        videos, pictures, inside, odd = _sort(entries)
        prefix = f"{here}/" if here else ""
        if pictures and not videos and not inside and here:
            found.append(here)
            frames.add(here)
            continue
        left_out += pictures + len(odd)
        rest.extend([prefix + name for name in odd] if others else ())
        found.extend(prefix + name for name in videos)
        if not videos and not inside and split_suffix(here)[1]:
            found.append(here)  # a folder named like a video, with nothing in it
            continue
        if here:
            folders.append(here)
        waiting.extend(prefix + name for name in reversed(inside))
    if left_out:
        notes.append(f"files that are no videos, and were left out: {left_out}")
    names = tuple(sorted(found))
    return Tree(root, names, frozenset(frames), tuple(sorted(folders)), tuple(notes), tuple(sorted(rest)))


def _sort(entries: list[os.DirEntry[str]]) -> tuple[list[str], int, list[str], list[str]]:
    """The videos, the number of numbered pictures, the folders and the other files among a folder's entries."""
    videos: list[str] = []
    odd: list[str] = []
    pictures = 0
    inside: list[str] = []
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if _leads_to_folder(entry):
            inside.append(entry.name)
            continue
        stem, suffix = os.path.splitext(entry.name)
        suffix = suffix.lower()
        if suffix in VIDEO_SUFFIXES:
            videos.append(entry.name)
        elif suffix in IMAGE_SUFFIXES and stem[-1:].isdigit():
            pictures += 1
        else:
            odd.append(entry.name)
    return videos, pictures, inside, odd


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False
