"""Frames of `web` as they are drawn, with their captions: no codec, so many more clips for the time.

A teacher that sees a few thousand scenes learns by heart what is done in each; one that never sees a scene often must
look at the person.
"""

import json
import shutil
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from vidshift.data.stickworld.draw import SIZE
from vidshift.data.stickworld.numbered import Series
from vidshift.engine.console import Console
from vidshift.teachers.captioned import draw_captions, mirrored

_TOGETHER = 64


class DrawnClips:
    """A memory map of short clips, as `data.loader.Clips`."""

    def __init__(self, path: Path, series: Series) -> None:
        self._map = np.load(path, mmap_mode="r")
        self.frames = self._map.shape[1]
        self.joints_NTJ2 = np.load(path.with_name("joints.npy"))
        self.ids = [series.id(number) for number in range(len(self._map))]

    def __len__(self) -> int:
        return len(self._map)

    def grid_THWC(self, index: int) -> np.ndarray:
        return self._map[index]


Captions = list[list[str]]


def draw_all(
    cache: Path, series: Series, count: int, *, frames: int, each: int, seed: int, workers: int, say: Console
) -> tuple[DrawnClips, Captions, Captions]:
    """The first `count` clips of a series, `frames` frames long, with captions as filmed and in the mirror."""
    name = f"posed-{series.domain}-{series.split}-{series.seed}-{count}x{frames}-{each}-{seed}"
    folder = cache / name
    if not (folder / "captions.json").exists():
        partial = cache / f".{name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        shape = (count, frames, SIZE, SIZE, 3)
        np.lib.format.open_memmap(partial / "clips.npy", mode="w+", dtype=np.uint8, shape=shape).flush()
        parts = [range(first, min(first + _TOGETHER, count)) for first in range(0, count, _TOGETHER)]
        found: tuple[Captions, Captions] = ([], [])
        places: list[np.ndarray] = []
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool, say.task("drawing", count) as task:
            jobs = [pool.submit(_draw, partial / "clips.npy", series, part, each, seed) for part in parts]
            for job, part in zip(jobs, parts, strict=True):
                joints, *captions = job.result()
                places.append(joints)
                for rows, more in zip(found, captions, strict=True):
                    rows.extend(more)
                task.update(part.stop)
        np.save(partial / "joints.npy", np.concatenate(places))
        (partial / "captions.json").write_text(json.dumps(found), encoding="utf-8")
        partial.rename(folder)
    plain, turned = json.loads((folder / "captions.json").read_text(encoding="utf-8"))
    return DrawnClips(folder / "clips.npy", series), plain, turned


def _draw(path: Path, series: Series, numbers: range, each: int, seed: int) -> tuple[np.ndarray, Captions, Captions]:
    clips = np.load(path, mmap_mode="r+")
    seen, joints = [], []
    for number in numbers:
        drawn = series.draw(number, frames=clips.shape[1])
        clips[number] = drawn.clip_THWC
        seen.append(drawn.description)
        joints.append(drawn.joints_TJ2)
    turned = [mirrored(one) for one in seen]
    first = numbers.start
    return (
        np.stack(joints),
        draw_captions(seen, each=each, seed=seed, first=first),
        draw_captions(turned, each=each, seed=seed, first=first),
    )
