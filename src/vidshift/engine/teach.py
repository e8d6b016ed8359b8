"""The teacher's part of a run: guesses for the target's training clips, made once, kept as a file beside the run."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from vidshift.data.classes import ClassList
from vidshift.data.clips import CachedClips, LiveClips, cache_key
from vidshift.data.loader import Clips, test_view
from vidshift.data.manifest import Manifest
from vidshift.data.view import View
from vidshift.engine.batches import Guesses
from vidshift.engine.console import Console
from vidshift.errors import UserError
from vidshift.teachers.base import Card, Teacher, TeacherSpec
from vidshift.teachers.labelling import label_videos
from vidshift.teachers.lookup import TableTeacher
from vidshift.teachers.opening import open_teacher
from vidshift.teachers.prompts import Prompts
from vidshift.teachers.report import TableReport, report
from vidshift.teachers.table import TeacherTable
from vidshift.teachers.table_file import read_table, write_table

__all__ = ["Taught", "fitted", "guesses_of", "open_any_teacher", "open_teacher", "prompts_of", "teach_clips"]


@dataclass(frozen=True)
class Taught:
    """A teacher table over some clips, and what it amounts to without labels."""

    table: TeacherTable
    report: TableReport


def prompts_of(templates: Sequence[str] = (), *lists: ClassList | None) -> Prompts:
    """The sentences of a text teacher: `templates` (none: the paper's), and the words that class lists bring."""
    wordings: Mapping[str, str] = {}
    for known in lists:
        wordings = {**wordings, **(known.prompts if known else {})}
    return Prompts(tuple(templates), wordings) if templates else Prompts(wordings=wordings)


def open_any_teacher(
    spec: TeacherSpec, *, prompts: Prompts, device: torch.device | str, classes: Sequence[str] | None = None
) -> Teacher:
    """Any teacher that exists already: `source` only as `source:RUN`. `classes`, where known, must be a model's own."""
    if spec.kind != "source":
        return open_teacher(spec, prompts=prompts, device=device)
    from vidshift.engine.source_teacher import SourceTeacher

    if spec.where is None:
        raise UserError(
            "the teacher `source` needs a model that was trained on the source: train one by `vidshift adapt SOURCE "
            "TARGET --method source-only --out RUN`, then give source:RUN.",
            usage=True,
        )
    teacher = SourceTeacher.open(spec.where, device=device)
    if classes is not None:
        teacher.check_classes(classes)
    return teacher


def fitted(teacher: Teacher, ids: Sequence[str], classes: Sequence[str], *, origin: str) -> Teacher:
    """The teacher for these videos and classes; somebody's table of which nothing fits is refused."""
    return teacher.fitted(ids, classes, origin=origin) if isinstance(teacher, TableTeacher) else teacher


def table_key(card: Card, manifest: Manifest, clips: "CachedClips | LiveClips") -> str:
    """Names the table of one teacher about certain clips: it changes whenever a guess could."""
    told = (card.teacher, card.prompt, card.temperature, card.fingerprint, manifest.classes)
    return hashlib.blake2b(repr((told, cache_key(manifest, clips.shape))).encode(), digest_size=12).hexdigest()


def teach_clips(
    teacher: Teacher,
    clips: Clips,
    classes: Sequence[str],
    *,
    gamma: float,
    work: Path,
    console: Console,
    known: Path | None = None,
) -> Taught:
    """Label clips at their test view, resumably. `known` is where this teacher's table of these clips is kept for other
    runs; a teacher without a fingerprint is asked again. Somebody's table is taken as it is."""
    if isinstance(teacher, TableTeacher):
        table = teacher.table.for_classes(classes).for_ids(clips.ids).filter(gamma)
        return Taught(table, report(table, asked=len(clips), gamma=gamma))
    if known is not None and teacher.card.fingerprint and known.exists():
        table = read_table(known, classes=classes).filter(gamma)
        return Taught(table, report(table, asked=len(clips), gamma=gamma))
    place = {name: index for index, name in enumerate(clips.ids)}

    def load(ids: Sequence[str]) -> View:
        return test_view(clips, [place[name] for name in ids])

    with console.task("teaching", len(clips)) as task:
        table = label_videos(
            teacher,
            list(clips.ids),
            classes,
            load,
            work=work,
            gamma=gamma,
            progress=lambda done, total: task.update(done),
        )
    if known is not None and teacher.card.fingerprint:
        write_table(table, known)
    return Taught(table, report(table, asked=len(clips), gamma=gamma))


def guesses_of(table: TeacherTable, ids: Sequence[str]) -> Guesses:
    """The table in the order of the clips; a clip that it does not know has the guess -1 and is not kept."""
    row_of = {name: row for row, name in enumerate(table.ids)}
    rows = [row_of.get(name, -1) for name in ids]
    label_N = torch.tensor([int(table.label_N[row]) if row >= 0 else -1 for row in rows])
    confidence_N = torch.tensor([float(table.confidence_N[row]) if row >= 0 else 0.0 for row in rows])
    kept = table.kept_N
    kept_N = torch.tensor([row >= 0 and (kept is None or bool(kept[row])) for row in rows])
    known = torch.from_numpy(table.probabilities())
    uniform = torch.full((known.shape[1],), 1 / known.shape[1])
    probabilities_NK = torch.stack([known[row] if row >= 0 else uniform for row in rows])
    return Guesses(label_N, confidence_N, kept_N, probabilities_NK)
