"""What is wrong with the data of a run, and how far its two domains are apart, before anything is trained."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vidshift.data.augment import to_tchw
from vidshift.data.check.findings import Finding
from vidshift.data.check.run import FILE_SECONDS, Look, check_manifest, checked, with_findings
from vidshift.data.clips import ClipShape
from vidshift.data.keys import key
from vidshift.data.layouts import absolute_spec
from vidshift.data.loader import GRID
from vidshift.data.manifest import Manifest
from vidshift.data.match import match
from vidshift.data.shift import Profile, distances, profile
from vidshift.data.status import is_usable
from vidshift.engine.console import Console
from vidshift.engine.domains import is_built_in
from vidshift.errors import UserError
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.motion import above, energy

# Of normalised motion energies; the kept ratio is reported at each.
THRESHOLDS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
PATCH = 16


@dataclass(frozen=True, kw_only=True)
class Checked:
    """One data set with a finding for each of its videos."""

    name: str
    manifest: Manifest
    findings: tuple[Finding, ...]
    profile: Profile

    @property
    def statuses(self) -> Counter[str]:
        return Counter(finding.status for finding in self.findings)

    @property
    def usable(self) -> int:
        return sum(is_usable(finding.status) for finding in self.findings)

    @property
    def classes(self) -> dict[str, tuple[int, int]]:
        """Class -> (usable, all) videos."""
        found = {name: [0, 0] for name in self.manifest.classes}
        for row in self.manifest.rows:
            if row.label in found:
                found[row.label][0] += row.usable
                found[row.label][1] += 1
        return {name: (good, every) for name, (good, every) in found.items()}

    def as_dict(self) -> dict[str, Any]:
        return {
            "data": self.name,
            "read_as": self.manifest.origin,
            "videos": len(self.findings),
            "usable": self.usable,
            "statuses": dict(self.statuses),
            "classes": {name: {"usable": good, "all": every} for name, (good, every) in self.classes.items()},
            "profile": self.profile.as_dict(),
            "energy_histogram": energy_histogram(self.profile.kept),
            "not_usable": [
                {"path": str(row.path), "status": row.status, "reason": row.reason}
                for row in self.manifest.rows
                if not row.usable
            ],
            "notes": list(self.manifest.notes),
        }

    def __repr__(self) -> str:
        return f"Checked({self.name}: {self.usable} of {len(self.findings)} usable)"


@dataclass(frozen=True, kw_only=True)
class Report:
    """All data sets of a call; with two of them, the distance between them and whether their classes fit."""

    data: tuple[Checked, ...]
    distance: Mapping[str, float]
    classes_note: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "data": [checked.as_dict() for checked in self.data],
            "thresholds": list(THRESHOLDS),
            "distance": dict(self.distance),
            "classes_note": self.classes_note,
        }


def energy_histogram(kept: Sequence[float] | None) -> dict[str, list[float]] | None:
    """The share of tokens with an energy up to each edge and above the one before; the last edge is 1."""
    if kept is None:
        return None
    shares = -np.diff([1.0, *kept, 0.0])
    return {"edges": [*THRESHOLDS, 1.0], "shares": [round(float(share), 4) for share in shares]}


def look_for(shape: ClipShape) -> Look:
    """What a check decodes for a network: the very frames that its clips are made of."""
    return Look(
        frames=GRID * shape.frames, height=shape.height, width=shape.width, resize=shape.resize, send_every=GRID
    )


def examiner(shape: ClipShape, *, cache: Path, workers: int, console: Console) -> Callable[[str, Manifest], Manifest]:
    """Gives each video of a data set (by its name) a status before a run uses it; what a check has found already is not
    looked at again."""

    def examine(name: str, manifest: Manifest) -> Manifest:
        with console.task(f"checking {Path(name).name}", len(manifest)) as task:
            return checked(
                manifest,
                look_for(shape),
                workers=workers,
                memory=memory_file(cache, name),
                progress=lambda done, _: task.update(done),
            )

    return examine


def memory_file(cache: Path, name: str) -> Path:
    """Where the findings of a data set are remembered."""
    place = name if is_built_in(name) else absolute_spec(name)
    return cache / "check" / f"{key(place) & ((1 << 64) - 1):016x}.jsonl"


def check_data(
    manifests: Mapping[str, Manifest],
    *,
    cache: Path,
    workers: int,
    console: Console,
    frames: int = 16,
    size: int = 224,
    timeout: float = FILE_SECONDS,
    fresh: bool = False,
) -> Report:
    """Looks at every video of each data set as training will: `frames` frames at `size` x `size`."""
    geometry = _geometry(frames, size)
    if timeout <= 0:
        raise UserError(f"cannot allow a file {timeout:g} s; accepted: a time above zero.", usage=True)
    look = look_for(ClipShape(frames=frames, height=size, width=size))
    done: list[Checked] = []
    for name, manifest in manifests.items():
        with console.task(f"checking {Path(name).name}", len(manifest)) as task:
            findings = check_manifest(
                manifest,
                look,
                workers=workers,
                timeout=timeout,
                memory=memory_file(cache, name),
                enrich=energies(geometry),
                retry=True,
                fresh=fresh,
                progress=lambda n, _: task.update(n),
            )
        done.append(
            Checked(
                name=name,
                manifest=with_findings(manifest, findings),
                findings=findings,
                profile=profile(findings),
            )
        )
    if len(done) != 2:
        return Report(data=tuple(done), distance={})
    return Report(
        data=tuple(done),
        distance=distances(done[0].findings, done[1].findings),
        classes_note=_classes_note(done[0].manifest, done[1].manifest),
    )


def _geometry(frames: int, size: int) -> Geometry:
    """The tokens that energies are computed for: 16 x 16 pixels of two frames."""
    if frames < 2 or frames % 2:
        raise UserError(f"cannot look at {frames} frames; accepted: an even number of 2 or more.", usage=True)
    if size < PATCH or size % PATCH:
        raise UserError(f"cannot look at {size} x {size} pixels; accepted: a multiple of {PATCH}.", usage=True)
    return Geometry(frames=frames, height=size, width=size, patch=PATCH)


def energies(geometry: Geometry) -> Callable[[Finding, np.ndarray], Finding]:
    """Adds to a finding which share of its tokens moves more than each threshold."""

    def add(finding: Finding, clip_THWC: np.ndarray) -> Finding:
        energy_BN, _ = energy(to_tchw(clip_THWC)[None], geometry)
        kept = tuple(round(float(above(energy_BN, threshold).float().mean()), 5) for threshold in THRESHOLDS)
        return replace(finding, kept=kept)

    return add


def _classes_note(first: Manifest, second: Manifest) -> str | None:
    """Whether the class names of two domains fit, in words."""
    if not first.classes:
        return None
    try:
        return "; ".join(match(first, second).notes()) or None
    except UserError as error:
        return str(error)


def duplicates_between(data: Sequence[Checked]) -> tuple[str, ...]:
    """Files that stand in two data sets: testing on what was trained on."""
    from vidshift.data.check.duplicates import find_duplicates

    rows = [row for checked in data for row in checked.manifest.rows]
    findings = [finding for checked in data for finding in checked.findings]
    joined = find_duplicates(rows, findings)
    return tuple(
        f"'{row.path}' is {after.reason}"
        for row, before, after in zip(rows, findings, joined, strict=True)
        if after.status == "duplicate" and before.status != "duplicate"
    )
