"""Drawing on several processor cores.

The helpers are plain child processes that read jobs as JSON lines and answer each with a line. Unlike
`multiprocessing` they need nothing of the caller's main module, and they end by themselves when the caller does, since
their input ends.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import vidshift
from vidshift.data.stickworld.draw import FPS
from vidshift.data.stickworld.numbered import Series
from vidshift.data.stickworld.sealed import is_whole, write_sealed
from vidshift.data.stickworld.variant import Variant
from vidshift.errors import UserError

# Starting a helper costs as much as drawing so many clips.
_WORTH_A_HELPER = 24
_JOB = 4


def write_all(series: Series, folder: Path, numbers: Sequence[int], *, workers: int) -> Iterator[int]:
    """Writes the clips with these numbers, and yields after every few how many."""
    helpers = min(workers, len(numbers) // _WORTH_A_HELPER)
    jobs = [list(numbers[first : first + _JOB]) for first in range(0, len(numbers), _JOB)]
    if helpers < 2:
        for job in jobs:
            try:
                write_some(series, folder, job)
            except OSError as error:
                raise _unwritable(folder, str(error)) from error
            yield len(job)
        return
    yield from _write_with_helpers(series, folder, jobs, helpers)


def write_some(series: Series, folder: Path, numbers: Sequence[int]) -> None:
    """Draws and writes clips, leaving out those that another process has written meanwhile."""
    for number in numbers:
        path = folder / f"{number:06d}.mp4"
        if not is_whole(path):
            write_sealed(path, series.draw(number).clip_THWC, fps=FPS)


def _write_with_helpers(series: Series, folder: Path, jobs: Sequence[list[int]], helpers: int) -> Iterator[int]:
    waiting: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    answers: queue.SimpleQueue[int | str] = queue.SimpleQueue()
    crew = [_start() for _ in range(helpers)]
    what = {"series": asdict(series), "folder": str(folder)}
    threads = [threading.Thread(target=_lead, args=(child, what, waiting, answers), daemon=True) for child in crew]
    try:
        for thread in threads:
            thread.start()
        for _ in jobs:
            answer = answers.get()
            if isinstance(answer, str):
                raise _unwritable(folder, answer)
            yield answer
    finally:
        # Nothing of a half-written file remains under its real name, so an unfinished helper may be ended at any time.
        for child in crew:
            child.terminate()
        for child, thread in zip(crew, threads, strict=True):
            child.wait()
            if thread.ident is not None:
                thread.join()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()


def _start() -> subprocess.Popen[str]:
    root = str(Path(vidshift.__file__).parent.parent)
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-m", "vidshift.data.stickworld.crew"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        # Ctrl-C is for the process that the person started; it then ends its helpers.
        start_new_session=True,
    )


def _lead(
    child: "subprocess.Popen[str]",
    what: dict[str, Any],
    waiting: "queue.SimpleQueue[list[int]]",
    answers: "queue.SimpleQueue[int | str]",
) -> None:
    """Gives one helper job after job."""
    assert child.stdin is not None
    assert child.stdout is not None
    while True:
        try:
            job = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            child.stdin.write(json.dumps({**what, "numbers": job}) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
        except (BrokenPipeError, ValueError):
            line = ""
        if not line:
            answers.put("a drawing process ended before its work was done")
            return
        answer = json.loads(line)
        answers.put(answer["error"] if "error" in answer else len(job))


def _unwritable(folder: Path, reason: str) -> UserError:
    return UserError(
        f"cannot write the built-in videos to '{folder}': {reason}; make room there or choose another cache."
    )


def _serve() -> None:
    """What a helper does until its input ends."""
    for line in sys.stdin:
        job = json.loads(line)
        variant = Variant(**job["series"].pop("variant"))
        try:
            write_some(Series(**job["series"], variant=variant), Path(job["folder"]), job["numbers"])
        except OSError as error:
            print(json.dumps({"error": str(error)}), flush=True)
        else:
            print(json.dumps({"done": len(job["numbers"])}), flush=True)


if __name__ == "__main__":
    _serve()
