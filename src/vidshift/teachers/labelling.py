"""Labelling many videos: in fixed shards, so that a killed run goes on and ends with the very same table."""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from vidshift.atomic import replacing
from vidshift.data.view import View
from vidshift.teachers.base import Teacher
from vidshift.teachers.table import TeacherTable

Load = Callable[[Sequence[str]], View | None]
Progress = Callable[[int, int], None]


def label_videos(
    teacher: Teacher,
    ids: Sequence[str],
    classes: Sequence[str],
    load: Load,
    *,
    work: Path,
    gamma: float = 0.8,
    batch: int = 16,
    progress: Progress | None = None,
) -> TeacherTable:
    """The table of `ids` in their order.

    `load(ids)` gives a view of these videos, or of those among them that can be read, or None. Each batch's result is
    a file under `work`; batches are cut by position alone, so what a batch computes never depends on where an earlier
    run was stopped. `work` is removed at the end.
    """
    shards = work / _job(teacher, ids, classes, batch)
    shards.mkdir(parents=True, exist_ok=True)
    parts: list[NDArray[np.float32]] = []
    for number, first in enumerate(range(0, len(ids), batch)):
        path = shards / f"{number:06d}.npy"
        if not path.exists():
            probs_BK = _label(teacher, ids[first : first + batch], classes, load)
            with replacing(path) as partial:
                np.save(partial, probs_BK)
        parts.append(np.load(path, allow_pickle=False))
        if progress:
            progress(min(first + batch, len(ids)), len(ids))
    probs_NK = np.concatenate(parts) if parts else np.zeros((0, len(classes)), np.float32)
    table = TeacherTable.make(ids, classes, probs_NK, card=teacher.card, gamma=gamma)
    shutil.rmtree(shards)
    if not any(work.iterdir()):
        work.rmdir()
    return table


def _label(teacher: Teacher, ids: Sequence[str], classes: Sequence[str], load: Load) -> NDArray[np.float32]:
    """`probs_BK` in the order of `ids`, with rows of NaN for videos that could not be read."""
    found = torch.full((len(ids), len(classes)), torch.nan)
    view = load(ids) if teacher.card.reads_pixels else View(torch.zeros(len(ids), 1, 3, 1, 1), tuple(ids))
    if view is not None and len(view):
        places = [ids.index(name) for name in view.ids]
        found[places] = teacher.probabilities(view, classes).float().cpu()
    return found.numpy()


def _job(teacher: Teacher, ids: Sequence[str], classes: Sequence[str], batch: int) -> str:
    """Another teacher, other videos or other classes: another folder, and nothing mixed."""
    card = teacher.card
    parts = [card.teacher, card.fingerprint, card.prompt, batch, list(ids), list(classes)]
    return "shards-" + hashlib.blake2b(json.dumps(parts).encode(), digest_size=12).hexdigest()
