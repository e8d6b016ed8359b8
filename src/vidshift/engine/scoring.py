"""`vidshift evaluate`: a trained model on labelled videos of anybody's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vidshift.data.clips import open_clips
from vidshift.data.manifest import Manifest
from vidshift.data.match import rename
from vidshift.engine.check import examiner
from vidshift.engine.config import SPLITS, RunConfig, load_config
from vidshift.engine.console import Console
from vidshift.engine.domains import is_built_in
from vidshift.engine.evaluate import Score, predict_clips, score
from vidshift.engine.folders import unseen
from vidshift.engine.model import OpenModel, open_model
from vidshift.engine.open_data import open_data
from vidshift.engine.prepare import check_device
from vidshift.engine.summary import flops_per_clip, kept_ratio
from vidshift.errors import UserError, did_you_mean, unknown

# Which part of the data is scored where it has several and none is asked for.
_PREFERRED = ("test", "val", "train")
_CACHE_LIMIT = 8 * 2**30


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """A score with what it is of."""

    score: Score
    data: str
    split: str | None
    classes: tuple[str, ...]
    kept_ratio: float | None
    flops: Mapping[str, float] | None
    seconds: float
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "data": self.data,
            "split": self.split,
            "classes": list(self.classes),
            **self.score.as_dict(),
            "kept_ratio": self.kept_ratio,
            "flops_per_clip": self.flops,
            "seconds": round(self.seconds, 3),
            "notes": list(self.notes),
        }


def evaluate_run(
    run: Path | str,
    data: str,
    *,
    split: str | None = None,
    variant: str | None = None,
    mapping: Mapping[str, str] | None = None,
    cache: Path,
    workers: int,
    device: str,
    console: Console,
) -> Evaluated:
    """Score a model on the test part of `data` (or what it has); videos that cannot be read count as expected, never
    as found, and nothing is put in their place."""
    check_device(device)
    if split is not None and split not in SPLITS:
        raise unknown("split", split, SPLITS)
    model = open_model(run, device=device)
    config = _config_of(run)
    manifest = open_data(
        data,
        split=split or "test",
        variant=config.variant if variant is None else variant,
        data_seed=config.data_seed,
        count=config.sizes.get(split or "test"),
        cache=cache,
        workers=workers,
        console=console,
    )
    chosen, manifest = _part(manifest, split, data)
    manifest = _in_classes(manifest, model.classes, mapping or {}, data)
    if not is_built_in(data):
        manifest, note = unseen(config, manifest, split=chosen, cache=cache)
        manifest = replace(manifest, notes=(*manifest.notes, *([note] if note else ())))
    expected = len(manifest)
    if not is_built_in(data):
        look = examiner(model.shape, cache=cache, workers=workers, console=console)
        manifest = look(data, manifest).where(usable=True)
    if not len(manifest):
        raise UserError(f"none of the {expected} videos of {data!r} can be read; `vidshift check {data}` says why.")
    return _scored(model, manifest, data, chosen, expected, cache=cache, workers=workers, console=console)


def _scored(
    model: OpenModel,
    manifest: Manifest,
    data: str,
    split: str | None,
    expected: int,
    *,
    cache: Path,
    workers: int,
    console: Console,
) -> Evaluated:
    with console.task("decoding", len(manifest)) as task:
        clips = open_clips(
            manifest,
            model.shape,
            cache=cache,
            limit_bytes=_CACHE_LIMIT,
            workers=workers,
            progress=lambda done, _: task.update(done),
        )
    with console.task("evaluating", len(clips)) as task:
        found = predict_clips(model.network, clips, progress=lambda done, _: task.update(done))
    result = score(found.ids, found.probabilities_NK, manifest, model.classes, expected=expected)
    vit = model.network.net.config
    return Evaluated(
        score=result,
        data=data,
        split=split,
        classes=model.classes,
        kept_ratio=kept_ratio(found, vit),
        flops=flops_per_clip(found, vit),
        seconds=found.seconds,
        notes=manifest.notes,
    )


def _config_of(run: Path | str) -> RunConfig:
    """How the run drew the built-in domains; a model without its run: the defaults."""
    path = Path(run) / "config.yaml"
    return load_config(path) if path.is_file() else RunConfig()


def _part(manifest: Manifest, split: str | None, data: str) -> tuple[str | None, Manifest]:
    """The split that is asked for, else the one that is best for testing, else everything."""
    there = {row.split for row in manifest.rows} - {None}
    if not there:
        if split is not None:
            raise UserError(f"{data!r} has no splits; leave --split out to score all of it.", usage=True)
        return None, manifest
    chosen = split or next(name for name in _PREFERRED if name in there)
    if chosen not in there:
        listed = ", ".join(sorted(str(name) for name in there))
        raise UserError(f"{data!r} has no split {chosen!r}; it has {listed}.", usage=True)
    return chosen, manifest.where(split=chosen)


def _in_classes(manifest: Manifest, classes: Sequence[str], mapping: Mapping[str, str], data: str) -> Manifest:
    """The data in the model's classes, or an error that names what does not fit."""
    if not manifest.labelled:
        bare = sum(row.label is None for row in manifest.rows)
        raise UserError(
            f"{bare} of {len(manifest)} videos of {data!r} have no label, so there is nothing to score; give class "
            "folders or a list with labels, or use `vidshift predict`."
        )
    renamed, _, lost = rename(manifest, classes=tuple(classes), mapping=mapping)
    if lost:
        shown = "; ".join(f"{name!r}{did_you_mean(name, classes)}" for name in lost[:8])
        raise UserError(
            f"{data!r} has classes that the model does not know: {shown}; the model has {', '.join(classes)}; pass "
            f"--map '{lost[0]}=CLASS', or '{lost[0]}=' to leave that class out."
        )
    return replace(renamed, classes=tuple(classes))


def table(found: Evaluated) -> list[str]:
    """The score as text."""
    result = found.score
    of = f"{found.data} {found.split}" if found.split else found.data
    accuracy = "unknown" if result.accuracy is None else f"{result.accuracy:.1%}"
    lines = [f"{of}: {accuracy} ({result.correct} correct, {result.found} found, {result.expected} expected)"]
    if result.macro_accuracy is not None:
        lines.append(f"mean over classes: {result.macro_accuracy:.1%}")
    if found.kept_ratio is not None and found.flops is not None:
        lines.append(f"kept tokens: {found.kept_ratio:.0%}, {found.flops['true_ratio']:.2f} of all tokens' FLOPs")
    lines += [f"{note[0].upper()}{note[1:].rstrip('.')}." for note in found.notes if note]
    lines += ["", *confusion_lines(found.classes, result)]
    return lines


def confusion_lines(classes: Sequence[str], result: Score) -> list[str]:
    """Per class, with what its clips were taken for."""
    width = max(len(name) for name in classes)
    lines = [f"{'class':<{width}}  right  clips  taken for"]
    for name, row in zip(classes, result.confusion, strict=False):
        if not sum(row):
            continue
        right, count = result.per_class[name]
        others = sorted(
            ((n, other) for other, n in zip(classes, row, strict=True) if n and other != name), reverse=True
        )
        told = ", ".join(f"{other} {n}" for n, other in others[:4])
        lines.append(f"{name:<{width}}  {right / count:>5.0%}  {count:>5}  {told}".rstrip())
    return lines
