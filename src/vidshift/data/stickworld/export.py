"""The built-in domains as a person's own data would lie: class folders, or a flat folder without labels."""

import errno
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from vidshift.data.manifest import Manifest, Row
from vidshift.errors import UserError


def refuse_if_used(folder: Path) -> None:
    """Nothing of a person's is ever overwritten."""
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(
            f"the folder '{folder}' is not empty; choose another one, or remove it first (rm -r '{folder}').",
            usage=True,
        )
    if folder.exists() and not folder.is_dir():
        raise UserError(f"'{folder}' is a file; choose the name of a new folder.", usage=True)


def export(folder: Path, parts: Iterable[Manifest], *, flat: Iterable[str] = ()) -> int:
    """Copies every part to `folder/<domain>/<split>/<class>/`, or to `folder/<domain>/` for the domains in `flat`.

    The folder appears when all of it is there; returns the number of videos.
    """
    refuse_if_used(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    flat, count = frozenset(flat), 0
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    try:
        for part in parts:
            for row in part.rows:
                place = partial / _place(row, flat=row.domain in flat)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(row.path, place)
                count += 1
        os.replace(partial, folder)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            refuse_if_used(folder)
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return count


def _place(row: Row, *, flat: bool) -> Path:
    assert row.domain is not None
    assert row.split is not None
    assert row.label is not None
    name = f"{row.id}{row.path.suffix}"
    return Path(row.domain) / name if flat else Path(row.domain) / row.split / row.label / name
