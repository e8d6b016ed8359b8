"""UCF-HMDB_full: twelve classes of UCF101 and HMDB51, from the official split files alone (datasets.md section 2).

The indices are TA3N's. Fifteen UCF101 folders make the twelve classes; both data sets are split by their own split 1,
UCF101's test list and HMDB51's part 2 being what accuracy is reported on.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from vidshift.data.benchmarks.report import BenchmarkReport, Entry, Rules, compare
from vidshift.data.official import Kind, entries, find_folder
from vidshift.errors import UserError

NAME = "ucf-hmdb"
# HMDB51 folder, which is our name too -> UCF101 folders, in the order of the indices (section 2.1).
FOLDERS: Mapping[str, tuple[str, ...]] = {
    "climb": ("RockClimbingIndoor", "RopeClimbing"),
    "fencing": ("Fencing",),
    "golf": ("GolfSwing",),
    "kick_ball": ("SoccerPenalty",),
    "pullup": ("PullUps",),
    "punch": ("BoxingPunchingBag", "BoxingSpeedBag", "Punch"),
    "pushup": ("PushUps",),
    "ride_bike": ("Biking",),
    "ride_horse": ("HorseRiding",),
    "shoot_ball": ("Basketball",),
    "shoot_bow": ("Archery",),
    "walk": ("WalkingWithDog",),
}
CLASSES = tuple(FOLDERS)
COUNTS: Mapping[tuple[str, str], tuple[int, ...]] = {
    ("ucf", "train"): (188, 77, 100, 96, 72, 332, 72, 96, 115, 99, 104, 87),
    ("ucf", "test"): (75, 34, 39, 41, 28, 125, 30, 38, 49, 35, 41, 36),
    ("hmdb", "train"): (70,) * 12,
    ("hmdb", "test"): (30,) * 12,
}
KINDS: Mapping[str, Kind] = {"ucf": "UCF101", "hmdb": "HMDB51"}
RULES = {
    "ucf": Rules(hint="they lie in UCF-101/CLASS of the data set's archive."),
    "hmdb": Rules(hint="every class of HMDB51 is an archive of its own to unpack."),
}


def find(roots: Mapping[str, Path], lists: Path | None) -> BenchmarkReport:
    """The report for the domains whose folders are given. The split files are looked for in `lists`, else in a data
    set's own folder and the one above it."""
    extra = [flag for flag in roots if flag not in KINDS]
    if extra:
        raise UserError(f"ucf-hmdb has no --{extra[0]}; accepted: --ucf, --hmdb, --lists.", usage=True)
    domains = [domain for domain in KINDS if domain in roots] or list(KINDS)
    tables = {domain: read_table(domain, lists or _own_lists(domain, roots)) for domain in domains}
    return compare(NAME, CLASSES, tables, roots, RULES)


def _own_lists(domain: str, roots: Mapping[str, Path]) -> Path:
    if domain in roots:
        for place in (roots[domain], roots[domain].parent):
            if find_folder(place, KINDS[domain], depth=2) is not None:
                return place
    raise UserError(
        f"ucf-hmdb needs {KINDS[domain]}'s official split files; give --lists FOLDER with them (split 1).", usage=True
    )


def read_table(domain: str, lists: Path) -> list[Entry]:
    """All videos of one domain, checked against the published counts."""
    kind = KINDS[domain]
    folder = find_folder(lists, kind)
    if folder is None:
        sample = "trainlist01.txt, testlist01.txt" if kind == "UCF101" else "climb_test_split1.txt and the others"
        raise UserError(f"there are no split files of {kind} in '{lists}' ({sample}); add them.")
    label_of = {
        raw: label
        for label, (own, others) in enumerate(FOLDERS.items())
        for raw in (others if domain == "ucf" else (own,))
    }
    found = [
        Entry(entry.name, label_of[entry.raw_class], entry.split, entry.raw_class)
        for entry in entries(folder, kind)
        if entry.raw_class in label_of
    ]
    for split in ("train", "test"):
        counts = Counter(entry.label for entry in found if entry.split == split)
        wanted = COUNTS[domain, split]
        if tuple(counts[k] for k in range(len(CLASSES))) != wanted:
            raise UserError(
                f"the split files of {kind} in '{folder}' give {sum(counts.values()):,} {split} videos of these "
                f"classes, where ucf-hmdb has {sum(wanted):,}; use the official files of split 1."
            )
    return found
