"""`vidshift stickworld`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vidshift.commands.common import Cache, Json, Quiet, Workers, say_json


def stickworld(
    folder: Annotated[Path, Parameter(help="A new folder for the videos.")],
    domain: Annotated[tuple[str, ...], Parameter(help="Of studio, street and web.")] = ("studio", "street"),
    /,
    *,
    train: Annotated[int | None, Parameter(help="Training clips of a domain; default: 640. 0 leaves them out.")] = None,
    val: Annotated[int | None, Parameter(help="Validation clips; default: 160.")] = None,
    test: Annotated[int | None, Parameter(help="Test clips; default: 1000.")] = None,
    variant: Annotated[str, Parameter(help="bias=0.3, handheld, static-cue, or several joined by commas.")] = "",
    seed: Annotated[int, Parameter(help="Everything drawn follows from it.")] = 0,
    unlabelled: Annotated[
        tuple[str, ...],
        Parameter(
            negative="", help="A domain to write flat, without classes: training clips only.", show_default=False
        ),
    ] = (),
    cache: Cache = None,
    workers: Workers = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write the built-in domains into FOLDER as class folders of videos, so that they look like your own data.

    Example: `vidshift stickworld ~/stickworld studio street --train 200 --val 40 --test 200`

    Example: `vidshift stickworld ~/stickworld --unlabelled street` gives `street` as one flat folder without labels.
    """
    import os

    from vidshift.data.stickworld.build import SIZES, build
    from vidshift.data.stickworld.export import export, refuse_if_used
    from vidshift.data.stickworld.variant import DOMAINS, Variant
    from vidshift.engine.console import open_console
    from vidshift.errors import UserError, unknown
    from vidshift.places import cache_folder

    folder, domains = folder.expanduser(), tuple(dict.fromkeys((*domain, *unlabelled)))
    for name in domains:
        if name not in DOMAINS:
            raise unknown("domain", name, DOMAINS)
    asked = {"train": train, "val": val, "test": test}
    sizes = {split: SIZES[split] if count is None else count for split, count in asked.items()}
    if min(sizes.values()) < 0 or not any(sizes.values()):
        raise UserError("the numbers of clips must be 0 or more, and one of them above 0.", usage=True)
    if unlabelled and not sizes["train"]:
        raise UserError("an unlabelled domain consists of training clips; give --train above 0.", usage=True)
    chosen = Variant.parse(variant)
    refuse_if_used(folder)

    console, parts = open_console(quiet=quiet), []
    for name in domains:
        for split, count in sizes.items():
            if not count or (name in unlabelled and split != "train"):
                continue
            with console.task(f"drawing {name} {split}", count) as task:
                part = build(
                    cache_folder(cache),
                    name,
                    split,
                    count,
                    seed=seed,
                    variant=chosen,
                    workers=workers or os.cpu_count() or 1,
                    progress=lambda done, total, task=task: task.update(done),
                )
            parts.append(part)
    written = export(folder, parts, flat=unlabelled)

    print(f"{written} videos in {folder}: {', '.join(domains)} ({chosen.key}, seed {seed})")
    places = [str(folder / name) for name in domains]
    if len(places) > 1:
        print(f"try next: vidshift check {places[0]} {places[1]}")
        print(f"          vidshift adapt {places[0]} {places[1]}")
    else:
        print(f"try next: vidshift check {places[0]}")
    if json:
        say_json({"folder": str(folder), "videos": written, "domains": list(domains), "variant": chosen.key})
