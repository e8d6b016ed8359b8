"""One training step inside one module's forward, so that data parallelism can wrap it later."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import torch
from torch import Tensor, nn

from vidshift.data.view import View
from vidshift.methods.base import Batch, Domain, Loss, Losses, Method, Stage
from vidshift.models.features import Features
from vidshift.models.vit import VideoTransformer
from vidshift.tokens.base import Reducer, Reward, Selection
from vidshift.tokens.geometry import Geometry

Precision = Literal["float32", "bfloat16"]
PredictAll = Callable[[Domain], "tuple[Sequence[str], Tensor]"]


@dataclass
class Observed:
    """What a step's forward passes showed, for the reward and the log."""

    kept: dict[str, list[float]] = field(default_factory=dict)
    logits: dict[str, Tensor] = field(default_factory=dict)
    info: dict[str, float] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)
    penalties: list[Tensor] = field(default_factory=list)
    select_seconds: float = 0.0

    def kept_ratio(self) -> dict[str, float]:
        return {domain: sum(values) / len(values) for domain, values in self.kept.items()}


class Network(nn.Module):
    """The backbone with its method and reducer: everything that is trained, saved and asked for predictions."""

    def __init__(
        self,
        net: VideoTransformer,
        method: Method,
        reducer: Reducer,
        *,
        classes: int,
        precision: Precision = "float32",
        teach: Callable[[View], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.net = net
        self.method = method
        self.reducer = reducer
        self.classes = classes
        self.precision = precision
        self.teach = teach

    def forward(
        self, batch: Batch, stage: Stage, progress: float, predict_all: PredictAll | None = None
    ) -> "StepResult":
        ctx = StepContext(self, stage, progress, predict_all)
        losses = self.method.step(ctx, batch)
        if ctx.observed.penalties:
            losses = {**losses, "reducer": Loss(torch.stack(ctx.observed.penalties).sum())}
        return StepResult(losses, ctx.observed)

    @torch.no_grad()
    def predict(self, view: View, seeds_B: Tensor) -> tuple[Tensor, Observed]:
        """[B, K] class probabilities and what the pass showed."""
        ctx = StepContext(self, Stage(name="test", data=frozenset()), 1.0, None)
        return self.method.predict(ctx, view, seeds_B=seeds_B), ctx.observed


@dataclass(frozen=True)
class StepResult:
    losses: Losses
    observed: Observed

    def reward(self) -> Reward:
        """Unweighted task losses by domain; a domain absent from the step drops out together with its kept term."""
        loss: dict[str, float] = {}
        for term in self.losses.values():
            if term.task and term.domain is not None:
                loss[term.domain] = loss.get(term.domain, 0.0) + float(term.value.detach())
        kept = self.observed.kept_ratio()
        return Reward(loss, {domain: kept[domain] for domain in loss})


class StepContext:
    """The engine's side of `methods.base.Context`."""

    def __init__(self, network: Network, stage: Stage, progress: float, predict_all: PredictAll | None) -> None:
        self.network = network
        self.stage = stage
        self.progress = progress
        self.classes = network.classes
        self.observed = Observed()
        self._predict_all = predict_all

    @property
    def geometry(self) -> Geometry:
        return self.network.net.geometry

    def forward(
        self,
        view: View,
        *,
        seeds_B: Tensor,
        domain: Domain | None = None,
        tokens: Tensor | None = None,
        taps: tuple[str, ...] = (),
        grad: bool = True,
    ) -> Features:
        network, seen = self.network, self.observed
        with torch.set_grad_enabled(grad and torch.is_grad_enabled()):
            device = view.pixels_BTCHW.device.type
            with torch.autocast(device, torch.bfloat16, enabled=network.precision == "bfloat16"):
                if tokens is None:
                    started = time.perf_counter()
                    selection = network.reducer.select(
                        view, network.net.geometry, seeds_B=seeds_B, training=network.training, net=network.net
                    )
                    seen.select_seconds += time.perf_counter() - started
                else:
                    selection = Selection(tokens)
                features = network.net(view, selection=selection, reducer=network.reducer, seeds_B=seeds_B, taps=taps)
        if selection.penalty is not None and grad:
            seen.penalties.append(selection.penalty)
        seen.lengths.extend(selection.kept_B.tolist())
        for name, value in selection.info.items():
            seen.info[name] = seen.info.get(name, 0.0) + value if name.endswith("_clips") else value
        if domain is not None:
            seen.kept.setdefault(domain, []).append(selection.kept_ratio)
            seen.logits.setdefault(domain, features.logits_BK.detach())
        return cast(Features, features)

    def gather(self, tensor: Tensor) -> Tensor:
        return tensor

    def predict_all(self, domain: Domain) -> "tuple[Sequence[str], Tensor]":
        if self._predict_all is None:
            raise RuntimeError("predictions over a whole domain are available in on_epoch only")
        return self._predict_all(domain)

    def teach(self, view: View) -> Tensor:
        if self.network.teach is None:
            raise RuntimeError("this run has no teacher")
        return self.network.teach(view)
