"""What a person sees while a run works: bars on a terminal, plain lines elsewhere; always on standard error."""

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Task(Protocol):
    def update(self, done: int, note: str = "") -> None: ...


class Console(Protocol):
    def say(self, text: str) -> None: ...

    def task(self, name: str, total: int) -> AbstractContextManager[Task]: ...


class _Nothing:
    def update(self, done: int, note: str = "") -> None:
        return


class Quiet:
    """Says nothing."""

    def say(self, text: str) -> None:
        return

    @contextmanager
    def task(self, name: str, total: int) -> Iterator[Task]:
        yield _Nothing()


class BarsOnly:
    """The progress of a run inside another one, which has said everything else already."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, text: str) -> None:
        return

    def task(self, name: str, total: int) -> AbstractContextManager[Task]:
        return self._console.task(f"source model: {name}", total)


class _Lines:
    """A line now and then: at most one in `every` seconds, and the last."""

    def __init__(self, name: str, total: int, every: float) -> None:
        self.name, self.total, self.every = name, total, every
        self.started = self.last = time.monotonic()
        self.finished = False

    def update(self, done: int, note: str = "") -> None:
        now = time.monotonic()
        if self.finished or (done < self.total and now - self.last < self.every):
            return
        self.last, self.finished = now, done >= self.total
        elapsed = now - self.started
        left = f", {_clock(elapsed / done * (self.total - done))} left" if 0 < done < self.total else ""
        text = f"{self.name}: {done}/{self.total} in {_clock(elapsed)}{left}  {note}".rstrip()
        print(text, file=sys.stderr, flush=True)


class Plain:
    """For logs and pipes."""

    def __init__(self, *, every: float = 10.0) -> None:
        self.every = every

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    @contextmanager
    def task(self, name: str, total: int) -> Iterator[Task]:
        yield _Lines(name, total, self.every)


class Terminal:
    """Bars with a note, the time gone and the time left."""

    def __init__(self) -> None:
        from rich.console import Console as RichConsole

        self._console = RichConsole(stderr=True)

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False)

    @contextmanager
    def task(self, name: str, total: int) -> Iterator[Task]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (
            TextColumn("{task.description:<11}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            Remaining(elapsed_when_finished=False),
            TextColumn("{task.fields[note]}", markup=False),
        )
        with Progress(*columns, console=self._console) as progress:
            bar = progress.add_task(name, total=total, note="")

            class Bar:
                def update(self, done: int, note: str = "") -> None:
                    progress.update(bar, completed=done)
                    if note:
                        progress.update(bar, note=note)

            yield Bar()


def open_console(*, quiet: bool = False) -> "Quiet | Plain | Terminal":
    if quiet:
        return Quiet()
    return Terminal() if sys.stderr.isatty() else Plain()


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return (
        f"{whole // 60}:{whole % 60:02d}"
        if whole < 3600
        else f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
    )
