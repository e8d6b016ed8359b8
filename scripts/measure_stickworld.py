"""The numbers of docs/stickworld.md: `python scripts/measure_stickworld.py`. Run it on a quiet machine."""

import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from vidshift.data.augment import Augment
from vidshift.data.loader import GRID, draws, training_view
from vidshift.data.stickworld.build import SIZES, build
from vidshift.data.stickworld.draw import FPS
from vidshift.data.stickworld.encode import encode
from vidshift.data.stickworld.numbered import Series
from vidshift.data.stickworld.variant import DOMAINS, Variant

CLIPS = 48


def milliseconds(work: Callable[[int], object]) -> float:
    """Processor time of one call, over `CLIPS` calls after one more."""
    work(0)
    started = time.process_time()
    for number in range(CLIPS):
        work(number)
    return (time.process_time() - started) / CLIPS * 1e3


def drawing(folder: Path) -> None:
    series = [Series(domain=domain, split="train") for domain in DOMAINS]
    clips = [series[k % 3].draw(k).clip_THWC for k in range(CLIPS)]
    print(f"draw a clip: {milliseconds(lambda k: series[k % 3].draw(k)):.1f} ms")
    print(f"encode it:   {milliseconds(lambda k: encode(folder / f'{k}.mp4', clips[k], fps=FPS)):.1f} ms")
    print(f"its file:    {np.mean([path.stat().st_size for path in folder.glob('*.mp4')]) / 1e3:.1f} kB")


def building(folder: Path) -> None:
    parts = (("studio", "train"), ("studio", "val"), ("street", "train"), ("street", "test"))
    for what in ("draw", "check"):
        started = time.monotonic()
        for domain, split in parts:
            build(folder, domain, split, SIZES[split], workers=2)
        total = sum(SIZES[split] for _, split in parts)
        print(f"{what} the {total} clips of `vidshift adapt`, 2 processes: {time.monotonic() - started:.1f} s")


def handheld() -> None:
    def change(clip_THWC: np.ndarray) -> np.ndarray:
        steps = np.abs(clip_THWC[2:].astype(float) - clip_THWC[:-2]).mean((0, -1))
        return steps.reshape(6, 16, 6, 16).mean((1, 3))

    for domain in ("studio", "street"):
        still = Series(domain=domain, split="train")
        moving = Series(domain=domain, split="train", variant=Variant(handheld=True))
        pairs = [(change(still.draw(k).clip_THWC), change(moving.draw(k).clip_THWC)) for k in range(CLIPS)]
        more = np.mean([(after > before).mean() for before, after in pairs])
        clearly = np.mean([(after > 1.1 * before).mean() for before, after in pairs])
        print(f"handheld, {domain}: {more:.1%} of the patches change more than before, {clearly:.1%} by over a tenth")


class Memory:
    """Clips that are decoded already."""

    frames = 16

    def __init__(self) -> None:
        shape = (64, GRID * self.frames, 96, 96, 3)
        self.grids = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
        self.ids = [str(number) for number in range(len(self.grids))]

    def __len__(self) -> int:
        return len(self.ids)

    def grid_THWC(self, index: int) -> np.ndarray:
        return self.grids[index]


def loading() -> None:
    torch.set_num_threads(1)
    clips = Memory()

    def look(step: int) -> object:
        found = draws(step, batch=16, total=len(clips), seed=0, domain="x")
        return training_view(clips, found, seed=0, stream="x", augment=Augment())

    print(f"augment, one thread: {16e3 / milliseconds(look):.0f} clips/s")


def main() -> None:
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        drawing(Path(folder))
        building(Path(folder))
    handheld()
    loading()


if __name__ == "__main__":
    main()
