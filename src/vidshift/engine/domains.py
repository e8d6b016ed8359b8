"""The two domains of a run: what is trained on, what is held out, and who may see which label."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vidshift.data.manifest import Manifest
from vidshift.engine.config import RunConfig
from vidshift.engine.console import Console
from vidshift.errors import UserError

BUILT_IN = ("studio", "street", "web")


@dataclass(frozen=True, kw_only=True)
class Domains:
    """`target_train` has no labels. `target_test` keeps its labels for scoring alone, and `target_truth` those of the
    training clips where they are known: for scoring the teacher, and for Target Only."""

    classes: tuple[str, ...]
    source_train: Manifest
    source_val: Manifest
    target_train: Manifest
    target_test: Manifest
    target_truth: Manifest
    target_expected: int | None = None
    """Videos of the test part with those that a check found bad, where some were left out."""
    notes: tuple[str, ...] = ()


def is_built_in(spec: str) -> bool:
    return spec in BUILT_IN


def open_domains(
    config: RunConfig,
    *,
    cache: Path,
    workers: int,
    console: Console,
    examine: Callable[[str, Manifest], Manifest] | None = None,
) -> Domains:
    """Both domains of a run, with classes matched by name; `examine` gives the videos of a user's data a status."""
    if is_built_in(config.source) or is_built_in(config.target):
        if not (is_built_in(config.source) and is_built_in(config.target)):
            raise UserError(
                f"{config.source!r} with {config.target!r} mixes a built-in domain with a folder; give two built-in "
                f"domains ({', '.join(BUILT_IN)}) or two folders.",
                usage=True,
            )
        return _built_in(config, cache=cache, workers=workers, console=console)
    from vidshift.engine.folders import open_folders

    return open_folders(config, cache=cache, examine=examine)


def _built_in(config: RunConfig, *, cache: Path, workers: int, console: Console) -> Domains:
    from vidshift.data.stickworld.build import SIZES, build
    from vidshift.data.stickworld.variant import Variant

    if config.source == config.target:
        raise UserError(f"source and target are both {config.source!r}; give two different domains.", usage=True)
    variant = Variant.parse(config.variant)
    sizes = {**SIZES, **config.sizes}

    def draw(domain: str, split: str, count: int) -> Manifest:
        with console.task(f"drawing {domain} {split}", count) as task:
            return build(
                cache,
                domain,
                split,
                count,
                seed=config.data_seed,
                variant=variant,
                workers=workers,
                progress=lambda done, total: task.update(done),
            )

    source_train = draw(config.source, "train", sizes["train"])
    truth = draw(config.target, "train", sizes["train"])
    test = truth if config.transductive else draw(config.target, "test", sizes["test"])
    return Domains(
        classes=source_train.classes,
        source_train=source_train,
        source_val=draw(config.source, "val", sizes["val"]),
        target_train=truth.without_labels(),
        target_test=test,
        target_truth=truth,
    )


def usable(manifest: Manifest, what: str) -> tuple[Manifest, str | None]:
    """The rows that no check has found bad, and how many are left out, in words."""
    good = manifest.where(usable=True)
    bad = len(manifest) - len(good)
    if not len(good):
        raise UserError(f"{what} has no usable video; run `vidshift check` on it to see why.")
    return good, f"{bad} of {len(manifest)} videos of {what} are skipped: a check found them bad." if bad else None
