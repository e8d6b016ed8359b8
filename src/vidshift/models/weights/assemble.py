"""Tensors under common names -> a state of our transformer, every shape checked."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from vidshift.errors import UserError

# Width -> heads of the published sizes; every one has 64 channels a head but ViT-H (80) and ViT-g (88).
HEADS = {192: 3, 384: 6, 768: 12, 1024: 16, 1280: 16, 1408: 16}
_SIZES = {(192, 12): "Ti", (384, 12): "S", (768, 12): "B", (1024, 24): "L", (1280, 32): "H", (1408, 40): "g"}


@dataclass(frozen=True, kw_only=True)
class Body:
    """The blocks of an encoder, under our names, and what their shapes say."""

    state: Mapping[str, Tensor]
    width: int
    depth: int
    hidden: int
    qkv_bias: Literal["qv", "qkv", "none"]
    layer_scale: bool

    @property
    def mlp_ratio(self) -> float:
        """Such that `VitConfig.hidden`, which rounds down, gives it back: 88 * (120 / 88) is below 120."""
        ratio = self.hidden / self.width
        return ratio if int(self.width * ratio) == self.hidden else math.nextafter(ratio, math.inf)

    def size(self, patch: int) -> str:
        name = _SIZES.get((self.width, self.depth))
        return f"ViT-{name}/{patch}" if name else f"a ViT/{patch} of {self.depth} layers and width {self.width}"


class Stock:
    """The tensors of one file: each is taken once, with its shape; what is missing is told at the end, together."""

    def __init__(self, tensors: Mapping[str, Tensor], file: str) -> None:
        self._tensors = dict(tensors)
        self._missing: list[str] = []
        self.file = file

    def has(self, name: str) -> bool:
        return name in self._tensors

    def names(self) -> Iterator[str]:
        return iter(self._tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._tensors[name].shape) if name in self._tensors else ()

    def take(self, name: str, *shape: int) -> Tensor:
        tensor = self._tensors.pop(name, None)
        if tensor is None:
            self._missing.append(name)
            return torch.zeros(shape)
        if tuple(tensor.shape) != shape:
            raise UserError(f"{self.file} has {name!r} of shape {tuple(tensor.shape)} where {shape} belongs.")
        return tensor

    def pair(self, name: str, *shape: int) -> Iterator[tuple[str, Tensor]]:
        """Weight and bias, which is as long as the weight's first dimension."""
        yield "weight", self.take(f"{name}.weight", *shape)
        yield "bias", self.take(f"{name}.bias", shape[0])

    def drop(self, prefix: str) -> int:
        """Leave out what remains under a name; how many tensors that were."""
        names = [name for name in self._tensors if name == prefix or name.startswith(f"{prefix}.")]
        for name in names:
            del self._tensors[name]
        return len(names)

    def finish(self) -> None:
        """Nothing may be missing, and nothing may be left over."""
        if self._missing:
            more = f" and {len(self._missing) - 3} more" if len(self._missing) > 3 else ""
            raise UserError(
                f"{self.file} lacks {', '.join(map(repr, self._missing[:3]))}{more}; it is not a whole encoder, so "
                "fetch it again or give another file."
            )
        if self._tensors:
            raise UserError(f"{self.file} has the unexpected {next(iter(self._tensors))!r}; give a plain encoder.")


def take_body(stock: Stock) -> Body:
    """All blocks. Names here are common names (`spelling.py`)."""
    blocks = [int(match[1]) for name in stock.names() if (match := re.match(r"blocks\.(\d+)\.", name))]
    width, hidden = (stock.shape("patch.weight") or (0,))[0], (stock.shape("blocks.0.fc1.weight") or (0,))[0]
    if not blocks or not width or not hidden:
        raise UserError(f"{stock.file} has no transformer blocks; give the weights of a whole encoder.")
    depth = max(blocks) + 1
    fused, scaled = stock.has("blocks.0.qkv.weight"), stock.has("blocks.0.scale1")
    bias = _bias_form(stock, fused)
    state: dict[str, Tensor] = {}
    for block in range(depth):
        ours = f"blocks.{block}"
        for name, target, rows, cols in (
            ("norm1", "norm1", width, 0),
            ("norm2", "norm2", width, 0),
            ("proj", "proj", width, width),
            ("fc1", "mlp.fc1", hidden, width),
            ("fc2", "mlp.fc2", width, hidden),
        ):
            shape = (rows, cols) if cols else (rows,)
            state |= {f"{ours}.{target}.{kind}": tensor for kind, tensor in stock.pair(f"{ours}.{name}", *shape)}
        state |= {f"{ours}.qkv.{kind}": tensor for kind, tensor in _qkv(stock, ours, width, fused, bias)}
        if scaled:
            state |= {f"{ours}.scale{n}.weight": stock.take(f"{ours}.scale{n}", width) for n in (1, 2)}
    return Body(state=state, width=width, depth=depth, hidden=hidden, qkv_bias=bias, layer_scale=scaled)


def _bias_form(stock: Stock, fused: bool) -> Literal["qv", "qkv", "none"]:
    if stock.has("blocks.0.qkv.bias" if fused else "blocks.0.k.bias"):
        return "qkv"
    return "qv" if stock.has("blocks.0.q.bias") else "none"


def _qkv(stock: Stock, block: str, width: int, fused: bool, bias: str) -> Iterator[tuple[str, Tensor]]:
    if fused:
        yield "weight", stock.take(f"{block}.qkv.weight", 3 * width, width)
    else:
        yield "weight", torch.cat([stock.take(f"{block}.{part}.weight", width, width) for part in "qkv"])
    if bias == "qv":
        yield "q_bias", stock.take(f"{block}.q.bias", width)
        yield "v_bias", stock.take(f"{block}.v.bias", width)
    elif bias == "qkv" and fused:
        yield "bias", stock.take(f"{block}.qkv.bias", 3 * width)
    elif bias == "qkv":
        yield "bias", torch.cat([stock.take(f"{block}.{part}.bias", width) for part in "qkv"])


def heads_of(width: int, named: object, file: str) -> int:
    """Heads are in no shape: from the configuration beside the file, else by the published sizes."""
    heads = named if isinstance(named, int) and named > 0 else HEADS.get(width)
    if heads is None:
        known = ", ".join(map(str, HEADS))
        raise UserError(
            f"{file} has width {width}, for which no number of heads is known (known widths: {known}); put the model's "
            "config.json beside the file."
        )
    if width % heads:
        raise UserError(f"{file} has width {width}, and its config.json says {heads} heads, which do not divide it.")
    return heads
