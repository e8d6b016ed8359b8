"""`vidshift label`: a teacher's guesses about anybody's videos, as a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vidshift.data.clips import ClipShape, LiveClips, open_clips
from vidshift.data.manifest import Manifest
from vidshift.engine.check import examiner
from vidshift.engine.config import SPLITS
from vidshift.engine.console import Console
from vidshift.engine.defaults import saying
from vidshift.engine.domains import is_built_in, usable
from vidshift.engine.evaluate import Score
from vidshift.engine.label_classes import in_classes
from vidshift.engine.open_data import open_data
from vidshift.engine.prepare import check_device
from vidshift.engine.summary import kept_rows, table_score
from vidshift.engine.teach import fitted, open_any_teacher, prompts_of, table_key, teach_clips
from vidshift.errors import UserError, unknown
from vidshift.teachers.base import TABLE_SUFFIXES, Card, Teacher, TeacherSpec
from vidshift.teachers.report import TableReport
from vidshift.teachers.table_file import write_table

_CACHE_LIMIT = 8 * 2**30


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be labelled, by whom, and in which classes."""

    target: str = "street"
    teacher: str = "stick"
    gamma: float = 0.8
    classes: str | None = None
    """A class list (`classes.json`), or names joined by commas."""
    source: str | None = None
    """Data whose classes are meant."""
    mapping: Mapping[str, str]
    templates: tuple[str, ...] = ()
    unlabelled: bool = False
    split: str | None = None
    variant: str = ""
    frames: int = 16


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """A written table, what it amounts to, and its score where labels exist to tell."""

    out: Path
    asked: Asked
    card: Card
    report: TableReport
    score: Score | None
    kept_score: Score | None
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        found = self.report
        return {
            "table": str(self.out),
            "target": self.asked.target,
            "teacher": self.card.teacher,
            "prompt": self.card.prompt,
            "temperature": self.card.temperature,
            "weak": self.card.weak,
            "gamma": self.asked.gamma,
            "videos": found.asked,
            "labelled": found.found,
            "kept": found.kept,
            "coverage": round(found.coverage, 6),
            "confidence": found.confidence,
            "classes": {c.name: {"guessed": c.guessed, "kept": c.kept, "confidence": c.confidence}
                        for c in found.classes},
            "accuracy": None if self.score is None else self.score.accuracy,
            "correct": None if self.score is None else self.score.correct,
            "scored": None if self.score is None else self.score.found,
            "kept_accuracy": None if self.kept_score is None else self.kept_score.accuracy,
            "warnings": found.warnings(),
            "notes": list(self.notes),
        }  # fmt: skip


def label_data(asked: Asked, *, out: Path | None, cache: Path, workers: int, device: str, console: Console) -> Labelled:
    """Write the teacher table of `asked.target`. What a killed call has labelled is not labelled again."""
    spec = TeacherSpec.parse(asked.teacher)
    prompts = prompts_of(asked.templates)
    place = free_table(asked.target) if out is None else out.expanduser()
    _refuse(asked, place)
    found_device = check_device(device)
    manifest = open_data(
        asked.target,
        split=asked.split or "train",
        variant=asked.variant,
        unlabelled=asked.unlabelled,
        cache=cache,
        workers=workers,
        console=console,
    )
    manifest = _of_split(manifest, asked)
    manifest, known = in_classes(manifest, asked, cache=cache)
    for line in saying(teacher=asked.teacher):
        console.say(line)
    teacher = open_any_teacher(
        spec, prompts=replace(prompts, wordings=known.prompts), device=found_device, classes=known.names
    )
    teacher = fitted(teacher, [row.id for row in manifest.rows], known.names, origin=asked.teacher)
    notes = [f"{asked.target}: {len(manifest)} videos, read as {manifest.origin}", *manifest.notes]
    shape = shape_for(teacher, frames=asked.frames)
    if teacher.card.reads_pixels and not is_built_in(asked.target):
        manifest = examiner(shape, cache=cache, workers=workers, console=console)(asked.target, manifest)
    manifest, skipped = usable(manifest, repr(asked.target))
    notes += [skipped] if skipped else []
    for note in notes:
        console.say(f"{note[0].upper()}{note[1:].rstrip('.')}.")
    taught = _taught(teacher, manifest, shape, known.names, asked, place, cache=cache, workers=workers, console=console)
    write_table(taught.table, place)
    truth = replace(manifest, rows=tuple(row for row in manifest.rows if row.label is not None))
    return Labelled(
        out=place,
        asked=asked,
        card=teacher.card,
        report=taught.report,
        score=table_score(taught.table, truth, known.names),
        kept_score=table_score(kept_rows(taught.table), truth, known.names),
        notes=tuple(notes),
    )


