"""Whether a run may take as long as it will: said before anything is trained, and asked above a limit."""

import math
import sys
from collections.abc import Callable

import torch

from vidshift.engine.console import Console
from vidshift.engine.estimate import Estimate
from vidshift.errors import UserError


class Limit:
    """Called with the estimate of a new run; `minutes` is what needs no question."""

    def __init__(
        self, minutes: float, *, yes: bool, console: Console, ask: Callable[[str], bool] | None = None
    ) -> None:
        if not minutes >= 0:
            raise UserError(f"--time-limit cannot be {minutes:g}; accepted: minutes, 0 or more.", usage=True)
        self.minutes, self.yes, self.console = minutes, yes, console
        self._ask = ask or (ask_person if sys.stdin.isatty() and sys.stderr.isatty() else None)

    def __call__(self, estimate: Estimate | None) -> None:
        if estimate is None:
            self.console.say("How long the run will take cannot be told beforehand.")
            return
        self.console.say(f"{in_words(estimate)}.")
        if self.yes or estimate.total <= 60 * self.minutes:
            return
        shorter = "; ".join(ways(estimate, minutes=self.minutes))
        if self._ask is None:
            raise UserError(
                f"the run would take about {clock(estimate.total)} on this machine, more than --time-limit "
                f"{self.minutes:g} (minutes), and nothing was trained: add --yes to run it, or make it shorter by "
                f"{shorter}.",
                usage=True,
            )
        if not self._ask(f"That is more than {self.minutes:g} minutes. It is shorter with: {shorter}. Go on? [y/N] "):
            raise UserError("not started, as you chose, and nothing was trained; --yes starts without a question.")


def ask_person(question: str) -> bool:
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def in_words(estimate: Estimate) -> str:
    parts = [("the teacher", estimate.teacher), ("training", estimate.training), ("tests", estimate.testing)]
    told = ", ".join(f"{name} {clock(seconds)}" for name, seconds in parts if seconds >= 1)
    inside = f" ({told})" if told else ""
    return f"From a few measured steps, the run will take about {clock(estimate.total)} on this machine{inside}"


def ways(estimate: Estimate, *, minutes: float) -> list[str]:
    """What would make it shorter, the surest first."""
    config, found = estimate.config, list[str]()
    per_epoch = estimate.training / config.epochs
    fitting = math.floor((60 * minutes - estimate.teacher - estimate.testing) / per_epoch) if per_epoch else 0
    if 1 <= fitting < config.epochs:
        found.append(f"--epochs {fitting} (instead of {config.epochs})")
    elif config.epochs > 1:
        found.append(f"fewer --epochs than {config.epochs}")
    if config.reducer == "none":
        found.append("fewer tokens (--reducer lmft)")
    if estimate.device.type == "cpu":
        found.append("--device cuda" if torch.cuda.is_available() else "a machine with a GPU (--device cuda)")
    elif config.precision == "float32":
        found.append("--precision bfloat16")
    if estimate.teacher > 0.2 * estimate.total:
        found.append("a table of labels (--teacher labels.csv)")
    return [*found, "a smaller --backbone"]


def clock(seconds: float) -> str:
    """A time as people say it, no finer than an estimate is."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} hours"
    return f"{seconds / 86400:.1f} days"
