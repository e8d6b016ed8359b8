"""The manifest: which videos there are, what they are called, and what is known of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from vidshift.data.status import is_usable


@dataclass(frozen=True, kw_only=True)
class Row:
    """One video. `id` is stable across machines (by default the path without its extension); an empty label is None."""

    id: str
    path: Path
    label: str | None = None
    split: str | None = None
    domain: str | None = None
    raw_label: str | None = None
    start: float | None = None
    end: float | None = None
    num_frames: int | None = None
    fps: float | None = None
    width: int | None = None
    height: int | None = None
    seconds: float | None = None
    status: str | None = None
    reason: str | None = None

    @property
    def usable(self) -> bool:
        """False only where a check has found the file bad."""
        return is_usable(self.status)


@dataclass(frozen=True)
class Manifest:
    """Rows of one domain with the ordered class names; `origin` says in words what it was read from."""

    rows: tuple[Row, ...]
    classes: tuple[str, ...]
    origin: str = ""
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, *, split: str | None = None, usable: bool | None = None) -> "Manifest":
        """The rows of one split, or only those that a check has not found bad."""
        rows: Iterable[Row] = self.rows
        if split is not None:
            rows = (row for row in rows if row.split == split)
        if usable is not None:
            rows = (row for row in rows if row.usable == usable)
        return replace(self, rows=tuple(rows))

    def without_labels(self) -> "Manifest":
        """The same videos with every label removed: what a method may see of a target."""
        return replace(self, rows=tuple(replace(row, label=None, raw_label=None) for row in self.rows))

    @property
    def labelled(self) -> bool:
        return bool(self.rows) and all(row.label is not None for row in self.rows)

    def __repr__(self) -> str:
        return f"Manifest({len(self.rows)} videos, {len(self.classes)} classes, {self.origin})"
