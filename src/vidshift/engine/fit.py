"""A plain training loop without labels or stages: for pretraining, and for the teacher that ships with the package.

Saved so that it goes on exactly where it was stopped: what a step does follows from its number.
"""

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vidshift.engine.console import Console
from vidshift.engine.log import MetricsLog
from vidshift.engine.schedule import factor
from vidshift.engine.signals import Interrupted, Stop, listening
from vidshift.engine.state import Position, load_state, restore_optimizer, save_state
from vidshift.errors import UserError

PACE_STEPS = 10
_BEFORE_PACE = 3

StepLoss = Callable[[int], Tensor]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long and how fast. VideoMAE pretrains with betas (.9, .95) and a weight decay of .05."""

    steps: int
    lr: float
    weight_decay: float = 0.05
    betas: tuple[float, float] = (0.9, 0.95)
    warmup: float = 0.05
    """A share of the steps."""
    clip_norm: float = 1.0
    log_every: int = 20
    save_every: int = 500


def optimizer_of(module: nn.Module, plan: Plan) -> torch.optim.AdamW:
    """Vectors and single numbers (biases, norms, tokens, the temperature) are not decayed."""
    trained = [p for p in module.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.dim() > 1], "weight_decay": plan.weight_decay},
        {"params": [p for p in trained if p.dim() <= 1], "weight_decay": 0.0},
    ]
    fused = all(p.is_cuda for p in trained)
    return torch.optim.AdamW(groups, lr=plan.lr, betas=plan.betas, fused=fused)


def seconds_per_step(module: nn.Module, step_loss: StepLoss, plan: Plan) -> float:
    """Measured on a few steps that are then forgotten: how many fit into a number of minutes."""
    before = copy.deepcopy(module.state_dict())
    optimizer = optimizer_of(module, plan)
    started = 0.0
    for step in range(_BEFORE_PACE + PACE_STEPS):
        if step == _BEFORE_PACE:
            _finish(module)
            started = time.perf_counter()
        _advance(module, optimizer, step_loss(step), plan)
    _finish(module)
    seconds = (time.perf_counter() - started) / PACE_STEPS
    module.load_state_dict(before)
    return seconds


def _finish(module: nn.Module) -> None:
    device = next(module.parameters()).device
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _advance(module: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor, plan: Plan) -> None:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(module.parameters(), plan.clip_norm)
    optimizer.step()


class Fit:
    """`run(step_loss)` trains `module`, saving under `folder/state` and writing `folder/metrics.jsonl`."""

    def __init__(self, module: nn.Module, plan: Plan, folder: Path, *, name: str, go_on: str) -> None:
        self.module, self.plan, self.folder = module, plan, folder
        self.name, self.go_on = name, go_on
        self.optimizer = optimizer_of(module, plan)
        self.position = Position()
        self.device = next(module.parameters()).device
        saved = load_state(folder / "state")
        if saved is not None:
            module.load_state_dict(dict(saved.weights))
            restore_optimizer(self.optimizer, saved.optimizer)
            self.position = saved.position

    def run(self, step_loss: StepLoss, console: Console) -> Position:
        """Train what is left to train; `step_loss(step)` gives the loss of a step with its gradient."""
        log = MetricsLog(self.folder / "metrics.jsonl", keep_bytes=self.position.metrics_bytes)
        stop = Stop()
        self.module.train()
        try:
            with listening(stop), console.task(self.name, self.plan.steps) as task:
                self._loop(step_loss, log, stop, task.update)
        finally:
            log.close()
        self.module.eval()
        return self.position

    def _loop(self, step_loss: StepLoss, log: MetricsLog, stop: Stop, update: Callable[[int, str], None]) -> None:
        plan, position = self.plan, self.position
        # Losses are summed on the device: asking for each would make the device wait.
        since, total = position.counts.get("since", 0.0), self._number(position.counts.get("loss", 0.0))
        began = time.perf_counter()
        for step in range(position.total_step, plan.steps):
            rate = factor(step, total=plan.steps, warmup=plan.warmup)
            for group in self.optimizer.param_groups:
                group["lr"] = plan.lr * rate
            loss = step_loss(step)
            _advance(self.module, self.optimizer, loss, plan)
            total, since = total + loss.detach(), since + 1
            done = step + 1
            ends = done == plan.steps
            if done % plan.log_every == 0 or ends:
                mean = self._mean(total, since, done)
                log.write("step", {"total_step": done, "loss": mean, "lr": plan.lr * rate})
                update(done, f"loss {mean:.4f}")
                total, since = self._number(0.0), 0.0
            if done % plan.save_every == 0 or ends or stop.asked:
                if since:
                    self._mean(total, since, done)
                now = time.perf_counter()
                position.seconds["train"] = position.seconds.get("train", 0.0) + now - began
                began = now
                position.total_step = position.step = done
                position.counts = {"since": since, "loss": float(total)}
                position.metrics_bytes = log.sync()
                save_state(self.folder / "state", self.module, self.optimizer, {}, position)
            if stop.asked and not ends:
                raise Interrupted(f"stopped at step {done} of {plan.steps}; everything is saved: {self.go_on}.")

    def _number(self, value: float) -> Tensor:
        return torch.tensor(value, dtype=torch.float32, device=self.device)

    def _mean(self, total: Tensor, since: float, done: int) -> float:
        mean = float(total) / since
        if not math.isfinite(mean):
            raise UserError(
                f"the loss became {mean} before step {done}; the state saved before it is kept in "
                f"{self.folder / 'state'}: try a lower learning rate than {self.plan.lr:g}."
            )
        return mean


def summary_of(position: Position, plan: Plan, metrics: list[dict[str, Any]]) -> Mapping[str, Any]:
    """What a finished fit amounts to."""
    losses = [line["loss"] for line in metrics if line["kind"] == "step"]
    return {
        "steps": position.total_step,
        "lr": plan.lr,
        "weight_decay": plan.weight_decay,
        "warmup": plan.warmup,
        "loss_first": round(losses[0], 5) if losses else None,
        "loss_last": round(losses[-1], 5) if losses else None,
        "seconds": round(position.seconds.get("train", 0.0), 1),
    }
