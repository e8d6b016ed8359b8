"""What the published study found for a run's own setting: the mean, the spread, and the differences that matter.

The numbers ship as `assets/study.json`, which `scripts/publish_study.py` makes from the study's finished runs.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any

from vidshift.engine.config import RunConfig
from vidshift.engine.defaults import with_defaults

STUDY = "study.json"
# What may differ from the defaults in a run that the study speaks of.
_FREE = ("source", "target", "method", "reducer", "seed", "data_seed", "save_every")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Accuracy of this setting minus another's, paired by seed, with its 95 % interval."""

    other: str
    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.mean:+.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}] against {self.other}"


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Target test accuracy over the study's seeds."""

    seeds: int
    accuracy: float
    spread: float
    against: tuple[Difference, ...] = ()

    def __str__(self) -> str:
        points = "; in points " + ", ".join(map(str, self.against)) if self.against else ""
        return (
            f"{self.accuracy:.1%}, deviation {100 * self.spread:.1f}, over {self.seeds} seeds{points} (docs/study.md)"
        )


def names_reducer(method: str, reducer: str) -> bool:
    """Whether the row of a comparison is called `method + reducer`, rather than by its method alone."""
    return method not in ("source-only", "zero-shot") or reducer != "none"


def expected(config: RunConfig, study: Mapping[str, Any] | None = None) -> Expected | None:
    """None where the study did not try this very setting."""
    config, default = with_defaults(config), with_defaults(RunConfig())
    if any(
        getattr(config, entry.name) != getattr(default, entry.name)
        for entry in fields(RunConfig)
        if entry.name not in _FREE
    ):
        return None
    directions = (published() if study is None else study).get("directions", {})
    row = f"{config.method} + {config.reducer}" if names_reducer(config.method, config.reducer) else config.method
    found = directions.get(f"{config.source}->{config.target}", {}).get(row)
    if found is None:
        return None
    return Expected(
        seeds=found["seeds"],
        accuracy=found["accuracy"],
        spread=found["spread"],
        against=tuple(Difference(other=name, **numbers) for name, numbers in found["against"].items()),
    )


def published() -> Mapping[str, Any]:
    """The shipped numbers; nothing where this installation has none."""
    path = files("vidshift").joinpath("assets", STUDY)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
