"""Opening an image-text model from a folder, the local cache or the hub, and saying what to do when none works."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vidshift.errors import UserError
from vidshift.models.hub import download, is_hub_id
from vidshift.teachers.preprocess import Preprocess

DEFAULT = "openai/clip-vit-base-patch16"

_FILES = ("*.json", "*.txt", "*.model", "*.safetensors")
_PICKLES = ("*.json", "*.txt", "*.model", "pytorch_model.bin", "pytorch_model-*.bin")

WAYS_OUT = (
    "use a local folder (--teacher clip:FOLDER), the built-in teacher (--teacher stick), a table of labels "
    "(--teacher labels.csv) or the source model as a weak teacher (--teacher source)"
)


@dataclass(frozen=True, kw_only=True)
class ImageText:
    """A model with its tokenizer; `text_length` is a fixed padding, or None for the longest sentence."""

    model: nn.Module
    tokenizer: Any
    preprocess: Preprocess
    max_tokens: int
    text_length: int | None


def open_model(where: str) -> ImageText:
    """CLIP-like models (CLIP, SigLIP and others with `get_image_features`) in float32, in evaluation mode."""
    folder = Path(where).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise UserError(f"{where} holds no config.json, so it is no CLIP model folder; {WAYS_OUT}.")
        return _load(str(folder), local=True)
    if not is_hub_id(where):
        raise UserError(
            f"there is no folder {where!r}, and it is no hub id such as {DEFAULT!r} either; {WAYS_OUT}.", usage=True
        )
    try:
        return _load(where, local=True)
    except _NotHere:
        pass
    # Fetched by the hub's own door, since that of transformers tries again for half a minute where there is no network.
    path = download(where, files=_FILES, ways_out=WAYS_OUT)
    if not any(path.glob("*.safetensors")):
        path = download(where, files=_PICKLES, ways_out=WAYS_OUT)
    return _load(str(path), local=True)


class _NotHere(Exception):
    """The model, or the way to it, is missing."""


def _load(where: str, *, local: bool) -> ImageText:
    from transformers import AutoModel, AutoTokenizer

    is_folder = Path(where).is_dir()
    try:
        with _quiet():
            # dtype is named since half-precision files would otherwise stay in half precision.
            model = AutoModel.from_pretrained(where, local_files_only=local, dtype=torch.float32)
            tokenizer = AutoTokenizer.from_pretrained(where, local_files_only=local)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        if is_folder:
            raise UserError(f"{where} cannot be read as a CLIP model ({reason}); {WAYS_OUT}.") from error
        raise _NotHere(reason) from error
    if not hasattr(model, "get_image_features") or not hasattr(model, "logit_scale"):
        raise UserError(f"{where} is a {type(model).__name__}, not an image-text model like CLIP; {WAYS_OUT}.")
    text, vision = model.config.text_config, model.config.vision_config
    return ImageText(
        model=model.eval().requires_grad_(False),
        tokenizer=tokenizer,
        preprocess=_preprocess(where, image_size=int(vision.image_size), local=local),
        max_tokens=int(text.max_position_embeddings),
        # SigLIP was trained on sentences padded to the full length, and reads its last position.
        text_length=int(text.max_position_embeddings) if model.config.model_type.startswith("siglip") else None,
    )


def _preprocess(where: str, *, image_size: int, local: bool) -> Preprocess:
    if Path(where).is_dir():
        return Preprocess.read(Path(where), image_size=image_size)
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    try:
        path = hf_hub_download(where, "preprocessor_config.json", local_files_only=local)
    except LocalEntryNotFoundError as error:
        raise _NotHere(str(error)) from error
    except EntryNotFoundError:
        return Preprocess(resize=image_size, crop=image_size)
    return Preprocess.read(Path(path).parent, image_size=image_size)


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars or loading reports of transformers among our own lines."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
