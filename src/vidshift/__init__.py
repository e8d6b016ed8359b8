"""VidShift: adapt video action recognition to a new domain without labels, on a fraction of the tokens."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from vidshift.engine.predict import Predictor

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def load(run: "str | Path") -> "Predictor":
    """Open a run folder, a model folder or a hub id for labelling videos.

    `vidshift.load("runs/adapt").predict("clip.mp4")`
    """
    from vidshift.engine.predict import Predictor

    return Predictor.open(run)
