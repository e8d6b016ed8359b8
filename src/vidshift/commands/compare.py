"""`vidshift compare`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vidshift.commands.common import Cache, Device, Json, Quiet, say_json

# What is compared when nothing is named: the bounds, all tokens, and motion tokens against chance at equal cost.
ROWS = ("source-only", "zero-shot", "joint none", "joint lmft", "joint random-keep-first match=joint+lmft")


def compare(
    *,
    plan: Annotated[str | None, Parameter(help="A YAML file of rows, or `study`: the study of docs/study.md.")] = None,
    block: Annotated[
        tuple[str, ...], Parameter(negative="", help="Only this block of the plan; repeatable.", show_default=False)
    ] = (),
    row: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            help="METHOD [REDUCER[:option=value,...]] [setting=value] [match=ROW]; repeatable.",
            show_default=False,
        ),
    ] = (),
    methods: Annotated[
        str, Parameter(help="Methods to combine with --reducers, joined by commas.", show_default=False)
    ] = "",
    reducers: Annotated[str, Parameter(help="Reducers, joined by spaces or commas.", show_default=False)] = "",
    sweep: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="NAME=VALUE,VALUE: gamma, lambda_l, frames, bias ...", show_default=False),
    ] = (),
    directions: Annotated[str, Parameter(help="SOURCE:TARGET pairs, joined by commas.")] = "studio:street",
    variants: Annotated[
        str, Parameter(help="Variants of the built-in domains, joined by spaces.", show_default=False)
    ] = "",
    seeds: Annotated[int | None, Parameter(help="How many seeds; default: 3, or what the plan says.")] = None,
    first_seed: Annotated[int, Parameter(help="The first of them.")] = 0,
    set: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="NAME=VALUE of any setting of all runs, such as epochs=4.", show_default=False),
    ] = (),
    against: Annotated[str, Parameter(help="The row that all others are paired with.")] = "joint + none",
    out: Annotated[Path, Parameter(help="Folder of results, tables and figures.")] = Path("runs/compare"),
    processes: Annotated[int | None, Parameter(help="Runs side by side; default: the CPUs here.")] = None,
    threads: Annotated[int, Parameter(help="Threads of each run.")] = 1,
    time: Annotated[
        int, Parameter(help="Then time training steps of every row in so many interleaved rounds, nothing beside it.")
    ] = 0,
    keep_clips: Annotated[bool, Parameter(negative="", help="Keep decoded clips for the next comparison.")] = False,
    any_code: Annotated[
        bool, Parameter(negative="", help="Use finished runs that another version of the code made.")
    ] = False,
    dry_run: Annotated[bool, Parameter(negative="", help="Say what would run, and stop.")] = False,
    cache: Cache = None,
    device: Device = "cpu",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare methods x reducers x settings x seeds: means, intervals, paired tests, tables and figures.

    Every finished run is one line in OUT/results.jsonl; the same command goes on where it was stopped.

    Example: `vidshift compare --methods joint --reducers "none lmft random:keep=0.5" --seeds 3`

    Example: `vidshift compare --row "joint lmft" --sweep gamma=0,0.5,0.8 --directions studio:street,street:studio`
    """
    from vidshift.bench.run import Asked, run

    found = run(
        Asked(
            plan=plan,
            blocks=block,
            rows=row or (() if plan or methods or reducers else ROWS),
            methods=methods,
            reducers=reducers,
            sweeps=sweep,
            directions=directions,
            variants=variants,
            seeds=seeds,
            first_seed=first_seed,
            settings=set,
            against=against,
            rounds=time,
        ),
        out=out,
        cache=cache,
        processes=processes,
        threads=threads,
        device=device,
        keep_clips=keep_clips,
        any_code=any_code,
        dry_run=dry_run,
        quiet=quiet,
    )
    if json:
        say_json(found)
