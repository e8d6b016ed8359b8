"""Times that can be compared: warm-up, interleaved rounds, medians with their spread."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

ClockKind = Literal["wall", "cpu"]


@dataclass(frozen=True)
class Spread:
    """The median of some rounds, with the fastest and the slowest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Clock:
    """`wall` is what a user waits. `cpu` is the processor time of this process: on a machine that others use too it is
    the better guide, with one thread."""

    kind: ClockKind = "wall"
    device: torch.device | None = None

    def now(self) -> float:
        """Seconds from some moment, after everything that was asked of the device is done."""
        if self.device is not None and self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter() if self.kind == "wall" else time.process_time()

    def time(self, work: Callable[[], object]) -> float:
        started = self.now()
        work()
        return self.now() - started


Work = Callable[[], Mapping[str, float]]


def interleave(works: Sequence[Work], *, rounds: int, tick: Callable[[int], None]) -> list[dict[str, Spread]]:
    """Each work once for warm-up, then `rounds` times, one after another and beginning with another one each round: a
    slow moment of the machine falls on all of them. A work returns the seconds of its parts. `tick` hears the count."""
    done = 0
    heard: list[dict[str, list[float]]] = [{} for _ in works]
    for turn in range(rounds + 1):
        for step in range(len(works)):
            chosen = (step + turn) % len(works)
            for part, seconds in works[chosen]().items():
                if turn:
                    heard[chosen].setdefault(part, []).append(seconds)
            done += 1
            tick(done)
    return [{part: Spread.of(values) for part, values in parts.items()} for parts in heard]


def matmul_rate(dtype: torch.dtype, device: torch.device, *, size: int = 1024) -> float:
    """FLOPs in a second of a plain matrix product, the best of three: what an estimate of a long run starts from."""
    left, right = torch.ones(size, size, dtype=dtype, device=device), torch.ones(size, size, dtype=dtype, device=device)
    clock = Clock(device=device)
    torch.mm(left, right)
    return 2.0 * size**3 / min(clock.time(lambda: torch.mm(left, right)) for _ in range(3))
