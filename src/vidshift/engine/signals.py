"""Ctrl-C and a polite kill: the loop saves what it has and says how to go on."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vidshift.errors import UserError


class Interrupted(UserError):
    """The person asked to stop; everything up to the last step is saved."""

    @property
    def exit_code(self) -> int:
        return 130


@dataclass
class Stop:
    """Whether somebody has asked."""

    asked: bool = False


@contextmanager
def listening(stop: Stop) -> Iterator[None]:
    """The first signal asks the loop to save and stop; a second one stops at once."""

    def ask(signum: int, frame: object) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True

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
