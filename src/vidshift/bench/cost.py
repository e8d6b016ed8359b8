"""What every reducer costs: time, memory and FLOPs, on the same clips and in one run."""

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import torch

from vidshift.bench.cost_plan import THEIRS, Case, Plan
from vidshift.bench.host import Host
from vidshift.bench.memory import Memory, peak, resident
from vidshift.bench.settings import reducer_at
from vidshift.bench.subjects import CLASSES, Load, Ours, Subject, Theirs, videomae
from vidshift.bench.timing import Clock, Spread, interleave, matmul_rate
from vidshift.engine.console import Console
from vidshift.models.vit import VideoTransformer

# A step costs about three forward passes; whole passes reach about this share of a plain matrix product's speed.
STEP_FORWARDS, EFFICIENCY = 3.0, 0.5


@dataclass(frozen=True)
class Row:
    """One line of the table. Times are of the whole batch; `memory` is of a process that did nothing else."""

    case: Case
    load: Load
    times: dict[str, Spread]
    batch: int
    memory: Memory | None = None

    @property
    def is_full(self) -> bool:
        return self.case.reducer == "none"

    def as_dict(self, full: "Row", theirs: "Row | None" = None) -> dict[str, Any]:
        """Flat numbers; ratios are to all tokens, and to transformers' network, at the same precision."""
        flops_ratio = self.load.flops.true / full.load.flops.true
        line: dict[str, Any] = {
            **asdict(self.case),
            "kept": self.load.tokens / full.load.tokens,
            "tokens": self.load.tokens,
            "flops_true": self.load.flops.true,
            "flops_paper": self.load.flops.paper,
            "flops_ratio": flops_ratio,
        }
        for part, spread in self.times.items():
            line |= {f"{part}_s": spread.median, f"{part}_low_s": spread.low, f"{part}_high_s": spread.high}
        for part in ("forward", "step"):
            if part not in self.times:
                continue
            ratio = self.times[part].median / full.times[part].median
            line |= {
                f"{part}_clips_per_s": self.batch / self.times[part].median,
                f"{part}_ratio": ratio,
                f"{part}_over_flops": ratio / flops_ratio,
            }
            if theirs is not None and theirs is not self:
                line[f"{part}_over_transformers"] = self.times[part].median / theirs.times[part].median
        if "select" in self.times:
            chosen = self.times["select"].median + self.times["pack"].median
            line["choosing_share"] = chosen / full.times["forward"].median
        if self.memory is not None:
            line |= {f"memory_{name}": value for name, value in asdict(self.memory).items()}
        return line


@dataclass(frozen=True)
class Costs:
    plan: Plan
    host: Host
    rows: Sequence[Row]

    def lines(self) -> list[dict[str, Any]]:
        full = {row.case.precision: row for row in self.rows if row.is_full}
        theirs = {row.case.precision: row for row in self.rows if row.case.reducer == THEIRS}
        return [row.as_dict(full[row.case.precision], theirs.get(row.case.precision)) for row in self.rows]


class Workbench:
    """The clips and the networks, built once and shared by all cases of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.view = plan, plan.view()
        self.config = plan.config.with_(classes=CLASSES)
        self._ours: VideoTransformer | None = None
        self._theirs: torch.nn.Module | None = None

    def subject(self, case: Case) -> Subject:
        plan = self.plan
        if case.reducer == THEIRS:
            if self._theirs is None:
                self._theirs = videomae(self.config).to(plan.device)
            return Theirs(self._theirs, self.config, self.view, case.precision)
        if self._ours is None:
            self._ours = plan.backbone.build(self.config, seed=plan.seed).to(plan.device)
        reducer = reducer_at(case.reducer, case.asked, self.view, self.config.geometry)
        return Ours(self._ours, reducer, self.view, case.precision)


def measure(plan: Plan, console: Console) -> Costs:
    """Memory first, each case in a process of its own, then all times in interleaved rounds."""
    torch.set_num_threads(plan.threads)
    device = plan.torch_device
    cases, bench = plan.cases(), Workbench(plan)
    subjects = [bench.subject(case) for case in cases]
    loads = [subject.load() for subject in subjects]
    console.say(f"{len(cases)} rows, {plan.rounds} rounds and a warm-up: about {_said(estimate(plan, loads))}.")
    memories = _memories(plan, cases, console) if "memory" in plan.parts else [None] * len(cases)
    times = [dict[str, Spread]() for _ in cases]
    if plan.timed_parts:
        clock = Clock(plan.clock, device)
        works = [lambda subject=subject: subject.measure(clock, plan.timed_parts) for subject in subjects]
        with console.task("rounds", len(cases) * (plan.rounds + 1)) as task:
            times = interleave(works, rounds=plan.rounds, tick=task.update)
    rows = [
        Row(case, load, spent, plan.batch, memory)
        for case, load, spent, memory in zip(cases, loads, times, memories, strict=True)
    ]
    return Costs(plan, Host.here(device), rows)


def estimate(plan: Plan, loads: Sequence[Load]) -> float:
    """Seconds, from the FLOPs and the speed of a matrix product: a forward pass, a step or both in each round, two
    steps and the start of a process for memory."""
    rates = {name: matmul_rate(getattr(torch, name), plan.torch_device) for name in plan.precisions}
    each = ("forward" in plan.parts) + STEP_FORWARDS * ("training" in plan.parts)
    passes = each * (plan.rounds + 1) + 2 * STEP_FORWARDS * ("memory" in plan.parts)
    computing = sum(
        passes * plan.batch * load.flops.true / (rates[case.precision] * EFFICIENCY)
        for case, load in zip(plan.cases(), loads, strict=True)
    )
    return computing + 0.5 * len(loads) * ("memory" in plan.parts)


def _said(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{max(seconds, 1):.0f} seconds"


def weigh_memory(plan: Plan, case: Case) -> Memory:
    """Two whole training steps in this process, which must have done nothing before."""
    torch.set_num_threads(plan.threads)
    device = plan.torch_device
    subject = Workbench(plan).subject(case)
    before = resident(device)
    subject.train_step()
    after = resident(device)
    subject.train_step()
    return Memory(before, after, peak(device))


def _memories(plan: Plan, cases: Sequence[Case], console: Console) -> list[Memory | None]:
    """Each in a fresh process, from a server that has only imported what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["vidshift.bench.cost"])
    found: list[Memory | None] = []
    with (
        console.task("memory", len(cases)) as task,
        ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool,
    ):
        for case in cases:
            found.append(pool.submit(weigh_memory, plan, case).result())
            task.update(len(found))
    return found
