"""What a run amounts to, as plain numbers: `summary.json`."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from vidshift.data.manifest import Manifest
from vidshift.engine.domains import Domains
from vidshift.engine.evaluate import Predictions, Score, score
from vidshift.engine.teach import Taught
from vidshift.errors import UserError
from vidshift.models.config import VitConfig
from vidshift.models.flops import Flops, clip_flops, full_flops
from vidshift.teachers.table import TeacherTable

SUMMARY_VERSION = 1
SUMMARY = "summary.json"


def kept_ratio(predictions: Predictions, vit: VitConfig) -> float | None:
    """The mean share of tokens that went into the network; None where no network was asked."""
    if not len(predictions.kept_N):
        return None
    return round(float(predictions.kept_N.double().mean()) / vit.geometry.tokens, 6)


def flops_per_clip(predictions: Predictions, vit: VitConfig) -> dict[str, float] | None:
    """Means over the clips, since cost is quadratic in the tokens, and what all tokens would cost."""
    if not len(predictions.kept_N):
        return None
    total = sum((clip_flops(vit, [n]) for n in predictions.kept_N.tolist()), Flops(0.0, 0.0))
    mean, full = total * (1 / len(predictions.kept_N)), full_flops(vit)
    return {
        "true": mean.true,
        "paper": mean.paper,
        "true_full": full.true,
        "paper_full": full.paper,
        "true_ratio": round(mean.true / full.true, 6),
    }


def motion_warnings(reducer: str, predictions: Predictions, vit: VitConfig) -> list[str]:
    """What can be told without a label: masks that no longer select."""
    kept = kept_ratio(predictions, vit)
    if reducer not in ("lmft", "motion") or kept is None:
        return []
    said = []
    if kept > 0.95:
        said.append(
            f"{kept:.0%} of the target's tokens move more than the threshold, as with a camera that moves: motion "
            "tokens save little here; try --reducer motion-topk or none."
        )
    if predictions.static_clips:
        said.append(
            f"{predictions.static_clips} of {len(predictions.ids)} target clips are static and keep their first "
            "segment only."
        )
    return said


def teacher_summary(taught: Taught | None, domains: Domains, *, name: str, gamma: float) -> dict[str, Any] | None:
    """How good the guesses are where labels exist to tell, and how many the filter leaves."""
    if taught is None:
        return None
    table = taught.table
    return {
        "name": name,
        "weak": table.card.weak,
        "accuracy": table_accuracy(table, domains.target_truth, domains.classes),
        "kept_accuracy": table_accuracy(kept_rows(table), domains.target_truth, domains.classes),
        "coverage": taught.report.coverage,
        "gamma": gamma,
    }


def add_training(summary: dict[str, Any], run: Mapping[str, Any] | None) -> None:
    """What training the teacher itself took, where this run did that first: it comes on top of the run's own budget."""
    if run is not None and summary["teacher"] is not None:
        summary["teacher"]["steps"] = run["steps"]
        summary["seconds"]["teacher"] = run["seconds"]["total"]


def table_accuracy(table: TeacherTable, truth: Manifest, classes: tuple[str, ...]) -> float | None:
    """How often a teacher table is right, where labels exist to tell."""
    found = table_score(table, truth, classes)
    return None if found is None else found.accuracy


def table_score(table: TeacherTable, truth: Manifest, classes: tuple[str, ...]) -> Score | None:
    """A teacher table against labels; None where there are none, or the table is empty."""
    if not truth.labelled or not len(table):
        return None
    probabilities_NK = torch.zeros(len(table), len(classes))
    probabilities_NK[torch.arange(len(table)), torch.from_numpy(table.label_N)] = 1.0
    return score(table.ids, probabilities_NK, truth, classes)


def kept_rows(table: TeacherTable) -> TeacherTable:
    """The rows that the filter keeps."""
    kept = [] if table.kept_N is None else [name for name, keep in zip(table.ids, table.kept_N, strict=True) if keep]
    return table.for_ids(kept) if kept else replace(table, ids=(), labels=())


def finite(value: Any) -> Any:
    """JSON knows no NaN: an undefined number is null."""
    if isinstance(value, Mapping):
        return {str(name): finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and value != value:
        return None
    return value


def read_summary(folder: Path) -> dict[str, Any] | None:
    """The summary of a finished run, or None where there is none yet."""
    path = folder / SUMMARY
    try:
        found = json.loads(path.read_text())
        version = found["version"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged ({type(error).__name__}: {error}); remove it and resume the run.") from None
    if version > SUMMARY_VERSION:
        raise UserError(
            f"{path} was written by a newer VidShift (summary {version}; this one reads up to {SUMMARY_VERSION}): "
            "upgrade VidShift to use this run."
        )
    return found
