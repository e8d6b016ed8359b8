"""The contract of a method: stages, views, and a step that turns features into losses.

A method has no optimizer, device, logging or checkpoint code. What it may see of the data is what its stages name;
a target batch has no label field at all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from vidshift.data.view import View
from vidshift.models.features import Features
from vidshift.registry import Registry
from vidshift.tokens.geometry import Geometry

Domain = Literal["source", "target"]
Data = Literal["source", "target", "table", "probabilities"]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One phase of training. It gets only the data that it names.

    `share` is its part of the run's step budget: those of a method add up to 1, so that every method gets the same.
    `init` says what it starts from: the pretrained weights (a black-box method again in a later stage) or the stage
    before. `target_rows="kept"` restricts target batches to the clips whose guess the teacher table keeps. `trainable`
    names the parameters that learn by prefixes: `head.` is the backbone's, `method.` the method's own.
    """

    name: str
    data: frozenset[Data]
    share: float = 1.0
    init: Literal["pretrained", "previous"] = "pretrained"
    target_rows: Literal["all", "kept"] = "all"
    trainable: tuple[str, ...] = ("",)
    lr_scale: float = 1.0


@dataclass(frozen=True)
class ViewSpec:
    """A view that a method wants of each clip; equal streams give equal augmentations."""

    stream: str = "weak"
    augment: bool = True


@dataclass(frozen=True)
class SourceBatch:
    """Source clips: their views, in the order of `Method.views`, and their labels."""

    views: tuple[View, ...]
    labels_B: Tensor
    seeds_B: Tensor


@dataclass(frozen=True)
class TargetBatch:
    """Target clips. There is no label here and never will be: `guess_B` comes from the teacher table (-1: none)."""

    views: tuple[View, ...]
    seeds_B: Tensor
    guess_B: Tensor | None = None
    confidence_B: Tensor | None = None
    probabilities_BK: Tensor | None = None


@dataclass(frozen=True)
class Batch:
    source: SourceBatch | None = None
    target: TargetBatch | None = None


@dataclass(frozen=True)
class Loss:
    """One term. `task` terms of the source or target enter the reducer's reward, unweighted; others never do."""

    value: Tensor
    weight: float = 1.0
    domain: Domain | None = None
    task: bool = False


Losses = dict[str, Loss]


class Context(Protocol):
    """What a step may use of the engine."""

    stage: Stage
    classes: int
    progress: float
    """How much of the stage's step budget is done, in [0, 1]."""

    @property
    def geometry(self) -> Geometry:
        """How the backbone cuts a clip into tokens, for methods that choose tokens themselves."""
        ...

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
        """One pass of the backbone. `domain` says whose kept ratio it counts towards; `tokens` (keep_BN) overrides
        the reducer's choice."""
        ...

    def gather(self, tensor: Tensor) -> Tensor:
        """The same tensor from every process, stacked along the batch; the identity on one process."""
        ...

    def predict_all(self, domain: Domain) -> "tuple[Sequence[str], Tensor]":
        """Ids and class probabilities of every training clip of a domain, without augmentation."""
        ...

    def teach(self, view: View) -> Tensor:
        """[B, K] class probabilities of the teacher."""
        ...


class Method(nn.Module):
    """A method is a module, so that heads, banks and teachers of its own are saved and moved with the run."""

    name: str = ""
    source_is_target: bool = False
    """True only for Target Only, which is trained on target-train handed in as the source."""

    def stages(self) -> Sequence[Stage]:
        raise TypeError(f"method {self.name!r} names no stages")

    def build(self, *, width: int, classes: int, generator: torch.Generator) -> None:
        """Make heads and banks once the backbone's width and the classes are known."""

    def views(self, stage: Stage) -> Sequence[ViewSpec]:
        return (ViewSpec(),)

    def step(self, ctx: Context, batch: Batch) -> Losses:
        """The losses of one step. It may be run again in evaluation mode and without gradient, to probe a reward, and
        then has to leave banks and averages as they are."""
        raise TypeError(f"method {self.name!r} has no step")

    def on_epoch(self, ctx: Context) -> None:
        """Called before each epoch of a stage."""

    def predict(self, ctx: Context, view: View, *, seeds_B: Tensor) -> Tensor:
        """[B, K] class probabilities at test time."""
        return ctx.forward(view, seeds_B=seeds_B, grad=False).logits_BK.float().softmax(dim=-1)

    def options(self) -> Mapping[str, Any]:
        """The keyword arguments that make this method again."""
        return {}


@dataclass
class Term:
    """Adds a loss unless its weight is zero: a term of weight zero is skipped, not multiplied."""

    losses: Losses = field(default_factory=dict)

    def add(
        self,
        name: str,
        value: Callable[[], Tensor],
        *,
        weight: float = 1.0,
        domain: Domain | None = None,
        task: bool = False,
    ) -> None:
        if weight != 0:
            self.losses[name] = Loss(value(), weight, domain, task)


def total(losses: Losses) -> Tensor:
    """The weighted sum that is differentiated."""
    if not losses:
        raise ValueError("the step has no loss: at least one term needs a weight")
    return torch.stack([loss.value * loss.weight for loss in losses.values()]).sum()


methods: Registry[Method] = Registry("method", "vidshift.methods")
