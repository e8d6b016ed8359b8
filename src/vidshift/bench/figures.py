"""Figures as pure functions: data in, a matplotlib figure out. Nothing here reads a run or writes a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vidshift.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

# Colours that stay apart for colour-blind readers and in grey (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def _plt() -> Any:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        raise UserError("figures need matplotlib, which is not installed: pip install 'vidshift[plots]'.") from None
    return plt


def energy_image(energy_SYX: NDArray[np.float32], patch: int) -> NDArray[np.float32]:
    """[S, H, W]: energies drawn as squares of a patch, on a square-root scale, since most are small."""
    return np.sqrt(energy_SYX).repeat(patch, axis=1).repeat(patch, axis=2)


def masked_frames(frames_SHWC: NDArray[np.uint8], keep_SYX: NDArray[np.bool_], patch: int) -> NDArray[np.uint8]:
    """The frames with dropped patches faded to light grey."""
    keep = keep_SYX.repeat(patch, axis=1).repeat(patch, axis=2)[..., None]
    faded = (0.12 * frames_SHWC + 0.88 * 235).astype(np.uint8)
    return np.where(keep, frames_SHWC, faded)


def kept_tokens(clips_BTCHW: "Tensor", titles: Sequence[str], *, threshold: float, geometry: Any) -> "Figure":
    """The paper's qualitative figure: for each clip its frames, motion differences and kept tokens in three rows."""
    from vidshift.tokens import motion

    g, plt = geometry, _plt()
    energy_BN, _ = motion.energy(clips_BTCHW, g)
    keep_BN = motion.above(energy_BN, threshold)
    shape = (len(clips_BTCHW), g.segments, g.rows, g.cols)
    energy, keep = energy_BN.reshape(shape).numpy(), keep_BN.reshape(shape).numpy()
    frames = clips_BTCHW[:, :: g.tubelet].permute(0, 1, 3, 4, 2).numpy()
    columns = 2 if len(clips_BTCHW) > 1 else 1
    blocks = -(-len(clips_BTCHW) // columns)
    width = 1.05 * g.segments * columns + 1.2
    figure = plt.figure(figsize=(width, blocks * (3 * 1.05 + 0.5)), layout="constrained")
    boxes = np.atleast_1d(figure.subfigures(blocks, columns, wspace=0.03, hspace=0.04)).ravel()
    for clip, box in enumerate(boxes[: len(clips_BTCHW)]):
        rows = (
            ("frames", frames[clip], {}),
            ("motion", energy_image(energy[clip], g.patch), {"cmap": "inferno", "vmin": 0, "vmax": 1}),
            ("kept", masked_frames(frames[clip], keep[clip], g.patch), {}),
        )
        axes = box.subplots(3, g.segments)
        box.suptitle(f"{titles[clip]}: {keep[clip].mean():.0%} of the tokens kept", fontsize=10)
        for row, (name, images, how) in enumerate(rows):
            axes[row, 0].set_ylabel(name, fontsize=9)
            for column, image in enumerate(images):
                axes[row, column].imshow(image, **how)
                axes[row, column].set(xticks=[], yticks=[])
    return figure


def training_curves(curves: Mapping[str, Sequence[Sequence[Mapping[str, float]]]]) -> "Figure":
    """Threshold, kept ratio and reward over training: a thin line for each run, a thick one for their mean.

    `curves` maps a row's name to the curves of its runs (lists of points with `step`).
    """
    plt = _plt()
    panels = (("threshold tau", _of("threshold")), ("kept ratio", _kept), ("reward", _reward))
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
    for (title, read), axis in zip(panels, axes, strict=True):
        for colour, (name, runs) in zip(COLOURS * 3, curves.items(), strict=False):
            lines = [
                [(point["step"], value) for point in run if (value := read(point)) is not None] for run in runs if run
            ]
            lines = [np.array(line) for line in lines if line]
            for line in lines:
                axis.plot(line[:, 0], line[:, 1], color=colour, alpha=0.25, linewidth=0.8)
            if lines and len({len(line) for line in lines}) == 1:
                mean = np.mean(lines, axis=0)
                axis.plot(mean[:, 0], mean[:, 1], color=colour, linewidth=2, label=name)
        axis.set(title=title, xlabel="step")
        axis.grid(alpha=0.3)
    axes[0].set_yscale("log")
    if axes[0].get_legend_handles_labels()[0]:
        axes[0].legend(fontsize=7)
    return figure


def _of(name: str) -> Any:
    return lambda point: point.get(name)


def _kept(point: Mapping[str, float]) -> float | None:
    found = [point[name] for name in ("kept_source", "kept_target") if name in point]
    return sum(found) / len(found) if found else None


def _reward(point: Mapping[str, float]) -> float | None:
    return point["loss_term"] + point["kept_term"] if "loss_term" in point and "kept_term" in point else None


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One row in the picture of accuracy against cost; `low` and `high` are its 95 % interval."""

    name: str
    cost: float
    accuracy: float
    low: float
    high: float
    group: str = ""


def accuracy_against_cost(marks: Sequence[Mark], *, cost: str = "true FLOPs, share of all tokens'") -> "Figure":
    """Marks of one group are joined in the order of their cost, such as a grid of thresholds."""
    plt = _plt()
    figure, axis = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
    groups = dict.fromkeys(mark.group for mark in marks)
    middle = (min(mark.cost for mark in marks) + max(mark.cost for mark in marks)) / 2
    for colour, group in zip(COLOURS * 3, groups, strict=False):
        mine = sorted((mark for mark in marks if mark.group == group), key=lambda mark: mark.cost)
        x = np.array([mark.cost for mark in mine])
        y = 100 * np.array([[mark.accuracy, mark.low, mark.high] for mark in mine])
        errors = np.abs(y[:, 1:] - y[:, :1]).T
        axis.errorbar(
            x, y[:, 0], yerr=errors, fmt="o-" if group else "o", color=colour, capsize=2, linewidth=1, label=group
        )
        for mark, height in zip(mine, y[:, 0], strict=True):
            side = 1 if mark.cost <= middle else -1  # at the right edge a name would leave the picture
            axis.annotate(
                mark.name,
                (mark.cost, height),
                fontsize=6.5,
                xytext=(4 * side, 4),
                textcoords="offset points",
                ha="left" if side > 0 else "right",
            )
    axis.set(xlabel=cost, ylabel="target accuracy, %")
    axis.grid(alpha=0.3)
    if any(groups):
        axis.legend(fontsize=8)
    return figure
