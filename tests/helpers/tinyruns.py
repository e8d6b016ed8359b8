"""Whole runs in a fraction of a second: a few drawn clips, four frames, a tiny network and a teacher table."""

import csv
import json
from pathlib import Path
from typing import Any

from vidshift.data.stickworld.build import build
from vidshift.engine.log import TIMING_KEYS, read_metrics
from vidshift.models.checkpoint import save_model
from vidshift.models.config import VitConfig
from vidshift.models.vit import VideoTransformer
from vidshift.tokens.geometry import Geometry

SIZES = {"train": 16, "val": 8, "test": 8}
EPOCHS = 2
GEOMETRY = Geometry(frames=4, height=32, width=32, tubelet=2, patch=8)


def draw_tiny(cache: Path) -> Path:
    """Draws the clips, makes a network and writes a teacher table, right three times in four; gives the table."""
    manifests = {
        (domain, split): build(cache, domain, split, SIZES[split], workers=1)
        for domain, split in (("studio", "train"), ("studio", "val"), ("street", "train"), ("street", "test"))
    }
    config = VitConfig(geometry=GEOMETRY, width=32, depth=2, heads=2)
    save_model(cache / "tiny", VideoTransformer(config))
    told = manifests["street", "train"]
    table = cache / "labels.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "label", "confidence"))
        for number, row in enumerate(told.rows):
            label = row.label if number % 4 else told.classes[number % len(told.classes)]
            writer.writerow((row.id, label, 0.95 if number % 8 else 0.5))
    return table


def tiny_arguments(cache: Path, table: Path, /, **flags: Any) -> list[str]:
    """`vidshift adapt` on the tiny domains; `flags` replace or add, None leaves out."""
    chosen: dict[str, Any] = {
        "backbone": cache / "tiny",
        "frames": 4,
        "batch": 8,
        "epochs": EPOCHS,
        "teacher": table,
        "cache": cache,
        "workers": 1,
        **{name.replace("_", "-"): value for name, value in flags.items()},
    }
    sizes = [word for name, count in SIZES.items() for word in ("--set", f"sizes.{name}={count}")]
    given = [word for name, value in chosen.items() if value is not None for word in (f"--{name}", str(value))]
    return ["adapt", *sizes, *given]


def metrics_of(folder: Path) -> list[dict[str, Any]]:
    """Without what differs from run to run: timings."""
    lines = read_metrics(folder / "metrics.jsonl")
    return [{name: value for name, value in line.items() if name not in TIMING_KEYS} for line in lines]


def summary_of(folder: Path) -> dict[str, Any]:
    summary = json.loads((folder / "summary.json").read_text())
    return {name: value for name, value in summary.items() if name not in TIMING_KEYS}


def assert_same_run(folder: Path, reference: Path) -> None:
    """Weights and predictions bit for bit, numbers exactly, and the same files."""
    assert metrics_of(folder) == metrics_of(reference)
    mine, other = summary_of(folder), summary_of(reference)
    assert {name: (mine.get(name), value) for name, value in other.items() if mine.get(name) != value} == {}
    for name in ("model/model.safetensors", "predictions.csv", "teacher.parquet"):
        assert (folder / name).read_bytes() == (reference / name).read_bytes(), name
    files = [sorted(str(path.relative_to(place)) for path in place.rglob("*")) for place in (folder, reference)]
    assert files[0] == files[1]
