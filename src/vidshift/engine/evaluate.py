"""Scores. Every reported accuracy, and every look at a target label, goes through this file alone.

Training gets manifests from which labels were removed; the labels of the target are handed to `score` and to nothing
else. Without labels there are label-free numbers: confidence, entropy and how evenly classes are predicted.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vidshift.data.loader import Clips, test_view
from vidshift.data.manifest import Manifest
from vidshift.engine.step import Network
from vidshift.errors import UserError, did_you_mean
from vidshift.tokens.seeds import clip_seeds


@dataclass(frozen=True)
class Predictions:
    """Class probabilities by clip, with how many tokens each clip kept."""

    ids: tuple[str, ...]
    probabilities_NK: Tensor
    kept_N: Tensor
    static_clips: int
    seconds: float

    def __repr__(self) -> str:
        return f"Predictions({len(self.ids)} clips, {self.probabilities_NK.shape[-1]} classes)"


@dataclass(frozen=True, kw_only=True)
class Score:
    """`accuracy` is over the clips found; `expected` counts those that could not be read too. None: no labels."""

    accuracy: float | None
    macro_accuracy: float | None
    correct: int | None
    found: int
    expected: int
    per_class: Mapping[str, tuple[int, int]]
    """Class -> (correct, found)."""
    confusion: tuple[tuple[int, ...], ...] = ()
    """Clips by true class (rows) and predicted class (columns), in the order of the classes."""
    confidence: float
    entropy: float
    predicted_entropy: float
    """Entropy of the mean prediction over log K: 1 where all classes are predicted equally often."""

    def as_dict(self) -> dict[str, Any]:
        return {
            **vars(self),
            "per_class": {name: list(pair) for name, pair in self.per_class.items()},
            "confusion": [list(row) for row in self.confusion],
        }

    def __repr__(self) -> str:
        shown = "no labels" if self.accuracy is None else f"{self.accuracy:.4f}"
        return f"Score({shown}, {self.correct} / {self.found} / {self.expected})"


@torch.no_grad()
def predict_clips(
    network: Network, clips: Clips, *, batch: int = 32, progress: Callable[[int, int], None] | None = None
) -> Predictions:
    """Test-time predictions of decoded clips: one centred view each."""
    was_training = network.training
    network.eval()
    device = next(network.parameters()).device
    started = time.perf_counter()
    probabilities, kept, static = [], [], 0.0
    for first in range(0, len(clips), batch):
        view = test_view(clips, range(first, min(first + batch, len(clips)))).to(device)
        probs_BK, observed = network.predict(view, clip_seeds(view.ids, run=0))
        probabilities.append(probs_BK.float().cpu())
        kept.extend(observed.lengths)
        static += observed.info.get("static_clips", 0.0)
        if progress:
            progress(min(first + batch, len(clips)), len(clips))
    network.train(was_training)
    all_NK = torch.cat(probabilities) if probabilities else torch.zeros(0, network.classes)
    seconds = time.perf_counter() - started
    return Predictions(tuple(clips.ids), all_NK, torch.tensor(kept, dtype=torch.int64), int(static), seconds)


def label_indices(manifest: Manifest, classes: Sequence[str]) -> Tensor:
    """`labels_N`, or an error that names the first label which is not a class."""
    index = {name: place for place, name in enumerate(classes)}
    labels = []
    for row in manifest.rows:
        if row.label not in index:
            named = "no label" if row.label is None else f"the label {row.label!r}"
            hint = did_you_mean(row.label or "", classes)
            raise UserError(f"{row.path} has {named}{hint}; the classes are {', '.join(classes)}.")
        labels.append(index[row.label])
    return torch.tensor(labels, dtype=torch.int64)


def score(
    ids: Sequence[str],
    probabilities_NK: Tensor,
    manifest: Manifest,
    classes: Sequence[str],
    *,
    expected: int | None = None,
) -> Score:
    """Predictions against the labels of a manifest. A clip without a prediction counts as expected, not as found, and
    nothing is ever put in its place."""
    row_of = {row.id: row for row in manifest.rows}
    expected = len(row_of) if expected is None else expected
    found = [place for place, clip in enumerate(ids) if clip in row_of]
    probs_NK = probabilities_NK[found].double()
    confidence = float(probs_NK.amax(1).mean()) if found else math.nan
    entropy = float(-(probs_NK.clamp_min(1e-12).log() * probs_NK).sum(1).mean()) if found else math.nan
    mean_K = probs_NK.mean(0) if found else torch.full((len(classes),), 1 / len(classes)).double()
    spread = float(-(mean_K.clamp_min(1e-12).log() * mean_K).sum() / math.log(len(classes)))
    labelled = [place for place in found if row_of[ids[place]].label is not None]
    common: dict[str, Any] = {
        "found": len(found),
        "expected": expected,
        "confidence": confidence,
        "entropy": entropy,
        "predicted_entropy": spread,
    }
    if not labelled or len(labelled) < len(found):
        return Score(accuracy=None, macro_accuracy=None, correct=None, per_class={}, **common)
    subset = Manifest(tuple(row_of[ids[place]] for place in found), tuple(classes))
    labels_N = label_indices(subset, classes)
    guess_N = probs_NK.argmax(1)
    hit_N = guess_N == labels_N
    confusion = torch.bincount(labels_N * len(classes) + guess_N, minlength=len(classes) ** 2)
    per_class = {}
    for index, name in enumerate(classes):
        mine = labels_N == index
        if mine.any():
            per_class[name] = (int(hit_N[mine].sum()), int(mine.sum()))
    macro = sum(right / count for right, count in per_class.values()) / len(per_class)
    return Score(
        accuracy=float(hit_N.double().mean()),
        macro_accuracy=macro,
        correct=int(hit_N.sum()),
        per_class=per_class,
        confusion=tuple(tuple(row) for row in confusion.view(len(classes), len(classes)).tolist()),
        **common,
    )
