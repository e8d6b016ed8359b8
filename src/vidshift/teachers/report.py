"""What a teacher table amounts to, without any true label: coverage, confidence, and what should be said loudly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vidshift.teachers.table import TeacherTable


@dataclass(frozen=True, kw_only=True)
class ClassReport:
    """How often a class was guessed, how many of these guesses are kept, and their mean confidence."""

    name: str
    guessed: int
    kept: int
    confidence: float | None


@dataclass(frozen=True, kw_only=True)
class TableReport:
    """`asked` videos were to be labelled, `found` are in the table, `kept` passed the filter."""

    asked: int
    found: int
    kept: int
    confidence: float | None
    classes: tuple[ClassReport, ...]
    gamma: float | None

    @property
    def coverage(self) -> float:
        """The share of all videos whose guess is kept: what training will see of the target."""
        return self.kept / self.asked if self.asked else 0.0

    def warnings(self) -> list[str]:
        """In sentences, the worst first."""
        said: list[str] = []
        limit = "the filter" if self.gamma is None else f"confidence > {self.gamma:g}"
        present = [c for c in self.classes if c.kept]
        if self.asked and not self.kept:
            best = max((c.confidence for c in self.classes if c.confidence is not None), default=0.0)
            said.append(
                f"the teacher's labels are all filtered out: of {self.found} guesses none passes {limit} (the surest "
                f"class averages {best:.2f}), so nothing would be learned from the target; lower --gamma or take "
                "another teacher."
            )
        elif len(present) == 1 and len(self.classes) > 1:
            said.append(
                f"the teacher keeps only one class: all {self.kept} guesses that pass {limit} are {present[0].name!r}; "
                "training on them would teach that answer to everything; lower --gamma, change the class wordings or "
                "take another teacher."
            )
        elif len(present) < len(self.classes):
            missing = ", ".join(c.name for c in self.classes if not c.kept)
            lower = ", try a lower --gamma," if self.gamma else ""  # one of 0 cannot be lowered
            said.append(
                f"no guess that passes {limit} is of {missing}: such videos may be taken, confidently, for something "
                f"else. Before training on these guesses look into the table{lower} and compare with `adapt --method "
                "source-only`."
            )
        if self.found < self.asked:
            said.append(f"{self.asked - self.found} of {self.asked} target videos are not in the teacher table.")
        return said


def report(table: TeacherTable, *, asked: int | None = None, gamma: float | None = None) -> TableReport:
    """`asked` is how many videos were to be labelled, by default those in the table."""
    filtered = table.filter(gamma)
    kept_N = np.ones(len(table), np.bool_) if filtered.kept_N is None else filtered.kept_N
    return TableReport(
        asked=len(table) if asked is None else asked,
        found=len(table),
        kept=int(kept_N.sum()),
        confidence=_mean(table.confidence_N),
        classes=tuple(
            ClassReport(
                name=name,
                guessed=int((table.label_N == k).sum()),
                kept=int(kept_N[table.label_N == k].sum()),
                confidence=_mean(table.confidence_N[table.label_N == k]),
            )
            for k, name in enumerate(table.classes)
        ),
        gamma=gamma,
    )


def _mean(values: Sequence[float] | np.ndarray) -> float | None:
    return float(np.mean(values)) if len(values) else None
