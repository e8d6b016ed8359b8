"""The one door for data as it lies: a folder, a list, a manifest, a video, or a benchmark's name -> Manifest."""

from dataclasses import replace
from pathlib import Path

from vidshift.data.container import VIDEO_SUFFIXES
from vidshift.data.folders import read_folder
from vidshift.data.manifest import Manifest, Row
from vidshift.errors import UserError


def read(
    spec: str | Path, *, root: Path | str | None = None, unlabelled: bool = False, domain: str | None = None
) -> Manifest:
    """Reads data by pointing at it; `Manifest.origin` says what it was taken for.

    `root` is where a list's relative paths start (default: the list's own folder); `unlabelled` reads the folders of a
    tree as no classes; `domain` is written into the rows.
    """
    path = Path(spec).expanduser()
    if not path.exists() and not path.is_symlink():
        raise _missing(str(spec), path)
    if path.is_dir():
        manifest = read_folder(path, unlabelled=unlabelled, domain=domain)
    elif path.suffix.lower() in VIDEO_SUFFIXES:
        manifest = Manifest((Row(id=path.stem, path=path, domain=domain),), (), f"one video, '{path}'")
    else:
        raise UserError(f"cannot read '{path}'.")
    return manifest.without_labels() if unlabelled else manifest


def _missing(spec: str, path: Path) -> UserError:
    parent = path.parent if path.parent.is_dir() else None
    near = ""
    if parent is not None:
        from vidshift.errors import did_you_mean

        near = did_you_mean(path.name, [entry.name for entry in parent.iterdir()])
    return UserError(
        f"there is no file or folder '{spec}'{near}; accepted: a folder of videos, a list or manifest file, a video, "
        "or a benchmark such as daily-da:hmdb."
    )


def with_domain(manifest: Manifest, domain: str) -> Manifest:
    return replace(manifest, rows=tuple(replace(row, domain=row.domain or domain) for row in manifest.rows))