def _taught(
    teacher: Teacher,
    manifest: Manifest,
    shape: ClipShape,
    classes: Sequence[str],
    asked: Asked,
    out: Path,
    *,
    cache: Path,
    workers: int,
    console: Console,
):
    """The guesses; the teacher is shown the clips and never a label."""
    hidden = manifest.without_labels()
    known: Path | None = None
    clips = LiveClips(hidden, shape)
    if teacher.card.reads_pixels:
        with console.task("decoding", len(hidden)) as task:
            clips = open_clips(
                hidden,
                shape,
                cache=cache,
                limit_bytes=_CACHE_LIMIT,
                workers=workers,
                progress=lambda done, _: task.update(done),
            )
        known = cache / "teacher" / f"{table_key(teacher.card, replace(hidden, classes=tuple(classes)), clips)}.parquet"
    work = out.with_name(f".{out.name}.work")
    return teach_clips(teacher, clips, classes, gamma=asked.gamma, work=work, console=console, known=known)


def shape_for(teacher: Teacher, *, frames: int) -> ClipShape:
    """What the teacher looks at: frames of its own size, or a trained model's whole clip."""
    own = getattr(teacher, "shape", None)
    if isinstance(own, ClipShape):
        return own
    size = int(getattr(teacher, "image_size", 224))
    return ClipShape(frames=frames, height=size, width=size)


def free_table(target: str) -> Path:
    """`runs/labels-street.parquet`, with a number behind it where that is taken."""
    name = (Path(target).name or "data").replace(" ", "_")
    for number in range(1, 10_000):
        path = Path("runs") / (f"labels-{name}.parquet" if number == 1 else f"labels-{name}-{number}.parquet")
        if not path.exists():
            return path
    raise UserError(f"there are too many tables named 'labels-{name}' under runs/; give --out a file.")


def _refuse(asked: Asked, out: Path) -> None:
    if out.suffix not in TABLE_SUFFIXES:
        raise UserError(f"--out '{out}' is no teacher table; accepted: {', '.join(TABLE_SUFFIXES)}.", usage=True)
    if out.exists():
        raise UserError(
            f"'{out}' is there already, and somebody may have corrected it: give --out another name, or remove it.",
            usage=True,
        )
    if not 0 <= asked.gamma <= 1:
        raise UserError(f"--gamma {asked.gamma:g} is no confidence; accepted: from 0 (keep all) to 1.", usage=True)
    if asked.frames < 1:
        raise UserError(f"--frames cannot be {asked.frames}; accepted: 1 or more.", usage=True)
    if asked.classes is not None and asked.source is not None:
        raise UserError("--classes and --source both say which classes there are; give one of them.", usage=True)
    if asked.split is not None and asked.split not in SPLITS:
        raise unknown("split", asked.split, SPLITS)


def _of_split(manifest: Manifest, asked: Asked) -> Manifest:
    if asked.split is None or is_built_in(asked.target):
        return manifest
    there = sorted({row.split for row in manifest.rows if row.split is not None})
    if asked.split not in there:
        what = f"it has {', '.join(there)}" if there else "it has none; leave --split out to label all of it"
        raise UserError(f"{asked.target!r} has no split {asked.split!r}; {what}.", usage=True)
    return manifest.where(split=asked.split)
