"""How a clip is cut into tokens."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """Token `t * rows * cols + y * cols + x` is the tubelet `t` at row `y`, column `x` (time slowest)."""

    frames: int = 16
    height: int = 224
    width: int = 224
    tubelet: int = 2
    patch: int = 16
    channels: int = 3

    def __post_init__(self) -> None:
        if min(self.frames, self.height, self.width, self.tubelet, self.patch, self.channels) < 1:
            raise ValueError(f"every size of a geometry is at least 1: {self}")
        if self.frames % self.tubelet:
            raise ValueError(f"{self.frames} frames do not divide into tubelets of {self.tubelet}")
        if self.height % self.patch or self.width % self.patch:
            raise ValueError(f"{self.height} x {self.width} pixels do not divide into patches of {self.patch}")

    @property
    def segments(self) -> int:
        return self.frames // self.tubelet

    @property
    def rows(self) -> int:
        return self.height // self.patch

    @property
    def cols(self) -> int:
        return self.width // self.patch

    @property
    def per_segment(self) -> int:
        return self.rows * self.cols

    @property
    def tokens(self) -> int:
        return self.segments * self.per_segment

    @property
    def patch_dim(self) -> int:
        return self.channels * self.tubelet * self.patch * self.patch

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}
