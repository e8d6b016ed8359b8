"""`source`: the source model as a weak teacher, for whoever has no image-text model and no table.

It guesses what it already believes, so its confident errors are taught on: it is marked as weak wherever it is named.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from vidshift.data.classes import fold
from vidshift.data.clips import ClipShape
from vidshift.data.view import View
from vidshift.engine.config import RunConfig
from vidshift.engine.model import OpenModel, open_model
from vidshift.errors import UserError
from vidshift.teachers.base import Card, TeacherSpec
from vidshift.tokens.seeds import clip_seeds

TRAINED_BY = "source-only"


def config_for_source(config: RunConfig) -> RunConfig:
    """The run that makes the teacher `source`: the same settings without target, and no look at the target's labels."""
    return replace(config, method=TRAINED_BY, method_options={}, teacher_options={}, checkpoint="last")


def refuse_zero_shot(config: RunConfig) -> None:
    if config.method == "zero-shot" and TeacherSpec.parse(config.teacher) == TeacherSpec("source"):
        raise UserError(
            f"--method zero-shot with --teacher source is the source model alone: take --method {TRAINED_BY}.",
            usage=True,
        )


class SourceTeacher:
    """A trained model asked at its test view, as in evaluation."""

    def __init__(self, model: OpenModel, *, name: str) -> None:
        self.model = model
        self.network = model.network.eval()
        self._name = name
        self._card: Card | None = None

    @classmethod
    def open(cls, run: Path | str, *, device: torch.device | str = "cpu", name: str | None = None) -> "SourceTeacher":
        """The model of a run that has seen labels of the source alone."""
        model = open_model(run, device=str(device))
        method = model.network.method.name
        if method != TRAINED_BY:
            raise UserError(
                f"the model in '{run}' was trained by {method!r}, so it is no source model; give source:RUN a run of "
                f"--method {TRAINED_BY}."
            )
        return cls(model, name=name or f"source:{run}")

    @property
    def shape(self) -> ClipShape:
        return self.model.shape

    @property
    def card(self) -> Card:
        if self._card is None:
            self._card = Card(teacher=self._name, fingerprint=self._fingerprint(), weak=True)
        return self._card

    def check_classes(self, classes: Sequence[str]) -> None:
        """The model's classes must be those that are asked about, in whatever order and spelling."""
        missing = [name for name in classes if fold(name) not in {fold(own) for own in self.model.classes}]
        if missing or len(classes) != len(self.model.classes):
            shown = f"lacks {missing[0]!r}" if missing else "knows more"
            raise UserError(
                f"{self._name} knows the classes {', '.join(self.model.classes)}, and {shown}: asked about are "
                f"{', '.join(classes)}; train a source model of these."
            )

    @torch.no_grad()
    def probabilities(self, view: View, classes: Sequence[str]) -> Tensor:
        self.check_classes(classes)
        device = next(self.network.parameters()).device
        probs_BK, _ = self.network.predict(view.to(device), clip_seeds(view.ids, run=0))
        place = {fold(name): k for k, name in enumerate(self.model.classes)}
        return probs_BK[:, [place[fold(name)] for name in classes]].float().cpu()

    def _fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        for name, tensor in sorted(self.network.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        digest.update(repr((self.model.shape, sorted(self.network.reducer.state_dict().items()))).encode())
        return digest.hexdigest()
