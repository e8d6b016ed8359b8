"""A user's own data -> the two domains of a run: one class list, and what is trained on, held out and tested."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from vidshift.data.layouts import class_list, read
from vidshift.data.manifest import Manifest, Row
from vidshift.data.match import holdout, match
from vidshift.engine.config import RunConfig
from vidshift.engine.domains import Domains, is_built_in, usable
from vidshift.errors import UserError

Examine = Callable[[str, Manifest], Manifest]


def open_folders(config: RunConfig, *, cache: Path | None = None, examine: Examine | None = None) -> Domains:
    """Both domains of a run, read as they lie, in the source's classes. `examine` looks at the videos of a data set, by
    its name, and gives each a status.

    Splits are used where the data has them; elsewhere a fifth of the clips, by a hash of their ids, is never trained
    on. With `config.transductive` the target is tested on the clips that it was adapted to.
    """
    if _same(config.source, config.target):
        raise UserError(
            f"source and target are both '{config.source}'; give two domains (for training and testing on one, use its "
            "splits with --method source-only).",
            usage=True,
        )
    source = read(config.source, domain="source", cache=cache)
    target = read(config.target, domain="target", unlabelled=config.unlabelled, cache=cache)
    matched = match(source, target, mapping=dict(config.class_map), aliases=class_list(config.source))
    source, target = matched.source, matched.target
    _refuse_shared(source, target, "the source and the target")
    if examine is not None:
        source, target = examine(config.source, source), examine(config.target, target)
    source_train, source_val, source_note = _source_parts(source)
    target_train, target_test, target_note = _target_parts(target, transductive=config.transductive)
    _every_class(source_train)
    _refuse_shared(source_train, source_val, "the source's training and validation parts")
    if not config.transductive:
        _refuse_shared(target_train, target_test, "the target's training and test parts")
    notes = [
        f"source: {_described(source)}",
        f"target: {_described(target)}",
        *source.notes,
        *target.notes,
        *matched.notes(),
        source_note,
        target_note,
    ]
    parts: list[Manifest] = []
    for part, what in (
        (source_train, "the source's training part"),
        (source_val, "the source's validation part"),
        (target_train, "the target's training part"),
        (target_test, "the target's test part"),
    ):
        good, skipped = usable(part, what)
        parts.append(good)
        notes.extend([skipped] if skipped else [])
    bare = sum(row.label is None for row in target_test.rows)
    if bare:
        some = "no labels" if bare == len(target_test) else f"{bare} of {len(target_test)} videos without a label"
        notes.append(f"the target's test part has {some}: its accuracy will be unknown, label-free scores are given")
    return Domains(
        classes=source.classes,
        source_train=parts[0],
        source_val=parts[1],
        target_train=parts[2].without_labels(),
        target_test=parts[3],
        target_truth=parts[2],
        target_expected=len(target_test),
        notes=tuple(note[0].upper() + note[1:].rstrip(".") + "." for note in notes if note),
    )


def _same(source: str, target: str) -> bool:
    """Whether two specs mean one place."""
    if source == target:
        return True
    first, second = Path(source).expanduser(), Path(target).expanduser()
    return first.exists() and second.exists() and first.resolve() == second.resolve()


def _described(manifest: Manifest) -> str:
    labelled = sum(row.label is not None for row in manifest.rows)
    return f"{len(manifest)} videos ({labelled} labelled), read as {manifest.origin}"


def _splits(manifest: Manifest, what: str) -> dict[str, Manifest]:
    """The parts that the data itself names; none where it names none."""
    names = sorted({row.split for row in manifest.rows if row.split is not None})
    bare = [row for row in manifest.rows if row.split is None]
    if names and bare:
        raise UserError(
            f"{len(bare)} of {len(manifest)} videos of {what} have no split (the first: '{bare[0].path}') while others "
            f"are in {', '.join(names)}; give every video a split, or none."
        )
    return {name: manifest.where(split=name) for name in names}


def _source_parts(source: Manifest) -> tuple[Manifest, Manifest, str]:
    """Training and validation clips of the source, and where they come from in words."""
    parts = _splits(source, "the source")
    if not parts:
        return _held_out(source, "the source", by_class=True, use="validation")
    if "train" not in parts:
        raise UserError(
            f"the source has the splits {', '.join(parts)} and no training split; add `train`, or no split."
        )
    for name in ("val", "test"):
        if name in parts:
            return parts["train"], parts[name], f"the source is trained on its train split and validated on {name}"
    return _held_out(parts["train"], "the source's train split", by_class=True, use="validation")


def _target_parts(target: Manifest, *, transductive: bool) -> tuple[Manifest, Manifest, str]:
    """Training and test clips of the target, and where they come from in words."""
    parts = _splits(target, "the target")
    train = parts.get("train") if parts else target
    if train is None:
        raise UserError(
            f"the target has the splits {', '.join(parts)} and no training split; add `train` (unlabelled videos will "
            "do), or give the videos no split."
        )
    if transductive:
        return train, train, "the target is tested on the very clips it is adapted to (transductive)"
    for name in ("test", "val"):
        if name in parts:
            return train, parts[name], f"the target is adapted to its train split and tested on {name}"
    return _held_out(train, "the target", by_class=False, use="testing")


def _held_out(manifest: Manifest, what: str, *, by_class: bool, use: str) -> tuple[Manifest, Manifest, str]:
    if len(manifest) < 2:
        raise UserError(f"{what} has {len(manifest)} video, too few to hold any out; add videos or a test split.")
    bare = replace(manifest, rows=tuple(replace(row, split=None) for row in manifest.rows))
    split = holdout(bare, by_class=by_class)
    train, held = split.where(split="train"), split.where(split="test")
    note = f"{len(held)} of {len(manifest)} videos of {what} are held out for {use}, by a hash of their ids"
    return train, held, note


def _every_class(train: Manifest) -> None:
    lacking = [name for name in train.classes if name not in {row.label for row in train.rows if row.usable}]
    if lacking:
        more = f" (nor of {len(lacking) - 1} more classes)" if len(lacking) > 1 else ""
        raise UserError(
            f"the source has no usable training video of {lacking[0]!r}{more}; add some, or leave the class out with "
            f"--map '{lacking[0]}='."
        )


def unseen(
    config: RunConfig, manifest: Manifest, *, split: str | None, cache: Path | None = None
) -> tuple[Manifest, str | None]:
    """The videos of some data that the run of `config` was not trained on, and what was left out in words.

    Where the data has splits (`split` names the chosen one), or nothing would be left, all stay and are marked."""
    if is_built_in(config.source) or is_built_in(config.target):
        return manifest, None
    try:
        domains = open_folders(config, cache=cache)
    except UserError as error:
        return manifest, f"whether the run was trained on these videos cannot be told: {error}"
    trained = {_file(row) for part in (domains.source_train, domains.target_train) for row in part.rows}
    rest = tuple(row for row in manifest.rows if _file(row) not in trained)
    seen = len(manifest) - len(rest)
    if not seen:
        return manifest, None
    if split is None and rest:
        return replace(
            manifest, rows=rest
        ), f"{seen} of {len(manifest)} videos are left out: the run was trained on them"
    return manifest, f"{seen} of {len(manifest)} videos are those that the run was trained on (transductive)"


def _file(row: Row) -> tuple[str, float | None, float | None]:
    """What makes two rows the same video."""
    return os.path.abspath(row.path), row.start, row.end


def _refuse_shared(first: Manifest, second: Manifest, what: str) -> None:
    """A video that is trained on and tested on makes every number worthless."""
    there = {_file(row) for row in second.rows}
    shared = [row.path for row in first.rows if _file(row) in there]
    if shared:
        raise UserError(
            f"{len(shared)} videos stand in both {what} (the first: '{shared[0]}'), so that training would see what is "
            "tested; keep the two apart."
        )
