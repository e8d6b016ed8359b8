"""What is measured: our network with one reducer, or the network of transformers, each with the same few acts."""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vidshift.bench.clips import training_seeds
from vidshift.bench.timing import Clock
from vidshift.data.view import View
from vidshift.models.config import VitConfig
from vidshift.models.flops import Flops, features_flops, full_flops, mean_flops
from vidshift.models.vit import VideoTransformer
from vidshift.tokens.base import Reducer, Reward, Selection
from vidshift.tokens.pack import pack

Precision = Literal["float32", "bfloat16"]
Part = Literal["forward", "training", "memory"]
CLASSES = 8
TINY_LR = 1e-6  # the optimizer really steps, and the network stays what it is


@dataclass(frozen=True)
class Load:
    """What a pass has to do, whatever the machine: the tokens and the FLOPs of the mean clip."""

    tokens: float
    flops: Flops


class Subject:
    """A network on a batch of clips. Networks may be shared: measuring one subject leaves nothing to the next."""

    def __init__(self, net: nn.Module, groups: list[dict[str, Any]], view: View, precision: Precision) -> None:
        self.net, self.view, self.precision = net, view, precision
        self.optimizer = torch.optim.AdamW(groups)
        self.labels_B = torch.arange(len(view), device=view.pixels_BTCHW.device) % CLASSES

    def logits(self) -> Tensor:
        raise NotImplementedError

    def load(self) -> Load:
        raise NotImplementedError

    def forward(self) -> None:
        self.net.eval()
        with torch.no_grad(), self.autocast():
            self.logits()

    def backward(self) -> None:
        """A training step up to its optimizer."""
        self.net.train()
        with self.autocast():
            logits_BK = self.logits()
        F.cross_entropy(logits_BK.float(), self.labels_B).backward()

    def optimize(self) -> None:
        self.optimizer.step()

    def train_step(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        self.backward()
        self.optimize()

    def measure(self, clock: Clock, parts: Collection[Part]) -> Mapping[str, float]:
        """Seconds of what was asked for, once."""
        times: dict[str, float] = {}
        if "forward" in parts:
            times["forward"] = clock.time(self.forward)
        if "training" in parts:
            self.optimizer.zero_grad(set_to_none=True)
            times["step"] = clock.time(self.backward)
            times["optimizer"] = clock.time(self.optimize)
            self.optimizer.zero_grad(set_to_none=True)
        return times

    def autocast(self) -> AbstractContextManager[Any]:
        return torch.autocast(self.view.pixels_BTCHW.device.type, torch.bfloat16, enabled=self.precision == "bfloat16")


class Ours(Subject):
    """Selection and packing are parts of the forward pass, and are timed apart as well."""

    def __init__(self, net: VideoTransformer, reducer: Reducer, view: View, precision: Precision) -> None:
        super().__init__(net, net.param_groups(lr=TINY_LR, weight_decay=0.0), view, precision)
        self.vit, self.reducer = net, reducer
        # The reducer that selects is fixed, so that it keeps the same tokens in every step; a twin of it learns.
        learns = type(reducer).update is not Reducer.update
        self.learner = type(reducer)(**reducer.options()) if learns else None

    def logits(self) -> Tensor:
        seeds_B = training_seeds(self.view) if self.net.training else None
        return self.vit(self.view, reducer=self.reducer, seeds_B=seeds_B).logits_BK

    def optimize(self) -> None:
        super().optimize()
        if self.learner is not None:
            reward = Reward({"source": 1.0, "target": 1.0}, {"source": 0.5, "target": 0.5})
            self.learner.update(reward, lambda: reward)  # what a probe costs is a matter of its passes, not of tokens

    @torch.no_grad()
    def load(self) -> Load:
        """Without a pass where the selection alone says how many tokens every block sees."""
        self.net.eval()
        with self.autocast():
            selection = self.select()
            if self.reducer.reduces_inside or selection.merged_BN is not None:
                features = self.vit(self.view, reducer=self.reducer, selection=selection)
                return Load(sum(features.trace[0]) / len(self.view), features_flops(self.vit.config, features))
        kept_B: list[int] = selection.kept_B.tolist()
        return Load(sum(kept_B) / len(kept_B), mean_flops(self.vit.config, [kept_B]))

    def select(self) -> Selection:
        seeds_B = training_seeds(self.view)
        return self.reducer.select(self.view, self.vit.geometry, seeds_B=seeds_B, training=False, net=self.vit)

    @torch.no_grad()
    def choose(self, clock: Clock) -> Mapping[str, float]:
        self.net.eval()
        begun = clock.now()
        with self.autocast():
            selection = self.select()
        selected = clock.now()
        pack(self.view, selection, self.vit.geometry)
        return {"select": selected - begun, "pack": clock.now() - selected}

    def measure(self, clock: Clock, parts: Collection[Part]) -> Mapping[str, float]:
        chosen = self.choose(clock) if "forward" in parts else {}
        return {**chosen, **super().measure(clock, parts)}


class Theirs(Subject):
    """transformers' VideoMAE with fused attention. Its clips are normalised floating point already: it is not charged
    for what ours does with uint8 clips inside the forward pass."""

    def __init__(self, net: nn.Module, config: VitConfig, view: View, precision: Precision) -> None:
        super().__init__(net, [{"params": list(net.parameters()), "lr": TINY_LR, "weight_decay": 0.0}], view, precision)
        self.config = config
        self.ready_BTCHW = (view.clean_float_BTCHW - 0.45) / 0.225

    def logits(self) -> Tensor:
        return self.net(pixel_values=self.ready_BTCHW).logits

    def load(self) -> Load:
        return Load(float(self.config.geometry.tokens), full_flops(self.config))


def videomae(config: VitConfig) -> nn.Module:
    """transformers' network of the same sizes, freshly initialised."""
    from transformers import VideoMAEConfig, VideoMAEForVideoClassification

    g = config.geometry
    settings: dict[str, Any] = {"num_labels": CLASSES, "attn_implementation": "sdpa"}
    theirs = VideoMAEConfig(
        image_size=g.height,
        patch_size=g.patch,
        num_channels=g.channels,
        num_frames=g.frames,
        tubelet_size=g.tubelet,
        hidden_size=config.width,
        num_hidden_layers=config.depth,
        num_attention_heads=config.heads,
        intermediate_size=config.hidden,
        **settings,
    )
    return VideoMAEForVideoClassification(theirs)
