"""A model folder: `config.json` beside `model.safetensors`. No pickle is ever read or written."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from vidshift.errors import UserError
from vidshift.models.config import VitConfig
from vidshift.models.vit import VideoTransformer

FORMAT_VERSION = 1
CONFIG, WEIGHTS = "config.json", "model.safetensors"
_OWN = ("format_version", "vit", "stamp")


def settle(temporary: Path, final: Path) -> None:
    """Give a finished file its name: on disk first, so that a power cut leaves the old file or the new one."""
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(temporary, final)
    if os.name == "posix":
        folder = os.open(final.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def save_model(folder: Path | str, model: VideoTransformer, extras: Mapping[str, Any] | None = None) -> None:
    """`extras` are what else a user of the model needs, as plain data: classes, preprocessing, reducer, threshold.

    The configuration is also in the weights file, stamped: if a crash falls between the two renames, loading takes
    the one that belongs to the weights.
    """
    clash = sorted(set(extras or ()) & set(_OWN))
    if clash:
        raise ValueError(f"{clash[0]!r} is an entry of the model's own configuration")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = {"format_version": FORMAT_VERSION, **(extras or {}), "vit": model.config.as_dict()}
    text = json.dumps(config, sort_keys=True)
    config["stamp"] = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    weights, readable = folder / f"{WEIGHTS}.tmp", folder / f"{CONFIG}.tmp"
    save_file(state, weights, metadata={"config": json.dumps(config)})
    readable.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    settle(weights, folder / WEIGHTS)
    settle(readable, folder / CONFIG)


def read_config(folder: Path | str) -> dict[str, Any]:
    """The configuration of a saved model, checked for its version."""
    path = Path(folder) / CONFIG
    if not path.is_file():
        raise UserError(f"{str(folder)!r} holds no model ({CONFIG} is missing); give a run's `model` folder.")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"{str(path)!r} is not readable JSON ({error}); restore it or train the model again."
        ) from error
    if (
        not isinstance(config, dict)
        or not isinstance(config.get("vit"), dict)
        or not isinstance(config.get("format_version"), int)
    ):
        raise UserError(f"{str(path)!r} is not the configuration of a VidShift model; give a run's `model` folder.")
    if config["format_version"] > FORMAT_VERSION:
        raise UserError(
            f"{str(path)!r} has format version {config['format_version']}, and this VidShift reads up to "
            f"{FORMAT_VERSION}; upgrade VidShift to use it."
        )
    return config


def load_model(folder: Path | str, *, device: torch.device | str = "cpu") -> tuple[VideoTransformer, dict[str, Any]]:
    """The model, in evaluation mode, and its extras."""
    config, path = read_config(folder), Path(folder) / WEIGHTS
    state, own = _read_weights(path)
    if own is not None and own.get("stamp") != config.get("stamp"):
        config = own
    model = VideoTransformer(VitConfig.from_dict(config["vit"]))
    wanted = model.state_dict()
    for name in sorted(set(wanted) ^ set(state)):
        what = "lacks" if name in wanted else "has the unexpected"
        raise UserError(f"{str(path)!r} {what} tensor {name!r}; restore it or train the model again.")
    for name, tensor in state.items():
        if tensor.shape != wanted[name].shape:
            raise UserError(
                f"{str(path)!r} has {name!r} of shape {tuple(tensor.shape)} where {CONFIG} says "
                f"{tuple(wanted[name].shape)}; restore both files from the same run."
            )
    model.load_state_dict(state)
    extras = {name: value for name, value in config.items() if name not in _OWN}
    return model.to(device).eval(), extras


def _read_weights(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any] | None]:
    if not path.is_file():
        raise UserError(f"{str(path)!r} is missing; restore it or train the model again.")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(
            f"{str(path)!r} is truncated or not a safetensors file ({error}); restore it or train the model again."
        ) from error
    own = json.loads(metadata["config"]) if "config" in metadata else None
    return state, own
