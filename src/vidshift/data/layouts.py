"""The one door for data as it lies: a folder, a list, a manifest, a video, or a benchmark's name -> Manifest."""

from dataclasses import dataclass
from pathlib import Path

from vidshift.data import lists, manifests, official, videofolder
from vidshift.data.benchmarks import is_benchmark, open_benchmark
from vidshift.data.classes import ClassList, classes_beside
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
    place = _locate(str(spec), None if root is None else Path(root).expanduser())
    if place is None:
        manifest = open_benchmark(str(spec), cache=cache, domain=domain)
    elif len(place.files) > 1:
        manifest = joined([_read_file(part, place.root, domain, split=_named_split(part)) for part in place.files])
    elif place.first.is_dir():
        manifest = _read_dir(place.first, place.root, unlabelled, domain)
    else:
        manifest = _read_file(place.first, place.root, domain)
    return manifest.without_labels() if unlabelled else manifest


def class_list(spec: str | Path) -> ClassList | None:
    """The `classes.json` of some data: in its folder, or beside its list or manifest."""
    place = _locate(str(spec), None)
    return None if place is None else classes_beside(place.first)


def absolute_spec(spec: str) -> str:
    """The same data named so that it is found from any folder; what is no path (a benchmark) or not there stays."""
    lists, sign, folder = spec.rpartition("@")
    path = Path(spec).expanduser()
    if not _exists(path) and sign and (files := _all_there(lists)):
        return f"{'+'.join(map(_absolute, files))}@{_absolute(Path(folder).expanduser())}"
    files = _all_there(spec)
    return "+".join(map(_absolute, files)) if files else spec


def _absolute(path: Path) -> str:
    return str(path.absolute())


@dataclass(frozen=True)
class _Place:
    """What a spec points at: a folder or file, or several lists; and where their videos lie, if it says so."""

    files: tuple[Path, ...]
    root: Path | None

    @property
    def first(self) -> Path:
        return next(iter(self.files))


def _locate(spec: str, root: Path | None) -> _Place | None:
    """The files that are meant, or None for a benchmark. A path that is there wins over every other reading."""
    path = Path(spec).expanduser()
    if _exists(path):
        return _Place((path,), root)
    lists, sign, folder = spec.rpartition("@")
    if sign and (files := _all_there(lists)):
        where = Path(folder).expanduser()
        if not where.is_dir():
            raise UserError(f"there is no folder '{where}' for the videos of '{lists}'; accepted: LIST@FOLDER.")
        return _Place(files, where)
    if files := _all_there(spec):
        return _Place(files, root)
    if not is_benchmark(spec):
        raise _missing(spec, path)
    return None


def _all_there(spec: str) -> tuple[Path, ...]:
    """The parts of A+B, if all of them are files, or the one path that is there."""
    path = Path(spec).expanduser()
    if _exists(path):
        return (path,)
    parts = tuple(Path(part).expanduser() for part in spec.split("+"))
    return parts if all(part.is_file() for part in parts) else ()


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()


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
