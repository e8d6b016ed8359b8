"""The built-in domains as real video files in a cache folder: drawn once, checked at each use, mended if damaged."""

import time
from collections.abc import Callable
from pathlib import Path

from vidshift.data.manifest import Manifest, Row
from vidshift.data.stickworld.crew import write_all
from vidshift.data.stickworld.draw import FPS, FRAMES, SIZE
from vidshift.data.stickworld.numbered import Series
from vidshift.data.stickworld.sealed import is_whole
from vidshift.data.stickworld.variant import ACTIONS, Variant
from vidshift.errors import UserError

# Measured to fit a first run on two cores.
SIZES = {"train": 640, "val": 160, "test": 1000}

# Goes up whenever the same seed would draw or encode something else: it names the folder of the files.
DEFINITION = 3

_LEFTOVER_SECONDS = 600.0

Progress = Callable[[int, int], None]


def folder_of(cache: Path, series: Series) -> Path:
    """Where the clips of a series lie."""
    place = cache / "stickworld" / f"v{DEFINITION}" / series.domain / series.variant.key
    return place / f"{series.split}-{series.seed}"


def build(
    cache: Path,
    domain: str,
    split: str,
    count: int,
    *,
    seed: int = 0,
    variant: Variant | None = None,
    workers: int = 2,
    progress: Progress | None = None,
) -> Manifest:
    """The first `count` clips of a split as files, drawing those that are missing or damaged.

    Clip k is the same whatever the count, so a larger split extends a smaller one. `progress(done, count)` is called
    from this thread.
    """
    if count < 1:
        raise UserError(f"{count} clips of {domain} {split} were asked for; choose 1 or more.", usage=True)
    series = Series(domain=domain, split=split, seed=seed, variant=variant or Variant())
    folder = folder_of(cache, series)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot write the built-in videos to '{folder}' ({error.strerror}); choose another cache folder."
        ) from error
    paths = [folder / f"{number:06d}.mp4" for number in range(count)]
    wanted = [number for number, path in enumerate(paths) if not is_whole(path)]
    done = count - len(wanted)
    if progress:
        progress(done, count)
    if wanted:
        _sweep(folder)
        for drawn in write_all(series, folder, wanted, workers=workers):
            done += drawn
            if progress:
                progress(done, count)
    rows = tuple(_row(series, number, path) for number, path in enumerate(paths))
    return Manifest(rows, ACTIONS, f"the built-in domain {domain}, {split} ({series.variant.key}, seed {seed})")


def _row(series: Series, number: int, path: Path) -> Row:
    return Row(
        id=series.id(number),
        path=path,
        label=ACTIONS[series.action(number)],
        split=series.split,
        domain=series.domain,
        num_frames=FRAMES,
        fps=float(FPS),
        width=SIZE,
        height=SIZE,
        seconds=FRAMES / FPS,
    )


def _sweep(folder: Path) -> None:
    """Removes what killed processes left under temporary names; a young one may still be written."""
    for leftover in folder.glob(".*.partial"):
        try:
            if time.time() - leftover.stat().st_mtime > _LEFTOVER_SECONDS:
                leftover.unlink()
        except FileNotFoundError:  # its writer has just finished
            continue
