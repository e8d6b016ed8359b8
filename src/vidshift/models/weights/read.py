"""Names and tensors from files, without ever running code that a file carries."""

import argparse
import pickle
import re
import struct
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from vidshift.errors import UserError

# What training scripts wrap weights in (tokens.md section 7.4), and what wrappers put before each name.
_CONTAINERS = ("model", "module", "state_dict", "model_state_dict", "model_state")
_WRAPPERS = ("module.", "model.", "backbone.", "_orig_mod.")

# What torch.load was seen to raise on truncated and altered files, beside its own error for a pickle.
_DAMAGED = (
    RuntimeError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    OSError,
    struct.error,
)


def read_tensors(files: Sequence[Path]) -> dict[str, Tensor]:
    """All tensors by name, wrappers taken off, floating point in float32."""
    tensors: dict[str, Tensor] = {}
    for file in files:
        found = _safetensors(file) if file.suffix == ".safetensors" else _pickled(file)
        for name, value in found.items():
            bare = _unwrapped(name)
            if bare in tensors:
                raise UserError(f"{file} has two tensors for {bare!r}; it holds more than one set of weights.")
            tensors[bare] = value.float() if value.is_floating_point() else value
    return tensors


def _safetensors(file: Path) -> dict[str, Tensor]:
    try:
        return load_file(file)
    except (SafetensorError, OSError) as error:
        raise UserError(f"{file} is truncated or not a safetensors file ({_short(error)}); fetch it again.") from error


def _pickled(file: Path) -> Mapping[str, Tensor]:
    with file.open("rb") as opened:
        start = opened.read(2)
    if start != b"PK" and start[:1] != b"\x80":
        raise UserError(f"{file} is not a checkpoint of PyTorch; give a .pth, .pt, .bin or .safetensors file.")
    try:
        # The scripts of VideoMAE keep their parsed arguments beside the weights: a plain bag of values.
        with warnings.catch_warnings(), torch.serialization.safe_globals([argparse.Namespace]):
            warnings.simplefilter("ignore")  # of a damaged file's version number; what is wrong is said below
            content = torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        named = re.search(r"GLOBAL ([\w.]+)|function ([\w.]+)", str(error))
        if named:
            raise UserError(
                f"{file} holds more than weights (it asks for {named[1] or named[2]}), and loading it could run code; "
                "save its state_dict alone, or as safetensors."
            ) from error
        raise _unreadable(file, error) from error
    except _DAMAGED as error:
        raise _unreadable(file, error) from error
    return _innermost(content, file)


def _unreadable(file: Path, error: Exception) -> UserError:
    return UserError(f"{file} is truncated or not a checkpoint of PyTorch ({_short(error)}); fetch it again.")


def _innermost(content: Any, file: Path) -> Mapping[str, Tensor]:
    """The dictionary of tensors inside its containers."""
    while isinstance(content, Mapping) and not any(isinstance(value, Tensor) for value in content.values()):
        inner = next((content[name] for name in _CONTAINERS if isinstance(content.get(name), Mapping)), None)
        if inner is None:
            break
        content = inner
    tensors = {}
    if isinstance(content, Mapping):
        tensors = {str(name): value for name, value in content.items() if isinstance(value, Tensor)}
    if not tensors:
        held = (
            f"its entries are {', '.join(map(str, list(content)[:5]))}" if isinstance(content, Mapping) else "it is a "
        )
        held = held if isinstance(content, Mapping) else held + type(content).__name__
        raise UserError(f"{file} holds no weights ({held}); give a file with a state_dict.")
    return tensors


def _unwrapped(name: str) -> str:
    while True:
        prefix = next((prefix for prefix in _WRAPPERS if name.startswith(prefix)), None)
        if prefix is None:
            return name
        name = name.removeprefix(prefix)


def _short(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")[:120]
