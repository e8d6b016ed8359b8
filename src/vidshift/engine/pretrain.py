"""`vidshift pretrain`: masked video modelling on unlabelled clips, from videos to a backbone."""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vidshift.data.clips import CachedClips, ClipShape, LiveClips, open_clips
from vidshift.data.loader import GRID
from vidshift.data.manifest import Manifest
from vidshift.engine.backbone import open_backbone
from vidshift.engine.check import examiner
from vidshift.engine.config import load_settings, settings_yaml
from vidshift.engine.console import Console, open_console
from vidshift.engine.domains import is_built_in, usable
from vidshift.engine.files import write_folder, write_json, write_text
from vidshift.engine.fit import Fit, Plan, summary_of
from vidshift.engine.log import read_metrics
from vidshift.engine.looks import Ahead, Crop, FrameStore, Looks, open_frames
from vidshift.engine.open_data import open_data
from vidshift.engine.start import refuse_changes, refuse_used
from vidshift.errors import UserError
from vidshift.models.checkpoint import save_model
from vidshift.models.masked import DecoderShape, MaskedModel, Target, motion_weights, tube_mask, visible_per_segment
from vidshift.models.motion_signature import MotionSignatureModel
from vidshift.models.vit import VideoTransformer
from vidshift.places import cache_folder

CACHE_LIMIT_BYTES = 8 * 2**30


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """VideoMAE's at any scale: which part is hidden, what is to be painted and by whom, how clips are cropped."""

    mask: float = 0.9
    target: Target = "pixels"
    decoder: DecoderShape = field(default_factory=DecoderShape)
    crop: Crop = field(default_factory=Crop)
    batch: int = 64
    seed: int = 0


def step_loss(
    model: MaskedModel | MotionSignatureModel, store: FrameStore, recipe: Recipe, *, per_clip: int
) -> Callable[[int], Tensor]:
    """The loss of a step, which follows from its number: its clips, their crops and their masks."""
    geometry = model.encoder.geometry
    looks = Ahead(
        Looks(store, frames=geometry.frames, per_clip=per_clip, batch=recipe.batch, seed=recipe.seed, crop=recipe.crop)
    )

    def loss(step: int) -> Tensor:
        look = looks.at(step)
        weight_BP = motion_weights(look.view.clean_BTCHW, geometry) if recipe.target == "motion" else None
        keep_BN = tube_mask(look.seeds_B, geometry, ratio=recipe.mask, weight_BP=weight_BP)
        return model(look.view, keep_BN.to(look.view.pixels_BTCHW.device))

    return loss


def new_model(encoder: VideoTransformer, recipe: Recipe) -> MaskedModel | MotionSignatureModel:
    """The decoder's first weights follow from the recipe's seed."""
    if recipe.target == "motion":
        return MotionSignatureModel(encoder, seed=recipe.seed)
    return MaskedModel(encoder, recipe.decoder, seed=recipe.seed)


