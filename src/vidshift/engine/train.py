"""Training: every stage of a method under one step budget, saved so that it goes on exactly where it was stopped."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vidshift.data.loader import ahead
from vidshift.engine.batches import StageData, TrainingData, to_device
from vidshift.engine.config import RunConfig
from vidshift.engine.console import Console, Task
from vidshift.engine.log import MetricsLog
from vidshift.engine.schedule import factor
from vidshift.engine.signals import Interrupted, Stop, listening
from vidshift.engine.state import Position, load_state, restore_optimizer, save_state
from vidshift.engine.step import Network, StepResult
from vidshift.errors import UserError
from vidshift.methods.base import Batch, Stage, total
from vidshift.tokens.base import Reward

PROBE_CLIPS = 4  # per domain and threshold, for reducers that learn from probes


@dataclass(frozen=True)
class Hooks:
    """What the trainer asks of its surroundings."""

    validate: Callable[[Network], Mapping[str, Any]]
    """Numbers for the epoch's line, from validation data of the source alone."""
    oracle: Callable[[Network], float] | None = None
    """Target test accuracy, only where an oracle choice of the checkpoint was asked for."""


def steps_per_epoch(data: TrainingData, batch: int) -> int:
    """An epoch passes once over the longer of the two domains (tokens.md section 12 row 21), whatever a method or a
    filter uses of them: so every method of a direction has the same budget."""
    return math.ceil(data.longest() / batch)


