"""VidShift: adapt video action recognition to a new domain without labels, on a fraction of the tokens."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from vidshift.engine.predict import Predictor
    from vidshift.engine.sharing import AdaptedModel

__version__ = "0.1.0"
__all__ = ["AdaptedModel", "__version__", "load"]


def load(run: "str | Path") -> "Predictor":
    """Open a run folder, a model folder or a hub id for labelling videos.

    `vidshift.load("runs/adapt").predict("clip.mp4")`
    """
    from vidshift.engine.predict import Predictor

    return Predictor.open(run)


def __getattr__(name: str) -> Any:
    """`vidshift.AdaptedModel`, imported when somebody asks for it."""
    if name == "AdaptedModel":
        from vidshift.engine.sharing import AdaptedModel

        return AdaptedModel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
