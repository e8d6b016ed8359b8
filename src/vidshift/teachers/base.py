"""The contract of a teacher: views in, class probabilities out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from vidshift.data.view import View
from vidshift.errors import UserError, unknown
from vidshift.registry import Registry


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a teacher is, for the table and the summary.

    `fingerprint` changes whenever its probabilities would. `weak` marks the source model teaching itself, and
    `reads_pixels` is false for a teacher that only looks ids up.
    """

    teacher: str
    prompt: str = ""
    temperature: float | None = None
    fingerprint: str = ""
    weak: bool = False
    reads_pixels: bool = True

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@runtime_checkable
class Teacher(Protocol):
    """Guesses the labels of clips; it never sees one."""

    @property
    def card(self) -> Card: ...

    def probabilities(self, view: View, classes: Sequence[str]) -> Tensor:
        """`probs_BK`, float32 on the CPU, each row summing to 1; a row of NaN where it knows nothing of the clip."""
        ...


teachers: Registry[Teacher] = Registry("teacher", "vidshift.teachers")

# `source` is the source model as a weak teacher: it needs a trained run (`source:RUN`), so the engine makes it.
KINDS = (
    "stick",
    "clip",
    "clip:FOLDER-or-HUB-ID",
    "source",
    "source:RUN",
    "a table such as labels.parquet or labels.csv",
)
TABLE_SUFFIXES = (".parquet", ".csv", ".tsv")


@dataclass(frozen=True)
class TeacherSpec:
    """`--teacher`, understood: which kind, and the folder, hub id or file that it comes from."""

    kind: str
    where: str | None = None

    @staticmethod
    def parse(text: str) -> "TeacherSpec":
        """`stick`, `clip`, `clip:WHERE`, `source`, `source:RUN`, `table:FILE`, or the name of a table file."""
        if text.lower().endswith(TABLE_SUFFIXES) and not text.startswith("table:"):
            return TeacherSpec("table", text)
        kind, separator, where = text.partition(":")
        if kind not in ("stick", "clip", "source", "table") or (kind == "stick" and separator):
            if Path(text).exists():
                raise UserError(
                    f"{text!r} is neither a teacher nor a table; accepted: {', '.join(KINDS)}; "
                    f"for a CLIP model in a folder write clip:{text}.",
                    usage=True,
                )
            raise unknown("teacher", text, KINDS)
        if (kind == "table" or separator) and not where:
            raise UserError(f"teacher {text!r} names no place; write {kind}:FOLDER-or-FILE.", usage=True)
        return TeacherSpec(kind, where or None)

    def __str__(self) -> str:
        return self.kind if self.where is None else f"{self.kind}:{self.where}"
