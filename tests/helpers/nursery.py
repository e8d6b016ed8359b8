"""Real processes that run the command line and die where they are told to, without paying for an import each.

One child imports the package once and then forks for every order: what is killed is a whole process, by a signal, at a
chosen call, a chosen file operation or a chosen time.
"""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE_EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree")


@dataclass(frozen=True)
class Ended:
    """`status` as a shell counts it, negative for a signal; `events` are the file operations below the run's folder."""

    status: int
    out: str
    err: str
    events: int


class Nursery:
    """`Nursery(folder).run(["adapt", ...], call="vidshift.engine.train:learn", nth=3)`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(self, arguments: list[str], **plan: Any) -> Ended:
        """`call="module:name"` or `event=True` with `nth`: sends `signal` (9) to itself there; `half`: after half of a
        file has been written; `after`: is killed from outside after so many seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        files = {name: str(self._folder / name) for name in ("out", "err", "events")}
        print(json.dumps({"arguments": arguments, "files": files, **plan}), file=self._process.stdin, flush=True)
        status = int(json.loads(self._process.stdout.readline()))
        out, err, events = (Path(files[name]).read_text() for name in ("out", "err", "events"))
        return Ended(status, out, err, int(events or 0))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _serve() -> None:
    import torch

    from vidshift import cli

    torch.set_num_threads(1)
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])  # its first use imports for a second or two
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os._exit(_live(cli.run, order))
        status = os.waitstatus_to_exitcode(_wait(pid, order.get("after")))
        print(json.dumps(status), flush=True)


def _live(run: Any, order: dict[str, Any]) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(order["files"][name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    Path(order["files"]["events"]).write_text("")
    count = _watch_files(order)
    if "call" in order:
        _die_at_call(order)
    status = run(order["arguments"])
    Path(order["files"]["events"]).write_text(str(count()))
    return status


def _wait(pid: int, after: float | None) -> int:
    import time

    if after is not None:
        ends = time.monotonic() + after
        while time.monotonic() < ends:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return status
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def _watch_files(order: dict[str, Any]) -> Any:
    arguments = order["arguments"]
    flag = next((name for name in ("--out", "--resume") if name in arguments), None)
    folder = arguments[arguments.index(flag) + 1] if flag else "/nowhere"
    seen = 0

    def hook(event: str, values: tuple[Any, ...]) -> None:
        nonlocal seen
        if event in FILE_EVENTS and str(values[0]).startswith(folder):
            seen += 1
            if order.get("event") and seen == order["nth"]:
                os.kill(os.getpid(), order.get("signal", 9))

    sys.addaudithook(hook)
    return lambda: seen


def _die_at_call(order: dict[str, Any]) -> None:
    import importlib

    module_name, name = order["call"].split(":")
    module = importlib.import_module(module_name)
    original = getattr(module, name)
    calls = 0

    def instead(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == order.get("nth", 1):
            if order.get("half"):
                original(*args, **options)
                path = Path(args[1])
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
            os.kill(os.getpid(), order.get("signal", 9))
        return original(*args, **options)

    setattr(module, name, instead)


if __name__ == "__main__":
    _serve()
