"""`--backbone`: where a run's network comes from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from vidshift.engine.options import read_options
from vidshift.errors import UserError, did_you_mean
from vidshift.models.checkpoint import load_model, read_config
from vidshift.models.config import PRESETS, VitConfig
from vidshift.models.vit import VideoTransformer
from vidshift.models.weights import WeightsOptions, WeightsReport

BUILT_IN = "stick"
ASSET = "stick-backbone"


@dataclass(frozen=True)
class Backbone:
    """A configuration, the weights that belong to it (None: freshly initialised), and what is to be said of them."""

    name: str
    config: VitConfig
    weights: Callable[[], Mapping[str, Tensor]] | None = field(default=None, repr=False)
    report: WeightsReport | None = None

    def origin(self) -> dict[str, Any]:
        """What a model made from it must go on telling."""
        return {"name": self.name, "licence": self.report.licence if self.report else None}

    def build(self, config: VitConfig, *, seed: int) -> VideoTransformer:
        """The network with the head for `config.classes` that the weights bring, else a fresh one."""
        model = VideoTransformer(config, seed=seed)
        if self.weights is None:
            return model
        fresh = model.state_dict()
        kept = dict(self.weights())
        for name, value in kept.items():
            if name not in fresh or fresh[name].shape != value.shape:
                shape = tuple(fresh[name].shape) if name in fresh else "nothing"
                raise UserError(
                    f"the backbone {self.name!r} does not fit this run: {name} is {tuple(value.shape)} where the run "
                    f"needs {shape}; leave out the options that change the network's shape."
                )
        model.load_state_dict(fresh | kept)
        return model


def open_backbone(
    name: str, *, frames: int, size: int | None = None, options: Mapping[str, Any] | None = None
) -> Backbone:
    """`stick` (built in), a size with fresh weights such as `small` or `vit-b`, a model folder, or pretrained weights
    by file, folder or hub id. `options` are those of pretrained weights (`models.weights.WeightsOptions`)."""
    if name == BUILT_IN:
        from vidshift.teachers.stick import asset

        return _plain(name, _from_folder(name, asset(ASSET)), frames, size, options)
    if name in PRESETS:
        return _plain(name, Backbone(name, PRESETS[name]), frames, size, options)
    folder = Path(name).expanduser()
    for place in (folder / "model", folder):
        if _is_ours(place):
            return _plain(name, _from_folder(name, place), frames, size, options)
    from vidshift.models.weights import open_weights
    from vidshift.models.weights.files import WAYS_OUT

    if "/" not in name and not folder.exists():
        known = [BUILT_IN, *PRESETS]
        raise UserError(
            f"unknown backbone {name!r}{did_you_mean(name, known)}; accepted: {', '.join(known)}, a file, a folder or "
            f"a hub id such as MCG-NJU/videomae-base; {WAYS_OUT}.",
            usage=True,
        )
    chosen = WeightsOptions(**read_options("backbone", name, WeightsOptions, options or {}))
    pretrained = open_weights(name, frames=frames, size=size, options=chosen)
    return Backbone(name, pretrained.config, lambda: pretrained.state, pretrained.report)


def _is_ours(folder: Path) -> bool:
    if not (folder / "config.json").is_file():
        return False
    from vidshift.models.weights.files import read_json

    return "vit" in read_json(folder / "config.json")


def _from_folder(name: str, folder: Path) -> Backbone:
    def weights() -> Mapping[str, Tensor]:
        state = load_model(folder)[0].state_dict()
        return {key: value for key, value in state.items() if not key.startswith("head.")}

    return Backbone(name, VitConfig.from_dict(read_config(folder)["vit"]), weights)


def _plain(name: str, backbone: Backbone, frames: int, size: int | None, options: Mapping[str, Any] | None) -> Backbone:
    """Positions are a function of the flattened index, so other frames or pixels need no other weights."""
    if options:
        raise UserError(f"the backbone {name!r} takes no options ({next(iter(options))!r} was given).", usage=True)
    geometry = backbone.config.geometry
    if frames % geometry.tubelet:
        raise UserError(
            f"frames {frames} do not divide into tubelets of {geometry.tubelet}; give a multiple of "
            f"{geometry.tubelet}.",
            usage=True,
        )
    if size is not None and size % geometry.patch:
        raise UserError(
            f"size {size} does not divide into patches of {geometry.patch}; give a multiple of {geometry.patch}.",
            usage=True,
        )
    height, width = (size, size) if size else (geometry.height, geometry.width)
    return replace(
        backbone, config=backbone.config.with_(geometry=replace(geometry, frames=frames, height=height, width=width))
    )
