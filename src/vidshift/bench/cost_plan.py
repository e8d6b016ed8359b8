"""What `vidshift cost` measures: checked before anything is built."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import torch

from vidshift.bench.clips import drawn_view, filmed_view
from vidshift.bench.settings import cases, options_of, parse_kept
from vidshift.bench.subjects import Part, Precision
from vidshift.bench.timing import ClockKind
from vidshift.data.view import View
from vidshift.engine.backbone import Backbone, open_backbone
from vidshift.errors import UserError, unknown
from vidshift.models.config import VitConfig

THEIRS = "transformers"


@dataclass(frozen=True)
class Case:
    """One line of the table: a reducer at a share of the tokens."""

    reducer: str
    asked: float
    precision: Precision


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that a measurement depends on, besides the machine."""

    backbone: Backbone
    config: VitConfig
    reducers: Sequence[str]
    kept: Sequence[float]
    precisions: Sequence[Precision]
    batch: int
    rounds: int
    videos: Sequence[Path] = ()
    reference: bool = True
    parts: Sequence[Part] = get_args(Part)
    device: str = "cpu"
    clock: ClockKind = "wall"
    threads: int = 1
    seed: int = 0

    @property
    def torch_device(self) -> torch.device:
        return torch.device(self.device)

    @property
    def timed_parts(self) -> list[Part]:
        return [part for part in self.parts if part != "memory"]

    def view(self) -> View:
        geometry = self.config.geometry
        if self.videos:
            return filmed_view(self.videos, self.batch, geometry).to(self.device)
        return drawn_view(self.batch, geometry, seed=self.seed).to(self.device)

    def cases(self) -> list[Case]:
        ours = cases(self.reducers, self.kept)
        names = [(THEIRS, 1.0), *ours] if self.reference else ours
        return [Case(name, kept, precision) for precision in self.precisions for name, kept in names]


def make_plan(
    *,
    reducers: str,
    kept: str,
    backbone: str,
    frames: int,
    size: int | None,
    videos: Sequence[Path],
    batch: int,
    rounds: int,
    precision: Literal["float32", "bfloat16", "both"],
    clock: ClockKind,
    threads: int | None,
    reference: bool,
    parts: str,
    device: str,
) -> Plan:
    for name, value in (("batch", batch), ("rounds", rounds), ("frames", frames), ("size", size), ("threads", threads)):
        if value is not None and value < 1:
            raise UserError(f"--{name} {value} is not accepted; give 1 or more.", usage=True)
    names = [name.strip() for name in reducers.split(",") if name.strip()]
    for name in names:
        options_of(name)  # refuses unknown names
    asked = parse_parts(parts)
    _check_device(device)
    opened = open_backbone(backbone, frames=frames)
    precisions: dict[str, tuple[Precision, ...]] = {"both": ("float32", "bfloat16"), "float32": ("float32",)}
    return Plan(
        backbone=opened,
        config=opened.config if size is None else _resized(opened.config, size),
        reducers=names,
        kept=parse_kept(kept),
        precisions=precisions.get(precision, ("bfloat16",)),
        batch=batch,
        rounds=rounds,
        videos=tuple(videos),
        reference=reference,
        parts=asked,
        device=device,
        clock=clock,
        threads=threads or torch.get_num_threads(),
    )


def parse_parts(text: str) -> tuple[Part, ...]:
    """`"forward,training"` in the order in which they are measured."""
    known: tuple[Part, ...] = get_args(Part)
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names or [text]:
        if name not in known:
            raise unknown("part", name, known)
    return tuple(part for part in known if part in names)


def _check_device(device: str) -> None:
    try:
        kind = torch.device(device).type
    except RuntimeError:
        kind = ""
    if kind not in ("cpu", "cuda"):
        raise UserError(f"--device {device!r} is not accepted; give cpu, cuda or cuda:1.", usage=True)
    if kind == "cuda" and not torch.cuda.is_available():
        raise UserError(f"--device {device}: PyTorch finds no CUDA device here; use --device cpu.")


def _resized(config: VitConfig, size: int) -> VitConfig:
    patch = config.geometry.patch
    if size % patch:
        raise UserError(f"--size {size} does not divide into patches of {patch}; give a multiple of it.", usage=True)
    return config.with_(geometry=replace(config.geometry, height=size, width=size))
