"""One data set by what a person calls it: a built-in domain's name, or whatever `data.layouts` reads."""

from pathlib import Path

from vidshift.data.layouts import read
from vidshift.data.manifest import Manifest
from vidshift.engine.console import Console
from vidshift.engine.domains import is_built_in


def open_data(
    spec: str,
    *,
    root: Path | None = None,
    unlabelled: bool = False,
    split: str = "train",
    variant: str = "",
    data_seed: int = 0,
    count: int | None = None,
    cache: Path,
    workers: int,
    console: Console,
) -> Manifest:
    """All videos of a data set; of a built-in domain one split, `count` clips or as many as it has, drawn first where
    they are not in the cache."""
    if not is_built_in(spec):
        return read(spec, root=root, unlabelled=unlabelled, cache=cache)
    from vidshift.data.stickworld.build import SIZES, build
    from vidshift.data.stickworld.variant import Variant

    total = SIZES[split] if count is None else count
    with console.task(f"drawing {spec}", total) as task:
        return build(
            cache,
            spec,
            split,
            total,
            seed=data_seed,
            variant=Variant.parse(variant),
            workers=workers,
            progress=lambda done, _: task.update(done),
        )
