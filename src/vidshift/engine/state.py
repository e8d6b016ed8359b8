"""Saving and resuming: weights, optimizer, policy and position, so that a run goes on as if nothing had happened.

A state is one folder `state/step-N`, written under a temporary name and renamed; the newest whole one counts. There
is no random state to save: everything drawn is keyed by (seed, step) or (seed, epoch, clip) and so follows from N.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from vidshift.engine.files import remove_leftovers, write_folder
from vidshift.errors import UserError

STATE_VERSION = 1
WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.safetensors", "state.json"


@dataclass
class Position:
    """Where a run stands, and what it has counted so far."""

    stage: int = 0
    step: int = 0
    """Steps done in this stage."""
    total_step: int = 0
    metrics_bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    best: dict[str, Any] = field(default_factory=dict)


def flatten_optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """`index.name -> tensor`: the moments of every parameter, by its place in the groups."""
    flat: dict[str, Tensor] = {}
    for index, moments in optimizer.state_dict()["state"].items():
        for name, value in moments.items():
            flat[f"{index}.{name}"] = value if isinstance(value, Tensor) else torch.tensor(value)
    return {name: value.contiguous() for name, value in flat.items()}


def restore_optimizer(optimizer: torch.optim.Optimizer, flat: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in flat.items():
        index, moment = name.split(".", 1)
        state.setdefault(int(index), {})[moment] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def save_state(
    folder: Path, module: nn.Module, optimizer: torch.optim.Optimizer, reducer: Mapping[str, Any], position: Position
) -> Path:
    """Write `folder/step-N` and then remove older states."""
    path = folder / f"step-{position.total_step:08d}"
    if path.exists():  # the same step of the same run: the same content
        return path
    content = {"version": STATE_VERSION, "position": vars(position), "reducer": dict(reducer)}

    def fill(partial: Path) -> None:
        save_file(_tensors(module), partial / WEIGHTS)
        save_file(flatten_optimizer(optimizer), partial / OPTIMIZER)
        (partial / STATE).write_text(json.dumps(content, indent=2))

    _write(path, fill)
    _remove_others(path)
    return path


def _remove_others(path: Path) -> None:
    for other in sorted(path.parent.glob("step-*")):
        if other != path:
            shutil.rmtree(other)


def save_best(path: Path, module: nn.Module, reducer: Mapping[str, Any], best: Mapping[str, Any]) -> None:
    """The weights and the reducer of the best epoch so far, where an oracle choice was asked for."""
    content = {"version": STATE_VERSION, "best": dict(best), "reducer": dict(reducer)}

    def fill(partial: Path) -> None:
        save_file(_tensors(module), partial / WEIGHTS)
        (partial / STATE).write_text(json.dumps(content, indent=2))

    _write(path, fill)


def _write(path: Path, fill: Callable[[Path], None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_folder(path, fill)
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"cannot save to '{path}' ({error}); what was saved before is whole: make room there, then resume the run."
        ) from None


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().cpu().contiguous() for name, value in module.state_dict().items()}


def state_is_finite(module: nn.Module) -> bool:
    return all(bool(value.isfinite().all()) for value in module.state_dict().values())


@dataclass(frozen=True)
class Saved:
    position: Position
    reducer: Mapping[str, Any]
    weights: Mapping[str, Tensor]
    optimizer: Mapping[str, Tensor]


def load_state(folder: Path) -> Saved | None:
    """The newest state of a run, or None where none was saved yet."""
    if not folder.exists():
        return None
    remove_leftovers(folder)
    found = sorted(folder.glob("step-*"))
    if not found:
        return None
    path = found[-1]
    with _readable(path):
        content = _content(path)
        weights = load_file(path / WEIGHTS)
        optimizer = load_file(path / OPTIMIZER)
        saved = Saved(Position(**content["position"]), content["reducer"], weights, optimizer)
    _remove_others(path)  # a process killed right after saving has left the one before
    return saved


def load_best(path: Path) -> tuple[Mapping[str, Any], Mapping[str, Tensor]]:
    """The reducer's state and the weights that `save_best` kept."""
    remove_leftovers(path.parent)
    with _readable(path):
        return _content(path)["reducer"], load_file(path / WEIGHTS)


def _content(path: Path) -> dict[str, Any]:
    content = json.loads((path / STATE).read_text())
    if content["version"] > STATE_VERSION:
        raise UserError(
            f"{path} was written by a newer VidShift (state {content['version']}; this one reads up to "
            f"{STATE_VERSION}): upgrade VidShift to resume this run."
        )
    return content


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"the saved state {path} is damaged ({type(error).__name__}: {error}); "
            "restore it from a copy, or start the run again in another folder."
        ) from None