class Trainer:
    def __init__(
        self, config: RunConfig, folder: Path, network: Network, data: TrainingData, hooks: Hooks, *, resume: bool
    ) -> None:
        self.config, self.folder, self.network, self.data, self.hooks = config, folder, network, data, hooks
        self.device = next(network.parameters()).device
        self.per_epoch = steps_per_epoch(data, config.batch)
        self.stages = tuple(network.method.stages())
        self.position = Position()
        self._pretrained = {name: value.clone() for name, value in network.state_dict().items()}
        self._saved = load_state(folder / "state") if resume else None
        if self._saved is not None:
            self.position = self._saved.position
        self._stop = Stop()

    def stage_steps(self, stage: Stage) -> int:
        return max(1, round(stage.share * self.config.epochs * self.per_epoch))

    @property
    def total_steps(self) -> int:
        return sum(self.stage_steps(stage) for stage in self.stages)

    def run(self, console: Console, *, tensorboard: bool = False) -> Position:
        """Train what is left to train, and return where it ended."""
        log = MetricsLog(self.folder / "metrics.jsonl", keep_bytes=self.position.metrics_bytes, tensorboard=tensorboard)
        try:
            with listening(self._stop), console.task("training", self.total_steps) as task:
                for number in range(self.position.stage, len(self.stages)):
                    self._run_stage(number, log, task)
        finally:
            log.close()
        return self.position

    def timed_step(self) -> Callable[[int], float]:
        """For benchmarks: does a step of the first stage, its batch made beforehand, and returns its seconds."""
        stage = self.stages[0]
        optimizer = self._optimizer(stage)
        batches = self._batches(stage)
        log = MetricsLog(self.folder / "metrics.jsonl")
        self.network.train()

        def step(number: int) -> float:
            batch = batches.at(number)
            started = time.perf_counter()
            self._step(number, batch, stage, self.stage_steps(stage), optimizer, log)
            return time.perf_counter() - started

        return step

    def _batches(self, stage: Stage) -> StageData:
        config = self.config
        return StageData(
            self.data, stage, self.network.method, batch=config.batch, seed=config.seed, augment=config.augment
        )

    def _run_stage(self, number: int, log: MetricsLog, task: Task) -> None:
        stage, position = self.stages[number], self.position
        steps = self.stage_steps(stage)
        begins = position.stage != number or position.step == 0
        if begins and number and stage.init == "pretrained":
            self.network.load_state_dict(self._pretrained)
        position.stage, position.step = (number, 0) if begins else (number, position.step)
        for name, parameter in self.network.named_parameters():
            parameter.requires_grad_(any(name.removeprefix("net.").startswith(prefix) for prefix in stage.trainable))
        optimizer = self._optimizer(stage)
        if self._saved is not None:
            self._restore(optimizer)
        batches = self._batches(stage)
        self.network.train()
        waiting = time.perf_counter()
        for step in self._steps(batches, position.step, steps):
            now = time.perf_counter()
            self._count("wait", now - waiting)
            values = self._step(step[0], step[1], stage, steps, optimizer, log)
            position.step, position.total_step = step[0] + 1, position.total_step + 1
            self._count("train", time.perf_counter() - now)
            log.write("step", {"stage": stage.name, "step": step[0], "total_step": position.total_step, **values})
            task.update(position.total_step, self._note(values))
            ends_epoch = position.step % self.per_epoch == 0 or position.step == steps
            if ends_epoch:
                self._end_epoch(stage, log)
            every = self.config.save_every
            if ends_epoch or self._stop.asked or (every and position.total_step % every == 0):
                self._save(optimizer, log)
            if self._stop.asked:
                raise Interrupted(
                    f"stopped at step {position.total_step} of {self.total_steps}; everything is saved: "
                    f"go on with `vidshift adapt --resume {self.folder}`."
                )
            waiting = time.perf_counter()

    def _steps(self, batches: StageData, first: int, last: int) -> Iterator[tuple[int, Batch]]:
        yield from zip(range(first, last), ahead(batches.at, range(first, last)), strict=True)

    def _step(
        self, step: int, batch: Batch, stage: Stage, steps: int, optimizer: torch.optim.Optimizer, log: MetricsLog
    ) -> dict[str, Any]:
        config, network = self.config, self.network
        scale = factor(step, total=steps, warmup=config.warmup)
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"] * scale
        batch = to_device(batch, self.device)
        started = time.perf_counter()
        result: StepResult = network(batch, stage, step / steps)
        loss = total(result.losses)
        self._check_finite("loss", float(loss.detach()), step, optimizer, log)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        norm = float(torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None]))
        self._check_finite("gradient", norm, step, optimizer, log)
        optimizer.step()
        reward = result.reward()
        learned = network.reducer.update(reward, self._probe(batch, stage, step / steps))
        self._count("select", result.observed.select_seconds)
        clips = len(result.observed.lengths)
        self.position.counts["clips"] = self.position.counts.get("clips", 0) + clips
        for name, value in result.observed.info.items():
            if name.endswith("_clips"):
                self.position.counts[name] = self.position.counts.get(name, 0) + value
        values: dict[str, Any] = {"loss": float(loss.detach())}
        values |= {f"loss_{name}": float(term.value.detach()) for name, term in result.losses.items()}
        values |= {f"kept_{domain}": ratio for domain, ratio in result.observed.kept_ratio().items()}
        values |= {"lr": config.lr * scale, "gradient_norm": norm, **result.observed.info, **learned}
        if batch.source is not None and "source" in result.observed.logits:
            hits = result.observed.logits["source"].argmax(1) == batch.source.labels_B
            values["accuracy_source"] = float(hits.float().mean())
        values["clips_per_second"] = clips / (time.perf_counter() - started)
        return values

    def _probe(self, batch: Batch, stage: Stage, progress: float) -> Callable[[], Reward] | None:
        """The reward on a few clips of the step, without gradient and without drop path, at the reducer's setting."""
        if not self.network.reducer.wants_probe:
            return None
        few = first_clips(batch, PROBE_CLIPS)

        def probe() -> Reward:
            self.network.eval()
            try:
                with torch.no_grad():
                    return self.network(few, stage, progress).reward()
            finally:
                self.network.train()

        return probe

    def _check_finite(
        self, what: str, value: float, step: int, optimizer: torch.optim.Optimizer, log: MetricsLog
    ) -> None:
        if not math.isfinite(value):
            path = self._save(optimizer, log)
            raise UserError(
                f"the {what} became {value} at step {step + 1} of stage {self.stages[self.position.stage].name!r}; "
                f"the state before that step is kept in {path}: try a lower --lr than {self.config.lr:g}."
            )

    def _end_epoch(self, stage: Stage, log: MetricsLog) -> None:
        position = self.position
        started = time.perf_counter()
        self.network.eval()
        values = dict(self.hooks.validate(self.network))
        if self.hooks.oracle is not None:
            accuracy = self.hooks.oracle(self.network)
            values["oracle_target_accuracy"] = accuracy
            if accuracy > position.best.get("accuracy", -1.0):
                position.best = {"accuracy": accuracy, "total_step": position.total_step}
                self._keep_best()
        self.network.train()
        self._count("evaluate", time.perf_counter() - started)
        epoch = math.ceil(position.step / self.per_epoch)
        log.write("epoch", {"stage": stage.name, "epoch": epoch, "total_step": position.total_step, **values})

    def _keep_best(self) -> None:
        from safetensors.torch import save_file

        from vidshift.engine.files import write_folder

        tensors = {name: value.detach().cpu().contiguous() for name, value in self.network.state_dict().items()}
        write_folder(self.folder / "best", lambda partial: save_file(tensors, partial / "weights.safetensors"))

    def _optimizer(self, stage: Stage) -> torch.optim.Optimizer:
        config = self.config
        groups = self.network.net.param_groups(
            lr=config.lr * stage.lr_scale, weight_decay=config.weight_decay, layer_decay=config.layer_decay
        )
        own = [p for p in self.network.method.parameters() if p.requires_grad]
        if own:
            groups.append({"params": own, "lr": config.lr * stage.lr_scale, "weight_decay": config.weight_decay})
        groups = [{**group, "params": [p for p in group["params"] if p.requires_grad]} for group in groups]
        groups = [{**group, "initial_lr": group["lr"]} for group in groups if group["params"]]
        return torch.optim.AdamW(groups, lr=config.lr, betas=(0.9, 0.999), eps=1e-8)

    def _restore(self, optimizer: torch.optim.Optimizer) -> None:
        saved = self._saved
        assert saved is not None
        self._saved = None
        self.network.load_state_dict(dict(saved.weights))
        self.network.reducer.load_state_dict(saved.reducer)
        if saved.position.step:
            restore_optimizer(optimizer, saved.optimizer)

    def _save(self, optimizer: torch.optim.Optimizer, log: MetricsLog) -> Path:
        self.position.metrics_bytes = log.sync()
        return save_state(
            self.folder / "state", self.network, optimizer, self.network.reducer.state_dict(), self.position
        )

    def _count(self, name: str, seconds: float) -> None:
        self.position.seconds[name] = self.position.seconds.get(name, 0.0) + seconds

    def _note(self, values: Mapping[str, Any]) -> str:
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


def first_clips(batch: Batch, count: int) -> Batch:
    """The first few clips of both domains."""
    from dataclasses import fields, replace

    def cut(part: Any) -> Any:
        changes: dict[str, Any] = {"views": tuple(view.take(list(range(min(count, len(view))))) for view in part.views)}
        for entry in fields(part):
            value = getattr(part, entry.name)
            if isinstance(value, Tensor):
                changes[entry.name] = value[:count]
        return replace(part, **changes)

    return Batch(
        None if batch.source is None else cut(batch.source), None if batch.target is None else cut(batch.target)
    )