@dataclass(frozen=True, kw_only=True)
class PretrainConfig:
    """Everything needed to repeat a pretraining. `backbone` is what it begins with: a size, or weights."""

    data: tuple[str, ...] = ("web",)
    backbone: str = "small"
    frames: int = 16
    mask: float = 0.9
    target: Target = "pixels"
    epochs: int = 100
    batch: int = 32
    lr: float = 1e-3
    weight_decay: float = 0.05
    warmup: float = 0.05
    data_seed: int = 0
    seed: int = 0
    save_every: int = 200
    """Steps between saved states."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", tuple(self.data))
        for name in ("frames", "epochs", "batch", "save_every"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} {getattr(self, name)} is too few; give 1 or more.", usage=True)
        for name in ("lr", "warmup"):
            if not 0 < getattr(self, name) <= 1:
                raise UserError(f"{name} {getattr(self, name):g} is outside (0, 1].", usage=True)

    @property
    def recipe(self) -> Recipe:
        return Recipe(mask=self.mask, target=self.target, batch=self.batch, seed=self.seed)


@dataclass(frozen=True)
class Pretrained:
    """A finished pretraining: `adapt --backbone FOLDER` opens it."""

    folder: Path
    summary: Mapping[str, Any]


def pretrain_videos(
    given: Mapping[str, Any],
    *,
    out: Path | None = None,
    resume: Path | None = None,
    cache: Path | None = None,
    workers: int | None = None,
    device: str = "cpu",
    threads: int | None = None,
    quiet: bool = False,
) -> Pretrained:
    """Pretrain, or go on with it. `given` holds only the settings that were asked for."""
    if (out is None) == (resume is None):
        raise UserError("give --out a new folder, or --resume the folder to go on with.", usage=True)
    if threads is not None:
        torch.set_num_threads(max(1, threads))
    if resume is not None:
        config, folder = _resumed(resume.expanduser(), given), resume.expanduser()
    else:
        assert out is not None
        config, folder = PretrainConfig(**given), out.expanduser()
        refuse_used(folder)
    job = _Job(config, folder, cache_folder(cache), workers or os.cpu_count() or 1, open_console(quiet=quiet))
    return job.run(torch.device(device))


def _resumed(folder: Path, given: Mapping[str, Any]) -> PretrainConfig:
    if not folder.is_dir():
        raise UserError(f"there is no folder '{folder}' to resume; start with --out {folder}.", usage=True)
    saved = load_settings(folder / "config.yaml", PretrainConfig)
    refuse_changes(folder, asdict(saved), asdict(saved) | dict(given))
    return saved


@dataclass(frozen=True)
class _Job:
    config: PretrainConfig
    folder: Path
    cache: Path
    workers: int
    console: Console

    def run(self, device: torch.device) -> Pretrained:
        config, folder = self.config, self.folder
        opened = open_backbone(config.backbone, frames=config.frames)
        vit = opened.config
        visible_per_segment(vit.geometry, config.mask)
        shape = ClipShape(frames=vit.geometry.frames, height=vit.geometry.height, width=vit.geometry.width)
        parts = [self._open(spec, shape) for spec in config.data]
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "config.yaml").exists():
            write_text(folder / "config.yaml", settings_yaml(config))
        clips = _Joined([self._decode(part, shape) for part in parts])
        encoder = opened.build(vit, seed=config.seed)
        encoder.reset_head(0)
        model = new_model(encoder, config.recipe).to(device)
        plan = Plan(
            steps=math.ceil(config.epochs * len(clips) / config.batch),
            lr=config.lr,
            weight_decay=config.weight_decay,
            warmup=config.warmup,
            save_every=config.save_every,
        )
        go_on = f"go on with `vidshift pretrain --resume {folder}`"
        fit = Fit(model, plan, folder, name="pretraining", go_on=go_on)
        store = open_frames(clips, device, workers=self.workers)
        loss = step_loss(model, store, config.recipe, per_clip=GRID * config.frames)
        position = fit.run(loss, self.console)
        summary = {
            "data": list(config.data),
            "clips": len(clips),
            "seed": config.seed,
            "mask": config.mask,
            "target": config.target,
            **summary_of(position, plan, read_metrics(folder / "metrics.jsonl")),
        }
        write_folder(folder / "model", lambda partial: save_model(partial, model.encoder, {"pretrained": summary}))
        write_json(folder / "summary.json", summary)
        return Pretrained(folder, summary)

    def _open(self, spec: str, shape: ClipShape) -> Manifest:
        manifest = open_data(
            spec, data_seed=self.config.data_seed, cache=self.cache, workers=self.workers, console=self.console
        )
        if not is_built_in(spec):
            manifest = examiner(shape, cache=self.cache, workers=self.workers, console=self.console)(spec, manifest)
        good, skipped = usable(manifest.without_labels(), spec)
        if skipped:
            self.console.say(skipped)
        return good

    def _decode(self, manifest: Manifest, shape: ClipShape) -> CachedClips | LiveClips:
        with self.console.task("decoding", len(manifest)) as task:
            return open_clips(
                manifest,
                shape,
                cache=self.cache,
                limit_bytes=CACHE_LIMIT_BYTES,
                workers=self.workers,
                progress=lambda done, total: task.update(done),
            )


class _Joined:
    """The clips of several data sets in a row; ids are told apart by the place of their data set."""

    def __init__(self, parts: "list[CachedClips | LiveClips]") -> None:
        self._of = [(part, place) for part in parts for place in range(len(part))]
        alone = len(parts) == 1
        self.ids = [name if alone else f"{k}/{name}" for k, part in enumerate(parts) for name in part.ids]
        self.frames = parts[0].frames

    def __len__(self) -> int:
        return len(self._of)

    def grid_THWC(self, index: int):  # as `data.loader.Clips` says
        part, place = self._of[index]
        return part.grid_THWC(place)
