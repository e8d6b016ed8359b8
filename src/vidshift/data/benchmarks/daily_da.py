"""Daily-DA: eight classes in ARID, HMDB51, Moments in Time and Kinetics-600 (datasets.md section 1).

The lists are those of ATCoN, or DALL-V's with the same rows: `index<TAB>label<TAB>path`. A label's index is the class's
place below; it agrees with sorted folders for HMDB51, ARID and MiT only, so it is never derived from folders.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from vidshift.data.benchmarks.report import BenchmarkReport, Entry, Rules, compare
from vidshift.data.lists import detect, read_lines
from vidshift.data.splits import split_of
from vidshift.data.tree import split_suffix
from vidshift.errors import UserError

NAME = "daily-da"
CLASSES = ("drink", "jump", "pick", "pour", "push", "run", "walk", "wave")

# Domain -> the folder of each class (section 1.1). Several Kinetics classes make one of ours.
FOLDERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "arid": tuple((name.capitalize(),) for name in CLASSES),
    "hmdb": tuple((name,) for name in CLASSES),
    "mit": (
        ("drinking",), ("jumping",), ("picking",), ("pouring",), ("pushing",), ("running",), ("walking",), ("waving",),
    ),
    "kinetics": (
        ("drinking_shots",),
        ("jumping_bicycle", "jumping_into_pool", "jumping_jacks"),
        ("picking_fruit",),
        ("pouring_beer",),
        ("pushing_car", "pushing_cart", "pushing_wheelbarrow", "pushing_wheelchair"),
        ("running_on_treadmill",),
        ("walking_the_dog", "walking_through_snow"),
        ("waving_hand",),
    ),
}  # fmt: skip
LISTS = {"arid": "arid_msda", "hmdb": "hmdb51_msda", "mit": "mit_msda", "kinetics": "kinetics_daily_msda"}
# Videos of each class, in the order of the classes (section 1.2).
COUNTS: Mapping[tuple[str, str], tuple[int, ...]] = {
    ("arid", "train"): (290, 372, 184, 325, 342, 412, 432, 419),
    ("arid", "test"): (159, 125, 93, 153, 192, 178, 212, 177),
    ("hmdb", "train"): (70,) * 8,
    ("hmdb", "test"): (30,) * 8,
    ("mit", "train"): (500,) * 8,
    ("mit", "test"): (50,) * 8,
    ("kinetics", "train"): (650, 1803, 553, 492, 2894, 640, 1362, 565),
    ("kinetics", "test"): (72, 119, 66, 12, 268, 67, 109, 12),
}
RULES = {
    "arid": Rules(hint="version 1.5 of ARID is needed: 1.0 has fewer clips, and its own splits are other splits."),
    "hmdb": Rules(hint="they are in HMDB51's official split 1; every class is an archive of its own to unpack."),
    "mit": Rules(
        flat=False,
        hint="they lie in training/CLASS and validation/CLASS of Moments in Time (mini or whole).",
    ),
    "kinetics": Rules(
        youtube=True,
        hint="they are of Kinetics-600: the train set, and for test the official test set (not val).",
    ),
}


def find(roots: Mapping[str, Path], lists: Path | None) -> BenchmarkReport:
    """The report for the domains whose folders are given."""
    if lists is None:
        raise UserError(
            "daily-da needs its list files; give --lists FOLDER with arid_msda_train.txt and the others (from the "
            "ATCoN repository, dataset/*/raw/list_cvt).",
            usage=True,
        )
    _only(roots)
    domains = [domain for domain in FOLDERS if domain in roots] or list(FOLDERS)
    files = _files(lists)
    tables = {domain: read_table(domain, files, lists) for domain in domains}
    unused = "kinetics_daily_msda_val.txt"
    notes = [f"{unused} (325 videos) is no part of the benchmark and was not used"] if unused in files else []
    return compare(NAME, CLASSES, tables, roots, RULES, notes=notes if "kinetics" in domains else ())


def _only(roots: Mapping[str, Path]) -> None:
    extra = [flag for flag in roots if flag not in FOLDERS]
    if extra:
        raise UserError(f"daily-da has no --{extra[0]}; accepted: --{', --'.join(FOLDERS)}, --lists.", usage=True)


def _files(lists: Path) -> dict[str, list[Path]]:
    """File name -> where it lies below the folder of lists."""
    found: dict[str, list[Path]] = {}
    for folder, inside, names in os.walk(lists):
        inside.sort()
        for name in sorted(names):
            if name.endswith((".txt", ".csv")):
                found.setdefault(f"{os.path.splitext(name)[0]}.txt", []).append(Path(folder) / name)
    return found


def read_table(domain: str, files: Mapping[str, Sequence[Path]], lists: Path) -> list[Entry]:
    """All videos of one domain, checked against the published counts and classes."""
    entries: list[Entry] = []
    for split in ("train", "test"):
        name = f"{LISTS[domain]}_{split}.txt"
        if name not in files:
            raise UserError(f"there is no {name} in '{lists}', which daily-da needs for {domain}; add it.")
        entries.extend(_first_right(domain, split, files[name]))
    return entries


def _first_right(domain: str, split: str, paths: Sequence[Path]) -> list[Entry]:
    """Of several lists of one name the first that is the benchmark's."""
    wrong: list[UserError] = []
    for path in paths:
        try:
            return _read_list(domain, split, path)
        except UserError as error:
            wrong.append(error)
    raise wrong[0]


def _read_list(domain: str, split: str, path: Path) -> list[Entry]:
    detected = detect(read_lines(path), path.parent)
    lines = detected[1] if detected else []
    raw_of = {raw: label for label, folders in enumerate(FOLDERS[domain]) for raw in folders}
    entries: list[Entry] = []
    for line in lines:
        name = _canonical(line.path)
        raw = next((part for part in reversed(name.split("/")[:-1]) if part in raw_of), None)
        label = int(line.label) if line.label and line.label.isdigit() else -1
        if not 0 <= label < len(CLASSES) or (raw is not None and raw_of[raw] != label):
            meant = f"{raw_of[raw]} ({CLASSES[raw_of[raw]]})" if raw else f"0 to {len(CLASSES) - 1}"
            raise UserError(
                f"'{path}' gives '{line.path}' the label {line.label!r}, where daily-da has {meant}; restore the list."
            )
        entries.append(Entry(name, label, split, raw))
    counts = Counter(entry.label for entry in entries)
    if tuple(counts[k] for k in range(len(CLASSES))) != COUNTS[domain, split]:
        wanted = COUNTS[domain, split]
        raise UserError(
            f"'{path}' lists {len(entries):,} videos ({' '.join(str(counts[k]) for k in range(len(CLASSES)))}), where "
            f"daily-da's {domain} {split} has {sum(wanted):,} ({' '.join(map(str, wanted))}); use the benchmark's list."
        )
    return entries


def _canonical(name: str) -> str:
    """A path as it is below the raw folder: DALL-V writes `mit/training/...` and `ARID/frames/Drink/...`, no suffix."""
    parts = split_suffix(name)[0].split("/")
    splits = [place for place, part in enumerate(parts[:-1]) if split_of(part)]
    kept = parts[splits[0] :] if splits else parts[-2:]
    return "/".join(kept) + split_suffix(name)[1]
