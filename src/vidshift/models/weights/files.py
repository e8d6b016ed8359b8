"""From what a user typed to the files on this disk: a file, a folder, a hub id, or a file of a hub repository."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vidshift.errors import UserError
from vidshift.models import hub

SUFFIXES = (".safetensors", ".pth", ".pt", ".bin")
# In this order: safetensors cannot carry code, one file is simpler than shards.
_USUAL = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
_HUB_FILES = ("config.json", "*.safetensors", "*.safetensors.index.json")
_HUB_PICKLES = ("config.json", "*.bin", "*.bin.index.json", "*.pth")

WAYS_OUT = (
    "use a local file or folder (--backbone PATH), weights of your own from `vidshift pretrain`, or the built-in "
    "backbone (--backbone stick)"
)


@dataclass(frozen=True)
class Found:
    """The files of one set of weights. `config` is a Hugging Face `config.json` where one lies beside them."""

    name: str
    files: tuple[Path, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    download: hub.Download | None = None


def find(name: str) -> Found:
    path = Path(name).expanduser()
    if path.is_file():
        return Found(name, (path,), _config(path.parent))
    if path.is_dir():
        return Found(name, _in_folder(path), _config(path))
    parts = hub.split_file(name)
    if parts and name.endswith(SUFFIXES):
        return Found(name, (hub.download_file(*parts, ways_out=WAYS_OUT),), {}, hub.described(name))
    if hub.is_hub_id(name):
        return _from_hub(name)
    raise UserError(f"{name!r} is no file, folder or hub id such as 'MCG-NJU/videomae-base'; {WAYS_OUT}.", usage=True)


def _from_hub(name: str) -> Found:
    """Safetensors where the repository has them, else what `torch.load` reads."""
    folder = hub.download(name, files=_HUB_FILES, ways_out=WAYS_OUT)
    if not any(folder.glob("*.safetensors")):
        folder = hub.download(name, files=_HUB_PICKLES, ways_out=WAYS_OUT)
    return Found(name, _in_folder(folder), _config(folder), hub.described(name))


def _in_folder(folder: Path) -> tuple[Path, ...]:
    for usual in _USUAL:
        if (folder / usual).is_file():
            return _shards(folder / usual) if usual.endswith(".json") else (folder / usual,)
    files = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file())
    if len(files) == 1:
        return (files[0],)
    if not files:
        raise UserError(f"{folder} holds no weights; accepted: a file ending in {', '.join(SUFFIXES)}.")
    names = ", ".join(path.name for path in files[:5])
    raise UserError(f"{folder} holds {len(files)} files of weights ({names}); name one of them.", usage=True)


def _shards(index: Path) -> tuple[Path, ...]:
    content = read_json(index)
    names = sorted(set(content["weight_map"].values())) if isinstance(content.get("weight_map"), dict) else []
    for name in names:
        if not (index.parent / name).is_file():
            raise UserError(f"{index} names {name}, which is missing; fetch the folder again.")
    if not names:
        raise UserError(f"{index} names no files of weights; fetch the folder again.")
    return tuple(index.parent / name for name in names)


def _config(folder: Path) -> Mapping[str, Any]:
    path = folder / "config.json"
    if not path.is_file():
        return {}
    content = read_json(path)
    return content if "model_type" in content else {}


def read_json(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not readable JSON ({error}); fetch it again.") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} is not a JSON object; fetch it again.")
    return content
