"""A trained model to give to others: save it to a folder, push it to the hub, and load it from either."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelCardData, ModelHubMixin

from vidshift.data.clips import ClipShape
from vidshift.engine.model import open_model, write_model
from vidshift.engine.predict import Predictor
from vidshift.engine.step import Network
from vidshift.models import hub

# How the beginning of a licence's name is written in a card's header. MIT is not here: of CLIP it covers the code.
_LICENCES = {"CC BY-NC 4.0": "cc-by-nc-4.0", "Apache-2.0": "apache-2.0"}


class AdaptedModel(
    Predictor,
    ModelHubMixin,
    library_name="vidshift",
    pipeline_tag="video-classification",
    tags=["video-classification", "domain-adaptation"],
):
    """Everything that a prediction needs: backbone, the method's heads, the reducer with its threshold, classes and
    preprocessing.

    `AdaptedModel.open("runs/street").push_to_hub("me/street")`, then anywhere
    `AdaptedModel.from_pretrained("me/street").predict("clip.mp4")`; `vidshift.load` takes the same ids and folders.
    """

    def __init__(
        self, network: Network, classes: Sequence[str], shape: ClipShape, *, extras: Mapping[str, Any]
    ) -> None:
        super().__init__(network, classes, shape)
        self.extras = dict(extras)

    @classmethod
    def open(cls, run: Path | str, *, device: str = "cpu") -> "AdaptedModel":
        """A run folder, a model folder, or a hub id."""
        opened = open_model(run, device=device)
        return cls(opened.network, opened.classes, opened.shape, extras=opened.extras)

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: str | Path,
        *,
        force_download: bool = False,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        local_files_only: bool = False,
        revision: str | None = None,
        device: str = "cpu",
        **model_kwargs: Any,
    ) -> "AdaptedModel":
        """From a folder, or from the hub with the usual settings. The mixin's own would look online for one file at a
        time, with its own errors."""
        if model_kwargs:
            raise TypeError(f"from_pretrained takes no {next(iter(model_kwargs))!r}")
        where = str(pretrained_model_name_or_path)
        if Path(where).expanduser().is_dir() or not hub.is_hub_id(where):
            return cls.open(where, device=device)
        folder = hub.download(
            where,
            revision=revision,
            cache_dir=cache_dir,
            force_download=force_download,
            local_files_only=local_files_only,
            token=token,
        )
        return cls.open(folder, device=device)

    def _save_pretrained(self, save_directory: Path) -> None:
        write_model(save_directory, self.network, self.extras)

    def generate_model_card(self, *args: Any, **kwargs: Any) -> ModelCard:
        """What somebody must know before using it: classes, threshold, and where the weights came from."""
        info = self._hub_mixin_info.model_card_data
        header = ModelCardData(
            **{**info.to_dict(), **_licence_entries(self.licence), **kwargs},
        )
        return ModelCard(f"---\n{header.to_yaml()}\n---\n\n{self._text()}")

    @property
    def licence(self) -> str | None:
        """Of the pretrained weights that this model was made from; None: none is known."""
        return (self.extras.get("backbone") or {}).get("licence")

    def _text(self) -> str:
        origin = (self.extras.get("backbone") or {}).get("name") or "unknown"
        threshold = self.extras.get("threshold")
        size = f"{self.shape.frames} frames of {self.shape.height} x {self.shape.width} pixels"
        tokens = "" if threshold is None else f", threshold {threshold:.6g}"
        licence = self.licence or "not known; ask whoever trained them"
        classes = "\n".join(f"- {name}" for name in self.classes)
        return f"""# A video classifier adapted with VidShift

It labels a clip of {size} with one of {len(self.classes)} classes.

| | |
|---|---|
| method | `{self.network.method.name}` |
| tokens | `{self.network.reducer.name}`{tokens} |
| backbone | `{origin}` |
| licence of the pretrained weights | {licence} |

## Use

```python
import vidshift

print(vidshift.load("FOLDER OR HUB ID").predict("clip.mp4"))
```

## Classes

{classes}

## Limits

It was adapted to one place and knows no other class: every video gets one of these labels, however little it fits.
"""


def _licence_entries(licence: str | None) -> dict[str, str]:
    """The header's words for a licence; one that has no short name is named in full."""
    if licence is None:
        return {}
    for beginning, short in _LICENCES.items():
        if licence.startswith(beginning):
            return {"license": short}
    return {"license": "other", "license_name": licence}
