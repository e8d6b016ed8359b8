"""Writing a `Portable` network for programs without VidShift, as a torch.export archive or as ONNX, and running both.

Inputs: `pixels`, uint8 [batch, frames, 3, height, width] with any batch, and where the reducer has one `threshold`, a
float32 scalar. Outputs: `probabilities` [batch, classes] and `kept` [batch], the tokens of each clip. What else a
program must know travels inside the file as JSON under the name `vidshift`.
"""

import importlib.util
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.export import ExportedProgram

from vidshift.errors import UserError
from vidshift.models.portable import Portable

Format = Literal["torch", "onnx"]
SUFFIX: Mapping[Format, str] = {"torch": ".pt2", "onnx": ".onnx"}
CARD = "vidshift"
# One protobuf message cannot be larger, and weights in a second file would be lost when the first is moved.
ONNX_LIMIT_BYTES = 2**31

Run = Callable[[Tensor, float | None], tuple[Tensor, Tensor]]
"""(pixels, threshold) -> (probabilities, kept)."""


def check_packages(form: Format) -> None:
    """ONNX needs packages that nothing else here needs."""
    missing = [name for name in ("onnx", "onnxscript", "onnxruntime") if importlib.util.find_spec(name) is None]
    if form == "onnx" and missing:
        raise UserError(
            f"writing ONNX needs {', '.join(missing)}: install them with `pip install 'vidshift[export]'`, or take "
            "--format torch."
        )


@torch.no_grad()
def trace(portable: Portable) -> ExportedProgram:
    """The network as a graph with any batch. Two clips that keep different counts go in, so that neither is fixed."""
    g = portable.net.geometry
    pixels = torch.zeros(2, g.frames, g.channels, g.height, g.width, dtype=torch.uint8)
    pixels[1, 1::2] = 255
    inputs = (pixels, torch.tensor(0.5)) if portable.takes_threshold else (pixels,)
    batch = {0: torch.export.Dim.DYNAMIC}
    shapes = (batch, None) if portable.takes_threshold else (batch,)
    with _quiet():
        return torch.export.export(portable, inputs, dynamic_shapes=shapes, strict=False)


def write(program: ExportedProgram, path: Path, form: Format, *, card: Mapping[str, Any]) -> None:
    text = json.dumps(card, ensure_ascii=False)
    with _quiet():
        if form == "torch":
            torch.export.save(program, path, extra_files={f"{CARD}.json": text})
            return
        size = sum(tensor.numel() * tensor.element_size() for tensor in program.state_dict.values())
        if size >= ONNX_LIMIT_BYTES:
            raise UserError(
                f"these weights have {size / 1e9:.1f} GB, and one ONNX file holds 2 GB; take --format torch.",
                usage=True,
            )
        inputs = ["pixels", "threshold"] if "threshold" in card["inputs"] else ["pixels"]
        written = torch.onnx.export(
            program, dynamo=True, input_names=inputs, output_names=["probabilities", "kept"], verbose=False
        )
        assert written is not None
        written.model.metadata_props[CARD] = text
        written.save(path, external_data=False)


def open_torch(path: Path) -> tuple[Run, Mapping[str, Any]]:
    extra = {f"{CARD}.json": ""}
    with _quiet():
        module = torch.export.load(path, extra_files=extra).module()

    @torch.no_grad()
    def run(pixels: Tensor, threshold: float | None) -> tuple[Tensor, Tensor]:
        return module(pixels) if threshold is None else module(pixels, torch.tensor(threshold))

    return run, json.loads(extra[f"{CARD}.json"])


def open_onnx(path: Path) -> tuple[Run, Mapping[str, Any]]:
    import numpy as np
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def run(pixels: Tensor, threshold: float | None) -> tuple[Tensor, Tensor]:
        inputs = {"pixels": pixels.numpy()}
        if threshold is not None:
            inputs["threshold"] = np.array(threshold, dtype=np.float32)
        probabilities, kept = session.run(["probabilities", "kept"], inputs)
        return torch.from_numpy(np.asarray(probabilities)), torch.from_numpy(np.asarray(kept))

    return run, json.loads(session.get_modelmeta().custom_metadata_map[CARD])


OPEN: Mapping[Format, Callable[[Path], tuple[Run, Mapping[str, Any]]]] = {"torch": open_torch, "onnx": open_onnx}


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporters tell of packages that are not there and of their own deprecations."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
