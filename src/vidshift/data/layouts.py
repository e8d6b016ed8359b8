"""The one door for data as it lies: a folder, a list, a manifest, a video, or a benchmark's name -> Manifest."""

from pathlib import Path

from vidshift.data import lists, manifests, official, videofolder
from vidshift.data.benchmarks import is_benchmark, open_benchmark
from vidshift.data.container import VIDEO_SUFFIXES
from vidshift.data.folders import read_folder
from vidshift.data.manifest import Manifest, Row
from vidshift.data.splits import split_of
from vidshift.errors import UserError, did_you_mean

KINDS = (
    "a folder of videos, a list or manifest file (LIST@FOLDER where its videos lie elsewhere), a video, or a benchmark "
    "such as daily-da:hmdb"
)


def read(
    spec: str | Path,
    *,
    root: Path | str | None = None,
    unlabelled: bool = False,
    domain: str | None = None,
    cache: Path | None = None,
) -> Manifest:
    """Reads data by pointing at it; `Manifest.origin` says what it was taken for.

    `root` is where a list's relative paths start (default: the list's own folder), as is FOLDER in LIST@FOLDER;
    TRAIN+TEST joins two lists whose names say their splits. `unlabelled` reads the folders of a tree as no classes;
    `domain` is written into the rows; `cache` is where benchmarks are remembered.
    """
    text = str(spec)
    path = Path(spec).expanduser()
    where = None if root is None else Path(root).expanduser()
    if not _exists(path) and "@" in text and _listed(text.rpartition("@")[0]):
        text, _, folder = text.rpartition("@")
        path, where = Path(text).expanduser(), Path(folder).expanduser()
        if not where.is_dir():
            raise UserError(f"there is no folder '{where}' for the videos of '{text}'; accepted: LIST@FOLDER.")
    if not _exists(path) and "+" in text and _listed(text):
        parts = [Path(part).expanduser() for part in text.split("+")]
        manifest = joined([_read_file(part, where, domain, split=_named_split(part)) for part in parts])
    elif not _exists(path):
        if not is_benchmark(text):
            raise _missing(text, path)
        manifest = open_benchmark(text, cache=cache, domain=domain)
    elif path.is_dir():
        manifest = _read_dir(path, where, unlabelled, domain)
    else:
        manifest = _read_file(path, where, domain)
    return manifest.without_labels() if unlabelled else manifest


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _listed(text: str) -> bool:
    """Whether every part of A+B is there."""
    return _exists(Path(text).expanduser()) or all(Path(part).expanduser().is_file() for part in text.split("+"))


def _read_dir(path: Path, root: Path | None, unlabelled: bool, domain: str | None) -> Manifest:
    files = videofolder.metadata_files(path)
    if files:
        return videofolder.read_videofolder(path, files, domain=domain)
    for place in (path, *_split_folders(path)):
        kind = official.kind_of(entry.name for entry in place.glob("*.txt"))
        if kind is not None:
            return official.read_official(place, kind, root=root or (path if place != path else None), domain=domain)
    return read_folder(path, unlabelled=unlabelled, domain=domain)


def _split_folders(path: Path) -> list[Path]:
    """Folders beside the classes that may hold split files, by their names: a look into every class would be slow."""
    words = ("split", "list", "annotation")
    return sorted(
        entry for entry in path.iterdir() if any(w in entry.name.casefold() for w in words) and entry.is_dir()
    )


def _read_file(path: Path, root: Path | None, domain: str | None, *, split: str | None = None) -> Manifest:
    suffix = path.suffix.lower()
    if suffix in VIDEO_SUFFIXES:
        return Manifest((Row(id=path.stem, path=path, domain=domain),), (), f"one video, '{path}'")
    if not path.is_file():
        raise UserError(f"'{path}' is a pipe, a device or a link to nothing; accepted: {KINDS}.")
    if suffix in (".parquet", ".jsonl", ".ndjson") or manifests.has_header(path):
        return manifests.read_manifest(path, root=root, domain=domain, split=split)
    kind = official.kind_of([path.name])
    if kind is not None:
        raise UserError(
            f"'{path}' is one of {kind}'s official split files, of which all are needed; give their folder, as in "
            f"{path.parent}@VIDEOS."
        )
    return lists.read_list(path, root=root, domain=domain, split=split)


def _named_split(path: Path) -> str:
    """The split that a list's file name speaks of: hmdb51_train.txt, val.csv."""
    words = path.stem.casefold().replace("-", "_").replace(".", "_").split("_")
    found = {split for word in words if (split := split_of(word))}
    if len(found) != 1:
        raise UserError(
            f"the name of the list '{path.name}' does not say its split; accepted in LIST+LIST: the word train, val or "
            "test in each name.",
            usage=True,
        )
    return found.pop()


def joined(parts: list[Manifest]) -> Manifest:
    """Several lists of one domain as one manifest."""
    classes = tuple(dict.fromkeys(name for part in parts for name in part.classes))
    if all(name.isascii() and name.isdigit() for name in classes):
        classes = tuple(sorted(classes, key=int))
    rows = tuple(row for part in parts for row in part.rows)
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise UserError(f"the video {row.id!r} stands in two of the lists, so one split would leak; list it once.")
        seen.add(row.id)
    return Manifest(rows, classes, "; ".join(part.origin for part in parts), tuple(n for p in parts for n in p.notes))


def _missing(spec: str, path: Path) -> UserError:
    parent = path.parent if path.parent.is_dir() else None
    near = "" if parent is None else did_you_mean(path.name, [entry.name for entry in parent.iterdir()])
    return UserError(f"there is no file or folder '{spec}'{near}; accepted: {KINDS}.")
