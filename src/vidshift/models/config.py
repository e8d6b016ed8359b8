"""The shape of a video transformer, as plain data that a `config.json` holds."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args

from vidshift.errors import UserError, unknown
from vidshift.tokens.geometry import Geometry

Positions = Literal["sinusoid", "axes", "learned"]
QkvBias = Literal["qv", "qkv", "none"]
Activation = Literal["gelu", "quick_gelu"]
Pooling = Literal["mean", "class"]

# ImageNet's, with which every VideoMAE data set class normalises (tokens.md section 7.2).
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True, kw_only=True)
class VitConfig:
    """Defaults are VideoMAE's ViT-B/16 (tokens.md section 7.1).

    `norm_tokens`: the last norm acts on every token before pooling (self-supervised and image weights) rather than on
    the pooled vector (VideoMAE's fc_norm). `run_lengths` adds RLT's learned embedding of a token's run length.
    `positions="axes"` gives time, row and column a sinusoid each; "sinusoid" is VideoMAE's one over the whole index.
    """

    geometry: Geometry = field(default_factory=Geometry)
    width: int = 768
    depth: int = 12
    heads: int = 12
    mlp_ratio: float = 4.0
    classes: int = 0
    drop_path: float = 0.1
    eps: float = 1e-6
    positions: Positions = "sinusoid"
    qkv_bias: QkvBias = "qv"
    activation: Activation = "gelu"
    pooling: Pooling = "mean"
    norm_tokens: bool = False
    class_token: bool = False
    pre_norm: bool = False
    layer_scale: bool = False
    run_lengths: bool = False
    patch_bias: bool = True
    head_scale: float = 0.001
    mean: tuple[float, ...] = MEAN
    std: tuple[float, ...] = STD

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads")
        if self.positions in ("sinusoid", "axes") and self.width % 2:
            raise ValueError(f"{self.positions} positions need an even width, not {self.width}")
        if not 0 <= self.drop_path < 1:
            raise ValueError(f"drop path {self.drop_path} is outside [0, 1)")
        if self.pooling == "class" and not self.class_token:
            raise ValueError("pooling 'class' needs a class token")
        if len(self.mean) != self.geometry.channels or len(self.std) != self.geometry.channels:
            raise ValueError(f"mean and std need {self.geometry.channels} numbers each")
        for name, kind in (
            ("positions", Positions),
            ("qkv_bias", QkvBias),
            ("activation", Activation),
            ("pooling", Pooling),
        ):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(f"{name} is {getattr(self, name)!r}, not one of {', '.join(get_args(kind))}")

    @property
    def head_dim(self) -> int:
        return self.width // self.heads

    @property
    def hidden(self) -> int:
        return int(self.width * self.mlp_ratio)

    def with_(self, **changes: Any) -> "VitConfig":
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "geometry": self.geometry.as_dict(), "mean": list(self.mean), "std": list(self.std)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "VitConfig":
        known = {f.name for f in fields(cls)}
        strange = sorted(set(data) - known)
        if strange:
            raise UserError(
                f"the model's configuration has the unknown entry {strange[0]!r}: it was probably written by a newer "
                "VidShift; upgrade VidShift or save the model again."
            )
        values = dict(data)
        try:
            if "geometry" in values:
                values["geometry"] = Geometry(**values["geometry"])
            for name in ("mean", "std"):
                if name in values:
                    values[name] = tuple(float(x) for x in values[name])
            return cls(**values)
        except (TypeError, ValueError) as error:
            raise UserError(f"the model's configuration cannot be used: {error}.") from error


def _sized(width: int, depth: int, heads: int) -> VitConfig:
    return VitConfig(width=width, depth=depth, heads=heads)


PRESETS: Mapping[str, VitConfig] = {
    "small": VitConfig(
        geometry=Geometry(frames=16, height=96, width=96), width=128, depth=4, heads=4, positions="axes"
    ),
    "vit-ti": _sized(192, 12, 3),
    "vit-s": _sized(384, 12, 6),
    "vit-b": _sized(768, 12, 12),
    "vit-l": _sized(1024, 24, 16),
    "vit-h": _sized(1280, 32, 16),
}


def preset(name: str, **changes: Any) -> VitConfig:
    """A named size: `preset("vit-b", classes=8)`."""
    if name not in PRESETS:
        raise unknown("backbone", name, PRESETS)
    return PRESETS[name].with_(**changes)
