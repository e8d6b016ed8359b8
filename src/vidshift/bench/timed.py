"""Training steps of several rows timed side by side: one process, cached clips, one step of each row in turn.

Times of a study's runs are useless for a comparison: several processes shared the machine. These are not.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vidshift.bench.cells import Cell
from vidshift.bench.compare import Line, Study
from vidshift.engine.console import Console
from vidshift.engine.train import Trainer


@dataclass(frozen=True, kw_only=True)
class StepTime:
    """Median seconds of one training step of a row, with its spread over rounds and the clips it worked on."""

    row: str
    seconds: float
    low: float
    high: float
    clips: int
    steps: int

    @property
    def clips_per_second(self) -> float:
        return self.clips / self.seconds

    @property
    def training_seconds(self) -> float:
        """The whole training, by this step's time."""
        return self.steps * self.seconds


def time_rows(
    study: Study, lines: Mapping[Cell, Line], *, rounds: int, console: Console, warmup: int = 2
) -> list[StepTime]:
    """One cell a row (the first direction and seed that is there). A learned threshold is timed at the value that the
    row's runs learned, since a fresh policy keeps other tokens."""
    chosen = _one_a_row(lines)
    steppers: list[tuple[Cell, int, int, Callable[[int], float]]] = []
    with console.task("preparing", len(chosen)) as task:
        for number, (cell, line) in enumerate(chosen.items()):
            step, clips = _stepper(study, cell, line)
            steppers.append((cell, clips, int(line.values["steps"]), step))
            task.update(number + 1, cell.row)
    seconds: dict[str, list[float]] = {cell.row: [] for cell, *_ in steppers}
    with console.task("timing", rounds + warmup) as task:
        for turn in range(rounds + warmup):
            for cell, _, _, step in steppers:
                taken = step(turn)
                if turn >= warmup:
                    seconds[cell.row].append(taken)
            task.update(turn + 1)
    return [
        StepTime(
            row=cell.row,
            seconds=statistics.median(seconds[cell.row]),
            low=min(seconds[cell.row]),
            high=max(seconds[cell.row]),
            clips=clips,
            steps=steps,
        )
        for cell, clips, steps, _ in steppers
    ]


def _one_a_row(lines: Mapping[Cell, Line]) -> dict[Cell, Line]:
    first = next(iter(lines)).group
    found: dict[str, Cell] = {}
    for cell, line in lines.items():
        if cell.group == first and line.values["steps"]:
            found.setdefault(cell.row, cell)
    return {cell: lines[cell] for cell in found.values()}


def _stepper(study: Study, cell: Cell, line: Line) -> tuple[Callable[[int], float], int]:
    """A function that does one training step and returns its seconds, and how many clips a step works on."""
    from dataclasses import replace

    from vidshift.bench.compare import _place
    from vidshift.engine.adapt import Adapt
    from vidshift.engine.console import Quiet

    config = cell.config(base=study.base)
    if "keep" in line.values:
        config = replace(config, reducer_options={**config.reducer_options, "keep": line.values["keep"]})
    if cell.reducer == "lmft":
        learned = {"initial_threshold": line.values["threshold"], "initial_mu": None}
        config = replace(config, reducer_options={**config.reducer_options, **learned})
    run = Adapt(config, _place(study, cell), Quiet())
    trainer = run.trainer(run.prepare())
    return trainer.timed_step(), _clips_per_step(trainer)


def _clips_per_step(trainer: Trainer) -> int:
    both = "target" in trainer.stages[0].data
    return trainer.config.batch * (2 if both else 1)


def markdown(times: Sequence[StepTime], *, host: str) -> str:
    """The rows beside the first one, which they are measured against."""
    lines = [
        f"Measured on {host}, one step of each row in turn.",
        "",
        "| row | step ms (range) | clips/s | training s | against the first |",
        "| --- | --- | --- | --- | --- |",
    ]
    for entry in times:
        spread = f"{1000 * entry.seconds:.0f} ({1000 * entry.low:.0f} to {1000 * entry.high:.0f})"
        ratio = entry.training_seconds / times[0].training_seconds
        lines.append(
            f"| {entry.row} | {spread} | {entry.clips_per_second:.0f} | {entry.training_seconds:.0f} | {ratio:.2f} |"
        )
    return "\n".join(lines)
