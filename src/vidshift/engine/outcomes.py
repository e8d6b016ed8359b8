"""`predictions.csv`: what a run says of every test clip, so that errors can be looked at and runs paired by clip."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from vidshift.data.manifest import Manifest
from vidshift.engine.evaluate import Predictions
from vidshift.engine.files import write_text

COLUMNS = ("id", "label", "predicted", "confidence", "kept_tokens")


def write_predictions(path: Path, predictions: Predictions, manifest: Manifest, classes: Sequence[str]) -> None:
    """One row a clip, in the manifest's order; an unknown label is empty."""
    place_of = {clip: place for place, clip in enumerate(predictions.ids)}
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in manifest.rows:
        place = place_of.get(row.id)
        if place is None:
            continue
        confidence, best = predictions.probabilities_NK[place].max(0)
        kept = int(predictions.kept_N[place]) if len(predictions.kept_N) else ""
        writer.writerow((row.id, row.label or "", classes[int(best)], f"{float(confidence):.6f}", kept))
    write_text(path, text.getvalue())


def read_hits(path: Path) -> Tensor | None:
    """`hits_N`: right or wrong for each clip of the file; None where there are no labels to tell."""
    if not path.exists():
        return None
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or any(not row["label"] for row in rows):
        return None
    return torch.tensor([row["label"] == row["predicted"] for row in rows])
