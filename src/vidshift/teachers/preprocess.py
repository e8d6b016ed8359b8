"""Frames as CLIP wants them, in torch alone: the processors of transformers bring torchvision along."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from vidshift.errors import UserError

CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)


@dataclass(frozen=True, kw_only=True)
class Preprocess:
    """Resize the short side to `resize` (or, with `squash`, both sides), cut the centre, normalise."""

    resize: int
    crop: int
    squash: bool = False
    mean: tuple[float, ...] = CLIP_MEAN
    std: tuple[float, ...] = CLIP_STD

    @staticmethod
    def read(folder: Path, *, image_size: int) -> "Preprocess":
        """From `preprocessor_config.json` where a model brings one, else CLIP's own at the model's image size."""
        path = folder / "preprocessor_config.json"
        if not path.exists():
            return Preprocess(resize=image_size, crop=image_size)
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UserError(f"{path} is not JSON ({error}); download the model again.") from error
        size, crop = found.get("size", image_size), found.get("crop_size", image_size)
        # CLIP names the short side; SigLIP names both sides and cuts nothing.
        squash = isinstance(size, dict) and "shortest_edge" not in size
        resize = _side(size, image_size)
        cuts = found.get("do_center_crop", not squash)
        return Preprocess(
            resize=resize,
            crop=_side(crop, image_size) if cuts else resize,
            squash=squash,
            mean=tuple(found.get("image_mean", CLIP_MEAN)),
            std=tuple(found.get("image_std", CLIP_STD)),
        )

    def _target(self, height: int, width: int) -> tuple[int, int]:
        if self.squash:
            return self.resize, self.resize
        if height <= width:
            return self.resize, int(self.resize * width / height)
        return int(self.resize * height / width), self.resize

    def __call__(self, pixels_NCHW: Tensor) -> Tensor:
        """uint8, or floating point in [0, 1] -> normalised float32 of `crop` x `crop`."""
        pixels = pixels_NCHW.float() if pixels_NCHW.dtype == torch.uint8 else pixels_NCHW.float() * 255
        height, width = pixels.shape[-2:]
        target = self._target(height, width)
        if (height, width) != target:
            # Resized pictures are 8-bit in the reference, so bicubic overshoot is cut off and levels are whole.
            pixels = interpolate(pixels, size=target, mode="bicubic", antialias=True).round_().clamp_(0, 255)
        top, left = (target[0] - self.crop) // 2, (target[1] - self.crop) // 2
        pixels = pixels[..., top : top + self.crop, left : left + self.crop]
        mean, std = pixels.new_tensor(self.mean)[:, None, None], pixels.new_tensor(self.std)[:, None, None]
        return (pixels / 255 - mean) / std


def _side(size: Any, default: int) -> int:
    """A number, or one of the dictionaries that later versions write."""
    if isinstance(size, dict):
        return int(size.get("shortest_edge", size.get("height", default)))
    return int(size)
