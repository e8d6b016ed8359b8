"""Masked video modelling on unlabelled clips: from a folder of decoded clips to a backbone."""

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from vidshift.engine.looks import Crop, FrameStore, Looks
from vidshift.models.config import VitConfig
from vidshift.models.masked import DecoderShape, MaskedModel, tube_mask
from vidshift.models.vit import VideoTransformer


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """VideoMAE's at any scale: which part is hidden, by whom it is painted, how clips are cropped."""

    mask: float = 0.9
    decoder: DecoderShape = field(default_factory=DecoderShape)
    crop: Crop = field(default_factory=Crop)
    batch: int = 64
    lr: float = 1e-3
    seed: int = 0


def new_model(config: VitConfig, recipe: Recipe) -> MaskedModel:
    """Encoder and decoder from the recipe's seed. Drop path belongs to fine-tuning."""
    encoder = VideoTransformer(config.with_(classes=0), seed=recipe.seed)
    return MaskedModel(encoder, recipe.decoder, seed=recipe.seed)


def step_loss(model: MaskedModel, store: FrameStore, recipe: Recipe, *, per_clip: int) -> Callable[[int], Tensor]:
    """The loss of a step, which follows from its number: its clips, their crops and their masks."""
    geometry = model.encoder.geometry
    looks = Looks(
        store, frames=geometry.frames, per_clip=per_clip, batch=recipe.batch, seed=recipe.seed, crop=recipe.crop
    )

    def loss(step: int) -> Tensor:
        look = looks.at(step)
        keep_BN = tube_mask(look.seeds_B, geometry, ratio=recipe.mask)
        return model(look.view, keep_BN.to(look.view.pixels_BTCHW.device))

    return loss
