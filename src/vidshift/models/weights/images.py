"""CLIP's image half and DINOv2, inflated over time.

One class token a clip sees the patches of all segments; positions are learned for one image and repeated for every
segment, so time is told by content alone until training. The position of the class token is added to the token itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from vidshift.errors import UserError
from vidshift.models.config import MEAN, STD, VitConfig
from vidshift.models.weights.assemble import Stock, heads_of, take_body
from vidshift.models.weights.inflate import fit_positions, inflate_kernel
from vidshift.models.weights.options import WeightsOptions
from vidshift.models.weights.parts import SIZE, Encoder, Wanted, geometry_for

_ACTIVATIONS: Mapping[str, Literal["gelu", "quick_gelu"]] = {"gelu": "gelu", "quick_gelu": "quick_gelu"}


@dataclass(frozen=True, kw_only=True)
class ImageFamily:
    """How one family of image encoders differs from the other.

    Pooling: CLIP's last block was trained through its class token alone, DINOv2's through its patches too.
    """

    name: str
    eps: float
    pooling: Literal["mean", "class"]
    activation: Literal["gelu", "quick_gelu"]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    licence: str
    size: int | None
    """Clips are read at this size unless the run says otherwise; None: the size of the images it was trained on."""

    def build(self, stock: Stock, config: Mapping[str, Any], wanted: Wanted, options: WeightsOptions) -> Encoder:
        config = config.get("vision_config", config)
        kernel = stock.shape("patch.weight")
        width, channels, patch, columns = kernel
        if patch != columns:
            raise UserError(f"{stock.file} cuts patches of {patch} x {columns} pixels; only square ones are supported.")
        positions_PD = stock.take("positions", *_positions_shape(stock, width)).reshape(-1, width)
        side = round((positions_PD.shape[0] - 1) ** 0.5)
        if side * side != positions_PD.shape[0] - 1:
            raise UserError(
                f"{stock.file} has {positions_PD.shape[0]} positions, which are no square of patches and a class token."
            )
        geometry = geometry_for(
            wanted,
            tubelet=options.tubelet,
            patch=patch,
            channels=channels,
            size=self.size or side * patch,
            file=stock.file,
        )
        body = take_body(stock)
        pre_norm, patch_bias = stock.has("pre_norm.weight"), stock.has("patch.bias")
        kernel_DCYX = stock.take("patch.weight", *kernel)
        class_token = stock.take("class", *(stock.shape("class") or (width,))).reshape(width)
        state = {
            **body.state,
            "embedding.patch.weight": inflate_kernel(kernel_DCYX, options.tubelet, options.inflate).flatten(1),
            "embedding.class_token": class_token + positions_PD[0],
            "embedding.positions": fit_positions(positions_PD[1:], geometry),
            **{f"norm.{kind}": tensor for kind, tensor in stock.pair("norm", width)},
        }
        if patch_bias:
            state["embedding.patch.bias"] = stock.take("patch.bias", width)
        if pre_norm:
            state |= {f"embedding.pre_norm.{kind}": tensor for kind, tensor in stock.pair("pre_norm", width)}
        return Encoder(
            family=self.name,
            config=VitConfig(
                geometry=geometry,
                width=width,
                depth=body.depth,
                heads=heads_of(width, config.get("num_attention_heads"), stock.file),
                mlp_ratio=body.mlp_ratio,
                eps=float(config.get("layer_norm_eps", self.eps)) if options.eps == "checkpoint" else self.eps,
                positions="learned",
                qkv_bias=body.qkv_bias,
                activation=self._activation(config, stock.file),
                pooling=options.pooling or self.pooling,
                norm_tokens=True,
                class_token=True,
                pre_norm=pre_norm,
                layer_scale=body.layer_scale,
                patch_bias=patch_bias,
                mean=self.mean,
                std=self.std,
            ),
            state=state,
            size=body.size(patch),
            left_out=(),
            fresh=("head",),
            licence=f"{self.licence} (as its authors publish theirs)",
            notes=self._notes(options, geometry.rows, side, "hidden_act" in config),
        )

    def _activation(self, config: Mapping[str, Any], file: str) -> Literal["gelu", "quick_gelu"]:
        named = config.get("hidden_act", self.activation)
        if named not in _ACTIVATIONS:
            raise UserError(f"{file} needs the activation {named!r}; supported: {', '.join(_ACTIVATIONS)}.")
        return _ACTIVATIONS[named]

    def _notes(self, options: WeightsOptions, rows: int, side: int, told: bool) -> tuple[str, ...]:
        how = "its mean frame" if options.inflate == "average" else "its middle frame"
        notes = [f"image weights: a tubelet of {options.tubelet} is read as {how}, positions repeat for every segment"]
        if rows != side:
            notes.append(f"positions are resampled from {side} x {side} to {rows} x {rows} patches")
        if not told:
            notes.append(f"no config.json beside the file: the activation is taken to be {self.activation}")
        return tuple(notes)


def _positions_shape(stock: Stock, width: int) -> tuple[int, ...]:
    found = stock.shape("positions")
    return found if found and found[-1] == width else (0, width)


# OpenAI's image statistics, of its own preprocessing; DINOv2 uses ImageNet's.
CLIP = ImageFamily(
    name="CLIP",
    eps=1e-5,
    pooling="class",
    activation="quick_gelu",
    mean=(0.48145466, 0.4578275, 0.40821073),
    std=(0.26862954, 0.26130258, 0.27577711),
    licence="MIT (code); none is named for the weights",
    size=None,
)

# Trained with positions for 518 pixels and evaluated at 224.
DINOV2 = ImageFamily(
    name="DINOv2",
    eps=1e-6,
    pooling="mean",
    activation="gelu",
    mean=MEAN,
    std=STD,
    licence="Apache-2.0",
    size=SIZE,
)
