"""`vidshift evaluate`."""

from typing import Annotated

from cyclopts import Parameter

from vidshift.commands.common import Cache, Device, Json, Quiet, Workers, say_json


def evaluate(
    run: Annotated[str, Parameter(help="A run folder, a model folder, or a hub id.")],
    data: Annotated[str, Parameter(help="Labelled videos: a built-in domain such as street, or a folder.")],
    /,
    *,
    split: Annotated[str | None, Parameter(help="Part of the data; default: test, else val, else train.")] = None,
    variant: Annotated[str | None, Parameter(help="Of a built-in domain; default: the run's own.")] = None,
    map: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="OLD=NEW: a class name of the data and what it means.", show_default=False),
    ] = (),
    strict: Annotated[bool, Parameter(negative="", help="Fail if any video cannot be read.")] = False,
    cache: Cache = None,
    workers: Workers = None,
    device: Device = "cpu",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Score a trained RUN on labelled DATA: correct, found and expected videos, by class.

    A video that cannot be read is expected and not found; nothing is ever put in its place.

    Example: `vidshift evaluate runs/street ~/labelled-street`
    """
    import os

    from vidshift.data.match import parse_map
    from vidshift.engine.console import open_console
    from vidshift.engine.scoring import evaluate_run, table
    from vidshift.engine.summary import finite
    from vidshift.errors import UserError
    from vidshift.places import cache_folder

    found = evaluate_run(
        run,
        data,
        split=split,
        variant=variant,
        mapping=parse_map(map),
        cache=cache_folder(cache),
        workers=workers or os.cpu_count() or 1,
        device=device,
        console=open_console(quiet=quiet),
    )
    print("\n".join(table(found)))
    if json:
        say_json({"run": run, **finite(found.as_dict())})
    expected = found.score.expected
    missing = expected - found.score.found
    if strict and missing:
        raise UserError(f"{missing} of {expected} videos of {data!r} could not be read; `vidshift check` says why.")
