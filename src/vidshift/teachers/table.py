"""The teacher table: pseudo-labels as a file, so that they can be read, corrected by hand, or come from elsewhere.

Columns: id, label, confidence, kept, teacher, prompt, temperature, and one `p:CLASS` for each class. Only id and
label are needed; without a confidence every row counts as certain.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from vidshift.errors import UserError, did_you_mean
from vidshift.teachers.base import Card
from vidshift.teachers.prompts import plain


@dataclass(frozen=True, eq=False)
class TeacherTable:
    """One row a video, in a fixed order; `kept_N` is None where a file has no such column."""

    ids: tuple[str, ...]
    labels: tuple[str, ...]
    confidence_N: NDArray[np.float32]
    classes: tuple[str, ...]
    kept_N: NDArray[np.bool_] | None = None
    probs_NK: NDArray[np.float32] | None = None
    card: Card = field(default_factory=lambda: Card(teacher="table"))

    @staticmethod
    def make(
        ids: Sequence[str], classes: Sequence[str], probs_NK: NDArray[np.float32], *, card: Card, gamma: float
    ) -> "TeacherTable":
        """From class probabilities; a row of NaN (a clip that the teacher could not see) is left out."""
        seen_N = np.flatnonzero(~np.isnan(probs_NK).any(axis=1))
        probs_NK = np.ascontiguousarray(probs_NK[seen_N], dtype=np.float32)
        return TeacherTable(
            ids=tuple(ids[row] for row in seen_N.tolist()),
            labels=tuple(classes[int(k)] for k in probs_NK.argmax(axis=1)),
            confidence_N=probs_NK.max(axis=1),
            classes=tuple(classes),
            probs_NK=probs_NK,
            card=card,
        ).filter(gamma)

    def __len__(self) -> int:
        return len(self.ids)

    def filter(self, gamma: float | None) -> "TeacherTable":
        """Keeps max(q) > gamma, strictly (the paper's filter); None leaves the file's own `kept`, or keeps all."""
        if gamma is None:
            own = np.ones(len(self), dtype=np.bool_) if self.kept_N is None else self.kept_N
            return replace(self, kept_N=own)
        if not 0 <= gamma <= 1:
            raise UserError(f"gamma {gamma:g} is no confidence; choose one from 0 (keep all) to 1.", usage=True)
        # Compared in float64, so that 0.8 is the 0.8 that was asked for.
        return replace(self, kept_N=self.confidence_N.astype(np.float64) > gamma)

    @cached_property
    def label_N(self) -> NDArray[np.int64]:
        """The labels as indices into `classes`."""
        index = {name: k for k, name in enumerate(self.classes)}
        return np.array([index[label] for label in self.labels], dtype=np.int64)

    def for_classes(self, classes: Sequence[str], *, origin: str = "the teacher table") -> "TeacherTable":
        """The same table in the words and order of `classes`; a label that is none of them is an error."""
        known = {plain(name): name for name in classes}
        strange = sorted({label for label in self.labels if plain(label) not in known})
        if strange:
            more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
            raise UserError(
                f"{origin} has the label {strange[0]!r}{more}, which is no class of this run"
                f"{did_you_mean(strange[0], classes)}; its classes are {', '.join(classes)}."
            )
        labels = tuple(known[plain(label)] for label in self.labels)
        own = {plain(name): k for k, name in enumerate(self.classes)}
        probs = None
        if self.probs_NK is not None and all(plain(name) in own for name in classes):
            probs = self.probs_NK[:, [own[plain(name)] for name in classes]]
        return replace(self, labels=labels, classes=tuple(classes), probs_NK=probs)

    def for_ids(self, ids: Sequence[str], *, origin: str = "the teacher table") -> "TeacherTable":
        """The rows of these videos, in their order; videos that the table does not know are absent.

        An id of the table may carry a file's extension or backslashes; a table of which nothing fits is an error.
        """
        rows = {name: row for row, name in enumerate(self.ids)}
        stems = Counter(_stem(name) for name in rows)
        loose = {_stem(name): row for name, row in rows.items() if stems[_stem(name)] == 1}
        found = [rows.get(name, loose.get(_stem(name))) for name in ids]
        if ids and all(row is None for row in found):
            example = repr(self.ids[0]) if self.ids else "nothing"
            raise UserError(
                f"none of the {len(self)} ids of {origin} (such as {example}) is a video of this run "
                f"(such as {ids[0]!r}); write the ids as `vidshift label` does."
            )
        pairs = [(name, row) for name, row in zip(ids, found, strict=True) if row is not None]
        take = np.array([row for _, row in pairs], dtype=np.int64)
        return replace(
            self,
            ids=tuple(name for name, _ in pairs),
            labels=tuple(self.labels[row] for row in take),
            confidence_N=self.confidence_N[take],
            kept_N=None if self.kept_N is None else self.kept_N[take],
            probs_NK=None if self.probs_NK is None else self.probs_NK[take],
        )

    def probabilities(self) -> NDArray[np.float32]:
        """`probs_NK` as stored, else the confidence on the label and the rest shared by the other classes.

        So it is, too, for a row that somebody has corrected: one whose label is not what its probabilities say.
        """
        others = max(len(self.classes) - 1, 1)
        probs = np.repeat(((1 - self.confidence_N) / others)[:, None], len(self.classes), axis=1)
        probs[np.arange(len(self)), self.label_N] = self.confidence_N
        if self.probs_NK is not None:
            said_N = self.probs_NK[np.arange(len(self)), self.label_N]
            agrees_N = (said_N == self.probs_NK.max(axis=1)) & (said_N == self.confidence_N)
            probs[agrees_N] = self.probs_NK[agrees_N]
        return probs.astype(np.float32)

    def __repr__(self) -> str:
        kept = "all" if self.kept_N is None else str(int(self.kept_N.sum()))
        return f"TeacherTable({len(self)} videos, {kept} kept, {len(self.classes)} classes, {self.card.teacher})"


def _stem(name: str) -> str:
    """An id without extension, with forward slashes: what ids are by default (design: manifest ids)."""
    return str(PurePosixPath(name.replace("\\", "/")).with_suffix(""))
