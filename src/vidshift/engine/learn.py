"""One optimisation step: losses, gradients, the optimizer, and the reducer's reward."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from vidshift.engine.config import RunConfig
from vidshift.engine.step import Network, Observed
from vidshift.methods.base import Batch, Losses, Stage, total
from vidshift.tokens.base import Reward

PROBE_CLIPS = 4  # per domain and threshold, for reducers that learn from probes


class NotFinite(ArithmeticError):
    """A loss or gradient that is no number; the weights are as they were before the step."""

    def __init__(self, what: str, value: float) -> None:
        super().__init__(f"the {what} became {value}")


@dataclass(frozen=True)
class Learned:
    """Numbers for the log, and what is counted over the whole run."""

    values: Mapping[str, Any]
    clips: int
    counts: Mapping[str, float]
    select_seconds: float


def build_optimizer(network: Network, stage: Stage, config: RunConfig) -> torch.optim.Optimizer:
    """AdamW over what the stage trains; the backbone's learning rates decay by layer."""
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(any(name.removeprefix("net.").startswith(prefix) for prefix in stage.trainable))
    lr = config.lr * stage.lr_scale
    groups = network.net.param_groups(lr=lr, weight_decay=config.weight_decay, layer_decay=config.layer_decay)
    own = [p for p in network.method.parameters() if p.requires_grad]
    if own:
        groups.append({"params": own, "lr": lr, "weight_decay": config.weight_decay})
    groups = [{**group, "initial_lr": group["lr"]} for group in groups if group["params"]]
    return torch.optim.AdamW(groups, lr=config.lr, betas=(0.9, 0.999), eps=1e-8)


def learn(
    network: Network, optimizer: torch.optim.Optimizer, batch: Batch, stage: Stage, *, progress: float, scale: float
) -> Learned:
    """One step at `scale` times the highest learning rates; raises `NotFinite` before anything is changed."""
    started = time.perf_counter()
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] * scale
    result = network(batch, stage, progress)
    loss = total(result.losses)
    _finite("loss", float(loss.detach()))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    norm = float(torch.nn.utils.get_total_norm(grads))
    _finite("gradient", norm)
    optimizer.step()
    learned = network.reducer.update(result.reward(), _probe(network, batch, stage, progress))
    observed: Observed = result.observed
    clips = len(observed.lengths)
    values = _values(batch, result.losses, observed, loss=float(loss.detach()), norm=norm)
    values |= {**learned, "clips_per_second": clips / (time.perf_counter() - started)}
    counts = {name: value for name, value in observed.info.items() if name.endswith("_clips")}
    return Learned(values, clips, counts, observed.select_seconds)


def _values(batch: Batch, losses: Losses, observed: Observed, *, loss: float, norm: float) -> dict[str, Any]:
    values: dict[str, Any] = {"loss": loss}
    values |= {f"loss_{name}": float(term.value.detach()) for name, term in losses.items()}
    values |= {f"kept_{domain}": ratio for domain, ratio in observed.kept_ratio().items()}
    values |= {"gradient_norm": norm, **observed.info}
    if batch.source is not None and "source" in observed.logits:
        hits_B = observed.logits["source"].argmax(1) == batch.source.labels_B
        values["accuracy_source"] = float(hits_B.float().mean())
    return values


def _finite(what: str, value: float) -> None:
    if not math.isfinite(value):
        raise NotFinite(what, value)


def _probe(network: Network, batch: Batch, stage: Stage, progress: float) -> Callable[[], Reward] | None:
    """The reward on a few clips of the step, without gradient and without drop path, at the reducer's setting."""
    if not network.reducer.wants_probe:
        return None
    few = first_clips(batch, PROBE_CLIPS)

    def probe() -> Reward:
        network.eval()
        try:
            with torch.no_grad():
                return network(few, stage, progress).reward()
        finally:
            network.train()

    return probe


def first_clips(batch: Batch, count: int) -> Batch:
    """The first few clips of both domains."""

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
