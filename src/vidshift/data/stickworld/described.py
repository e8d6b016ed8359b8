"""What can be seen in the clips of a split, kept beside them: telling it means drawing them again."""

import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

from vidshift.atomic import replacing
from vidshift.data.stickworld.build import folder_of
from vidshift.data.stickworld.draw import Description
from vidshift.data.stickworld.numbered import Series

_TOGETHER = 64


def describe(cache: Path, series: Series, count: int, *, workers: int = 1) -> tuple[Description, ...]:
    """Of the first `count` clips of a series."""
    path = folder_of(cache, series) / f"descriptions-{count}.json"
    if not path.exists():
        parts = [range(first, min(first + _TOGETHER, count)) for first in range(0, count, _TOGETHER)]
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            found = [one for part in pool.map(_describe, [series] * len(parts), parts) for one in part]
        with replacing(path) as partial:
            partial.write_text(json.dumps([asdict(one) for one in found]), encoding="utf-8")
    return tuple(Description(**one) for one in json.loads(path.read_text(encoding="utf-8")))


def _describe(series: Series, numbers: Sequence[int]) -> list[Description]:
    return [series.draw(number).description for number in numbers]
