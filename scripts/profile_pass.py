"""Shares of PyTorch's operations in a pass, by its profiler: where the time of one row of `vidshift cost` goes.

    python scripts/profile_pass.py --depth 2 --part forward transformers@1 none@1 lmft@0.25

Only shares are printed: a profiled pass is slower than others, and one pass is no measurement.
"""

import argparse
from dataclasses import replace

import torch
from torch.profiler import ProfilerActivity, profile

from vidshift.bench.cost import Workbench
from vidshift.bench.cost_plan import Case, make_plan


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("rows", nargs="+", help="reducer@share, such as none@1 or lmft@0.25")
    made.add_argument("--backbone", default="vit-b")
    made.add_argument("--depth", type=int, help="fewer blocks; each costs the same")
    made.add_argument("--batch", type=int, default=4)
    made.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    made.add_argument("--part", choices=("forward", "step"), default="forward")
    made.add_argument("--top", type=int, default=8)
    asked = made.parse_args()
    plan = make_plan(
        reducers="none",
        kept="1",
        backbone=asked.backbone,
        frames=16,
        size=None,
        videos=(),
        batch=asked.batch,
        rounds=1,
        precision=asked.precision,
        clock="cpu",
        threads=1,
        reference=True,
        parts="forward",
        device="cpu",
    )
    if asked.depth:
        plan = replace(plan, config=plan.config.with_(depth=asked.depth))
    torch.set_num_threads(1)
    bench = Workbench(plan)
    for row in asked.rows:
        name, _, kept = row.partition("@")
        subject = bench.subject(Case(name, float(kept or 1), asked.precision))
        work = subject.forward if asked.part == "forward" else subject.backward
        work()  # a warm-up
        with profile(activities=[ProfilerActivity.CPU]) as profiled:
            work()
        events = profiled.key_averages()
        total = sum(event.self_cpu_time_total for event in events)
        shares = sorted(((event.self_cpu_time_total / total, event.key, event.count) for event in events), reverse=True)
        print(f"\n{row}, {asked.part}, {asked.precision}")
        for share, operation, calls in shares[: asked.top]:
            print(f"{share:7.1%}  {operation} ({calls} calls)")


if __name__ == "__main__":
    main()
