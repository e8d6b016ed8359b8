"""Worker processes that may hang or die: the item is named, the worker replaced, and the others go on.

A worker is a fresh Python that knows one function. It answers on a pipe; the parent keeps a deadline for each item and
kills what misses it. Nothing is caught inside a worker: an error that the function does not turn into an answer ends
the process, and the last line it wrote becomes the reason.
"""

import json
import os
import pickle
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Literal, TypeVar

A = TypeVar("A")
R = TypeVar("R")

START_SECONDS = 60.0  # for the imports of a new worker, on a loaded machine
MEMORY_BYTES = 3 * 2**30  # beyond this a worker's own memory is refused; 16 reference frames of 8K need 0.8 GiB
_HEADER = struct.Struct("<Q")
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from vidshift.data.workers import serve; serve()"


@dataclass(frozen=True)
class Lost:
    """An item whose worker hung or died on it."""

    kind: Literal["timeout", "crashed"]
    reason: str


def guarded(
    function: Callable[[A], R],
    items: Iterable[A],
    *,
    workers: int,
    timeout: float,
    memory_bytes: int | None = MEMORY_BYTES,
) -> Iterator[tuple[int, R | Lost]]:
    """`(place of the item, answer)` as they come, from `workers` processes with `timeout` seconds for each item.

    The function is found by its name in a fresh process, so it must stand at the top level of a module. No more than
    one item a worker is in flight, so memory does not grow with the number of items.
    """
    waiting = enumerate(items)
    hello = (function, timeout, memory_bytes)
    with selectors.DefaultSelector() as selector:
        idle: list[_Worker] = []
        busy: list[_Worker] = []
        try:
            while True:
                while len(busy) < max(1, workers) and (following := next(waiting, None)) is not None:
                    worker = _living(idle, selector) or _Worker.start(hello, selector)
                    worker.take(*following, timeout=timeout)
                    busy.append(worker)
                if not busy:
                    return
                soonest = min(worker.deadline for worker in busy)
                for key, _ in selector.select(max(0.0, soonest - time.monotonic())):
                    worker = key.data
                    if worker in idle:  # ended from outside while it had nothing to do
                        idle.remove(worker)
                        worker.stop(selector)
                        continue
                    place, answer = worker.place, worker.hear()
                    if answer is None:
                        continue
                    busy.remove(worker)
                    if isinstance(answer, Lost):
                        worker.stop(selector)
                        yield place, answer
                    else:
                        idle.append(worker)
                        yield place, answer[0]
                for worker in [w for w in busy if time.monotonic() >= w.deadline]:
                    busy.remove(worker)
                    worker.stop(selector)
                    yield worker.place, Lost("timeout", f"it was not done after {timeout:g} s")
        finally:
            for worker in [*idle, *busy]:
                worker.stop(selector)


def _living(idle: "list[_Worker]", selector: selectors.BaseSelector) -> "_Worker | None":
    while idle:
        worker = idle.pop()
        if worker.process.poll() is None:
            return worker
        worker.stop(selector)
    return None


@dataclass(eq=False)
class _Worker:
    """The parent's end of one process."""

    process: "subprocess.Popen[bytes]"
    errors: IO[bytes]
    ready: bool = False
    place: int = -1
    timeout: float = 0.0
    deadline: float = 0.0
    heard: bytearray = field(default_factory=bytearray)

    @staticmethod
    def start(hello: tuple[Any, ...], selector: selectors.BaseSelector) -> "_Worker":
        # One thread of its own each: what is parallel here are the processes.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed by stop)
        process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            bufsize=0,
        )
        worker = _Worker(process, errors)
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        selector.register(process.stdout, selectors.EVENT_READ, worker)
        worker._send(hello)
        return worker

    def take(self, place: int, item: Any, *, timeout: float) -> None:
        self.place, self.timeout = place, timeout
        self.deadline = time.monotonic() + timeout + (0.0 if self.ready else START_SECONDS)
        self._send(item)

    def _send(self, message: Any) -> None:
        assert self.process.stdin is not None
        data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        try:
            _write(self.process.stdin.fileno(), data)
        except BrokenPipeError:
            return  # it is dead, which hearing it will tell

    def hear(self) -> "tuple[Any] | Lost | None":
        """A finished answer, the news of its death, or nothing yet."""
        assert self.process.stdout is not None
        try:
            data = os.read(self.process.stdout.fileno(), 1 << 20)
        except BlockingIOError:
            return None
        if not data:
            return self._death()
        self.heard += data
        if not self.ready:
            self.ready = True  # the first byte only says that it has started
            del self.heard[:1]
            self.deadline = time.monotonic() + self.timeout
        if len(self.heard) < _HEADER.size:
            return None
        size = _HEADER.unpack_from(self.heard)[0]
        if len(self.heard) < _HEADER.size + size:
            return None
        answer = pickle.loads(memoryview(self.heard)[_HEADER.size :])
        self.heard = bytearray()
        return (answer,)

    def _death(self) -> Lost:
        code = self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        if not self.ready:
            raise RuntimeError(f"a worker process cannot start here (exit status {code}): {' | '.join(lines[-3:])}")
        if code == -signal.SIGALRM:
            return Lost("timeout", "it was not done in time")
        if code < 0:
            return Lost("crashed", f"the process that decoded it was ended by {signal.Signals(-code).name}")
        if lines and "MemoryError" in lines[-1].split(":")[0]:
            return Lost("crashed", "decoding it needs more memory than a worker may have")
        return Lost("crashed", f"the process that decoded it stopped ({lines[-1] if lines else f'exit status {code}'})")

    def stop(self, selector: selectors.BaseSelector) -> None:
        """Ends the process; it is not waited for longer than a moment, since a dead file server can hold it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        selector.unregister(self.process.stdout)
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.errors):
            pipe.close()
        try:
            self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            return


def serve() -> None:
    """What a worker process does: answer until nobody asks any more."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # whatever a library prints must not come among the answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    reader = os.fdopen(requests, "rb")
    function, timeout, memory_bytes = _receive(reader)
    os.write(answers, b"\0")
    if memory_bytes is not None:
        _limit_memory(memory_bytes)
    while (message := _receive(reader, at_end=None)) is not None:
        # Should the parent die while this one hangs, the alarm ends it: it works inside C code too.
        signal.setitimer(signal.ITIMER_REAL, timeout + 10.0)
        answer = function(message)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        try:
            _write(answers, pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL))
        except BrokenPipeError:
            return


def _receive(reader: IO[bytes], **at_end: Any) -> Any:
    header = reader.read(_HEADER.size)
    if len(header) < _HEADER.size:
        if at_end:
            return None
        raise EOFError("nobody said what to do")
    return pickle.loads(reader.read(_HEADER.unpack(header)[0]))


def _write(handle: int, data: bytes) -> None:
    view = memoryview(_HEADER.pack(len(data)) + data)
    while view:
        view = view[os.write(handle, view) :]


def _limit_memory(limit: int) -> None:
    """Private memory only, so that mapped files do not count."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
