"""`vidshift check`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vidshift.commands.common import Cache, Json, Quiet, Workers, say_json


def check(
    *data: Annotated[str, Parameter(help="Folders, lists, manifests, videos or built-in domains.")],
    root: Annotated[Path | None, Parameter(help="Where the relative paths of a list start.")] = None,
    frames: Annotated[int, Parameter(help="Frames of a clip, as in training.")] = 16,
    size: Annotated[int | None, Parameter(help="Their height and width; default: 224, built-in domains 96.")] = None,
    timeout: Annotated[float, Parameter(help="Seconds for one file.")] = 120.0,
    fresh: Annotated[bool, Parameter(negative="", help="Look again at files that are known already.")] = False,
    strict: Annotated[bool, Parameter(negative="", help="Fail (exit status 1) if any video is not usable.")] = False,
    verbose: Annotated[bool, Parameter(negative="", help="List every bad file.")] = False,
    variant: Annotated[str, Parameter(help="Of the built-in domains.")] = "",
    cache: Cache = None,
    workers: Workers = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Decode every video of DATA as training will, and say which are bad and why; with two, how far they are apart.

    Without arguments it looks at the built-in domains `studio` and `street`.

    Example: `vidshift check ~/warehouse ~/street`

    What is found is remembered by file, size and time: a check that was stopped goes on, and training skips what a
    check has found bad.
    """
    import os

    from vidshift.engine.check import check_data, duplicates_between
    from vidshift.engine.check_text import lines
    from vidshift.engine.console import open_console
    from vidshift.engine.domains import is_built_in
    from vidshift.engine.open_data import open_data
    from vidshift.places import cache_folder

    place, console, count = cache_folder(cache), open_console(quiet=quiet), workers or os.cpu_count() or 1
    specs = tuple(dict.fromkeys(data or ("studio", "street")))
    built_in = all(is_built_in(spec) for spec in specs)
    report = check_data(
        {
            spec: open_data(spec, root=root, variant=variant, cache=place, workers=count, console=console)
            for spec in specs
        },
        cache=place,
        workers=count,
        console=console,
        frames=frames,
        size=size or (96 if built_in else 224),
        timeout=timeout,
        fresh=fresh,
    )
    twice = duplicates_between(report.data)
    for line in lines(report, verbose=verbose):
        print(line)
    for line in twice:
        print(f"in both: {line}")
    bad = sum(len(checked.findings) - checked.usable for checked in report.data)
    unusable = any(checked.usable == 0 for checked in report.data)
    if json:
        say_json({**report.as_dict(), "in_both": list(twice), "bad": bad})
    return 1 if unusable or (strict and bad) else 0
