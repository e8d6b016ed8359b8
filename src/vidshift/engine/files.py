"""Writing so that a kill at any moment leaves the old content or the new, never half of it."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def sync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_text(text)
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
    fill(partial)
    for file in sorted(partial.rglob("*")):
        sync(file)
    sync(partial)
    if path.exists():
        old = path.with_name(f".{path.name}.{os.getpid()}.old")
        os.replace(path, old)
        os.replace(partial, path)
        shutil.rmtree(old)
    else:
        os.replace(partial, path)
    sync(path.parent)


def remove_leftovers(folder: Path) -> None:
    """What killed processes left under temporary names."""
    for leftover in folder.glob(".*.partial"):
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink()
    for old in folder.glob(".*.old"):
        shutil.rmtree(old)
