"""VideoMAE V1 and V2, and UMT, which differs by a tubelet of one frame (8 frames, as UNITE uses it)."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from vidshift.errors import UserError
from vidshift.models import hub
from vidshift.models.config import VitConfig
from vidshift.models.layers import sinusoid
from vidshift.models.weights.assemble import Stock, heads_of, take_body
from vidshift.models.weights.options import WeightsOptions
from vidshift.models.weights.parts import Encoder, Wanted, geometry_for
from vidshift.models.weights.report import LeftOut

EPS = 1e-6  # the original's; transformers writes 1e-12 into its configuration (tokens.md section 7.5)
UMT_FRAMES = 8


def build(stock: Stock, config: Mapping[str, Any], wanted: Wanted, options: WeightsOptions) -> Encoder:
    kernel = stock.shape("patch.weight")
    width, channels, tubelet, patch, columns = kernel
    if patch != columns:
        raise UserError(f"{stock.file} cuts patches of {patch} x {columns} pixels; only square patches are supported.")
    image = tubelet == 1
    geometry = geometry_for(
        wanted, tubelet=tubelet, patch=patch, channels=channels, size=config.get("image_size"), file=stock.file
    )
    body = take_body(stock)
    state = dict(body.state)
    state["embedding.patch.weight"] = stock.take("patch.weight", *kernel).flatten(1)
    state["embedding.patch.bias"] = stock.take("patch.bias", width)
    left_out, fresh, classes = _drop_positions(stock, width), [], 0
    if stock.has("fc_norm.weight"):
        state |= {f"norm.{kind}": tensor for kind, tensor in stock.pair("fc_norm", width)}
    elif options.init_fc_norm_from_encoder_norm and stock.has("norm.weight"):
        state |= {f"norm.{kind}": tensor for kind, tensor in stock.pair("norm", width)}
    else:
        fresh.append("norm")
    if dropped := stock.drop("norm"):
        left_out.append(LeftOut("the encoder's last norm", dropped, "the pooled vector has a norm of its own"))
    head = _head(stock, width)
    if head and options.keep_head:
        state |= head
        classes = head["head.bias"].shape[0]
    else:
        fresh.append("head")
        if head:
            labels = head["head.bias"].shape[0]
            left_out.append(LeftOut("the head", 2, f"it tells {labels} classes of another data set"))
    return Encoder(
        family="UMT" if image else "VideoMAE",
        config=VitConfig(
            geometry=geometry,
            width=width,
            depth=body.depth,
            heads=heads_of(width, config.get("num_attention_heads"), stock.file),
            mlp_ratio=body.mlp_ratio,
            classes=classes,
            eps=float(config.get("layer_norm_eps", EPS)) if options.eps == "checkpoint" else EPS,
            qkv_bias=body.qkv_bias,
            layer_scale=body.layer_scale,
        ),
        state=state,
        size=body.size(patch),
        left_out=tuple(left_out),
        fresh=tuple(fresh),
        licence=None if image else f"{hub.NON_COMMERCIAL} (as VideoMAE's authors publish theirs)",
        notes=_notes(geometry.frames, image, config.get("num_frames")),
    )


def _drop_positions(stock: Stock, width: int) -> list[LeftOut]:
    """Some files carry the fixed table that is computed here; a learned one would be lost, and is refused."""
    if not stock.has("positions"):
        return []
    shape = stock.shape("positions")
    table_ND = stock.take("positions", *shape).flatten(0, -2)
    if shape[-1] != width or not torch.allclose(table_ND, sinusoid(table_ND.shape[0], width), atol=1e-4):
        raise UserError(f"{stock.file} has learned positions; only VideoMAE's fixed ones are supported.")
    return [LeftOut("the table of positions", 1, "it is fixed, and computed here for any number of tokens")]


def _head(stock: Stock, width: int) -> dict[str, Tensor]:
    if not stock.has("head.weight"):
        return {}
    classes = stock.shape("head.weight")[0]
    return {f"head.{kind}": tensor for kind, tensor in stock.pair("head", classes, width)}


def _notes(frames: int, image: bool, trained: object) -> tuple[str, ...]:
    seen = trained if isinstance(trained, int) else UMT_FRAMES if image else 16
    if frames == seen:
        return ()
    return (
        f"these weights saw {seen} frames and this run reads {frames}: positions are computed for it (`--frames "
        f"{seen}` gives what they saw)",
    )
