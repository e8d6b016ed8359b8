"""ActorShift: seven actions of humans (Kinetics-700) and animals, from its zip's folder (datasets.md section 3).

The annotations are files of `path,class` lines without a header. Animals are told from humans by their names: a clip of
Kinetics ends in its start and end (`ID_000012_000022`), an animal's in a number (`ID-003`). `val` is the evaluation set
of 165 animals; 35 more are the target's training clips. Where the annotations have no clip of Kinetics, a folder of
Kinetics-700 gives a stand-in by class names, which is not the official source list and is called so.
"""

import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from vidshift.data.benchmarks.report import BenchmarkReport, Entry, Rules, compare
from vidshift.data.classes import ClassList, fold
from vidshift.data.lists import detect, read_lines
from vidshift.data.match import share
from vidshift.data.splits import split_of
from vidshift.data.tree import scan, split_suffix
from vidshift.errors import UserError

NAME = "actorshift"
CLASSES = ("sleeping", "watching tv", "eating", "drinking", "swimming", "running", "opening door")
# The columns of LMFT's table, C1 to C7: one run gives all seven.
COLUMNS = ("running", "drinking", "swimming", "eating", "sleeping", "opening door", "watching tv")
ALIASES = {"opening a door": "opening door", "watching television": "watching tv"}
COUNTS: Mapping[tuple[str, str], tuple[int, ...]] = {
    ("animals", "train"): (5,) * 7,
    ("animals", "test"): (19, 30, 41, 23, 24, 18, 10),
}
SOURCE = 1305
# Kinetics-700 classes that mean ours; which of them the authors took is not documented (section 3.4).
KINETICS_700: Mapping[str, tuple[str, ...]] = {
    "sleeping": ("sleeping",),
    "watching tv": ("watching tv",),
    "eating": (
        "eating burger", "eating cake", "eating carrots", "eating chips", "eating doughnuts", "eating hotdog",
        "eating ice cream", "eating nachos", "eating spaghetti", "eating watermelon",
    ),
    "drinking": ("drinking shots",),
    "swimming": (
        "swimming backstroke", "swimming breast stroke", "swimming butterfly stroke", "swimming front crawl",
    ),
    "running": ("running on treadmill",),
    "opening door": ("opening door",),
}  # fmt: skip
RULES = {
    "animals": Rules(hint="they are in ActorShift.zip."),
    "kinetics": Rules(youtube=True, hint="they are of Kinetics-700; give its folder with --kinetics."),
}
FLAGS = ("actorshift", "kinetics")
_HUMAN = re.compile(r".{11}_\d{6}_\d{6}")


def find(roots: Mapping[str, Path], lists: Path | None) -> BenchmarkReport:
    """The report for the zip's folder (`--actorshift`), with the humans there or in `--kinetics`."""
    extra = [flag for flag in roots if flag not in FLAGS]
    if extra or "actorshift" not in roots:
        wrong = f"has no --{extra[0]}" if extra else "needs --actorshift FOLDER, where ActorShift.zip was unpacked"
        raise UserError(f"actorshift {wrong}; accepted: --actorshift, --kinetics (Kinetics-700), --lists.", usage=True)
    root = roots["actorshift"]
    animals, humans = read_annotations(lists or root)
    notes = [f"the published table's columns C1 to C7 are {', '.join(COLUMNS)}: one run gives all of them"]
    notes += _count_notes(animals)
    places = {"animals": root, "kinetics": roots.get("kinetics", root)}
    if humans:
        if len(humans) != SOURCE:
            notes.append(f"the annotations list {len(humans):,} source videos, where the paper has {SOURCE:,}")
    elif "kinetics" in roots:
        humans = stand_in(roots["kinetics"])
        notes.append(
            f"the annotations list no source video: {len(humans):,} were chosen from Kinetics-700 by class name, "
            "which is NOT the official source list"
        )
    tables = {"kinetics": humans, "animals": animals}
    if not humans:
        notes.append("the annotations list no source video; give --kinetics FOLDER with Kinetics-700 for a stand-in")
        del tables["kinetics"]
    return compare(NAME, CLASSES, tables, places, RULES, notes=notes)


def read_annotations(folder: Path) -> tuple[list[Entry], list[Entry]]:
    """Animals and humans in all `path,class` files below a folder."""
    known = ClassList(CLASSES, ALIASES)
    animals: dict[str, Entry] = {}
    humans: dict[str, Entry] = {}
    for path in _annotation_files(folder):
        detected = detect(read_lines(path), path.parent)
        lines = [line for line in (detected[1] if detected else []) if line.label and known.find(line.label)]
        for line in lines:
            label = CLASSES.index(known.find(line.label or "") or "")
            human = _HUMAN.fullmatch(split_suffix(Path(line.path).name)[0]) is not None
            # An animal's `val` is the evaluation set; a human is trained on whatever file it stands in.
            split = "train" if human or split_of(path.stem) in (None, "train") else "test"
            (humans if human else animals).setdefault(line.path, Entry(line.path, label, split, line.label))
    if not animals:
        raise UserError(
            f"there is no list of 'path,class' lines with ActorShift's classes in '{folder}' (annotations/train.csv "
            "and val.csv in the zip); unpack the whole zip, or give --lists FOLDER."
        )
    return list(animals.values()), list(humans.values())


def _annotation_files(folder: Path) -> list[Path]:
    found = [Path(place) / name for place, _, names in os.walk(folder) for name in names if not name.startswith(".")]
    return sorted(path for path in found if path.suffix.lower() in (".csv", ".txt") and path.stat().st_size)


def _count_notes(animals: list[Entry]) -> list[str]:
    found = Counter((entry.split, entry.label) for entry in animals)
    notes: list[str] = []
    for (_, split), wanted in COUNTS.items():
        there = tuple(found[split, label] for label in range(len(CLASSES)))
        if there != wanted:
            notes.append(
                f"the annotations list {sum(there)} animals to {'train on' if split == 'train' else 'test'} "
                f"({' '.join(map(str, there))}), where the benchmark has {sum(wanted)} ({' '.join(map(str, wanted))})"
            )
    return notes


def stand_in(root: Path) -> list[Entry]:
    """1,305 clips of Kinetics-700, as many of each class as of the others, chosen by a hash of their names."""
    label_of = {fold(raw): CLASSES.index(own) for own, names in KINETICS_700.items() for raw in names}
    by_label: dict[int, list[tuple[float, str, str]]] = {}
    for name in scan(root).names:
        raw = next((part for part in reversed(name.split("/")[:-1]) if fold(part) in label_of), None)
        if raw is not None:
            stem = split_suffix(Path(name).name)[0]
            by_label.setdefault(label_of[fold(raw)], []).append((share(stem), name, raw))
    absent = [name for label, name in enumerate(CLASSES) if label not in by_label]
    if absent:
        raise UserError(
            f"'{root}' has no class folder of Kinetics-700 for {absent[0]!r}; accepted names: "
            f"{', '.join(KINETICS_700[absent[0]])}."
        )
    each, more = divmod(SOURCE, len(CLASSES))
    return [
        Entry(name, label, "train", raw)
        for label in range(len(CLASSES))
        for _, name, raw in sorted(by_label[label])[: each + (label < more)]
    ]
