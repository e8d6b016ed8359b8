"""A trained model as a folder: `model/config.json` and safetensors, no pickle; and back to something that predicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from vidshift.data.clips import ClipShape
from vidshift.data.view import View
from vidshift.engine.files import write_folder
from vidshift.engine.step import Network
from vidshift.errors import UserError
from vidshift.methods.base import methods
from vidshift.models.checkpoint import load_model, save_model
from vidshift.teachers.base import TeacherSpec
from vidshift.teachers.prompts import Prompts
from vidshift.tokens.base import reducers

METHOD_WEIGHTS = "method.safetensors"


@dataclass(frozen=True)
class OpenModel:
    network: Network
    classes: tuple[str, ...]
    shape: ClipShape
    extras: Mapping[str, Any]


def export_model(
    folder: Path,
    network: Network,
    *,
    classes: Sequence[str],
    shape: ClipShape,
    teacher: str,
    precision: str,
    backbone: Mapping[str, Any] | None = None,
    prompts: Prompts | None = None,
) -> None:
    """Write the model folder: weights, classes, preprocessing, and the reducer with its threshold as it is now.

    `backbone` tells where the weights came from and under which licence, `prompts` what the teacher was asked where it
    is the teacher that predicts.
    """
    extras = {
        "classes": list(classes),
        "preprocessing": vars(shape),
        "method": {"name": network.method.name, "options": dict(network.method.options())},
        "reducer": {
            "name": network.reducer.name,
            "options": network.reducer.options(),
            "state": network.reducer.state_dict(),
        },
        "threshold": getattr(network.reducer, "threshold", None),
        "teacher": teacher,
        "prompts": None if prompts is None else {"templates": prompts.templates, "wordings": dict(prompts.wordings)},
        "precision": precision,
        "backbone": dict(backbone or {}),
    }
    write_folder(folder, lambda partial: write_model(partial, network, extras))


def write_model(folder: Path, network: Network, extras: Mapping[str, Any]) -> None:
    """The files of a model, into a folder that may hold others. `extras` are those of `OpenModel`."""
    own = {name: value.detach().cpu().contiguous() for name, value in network.method.state_dict().items()}
    save_model(folder, network.net, extras)
    if own:
        save_file(own, folder / METHOD_WEIGHTS)


def open_model(run: Path | str, *, device: str = "cpu") -> OpenModel:
    """The model of a run folder, a model folder, or a hub id."""
    folder = _folder_of(run)
    net, extras = load_model(folder)
    try:
        classes = tuple(extras["classes"])
        shape = ClipShape(**extras["preprocessing"])
        method = methods[extras["method"]["name"]](**extras["method"]["options"])
        reducer = reducers[extras["reducer"]["name"]](**extras["reducer"]["options"])
    except (KeyError, TypeError) as error:
        raise UserError(
            f"{folder / 'config.json'} lacks or misnames an entry ({error}); it is not the model of a finished run."
        ) from None
    method.build(width=net.config.width, classes=len(classes), generator=torch.Generator().manual_seed(0))
    try:
        if (folder / METHOD_WEIGHTS).exists():
            method.load_state_dict(load_file(folder / METHOD_WEIGHTS))
        reducer.load_state_dict(extras["reducer"]["state"])
    except (SafetensorError, OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"the model in '{folder}' is damaged ({str(error).splitlines()[0]}); restore it or train the model again."
        ) from None
    teacher, asked = extras.get("teacher", ""), extras.get("prompts") or {}
    prompts = Prompts(tuple(asked["templates"]), asked["wordings"]) if asked else Prompts()
    network = Network(
        net,
        method,
        reducer,
        classes=len(classes),
        precision=extras.get("precision", "float32"),
        teach=_lazy_teacher(teacher, classes, prompts) if method.name == "zero-shot" else None,
    )
    return OpenModel(network.to(device).eval(), classes, shape, extras)


def _lazy_teacher(spec: str, classes: Sequence[str], prompts: Prompts):  # what `Network.teach` takes
    """Opens the teacher at the first question."""
    opened: list[Any] = []

    def teach(view: View) -> Tensor:
        from vidshift.engine.teach import open_any_teacher

        if not opened:
            opened.append(open_any_teacher(TeacherSpec.parse(spec), prompts=prompts, device="cpu"))
        return opened[0].probabilities(view, classes)

    return teach


def _folder_of(run: Path | str) -> Path:
    path = Path(run)
    for folder in (path / "model", path):
        if (folder / "config.json").is_file():
            return folder
    if (path / "config.yaml").is_file():
        raise UserError(f"{path} is a run that has not finished: go on with `vidshift adapt --resume {path}`.")
    if path.exists():
        raise UserError(f"{path} holds no model (config.json is missing); give a run folder or a model folder.")
    text = str(run)
    if text.count("/") == 1 and not text.startswith((".", "/", "~")):
        from vidshift.models.hub import download  # pyright: ignore[reportMissingImports]

        return download(text)
    raise UserError(f"{path} does not exist; give a run folder, a model folder or a hub id.", usage=True)
