"""What the makers of both stand-ins share: `web` clips, a budget of steps, and a record of what was done."""

import argparse
import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vidshift.data.clips import CachedClips, ClipShape, LiveClips, open_clips
from vidshift.data.manifest import Manifest
from vidshift.data.stickworld.build import build
from vidshift.engine.console import Console, Plain
from vidshift.engine.fit import Plan, StepLoss, seconds_per_step

RECORD = "made.json"
SHAPE = ClipShape(frames=16, height=96, width=96)
_ALL_BYTES = 2**40

Web = tuple[Manifest, CachedClips | LiveClips]


def parser(text: str) -> argparse.ArgumentParser:
    """The options of both."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    made.add_argument("--out", type=Path, help="folder of the finished stand-in")
    made.add_argument("--cache", type=Path, default=Path("runs/standins"), help="folder of drawn and decoded clips")
    made.add_argument("--device", default="cpu")
    made.add_argument("--workers", type=int, default=2, help="processes that draw, threads that decode")
    made.add_argument("--clips", type=int, default=6000, help="web clips to train on")
    made.add_argument("--val-clips", type=int, default=1000, help="web clips to choose and calibrate by")
    made.add_argument("--minutes", type=float, help="budget of training; the number of steps follows from the speed")
    made.add_argument("--steps", type=int, help="budget of training; what repeats a run exactly")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--data-seed", type=int, default=0)
    made.add_argument("--draw-only", action="store_true", help="draw and decode the clips, and stop")
    return made


def console() -> Plain:
    return Plain(every=10.0)


def start(options: argparse.Namespace) -> torch.device:
    """Checks the budget and sets the arithmetic: TF32 products where there is a GPU."""
    if not options.draw_only and (options.out is None or (options.minutes is None) == (options.steps is None)):
        raise SystemExit("give --out, and one of --minutes and --steps (or --draw-only)")
    torch.set_float32_matmul_precision("high")
    return torch.device(options.device)


def web(split: str, count: int, options: argparse.Namespace, say: Console) -> Web:
    """The first clips of a split as video files, and their decoded frames as a memory map."""
    with say.task(f"drawing web {split}", count) as task:
        manifest = build(
            options.cache,
            "web",
            split,
            count,
            seed=options.data_seed,
            workers=options.workers,
            progress=lambda done, total: task.update(done),
        )
    with say.task(f"decoding web {split}", count) as task:
        clips = open_clips(
            manifest,
            SHAPE,
            cache=options.cache,
            limit_bytes=_ALL_BYTES,
            workers=options.workers,
            progress=lambda done, total: task.update(done),
        )
    return manifest, clips


def plan_in(
    work: Path, options: argparse.Namespace, model: nn.Module, loss: StepLoss, first: Plan, say: Console
) -> Plan:
    """`first` with a number of steps; a run that is gone on with keeps the one that it was begun with."""
    path = work / "plan.json"
    if not path.exists():
        steps = options.steps
        if steps is None:
            steps = max(1, int(options.minutes * 60 / seconds_per_step(model, loss, first)))
        work.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"steps": steps}))
    plan = replace(first, steps=json.loads(path.read_text())["steps"])
    say.say(f"{plan.steps} steps of {options.batch} clips on {options.device}")
    return plan


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_record(folder: Path, command: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """`made.json` beside the weights: how they came about, and their hash."""
    machine = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine()
    record = {
        "command": command,
        **values,
        "torch": torch.__version__,
        "machine": machine,
        "threads": torch.get_num_threads(),
        "bytes": sum(file.stat().st_size for file in folder.iterdir() if file.name != RECORD),
        "sha256": sha256(folder / "model.safetensors"),
    }
    (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return record
