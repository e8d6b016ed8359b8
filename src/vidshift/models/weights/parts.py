"""What every family gives and gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from vidshift.errors import UserError
from vidshift.models.config import VitConfig
from vidshift.models.weights.report import LeftOut
from vidshift.tokens.geometry import Geometry

SIZE = 224


@dataclass(frozen=True)
class Wanted:
    """What the run wants of the network; no size: the weights' own, 224 pixels where they name none."""

    frames: int
    size: int | None = None


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Weights under our names with the configuration that they fit."""

    family: str
    config: VitConfig
    state: Mapping[str, Tensor] = field(repr=False)
    size: str
    left_out: tuple[LeftOut, ...]
    fresh: tuple[str, ...]
    licence: str | None
    notes: tuple[str, ...] = ()


def geometry_for(wanted: Wanted, *, tubelet: int, patch: int, channels: int, size: object, file: str) -> Geometry:
    """How clips are cut for these weights."""
    pixels = wanted.size or (size if isinstance(size, int) else SIZE)
    if wanted.frames % tubelet:
        raise UserError(
            f"{wanted.frames} frames do not divide into the tubelets of {tubelet} that {file} reads; give --frames as "
            f"a multiple of {tubelet}.",
            usage=True,
        )
    if pixels % patch:
        raise UserError(
            f"{pixels} pixels do not divide into the patches of {patch} that {file} reads; give a multiple of {patch}.",
            usage=True,
        )
    return Geometry(frames=wanted.frames, height=pixels, width=pixels, tubelet=tubelet, patch=patch, channels=channels)
