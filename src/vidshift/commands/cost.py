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
    parts: Annotated[
        str, Parameter(help="What to measure, with commas: a long measurement can be done in several runs.")
    ] = "forward,training,memory",
    out: Annotated[
        Path | None, Parameter(help="Save the numbers here: a .json file, or a .csv file, which rows are added to.")
    ] = None,
    show: Annotated[
        Path | None,
        Parameter(help="Measure nothing; print what is in a .csv file as Markdown, parts of a row joined."),
    ] = None,
    device: Device = "cpu",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Time, memory and FLOPs of every reducer at equal shares of kept tokens, in one run.

    Example: `vidshift cost --backbone vit-b --batch 4 --precision both --out cost.csv`

    Rounds are interleaved, and medians are shown with their spread. FLOPs are counted from the tokens that were there:
    all of them, and as the paper counts (the linear layers of the blocks alone).

    Then it is said what holds: a full forward pass is no slower than transformers', fewer tokens take no more than
    their share of the time (1.07 times that of the FLOPs), and choosing them takes at most 1 % of a full pass.
    """
    from rich.console import Console

    from vidshift.bench import cost_file, cost_table
    from vidshift.bench.cost import measure
    from vidshift.bench.cost_bars import report
    from vidshift.bench.cost_plan import make_plan
    from vidshift.engine.console import open_console

    if show is not None:
        lines = cost_file.read_csv(show)
        print(cost_table.markdown(lines))
        if json:
            say_json({"rows": cost_file.joined(lines)})
        return
    if out is not None:
        cost_file.check_out(out)
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
        parts=parts,
        device=device,
    )
    costs = measure(plan, open_console(quiet=quiet))
    screen = Console()
    if not screen.is_terminal:
        screen.width = 120
    lines = cost_file.lines_of(costs)
    for section in cost_table.sections(lines):
        screen.print(section.title, highlight=False)
        screen.print(section.table())
    print(f"{report(lines)}\n")
    print(f"{cost_table.NOTES}\n{costs.host}")
    if out is not None:
        cost_file.save(costs, out)
    if json:
        say_json(cost_file.as_dict(costs))
