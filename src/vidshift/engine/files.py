"""Writing so that a kill at any moment leaves the old content or the new, never half of it."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vidshift.errors import UserError

LOCK = ".lock"


def sync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    sync(partial)
    os.replace(partial, path)
    sync(path.parent)


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def write_folder(path: Path, fill: Callable[[Path], None]) -> None:
    """`fill` a new folder under a temporary name, sync all of it, and put it in place of an older one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        fill(partial)
        for file in sorted(partial.rglob("*")):
            sync(file)
        sync(partial)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    if path.exists():
        old = path.with_name(f".{path.name}.{os.getpid()}.old")
        os.replace(path, old)
        os.replace(partial, path)
        shutil.rmtree(old)
    else:
        os.replace(partial, path)
    sync(path.parent)


def remove_leftovers(folder: Path) -> None:
    """What killed processes left under temporary names. An older folder whose successor had not yet taken its name
    gets that name back."""
    for old in folder.glob(".*.old"):
        name = old.name.removeprefix(".").removesuffix(".old").rpartition(".")[0]
        if (folder / name).exists():
            shutil.rmtree(old)
        else:
            os.replace(old, folder / name)
    for leftover in filter(_half_written, folder.iterdir()):
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink()


def is_leftover(path: Path) -> bool:
    """Whether a path in a run's folder is only ours to clean up: the claim, or something half written."""
    return path.name == LOCK or _half_written(path)


def _half_written(path: Path) -> bool:
    """By its temporary name: `.NAME.PID.partial`, with a suffix behind it where a writer chooses the format by it."""
    return re.fullmatch(r"\..+\.\d+\.partial(\.\w+)?", path.name) is not None


def missing_folders(folder: Path) -> list[Path]:
    """What `mkdir` would make, the innermost first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def take_back(files: Iterable[Path], folders: Iterable[Path]) -> None:
    """Removes what a refused call had made; a folder in which anything else has appeared meanwhile stays."""
    for path in files:
        path.unlink(missing_ok=True)
    for path in folders:
        with suppress(OSError):
            path.rmdir()


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Keeps a second process from working in the same run folder; the system lets go of the claim when we end, however
    that is."""
    try:
        import fcntl
    except ImportError:  # no such locks on this platform
        yield
        return
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"another process is working in '{folder}': wait for it, or give --out another folder."
            ) from None
        except OSError:  # a file system without locks
            yield
            return
        yield
