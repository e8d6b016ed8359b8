"""`vidshift check`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from vidshift.commands.common import Cache, Json, Quiet, Workers, say_json

_BENCHMARKS = Group("Benchmarks", sort_key=1)
Root = Annotated[Path | None, Parameter(group=_BENCHMARKS, help="Folder of its videos.")]


def check(
    *data: Annotated[str, Parameter(help="Folders, lists, manifests, videos, built-in domains, or one benchmark.")],
    root: Annotated[Path | None, Parameter(help="Where the relative paths of a list start.")] = None,
    frames: Annotated[int, Parameter(help="Frames of a clip, as in training.")] = 16,
    size: Annotated[int | None, Parameter(help="Their height and width; default: 224, built-in domains 96.")] = None,
    timeout: Annotated[float, Parameter(help="Seconds for one file.")] = 120.0,
    fresh: Annotated[bool, Parameter(negative="", help="Look again at files that are known already.")] = False,
    strict: Annotated[bool, Parameter(negative="", help="Fail (exit status 1) if any video is not usable.")] = False,
    verbose: Annotated[bool, Parameter(negative="", help="List every bad file.")] = False,
    output: Annotated[
        Path | None, Parameter(help="Manifest to write (.csv .tsv .jsonl .parquet), with each status.")
    ] = None,
    variant: Annotated[str, Parameter(help="Of the built-in domains.")] = "",
    arid: Root = None,
    hmdb: Root = None,
    mit: Root = None,
    kinetics: Root = None,
    ucf: Root = None,
    actorshift: Root = None,
    lists: Annotated[Path | None, Parameter(group=_BENCHMARKS, help="Folder of a benchmark's list files.")] = None,
    cache: Cache = None,
    workers: Workers = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Decode every video of DATA as training will, and say which are bad and why; with two, how far they are apart.

    Without arguments it looks at the built-in domains `studio` and `street`.

    Example: `vidshift check ~/warehouse ~/street`

    With a benchmark (daily-da, ucf-hmdb, actorshift) and the folders of its data sets it compares their names with the
    published lists, decoding nothing; `daily-da:hmdb` is a domain from then on.

    Example: `vidshift check daily-da --hmdb ~/hmdb51 --arid ~/arid --lists ~/lists`

    What is found is remembered by file, size and time: a check that was stopped goes on, and training skips what a
    check has found bad.
    """
    import os

    from vidshift.data.benchmarks import BENCHMARKS
    from vidshift.errors import UserError

    given = {"arid": arid, "hmdb": hmdb, "mit": mit, "kinetics": kinetics, "ucf": ucf, "actorshift": actorshift}
    roots = {flag: folder for flag, folder in given.items() if folder is not None}
    benchmark = next((spec for spec in data if spec in BENCHMARKS), None)
    if benchmark is not None:
        if len(data) > 1:
            raise UserError(f"a benchmark is checked alone; leave out all but {benchmark!r}.", usage=True)
        return _benchmark(benchmark, roots, lists, strict=strict, cache=cache, json=json)
    if roots or lists:
        flag = next(iter(roots), "lists")
        raise UserError(f"--{flag} belongs to a benchmark; accepted: {', '.join(BENCHMARKS)}.", usage=True)
    if output is not None and len(data) != 1:
        raise UserError(f"--output writes the manifest of one DATA, and {len(data)} were given.", usage=True)
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
    if output is not None:
        from vidshift.data.manifests import write_manifest

        print(f"written: {write_manifest(report.data[0].manifest, output.expanduser())}")
    bad = sum(len(checked.findings) - checked.usable for checked in report.data)
    unusable = any(checked.usable == 0 for checked in report.data)
    if json:
        say_json({**report.as_dict(), "in_both": list(twice), "bad": bad})
    return 1 if unusable or (strict and bad) else 0


def _benchmark(
    name: str, roots: dict[str, Path], lists: Path | None, *, strict: bool, cache: Path | None, json: bool
) -> int:
    """A benchmark's expected against its found videos."""
    from vidshift.data.benchmarks import check_benchmark

    report, written = check_benchmark(name, roots, lists, cache=cache)
    print(report)
    for path in written:
        print(f"written: {path}")
    if json:
        say_json({**report.as_dict(), "written": [str(path) for path in written]})
    return 1 if (roots and not report.found) or (strict and report.found < report.expected) else 0
