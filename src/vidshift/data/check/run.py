"""All videos of a manifest through worker processes, remembering what is known already."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vidshift.data.check.duplicates import find_duplicates
from vidshift.data.check.findings import Finding, Memory, file_key
from vidshift.data.check.inspect import Seen, Task, inspect
from vidshift.data.manifest import Manifest, Row
from vidshift.data.workers import Lost, guarded

Progress = Callable[[int, int], None]
# Gets the frames of one video and adds to its finding what data itself cannot know (motion energies).
Enrich = Callable[[Finding, np.ndarray], Finding]
FILE_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Look:
    """What is sampled from each video; `send_every` picks the frames that `enrich` gets."""

    frames: int = 32
    height: int = 224
    width: int = 224
    resize: str = "squash"
    send_every: int = 2

    def task(self, row: Row, *, send: bool) -> Task:
        return Task(
            path=row.path,
            start=row.start,
            end=row.end,
            frames=self.frames,
            size=(self.height, self.width),
            resize=self.resize,
            send_every=self.send_every if send else 0,
        )


def check_manifest(
    manifest: Manifest,
    look: Look,
    *,
    workers: int,
    timeout: float = FILE_SECONDS,
    memory: Path | None = None,
    enrich: Enrich | None = None,
    retry: bool = False,
    fresh: bool = False,
    duplicates: bool = True,
    progress: Progress | None = None,
) -> tuple[Finding, ...]:
    """A finding for each row, in order. `memory` is the file that keeps them; `retry` looks again at what timed out or
    crashed, `fresh` at everything. `duplicates` compares files of equal size."""
    known = Memory(memory)
    sampled = (look.frames, look.height, look.width, look.resize)
    keys = [file_key(row, sampled) for row in manifest.rows]
    found: dict[int, Finding] = {}
    for place, key in enumerate(keys):
        before = None if fresh else known.get(key)
        if before is None or (retry and before.status in ("timeout", "crashed")):
            continue
        if enrich is not None and before.motion is not None and before.kept is None:
            continue
        found[place] = before
    missing = [place for place in range(len(keys)) if place not in found]
    tasks = (look.task(manifest.rows[place], send=enrich is not None) for place in missing)
    if progress:
        progress(len(found), len(keys))
    try:
        for at, answer in guarded(inspect, tasks, workers=min(workers, max(1, len(missing))), timeout=timeout):
            finding = _settle(answer, enrich)
            found[missing[at]] = finding
            known.put(keys[missing[at]], finding)
            if progress:
                progress(len(found), len(keys))
    finally:
        known.close()
    findings = tuple(found[place] for place in range(len(keys)))
    return find_duplicates(manifest.rows, findings) if duplicates else findings


def _settle(answer: Seen | Lost, enrich: Enrich | None) -> Finding:
    if isinstance(answer, Lost):
        return Finding(status=answer.kind, reason=answer.reason)
    if enrich is not None and answer.clip_THWC is not None:
        return enrich(answer.finding, answer.clip_THWC)
    return answer.finding


def with_findings(manifest: Manifest, findings: tuple[Finding, ...]) -> Manifest:
    """The manifest with what was found in its rows."""
    rows = tuple(
        replace(
            row,
            status=finding.status,
            reason=finding.reason or None,
            num_frames=finding.num_frames,
            fps=finding.fps,
            width=finding.width,
            height=finding.height,
            seconds=finding.seconds,
        )
        for row, finding in zip(manifest.rows, findings, strict=True)
    )
    return replace(manifest, rows=rows)


def checked(
    manifest: Manifest,
    look: Look,
    *,
    workers: int,
    timeout: float = FILE_SECONDS,
    memory: Path | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """The manifest as training may use it: every row with a status, and a note that counts what will be left out.

    A row that has a status already (a manifest that a check has written) keeps it. Nothing is dropped here:
    `Manifest.where(usable=True)` does that, and a test set still expects the bad ones.
    """
    unknown = [place for place, row in enumerate(manifest.rows) if row.status is None]
    part = replace(manifest, rows=tuple(manifest.rows[place] for place in unknown))
    findings = check_manifest(
        part, look, workers=workers, timeout=timeout, memory=memory, duplicates=False, progress=progress
    )
    rows = list(manifest.rows)
    for place, row in zip(unknown, with_findings(part, findings).rows, strict=True):
        rows[place] = row
    note = _skipped(rows)
    return replace(manifest, rows=tuple(rows), notes=(*manifest.notes, *((note,) if note else ())))


def _skipped(rows: Sequence[Row]) -> str | None:
    """How many videos cannot be used, of which kinds, and the first of them."""
    bad = [row for row in rows if not row.usable]
    if not bad:
        return None
    kinds = ", ".join(f"{count} {status}" for status, count in Counter(row.status for row in bad).most_common())
    many = f"{len(bad)} of {len(rows)} videos cannot be used and are skipped ({kinds})"
    return f"{many}; the first is '{bad[0].path}': {bad[0].reason or bad[0].status}"
