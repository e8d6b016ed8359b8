"""`vidshift cost`."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from vidshift.commands.common import Device, Json, Quiet, say_json


def cost(
    *,
    reducers: Annotated[str, Parameter(help="Which, with commas between them.")] = "none,random,motion,lmft",
    kept: Annotated[str, Parameter(help="Shares of the tokens to measure at, with commas.")] = "1,0.8,0.5,0.25",
    backbone: Annotated[str, Parameter(help="A size such as small or vit-b, or a model folder.")] = "small",
    frames: Annotated[int, Parameter(help="Frames of a clip.")] = 16,
    size: Annotated[int | None, Parameter(help="Height and width in pixels; default: the backbone's.")] = None,
    video: Annotated[
        tuple[Path, ...],
        Parameter(
            negative="", help="A real video to measure with; repeatable. Default: drawn clips.", show_default=False
        ),
    ] = (),
    batch: Annotated[int, Parameter(help="Clips in a pass.")] = 8,
    rounds: Annotated[int, Parameter(help="How often everything is measured, after a warm-up.")] = 5,
    precision: Annotated[
        Literal["float32", "bfloat16", "both"], Parameter(help="Arithmetic of the network.")
    ] = "float32",
    clock: Annotated[
        Literal["wall", "cpu"],
        Parameter(help="`cpu` counts processor time, for machines that others use too (with one thread)."),
    ] = "wall",
    threads: Annotated[int | None, Parameter(help="Threads of the arithmetic; default: PyTorch's choice.")] = None,
    reference: Annotated[bool, Parameter(help="Measure transformers' VideoMAE of the same sizes too.")] = True,
    memory: Annotated[bool, Parameter(help="Measure memory too, each row in a process of its own.")] = True,
    out: Annotated[Path | None, Parameter(help="Save the numbers here: a .csv or .json file.")] = None,
    device: Device = "cpu",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Time, memory and FLOPs of every reducer at equal shares of kept tokens, in one run.

    Example: `vidshift cost --backbone vit-b --batch 4 --precision both --out cost.csv`

    Rounds are interleaved, and medians are shown with their spread. FLOPs are counted from the tokens that were there:
    all of them, and as the paper counts (the linear layers of the blocks alone).
    """
    from rich.console import Console

    from vidshift.bench import cost_table
    from vidshift.bench.cost import measure
    from vidshift.bench.cost_plan import make_plan
    from vidshift.engine.console import open_console

    if out is not None:
        cost_table.check_out(out)
    plan = make_plan(
        reducers=reducers,
        kept=kept,
        backbone=backbone,
        frames=frames,
        size=size,
        videos=video,
        batch=batch,
        rounds=rounds,
        precision=precision,
        clock=clock,
        threads=threads,
        reference=reference,
        memory=memory,
        device=device,
    )
    costs = measure(plan, open_console(quiet=quiet))
    screen = Console()
    if not screen.is_terminal:
        screen.width = 120
    for found in cost_table.tables(costs):
        screen.print(found)
    print(f"{cost_table.NOTES}\n{costs.host}")
    if out is not None:
        cost_table.save(costs, out)
    if json:
        say_json(cost_table.as_dict(costs))
