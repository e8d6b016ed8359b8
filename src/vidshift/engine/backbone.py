"""`--backbone`: where a run's network comes from."""

from dataclasses import dataclass, replace
from pathlib import Path

from vidshift.errors import UserError
from vidshift.models.checkpoint import load_model, read_config
from vidshift.models.config import PRESETS, VitConfig
from vidshift.models.vit import VideoTransformer

BUILT_IN = "stick"
ASSET = "stick-backbone"


@dataclass(frozen=True)
class Backbone:
    """A configuration, and the model folder that its weights are in (None: freshly initialised)."""

    name: str
    config: VitConfig
    folder: Path | None = None

    def build(self, config: VitConfig, *, seed: int) -> VideoTransformer:
        """The network with a fresh head for `config.classes`."""
        model = VideoTransformer(config, seed=seed)
        if self.folder is None:
            return model
        pretrained, _ = load_model(self.folder)
        fresh = model.state_dict()
        kept = {name: value for name, value in pretrained.state_dict().items() if not name.startswith("head.")}
        for name, value in kept.items():
            if name not in fresh or fresh[name].shape != value.shape:
                shape = tuple(fresh[name].shape) if name in fresh else "nothing"
                raise UserError(
                    f"the backbone {self.name!r} does not fit this run: {name} is {tuple(value.shape)} where the run "
                    f"needs {shape}; leave out the options that change the network's shape."
                )
        model.load_state_dict(fresh | kept)
        return model


def open_backbone(name: str, *, frames: int) -> Backbone:
    """`stick` (built in), a size with fresh weights such as `small` or `vit-b`, a model folder, or pretrained weights
    by file, folder or hub id."""
    if name == BUILT_IN:
        from vidshift.teachers.stick import asset

        return _from_folder(name, asset(ASSET), frames)
    if name in PRESETS:
        return Backbone(name, _with_frames(PRESETS[name], frames))
    folder = Path(name)
    for place in (folder / "model", folder):
        if (place / "config.json").is_file() and "vit" in (place / "config.json").read_text():
            return _from_folder(name, place, frames)
    from vidshift.models.weights import open_weights

    return open_weights(name, frames=frames)


def _from_folder(name: str, folder: Path, frames: int) -> Backbone:
    config = VitConfig.from_dict(read_config(folder)["vit"])
    return Backbone(name, _with_frames(config, frames), folder)


def _with_frames(config: VitConfig, frames: int) -> VitConfig:
    """Positions are a function of the flattened index, so fewer or more frames need no other weights."""
    tubelet = config.geometry.tubelet
    if frames % tubelet:
        raise UserError(f"frames {frames} do not divide into tubelets of {tubelet}; give a multiple of {tubelet}.")
    return config.with_(geometry=replace(config.geometry, frames=frames))
