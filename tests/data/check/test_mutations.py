"""Bar B of issue 5: files with random damage. No crash, no hang, and a status for each."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from clipmaker import write_numbers

from vidshift.data.check.inspect import Seen, Task, inspect
from vidshift.data.status import STATUSES
from vidshift.data.workers import Lost, guarded

SEED = 20251
KINDS = {
    ".mp4": {"options": {"bf": "2"}},
    ".front.mp4": {"container_options": {"movflags": "faststart"}, "sound": True},
    ".avi": {"codec": "mpeg4"},
    ".webm": {"codec": "libvpx-vp9", "options": {"cpu-used": "8", "deadline": "realtime"}},
}


def mutated(data: bytes, rng: random.Random) -> bytes:
    """One to four wounds; half of the time all of them in the first or last kilobyte, where the structure lies."""
    wounded = bytearray(data)
    reach = rng.choice(("all", "head", "tail"))
    for _ in range(rng.randint(1, 4)):
        low = max(0, len(wounded) - 1024) if reach == "tail" else 0
        high = min(1024, len(wounded)) if reach == "head" else len(wounded)
        at = rng.randrange(low, max(high, low + 1))
        size = rng.choice((1, 1, 2, 4, 8, 64, 1000))
        how = rng.choice(("flip", "flip", "random", "fill", "cut", "repeat", "number", "end"))
        if how == "flip" and at < len(wounded):
            wounded[at] ^= 1 << rng.randrange(8)
        elif how == "random":
            wounded[at : at + size] = rng.randbytes(size)
        elif how == "fill":
            wounded[at : at + size] = bytes([rng.choice((0, 255))]) * size
        elif how == "cut":
            del wounded[at : at + size]
        elif how == "repeat":
            wounded[at:at] = wounded[at : at + size]
        elif how == "number":  # sizes and counts are big- or little-endian 32-bit numbers
            number = rng.choice((0, 1, 2**31 - 1, 2**32 - 1, 2**24))
            wounded[at : at + 4] = number.to_bytes(4, rng.choice(("big", "little")))
        elif how == "end" and rng.random() < 0.3:
            del wounded[max(at, 16) :]
    return bytes(wounded)


def wounded_files(folder: Path, count: int) -> Iterator[Path]:
    whole = {
        suffix: write_numbers(folder / f"whole{suffix}", 40, **made).read_bytes() for suffix, made in KINDS.items()
    }
    for number in range(count):
        suffix = list(KINDS)[number % len(KINDS)]
        path = folder / f"{number:05d}{suffix}"
        path.write_bytes(mutated(whole[suffix], random.Random(SEED + number)))
        yield path


def statuses(folder: Path, count: int) -> dict[int, str]:
    tasks = (
        Task(path=path, start=None, end=None, frames=16, size=(32, 32), resize="squash")
        for path in wounded_files(folder, count)
    )
    found = {}
    for number, answer in guarded(inspect, tasks, workers=2, timeout=60.0):
        assert not isinstance(answer, Lost), (number, answer)
        assert isinstance(answer, Seen)
        assert answer.finding.status in STATUSES
        assert answer.finding.reason or answer.finding.status == "ok"
        found[number] = answer.finding.status
    return found


def test_sixty_wounded_files(tmp_path: Path):
    found = statuses(tmp_path, 60)
    assert set(found) == set(range(60))
    # Some wounds do not matter, some are fatal: a check that always says the same would be no check.
    assert {"ok", "corrupt"} < set(found.values())


@pytest.mark.long
def test_two_thousand_wounded_files(tmp_path: Path):
    found = statuses(tmp_path, 2000)
    assert set(found) == set(range(2000))
    print(Counter(found.values()))
