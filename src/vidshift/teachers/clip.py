"""`clip`: an image-text model through transformers, from a hub id or a local folder, applied frame by frame."""

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from vidshift.data.view import View
from vidshift.teachers import hub
from vidshift.teachers.base import Card, teachers
from vidshift.teachers.prompts import Prompts
from vidshift.teachers.zeroshot import class_embeddings, class_probabilities, pool_frames


class ClipTeacher:
    """The temperature is the trained exp(logit_scale): the value in `config.json` is only where training began."""

    def __init__(
        self,
        *,
        where: str | None = None,
        prompts: Prompts | None = None,
        raw_mean: bool = False,
        device: torch.device | str = "cpu",
        chunk: int = 128,
        name: str = "clip",
    ) -> None:
        self.where = hub.DEFAULT if where is None else str(where)
        self.prompts = Prompts() if prompts is None else prompts
        self.raw_mean = raw_mean
        self.device = torch.device(device)
        self.chunk = chunk
        self.name = name
        self._parts = hub.open_model(self.where)
        self._model: nn.Module = self._parts.model.to(self.device)
        self._card: Card | None = None
        self._classes: tuple[tuple[str, ...], Tensor] | None = None

    @property
    def image_size(self) -> int:
        """The side of the frames that the model sees; nothing is gained by decoding them larger than this."""
        return self._parts.preprocess.crop

    @property
    def temperature(self) -> float:
        return float(self._named("logit_scale").exp())

    @property
    def card(self) -> Card:
        if self._card is None:
            self._card = Card(
                teacher=self.name if self.name != "clip" else f"clip:{self.where}",
                prompt=self.prompts.text,
                temperature=self.temperature,
                fingerprint=self._fingerprint(),
            )
        return self._card

    @torch.no_grad()
    def probabilities(self, view: View, classes: Sequence[str]) -> Tensor:
        video_BD = pool_frames(self.frame_embeddings(view.pixels_BTCHW), raw_mean=self.raw_mean)
        return class_probabilities(video_BD, self.class_embeddings(classes), temperature=self.temperature).cpu()

    @torch.no_grad()
    def frame_embeddings(self, pixels_BTCHW: Tensor) -> Tensor:
        """`frame_BTD` as the model gives them, not normalised."""
        batch, frames = pixels_BTCHW.shape[:2]
        embedded = [
            _features(self._call("get_image_features", pixel_values=self._parts.preprocess(part.to(self.device))))
            for part in pixels_BTCHW.flatten(0, 1).split(self.chunk)
        ]
        return torch.cat(embedded).unflatten(0, (batch, frames))

    @torch.no_grad()
    def class_embeddings(self, classes: Sequence[str]) -> Tensor:
        """`class_KD` of unit length, computed once for a list of classes."""
        names = tuple(classes)
        if self._classes is None or self._classes[0] != names:
            sentences = self.prompts.sentences(names)
            text_ND = self.text_embeddings([line for group in sentences for line in group])
            self._classes = (names, class_embeddings(text_ND.unflatten(0, (len(names), -1))))
        return self._classes[1]

    @torch.no_grad()
    def text_embeddings(self, sentences: Sequence[str]) -> Tensor:
        """`text_ND` as the model gives them, not normalised."""
        length = self._parts.text_length
        tokens = self._parts.tokenizer(
            list(sentences),
            padding=True if length is None else "max_length",
            max_length=self._parts.max_tokens,
            truncation=True,
            return_tensors="pt",
        )
        inputs = {"input_ids": tokens["input_ids"].to(self.device)}
        # SigLIP reads its padding, as in training; CLIP must not.
        if length is None:
            inputs["attention_mask"] = tokens["attention_mask"].to(self.device)
        return _features(self._call("get_text_features", **inputs))

    def _call(self, function: str, **inputs: Tensor) -> Any:
        return getattr(self._model, function)(**inputs)

    def _named(self, name: str) -> Tensor:
        return dict(self._model.named_parameters())[name].detach().float()

    def _fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        for name, tensor in sorted(self._model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        wordings = sorted(self.prompts.wordings.items())
        digest.update(repr((self.prompts.templates, wordings, self._parts.preprocess, self.raw_mean)).encode())
        return digest.hexdigest()


teachers.register("clip")(ClipTeacher)


def _features(output: Any) -> Tensor:
    """transformers 4 returns the projected vector itself, 5 an object that calls it `pooler_output`."""
    return output if isinstance(output, Tensor) else output.pooler_output
