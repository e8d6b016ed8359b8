"""What a stage trains on: the batch of a step follows from its number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from vidshift.data.augment import Augment
from vidshift.data.loader import Clips, draw_seeds, draws, training_view
from vidshift.methods.base import Batch, Method, SourceBatch, Stage, TargetBatch


@dataclass(frozen=True)
class Guesses:
    """The teacher table beside the target's training clips: a class (-1: none) and whether the filter keeps it."""

    label_N: Tensor
    confidence_N: Tensor
    kept_N: Tensor
    probabilities_NK: Tensor | None = None


@dataclass(frozen=True)
class TrainingData:
    """The labelled source, the target without labels, and the teacher's guesses about it."""

    source: Clips
    source_labels_N: Tensor
    target: Clips | None = None
    guesses: Guesses | None = None

    def longest(self) -> int:
        return max(len(self.source), len(self.target) if self.target is not None else 0)


class Rows:
    """Some of the clips of a domain, as if they were all."""

    def __init__(self, clips: Clips, rows: Tensor) -> None:
        self._clips = clips
        self.rows: list[int] = rows.tolist()
        self.frames = clips.frames
        self.ids: Sequence[str] = [clips.ids[i] for i in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def grid_THWC(self, index: int):
        return self._clips.grid_THWC(self.rows[index])


class StageData:
    """Batches of one stage, holding only the data that the stage names."""

    def __init__(
        self, data: TrainingData, stage: Stage, method: Method, *, batch: int, seed: int, augment: bool
    ) -> None:
        self.batch, self.seed = batch, seed
        self.views = tuple(method.views(stage))
        self._augment = Augment() if augment else None
        self.source = data.source if "source" in stage.data else None
        self.source_labels_N = data.source_labels_N if "source" in stage.data else None
        self.target: Clips | None = None
        self.guesses: Guesses | None = None
        if "target" in stage.data and data.target is not None:
            rows = torch.arange(len(data.target))
            if stage.target_rows == "kept":
                assert data.guesses is not None, "a stage that trains on kept guesses needs a teacher table"
                rows = data.guesses.kept_N.nonzero().squeeze(1)
            if len(rows):
                self.target = Rows(data.target, rows)
                if data.guesses is not None and stage.data & {"table", "probabilities"}:
                    self.guesses = _rows_of(data.guesses, rows, stage)

    def at(self, step: int) -> Batch:
        """The batch of one step of the stage."""
        source = target = None
        if self.source is not None and self.source_labels_N is not None:
            views, seeds_B, index_B = self._look(self.source, step, "source")
            source = SourceBatch(views, self.source_labels_N[index_B], seeds_B)
        if self.target is not None:
            views, seeds_B, index_B = self._look(self.target, step, "target")
            target = TargetBatch(views, seeds_B, **_guess_fields(self.guesses, index_B))
        return Batch(source, target)

    def _look(self, clips: Clips, step: int, domain: str):
        found = draws(step, batch=self.batch, total=len(clips), seed=self.seed, domain=domain)
        views = tuple(
            training_view(
                clips, found, seed=self.seed, stream=spec.stream, augment=self._augment if spec.augment else None
            )
            for spec in self.views
        )
        return views, draw_seeds(clips, found, seed=self.seed), torch.tensor([draw.index for draw in found])


def _rows_of(guesses: Guesses, rows: Tensor, stage: Stage) -> Guesses:
    probabilities = guesses.probabilities_NK if "probabilities" in stage.data else None
    return Guesses(
        guesses.label_N[rows],
        guesses.confidence_N[rows],
        guesses.kept_N[rows],
        None if probabilities is None else probabilities[rows],
    )


def _guess_fields(guesses: Guesses | None, index_B: Tensor) -> Mapping[str, Tensor | None]:
    if guesses is None:
        return {}
    probabilities = guesses.probabilities_NK
    return {
        "guess_B": guesses.label_N[index_B],
        "confidence_B": guesses.confidence_N[index_B],
        "probabilities_BK": None if probabilities is None else probabilities[index_B],
    }


def to_device(batch: Batch, device: torch.device) -> Batch:
    """The same batch on another device."""
    if device.type == "cpu":
        return batch
    source, target = batch.source, batch.target
    if source is not None:
        views = tuple(view.to(device) for view in source.views)
        source = SourceBatch(views, source.labels_B.to(device), source.seeds_B.to(device))
    if target is not None:
        moved = {
            name: None if value is None else value.to(device)
            for name, value in vars(target).items()
            if name not in ("views", "seeds_B")
        }
        views = tuple(view.to(device) for view in target.views)
        target = TargetBatch(views, target.seeds_B.to(device), **moved)
    return Batch(source, target)
