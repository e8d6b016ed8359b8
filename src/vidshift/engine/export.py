"""A trained run as one file for programs without VidShift, checked against our own output before it is kept."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vidshift import __version__
from vidshift.atomic import replacing
from vidshift.data.view import View
from vidshift.engine.model import OpenModel, open_model
from vidshift.engine.step import Network
from vidshift.errors import UserError
from vidshift.methods.base import Method
from vidshift.models.export import OPEN, SUFFIX, Format, Run, check_packages, trace, write
from vidshift.models.portable import FORMS, Portable
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.reducers.motion import select_above
from vidshift.tokens.seeds import clip_seeds, generator

CLOSE = 1e-4
# Tried beside the model's own: among them clips keep few tokens, some, and nearly all.
THRESHOLDS = (0.02, 0.5, 0.9)


@dataclass(frozen=True)
class Exported:
    """What was written and how near it is to the model it came from."""

    path: Path
    form: Format
    difference: float
    kept: tuple[int, ...]
    threshold: float | None

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "path": str(self.path), "form": self.form, "kept": list(self.kept)}

    def __str__(self) -> str:
        counts = f"{min(self.kept)} to {max(self.kept)}" if len(set(self.kept)) > 1 else f"{self.kept[0]}"
        return (
            f"{self.path} ({self.path.stat().st_size / 1e6:.1f} MB, {self.form}): probabilities differ by at most "
            f"{self.difference:.0e} on clips that keep {counts} tokens"
        )


def export_run(run: Path | str, *, form: Format, out: Path | None = None) -> Exported:
    """Write the model of a run; without `out`, into its folder. A file that is there already is never written over."""
    check_packages(form)
    opened = open_model(run)
    path = default_path(run, form) if out is None else out.expanduser()
    if path.suffix != SUFFIX[form]:
        raise UserError(f"--out {path} does not end in {SUFFIX[form]}, the suffix of --format {form}.", usage=True)
    if path.exists():
        raise UserError(f"{path} exists; remove it, or give --out another file.", usage=True)
    portable = portable_of(opened)
    threshold = float(opened.extras["threshold"]) if portable.takes_threshold else None
    card = _card(opened, threshold)
    with replacing(path) as partial:
        write(trace(portable), partial, form, card=card)
        difference, kept = compare(opened.network, OPEN[form](partial)[0], threshold)
        if not difference <= CLOSE:
            raise UserError(
                f"the exported file's probabilities differ from the model's by {difference:.1e} (at most {CLOSE:.0e} "
                "is accepted), so it was not kept; take the other --format."
            )
    return Exported(path, form, difference, kept, threshold)


def default_path(run: Path | str, form: Format) -> Path:
    folder = Path(run).expanduser()
    if not folder.is_dir():
        raise UserError(f"{run} is no folder on this machine to write into; give --out a file.", usage=True)
    return folder / f"model{SUFFIX[form]}"


def portable_of(opened: OpenModel) -> Portable:
    """What of a model can be one graph; anything else is refused in a sentence."""
    network = opened.network
    method, reducer = network.method, network.reducer
    if type(method).predict is not Method.predict or network.net.head is None:
        raise UserError(
            f"the method {method.name!r} predicts with more than its backbone's head, which cannot be exported; use "
            "`vidshift predict`."
        )
    if reducer.name not in FORMS:
        raise UserError(
            f"the reducer {reducer.name!r} cannot be exported (its choice is no function of pixels alone); accepted: "
            f"{', '.join(sorted(FORMS))}."
        )
    return FORMS[reducer.name](network.net, reducer.options())


def _card(opened: OpenModel, threshold: float | None) -> dict[str, Any]:
    g = opened.network.net.geometry
    return {
        "made_by": f"VidShift {__version__}",
        "classes": list(opened.classes),
        "threshold": threshold,
        "inputs": ["pixels"] if threshold is None else ["pixels", "threshold"],
        "pixels": {"dtype": "uint8", "shape": ["batch", g.frames, g.channels, g.height, g.width], "colours": "RGB"},
        "preprocessing": dict(opened.extras["preprocessing"]),
        "tokens": g.tokens,
        "reducer": opened.network.reducer.name,
        "licence": (opened.extras.get("backbone") or {}).get("licence"),
    }


@torch.no_grad()
def compare(network: Network, run: Run, threshold: float | None) -> tuple[float, tuple[int, ...]]:
    """The largest difference of probabilities from our own, in float32, over several batches, and the kept counts."""
    own_precision, network.precision = network.precision, "float32"
    try:
        return _compare(network, run, threshold)
    finally:
        network.precision = own_precision


def _compare(network: Network, run: Run, threshold: float | None) -> tuple[float, tuple[int, ...]]:
    largest, counts = 0.0, list[int]()
    for view in _batches(network.net.geometry):
        expected, seen = network.predict(view, clip_seeds(view.ids, run=0))
        cases = [(threshold, expected, torch.tensor(seen.lengths))]
        if threshold is not None:
            cases.extend((other, *_own(network, view, other)) for other in THRESHOLDS)
        for value, probabilities, kept in cases:
            found, found_kept = run(view.pixels_BTCHW, value)
            if found.shape != probabilities.shape or found_kept.tolist() != kept.tolist():
                return float("inf"), tuple(counts)
            largest = max(largest, float((found - probabilities).abs().max()))
            counts.extend(kept.tolist())
    return largest, tuple(counts)


def _own(network: Network, view: View, threshold: float) -> tuple[Tensor, Tensor]:
    floor = network.reducer.options()["floor"]
    selection = select_above(view, network.net.geometry, threshold=threshold, floor=floor)
    return network.net(view, selection=selection).logits_BK.softmax(dim=-1), selection.kept_B


def _batches(geometry: Geometry) -> Iterator[View]:
    """One clip, then four: a still one, noise everywhere, noise in a growing part, and a square that moves."""
    g = geometry
    draw = generator("export check", 0)
    shape = (4, g.frames, g.channels, g.height, g.width)
    still = torch.randint(0, 256, (4, 1, *shape[2:]), generator=draw, dtype=torch.uint8)
    pixels = still.expand(shape).clone()
    noise = torch.randint(0, 256, shape, generator=draw, dtype=torch.uint8)
    pixels[1] = noise[1]
    for t in range(g.frames):
        rows = (t + 1) * g.height // g.frames
        pixels[2, t, :, :rows] = noise[2, t, :, :rows]
        left = t * max(g.width - g.patch, 0) // g.frames
        pixels[3, t, :, : g.patch, left : left + g.patch] = 255
    yield View(pixels[3:], ("check3",))
    yield View(pixels, tuple(f"check{k}" for k in range(4)))
