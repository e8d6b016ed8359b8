"""What a check found of one video, and the file that remembers it."""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from vidshift.data.manifest import Row

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A status with its reason in plain words, and what the file turned out to hold as far as it could be read.

    `brightness` and `contrast` are mean and standard deviation of the sampled pixels in [0, 1], `motion` the largest
    change of a block between two sampled frames; `kept` the shares of tokens above `engine.check.THRESHOLDS`.
    """

    status: str
    reason: str = ""
    width: int | None = None
    height: int | None = None
    fps: float | None = None
    seconds: float | None = None
    num_frames: int | None = None
    codec: str | None = None
    pix_fmt: str | None = None
    format: str | None = None
    audio: bool | None = None
    bytes: int | None = None
    brightness: float | None = None
    contrast: float | None = None
    motion: float | None = None
    kept: tuple[float, ...] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Only what is known."""
        known = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in known.items() if value not in (None, "")}

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "Finding":
        kept = values.get("kept")
        return Finding(**{**values, "kept": tuple(kept) if kept is not None else None})


class Memory:
    """Findings by file, size and time of change, as JSON lines: what a killed check has finished is not done again."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[str, Finding] = {}
        if path is not None and path.exists():
            with path.open(errors="replace") as lines:
                for line in lines:
                    self._learn(line)
        self._file = None

    def _learn(self, line: str) -> None:
        try:
            entry = json.loads(line)
        except ValueError:
            return  # a kill left half of it
        if isinstance(entry, dict) and entry.pop("version", None) == FORMAT:
            key = entry.pop("key")
            self.known[key] = Finding.from_dict(entry)

    def get(self, key: str | None) -> Finding | None:
        return self.known.get(key) if key is not None else None

    def put(self, key: str | None, finding: Finding) -> None:
        if key is None or self.path is None:
            return
        self.known[key] = finding
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a")
        # One short write in append mode: checks that run side by side do not cut each other's lines.
        self._file.write(
            "\n" * (self._file.tell() > 0) + json.dumps({"version": FORMAT, "key": key, **finding.as_dict()})
        )
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def file_key(row: Row, look: Iterable[Any]) -> str | None:
    """Changes with the file, its size, time or permissions, the trim, or how it is looked at; None where there is
    nothing."""
    try:
        stat = os.stat(row.path)
    except OSError:
        return None
    whose = (stat.st_mode, stat.st_uid, os.geteuid()) if hasattr(os, "geteuid") else (stat.st_mode,)
    parts = (os.path.abspath(row.path), stat.st_size, stat.st_mtime_ns, *whose, row.start, row.end, *look)
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=12).hexdigest()
