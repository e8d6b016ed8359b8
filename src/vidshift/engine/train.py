"""Training: every stage of a method under one step budget, saved so that it goes on exactly where it was stopped."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vidshift.data.loader import ahead
from vidshift.engine.batches import StageData, TrainingData, to_device
from vidshift.engine.config import RunConfig
from vidshift.engine.console import Console, Task
from vidshift.engine.evaluate import predict_clips
from vidshift.engine.learn import NotFinite, build_optimizer, learn
from vidshift.engine.log import MetricsLog
from vidshift.engine.schedule import factor
from vidshift.engine.signals import Interrupted, Stop, listening
from vidshift.engine.state import (
    Position,
    load_state,
    restore_optimizer,
    save_best,
    save_state,
    state_is_finite,
)
from vidshift.engine.step import Network, PredictAll, StepContext
from vidshift.errors import UserError
from vidshift.methods.base import Batch, Domain, Stage


@dataclass(frozen=True)
class Hooks:
    """What the trainer asks of its surroundings."""

    validate: Callable[[Network], Mapping[str, Any]]
    """Numbers for the epoch's line, from validation data of the source alone."""
    oracle: Callable[[Network], float] | None = None
    """Target test accuracy, only where an oracle choice of the checkpoint was asked for."""
    started: float = field(default_factory=time.perf_counter)
    """When this process began to work on the run."""


def steps_per_epoch(data: TrainingData, batch: int) -> int:
    """An epoch passes once over the longer of the two domains (tokens.md section 12 row 21), whatever a method or a
    filter uses of them: so every method of a direction has the same budget."""
    return math.ceil(data.longest() / batch)


