"""Ctrl-C and a polite kill: the loop saves what it has and says how to go on."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vidshift.errors import UserError


class Interrupted(UserError):
    """The person, or the machine, asked to stop; what was done is saved."""

    def __init__(self, message: str, *, signum: int = signal.SIGINT) -> None:
        super().__init__(message)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        return 128 + self.signum  # as shells count: 130 for Ctrl-C, 143 for a cluster's SIGTERM


@dataclass
class Stop:
    """Whether somebody has asked, and by which signal."""

    signum: int | None = None

    @property
    def asked(self) -> bool:
        return self.signum is not None


@contextmanager
def listening(stop: Stop) -> Iterator[None]:
    """The first signal asks the loop to save and stop; a second one stops at once."""

    def ask(signum: int, frame: object) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.signum = signum

    try:
        before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: whoever owns it handles signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
