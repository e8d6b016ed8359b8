"""A network, clips and batches small enough that a step takes milliseconds."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vidshift.data.keys import key
from vidshift.data.loader import GRID
from vidshift.data.view import View
from vidshift.engine.batches import Guesses, StageData, TrainingData
from vidshift.engine.config import RunConfig
from vidshift.engine.console import Quiet
from vidshift.engine.defaults import with_defaults
from vidshift.engine.log import read_metrics
from vidshift.engine.step import Network, Precision
from vidshift.engine.train import Trainer
from vidshift.methods.base import Batch, Method, Stage
from vidshift.models.config import VitConfig
from vidshift.models.vit import VideoTransformer
from vidshift.tokens.base import Reducer
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.seeds import clip_seeds

CLASSES = 3
GEOMETRY = Geometry(frames=8, height=32, width=32, tubelet=2, patch=8)


def tiny_config(geometry: Geometry = GEOMETRY, **changes: Any) -> VitConfig:
    """`head_scale` 1, so that logits differ from clip to clip before any training."""
    start: dict[str, Any] = {"width": 32, "depth": 3, "heads": 2, "classes": CLASSES, "head_scale": 1.0}
    return VitConfig(geometry=geometry, **{**start, **changes})


def tiny_vit(geometry: Geometry = GEOMETRY, *, seed: int = 0, **changes: Any) -> VideoTransformer:
    return VideoTransformer(tiny_config(geometry, **changes), seed=seed).eval()


@lru_cache(maxsize=256)
def film(clip_id: str, geometry: Geometry = GEOMETRY, *, frames: int | None = None) -> Tensor:
    """uint8 [T, C, H, W]: a bright square that moves over a background with a little noise, all from the id.

    Shared by whoever asks again: not to be written to.
    """
    g, rng = geometry, np.random.default_rng(key("film", clip_id) & ((1 << 63) - 1))
    count = g.frames if frames is None else frames
    ground = rng.integers(0, 160, (1, g.channels, g.height, g.width))
    out = np.broadcast_to(ground, (count, g.channels, g.height, g.width)).copy()
    out = out + rng.integers(0, 3, out.shape)
    side = max(2, g.height // 5)
    y, x = rng.integers(0, g.height), rng.integers(0, g.width)
    down, right = rng.integers(-4, 5), rng.integers(1, 5)
    for t in range(count):
        rows = (np.arange(side) + y + t * down) % g.height
        cols = (np.arange(side) + x + t * right) % g.width
        out[t][:, rows[:, None], cols[None, :]] = rng.integers(150, 255, (g.channels, 1, 1))
    return torch.from_numpy(out.astype(np.uint8))


def view_of(ids: Sequence[str], geometry: Geometry = GEOMETRY) -> View:
    return View(torch.stack([film(name, geometry) for name in ids]), tuple(ids))


def names(count: int, prefix: str = "clip") -> list[str]:
    return [f"{prefix}{i}" for i in range(count)]


class Memory:
    """Clips held in memory (`data.loader.Clips`)."""

    def __init__(self, ids: Sequence[str], geometry: Geometry = GEOMETRY) -> None:
        self.ids: Sequence[str] = list(ids)
        self.frames, self._geometry = geometry.frames, geometry

    def __len__(self) -> int:
        return len(self.ids)

    def grid_THWC(self, index: int) -> np.ndarray:
        clip_TCHW = film(self.ids[index], self._geometry, frames=GRID * self.frames)
        return clip_TCHW.permute(0, 2, 3, 1).numpy()


def training_data(*, source: int = 6, target: int = 5, kept: bool = True) -> TrainingData:
    """Two small domains with a teacher table; `kept=False`: a table in which no guess is confident."""
    probabilities_NK = (torch.arange(target * CLASSES).view(target, CLASSES) % 7 + 1.0).softmax(-1)
    confidence_N, label_N = probabilities_NK.max(1)
    kept_N = torch.full((target,), kept)
    return TrainingData(
        source=Memory(names(source, "source")),
        source_labels_N=torch.arange(source) % CLASSES,
        target=Memory(names(target, "target")),
        guesses=Guesses(label_N, confidence_N, kept_N, probabilities_NK),
    )


def batch_of(data: TrainingData, stage: Stage, method: Method, *, step: int = 0, size: int = 4) -> Batch:
    return StageData(data, stage, method, batch=size, seed=0, augment=False).at(step)


def uniform_teacher(view: View) -> Tensor:
    return torch.full((len(view), CLASSES), 1 / CLASSES)


def network_of(
    method: Method,
    reducer: Reducer,
    *,
    net: VideoTransformer | None = None,
    precision: Precision = "float32",
    teach: Callable[[View], Tensor] = uniform_teacher,
) -> Network:
    net = tiny_vit() if net is None else net
    method.build(width=net.config.width, classes=CLASSES, generator=torch.Generator().manual_seed(0))
    return Network(net, method, reducer, classes=CLASSES, precision=precision, teach=teach)


def predictions(network: Network, ids: Sequence[str]) -> Tensor:
    """[B, K] at test time."""
    return network.eval().predict(view_of(ids), clip_seeds(ids, run=0))[0]


def domain_predictions(network: Network, data: TrainingData) -> Callable[[str], tuple[Sequence[str], Tensor]]:
    def predict_all(domain: str) -> tuple[Sequence[str], Tensor]:
        clips = data.source if domain == "source" else data.target
        assert clips is not None
        return clips.ids, predictions(network, clips.ids)

    return predict_all


def train(network: Network, data: TrainingData, folder: Path, **settings: Any) -> list[dict[str, Any]]:
    """The engine's own training on a few clips; the lines of its log."""
    chosen = {"epochs": 2, "batch": 3, "augment": False, "warmup": 0.0, **settings}
    folder.mkdir(parents=True, exist_ok=True)
    Trainer(with_defaults(RunConfig(**chosen)), folder, network, data).run(Quiet())
    return read_metrics(folder / "metrics.jsonl")