class Trainer:
    """Trains a network in place; a state found in `folder` is gone on from."""

    def __init__(
        self, config: RunConfig, folder: Path, network: Network, data: TrainingData, hooks: Hooks | None = None
    ) -> None:
        self.config, self.folder, self.network, self.data = config, folder, network, data
        self.hooks = hooks or Hooks(validate=lambda _: {})
        self.device = next(network.parameters()).device
        self.per_epoch = steps_per_epoch(data, config.batch)
        self.stages = tuple(network.method.stages())
        again = any(stage.init == "pretrained" for stage in self.stages[1:])
        self._pretrained = {name: value.clone() for name, value in network.state_dict().items()} if again else {}
        self._saved = load_state(folder / "state")
        self.position = Position() if self._saved is None else self._saved.position
        self._before = self.position.seconds.get("total", 0.0)
        self._stop = Stop()

    def stage_steps(self, stage: Stage) -> int:
        return max(1, round(stage.share * self.config.epochs * self.per_epoch))

    @property
    def total_steps(self) -> int:
        return sum(self.stage_steps(stage) for stage in self.stages)

    @property
    def seconds_so_far(self) -> float:
        """Over all processes that worked on this run, as far as their work was kept."""
        return self._before + time.perf_counter() - self.hooks.started

    def run(self, console: Console, *, tensorboard: bool = False) -> Position:
        """Train what is left to train, and return where it ended."""
        log = MetricsLog(self.folder / "metrics.jsonl", keep_bytes=self.position.metrics_bytes, tensorboard=tensorboard)
        try:
            with listening(self._stop), console.task("training", self.total_steps) as task:
                task.update(self.position.total_step)
                for number in range(self.position.stage, len(self.stages)):
                    self._run_stage(number, log, task)
        finally:
            log.close()
        return self.position

    def timed_step(self) -> Callable[[int], float]:
        """For benchmarks: does a step of the first stage, its batch made beforehand, and returns its seconds."""
        stage = self.stages[0]
        optimizer, batches = build_optimizer(self.network, stage, self.config), self.batches(stage)
        self.network.train()

        def step(number: int) -> float:
            batch = to_device(batches.at(number), self.device)
            scale = factor(number, total=self.stage_steps(stage), warmup=self.config.warmup)
            started = time.perf_counter()
            learn(self.network, optimizer, batch, stage, progress=0.0, scale=scale)
            return time.perf_counter() - started

        return step

    def batches(self, stage: Stage) -> StageData:
        """What a stage trains on, by the step."""
        config, method = self.config, self.network.method
        return StageData(self.data, stage, method, batch=config.batch, seed=config.seed, augment=config.augment)

    def _run_stage(self, number: int, log: MetricsLog, task: Task) -> None:
        stage, position, config = self.stages[number], self.position, self.config
        steps = self.stage_steps(stage)
        begins = position.stage != number or position.step == 0
        if begins and number and stage.init == "pretrained":
            self.network.load_state_dict(self._pretrained)
        position.stage, position.step = number, 0 if begins else position.step
        optimizer = build_optimizer(self.network, stage, config)
        self._restore(optimizer)
        batches = self.batches(stage)
        self.network.train()
        waiting = time.perf_counter()
        for step, batch in self._batches(batches, position.step, steps):
            now = time.perf_counter()
            self._count("wait", now - waiting)
            if step % self.per_epoch == 0:
                self._begin_epoch(stage, step / steps)
            values = self._step(step, batch, stage, steps, optimizer, log)
            position.step, position.total_step = step + 1, position.total_step + 1
            self._count("train", time.perf_counter() - now)
            log.write("step", {"stage": stage.name, "step": step, "total_step": position.total_step, **values})
            task.update(position.total_step, note(values))
            ends_epoch = position.step % self.per_epoch == 0 or position.step == steps
            if ends_epoch:
                self._end_epoch(stage, log)
            every = config.save_every
            if ends_epoch or self._stop.asked or (every and position.total_step % every == 0):
                self._save(optimizer, log)
            self._stop_if_asked()
            waiting = time.perf_counter()

    def _batches(self, batches: StageData, first: int, last: int) -> Iterator[tuple[int, Batch]]:
        yield from zip(range(first, last), ahead(batches.at, range(first, last)), strict=True)

    def _step(
        self, step: int, batch: Batch, stage: Stage, steps: int, optimizer: torch.optim.Optimizer, log: MetricsLog
    ) -> dict[str, Any]:
        scale = factor(step, total=steps, warmup=self.config.warmup)
        try:
            done = learn(
                self.network, optimizer, to_device(batch, self.device), stage, progress=step / steps, scale=scale
            )
        except NotFinite as error:
            kept = self._keep_before(optimizer, log)
            raise UserError(
                f"{error} at step {step + 1} of stage {stage.name!r}; {kept}: try a lower --lr than {self.config.lr:g}."
            ) from None
        self._count("select", done.select_seconds)
        for name, value in {"clips": done.clips, **done.counts}.items():
            self.position.counts[name] = self.position.counts.get(name, 0) + value
        return {**done.values, "lr": self.config.lr * stage.lr_scale * scale}

    def _keep_before(self, optimizer: torch.optim.Optimizer, log: MetricsLog) -> str:
        """Saves the state before a step that failed, where that step has not yet touched it: a method's own banks and
        averages may change in its forward pass. Else the last saved state stands."""
        own = {name for name, p in self.network.method.named_parameters() if p.requires_grad}
        if own == set(self.network.method.state_dict()) and state_is_finite(self.network):
            return f"the state before that step is kept in {self._save(optimizer, log)}"
        states = sorted((self.folder / "state").glob("step-*"))
        return f"the last saved state is kept in {states[-1]}" if states else "nothing was saved before it"

    def _begin_epoch(self, stage: Stage, progress: float) -> None:
        """A state saved before this is saved at the end of an epoch, so a resumed run comes here just as often."""
        self.network.method.on_epoch(StepContext(self.network, stage, progress, self._predict_all(stage)))
        self.network.train()

    def _predict_all(self, stage: Stage) -> PredictAll:
        def predict_all(domain: Domain) -> tuple[Sequence[str], Tensor]:
            clips = self.data.source if domain == "source" else self.data.target
            if domain not in stage.data or clips is None:
                raise RuntimeError(f"stage {stage.name!r} does not name the data {domain!r}, so it cannot predict it")
            found = predict_clips(self.network, clips)
            return found.ids, found.probabilities_NK

        return predict_all

    def _end_epoch(self, stage: Stage, log: MetricsLog) -> None:
        position = self.position
        started = time.perf_counter()
        values = dict(self.hooks.validate(self.network))
        if self.hooks.oracle is not None:
            accuracy = self.hooks.oracle(self.network)
            values["oracle_target_accuracy"] = accuracy
            if accuracy > position.best.get("accuracy", -1.0):
                position.best = {"accuracy": accuracy, "total_step": position.total_step}
                save_best(self.folder / "best", self.network, self.network.reducer.state_dict(), position.best)
        self._count("evaluate", time.perf_counter() - started)
        epoch = math.ceil(position.step / self.per_epoch)
        log.write("epoch", {"stage": stage.name, "epoch": epoch, "total_step": position.total_step, **values})

    def _restore(self, optimizer: torch.optim.Optimizer) -> None:
        """The saved state, once, before the first stage that is left to do."""
        saved, self._saved = self._saved, None
        if saved is None:
            return
        try:
            self.network.load_state_dict(dict(saved.weights))
            self.network.reducer.load_state_dict(saved.reducer)
            if saved.position.step:
                restore_optimizer(optimizer, saved.optimizer)
        except (RuntimeError, KeyError, ValueError, TypeError) as error:
            raise UserError(
                f"the saved state in {self.folder / 'state'} does not fit this run ({str(error).splitlines()[0]}); was "
                "config.yaml edited? Restore it, or start the run again in another folder."
            ) from None

    def _save(self, optimizer: torch.optim.Optimizer, log: MetricsLog) -> Path:
        self.position.metrics_bytes = log.sync()
        self.position.seconds["total"] = self.seconds_so_far
        return save_state(
            self.folder / "state", self.network, optimizer, self.network.reducer.state_dict(), self.position
        )

    def _stop_if_asked(self) -> None:
        if self._stop.signum is not None:
            raise Interrupted(
                f"stopped at step {self.position.total_step} of {self.total_steps}, and everything is saved: "
                f"go on with `vidshift adapt --resume {self.folder}`.",
                signum=self._stop.signum,
            )

    def _count(self, name: str, seconds: float) -> None:
        self.position.seconds[name] = self.position.seconds.get(name, 0.0) + seconds


def note(values: Mapping[str, Any]) -> str:
    """A step in a few words, for the progress line."""
    kept = [values[name] for name in ("kept_source", "kept_target") if name in values]
    parts = [f"loss {values['loss']:.3f}"]
    if "accuracy_source" in values:
        parts.append(f"acc {values['accuracy_source']:.0%}")
    if kept:
        parts.append(f"kept {sum(kept) / len(kept):.0%}")
    if "threshold" in values:
        parts.append(f"tau {values['threshold']:.3f}")
    parts.append(f"{values['clips_per_second']:.0f} clips/s")
    return "  ".join(parts)
