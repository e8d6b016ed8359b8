"""Pretrained weights by name: found, read, recognised, translated, and told about."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from vidshift.errors import UserError
from vidshift.models.config import VitConfig
from vidshift.models.weights import images, videomae
from vidshift.models.weights.assemble import Stock
from vidshift.models.weights.files import find
from vidshift.models.weights.options import WeightsOptions
from vidshift.models.weights.parts import Encoder, Wanted
from vidshift.models.weights.read import read_tensors
from vidshift.models.weights.report import WeightsReport
from vidshift.models.weights.spelling import recognise

_BUILD: Mapping[str, Callable[[Stock, Mapping[str, Any], Wanted, WeightsOptions], Encoder]] = {
    "VideoMAE": videomae.build,
    "CLIP": images.CLIP.build,
    "DINOv2": images.DINOV2.build,
}


@dataclass(frozen=True)
class Pretrained:
    """Weights that fit `config`. What the report calls fresh is not among them."""

    config: VitConfig
    state: Mapping[str, Tensor] = field(repr=False)
    report: WeightsReport


def open_weights(
    name: str, *, frames: int, size: int | None = None, options: WeightsOptions | None = None
) -> Pretrained:
    """Weights from a file, a folder, a hub id or a file of a hub repository, for clips of `frames` frames."""
    options = options or WeightsOptions()
    found = find(name)
    shown = str(found.files[0]) if len(found.files) == 1 else name
    tensors = read_tensors(found.files)
    spelling = recognise(tensors, shown)
    common, left_out = spelling.translate(tensors, shown)
    stock = Stock(common, shown)
    encoder = _BUILD[spelling.family](stock, found.config, Wanted(frames, size), options)
    stock.finish()
    if options.keep_head and "head" in encoder.fresh:
        raise UserError(f"{shown} has no head to keep; leave out keep_head.", usage=True)
    report = WeightsReport(
        name=name,
        family=encoder.family,
        spelling=spelling.label,
        size=encoder.size,
        parameters=sum(tensor.numel() for tensor in encoder.state.values()),
        loaded=len(encoder.state),
        left_out=(*left_out, *encoder.left_out),
        fresh=encoder.fresh,
        licence=found.download.licence if found.download else encoder.licence,
        notes=encoder.notes,
    )
    return Pretrained(encoder.config, encoder.state, report)
