import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from vidshift.data.workers import Lost, guarded


def act(what: str) -> str:
    """The worker's side: does what the item says."""
    if what == "hang":
        time.sleep(600)
    if what == "pipe":
        with Path(os.environ["TEST_PIPE"]).open() as endless:
            endless.read()
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "raise":
        raise ZeroDivisionError("oh")
    if what == "memory":
        return str(np.ones(2**30, np.uint8).sum())
    if what == "print":
        print("a line of a library")
    return f"{what} by {os.getpid()}"


def outcomes(items: list[str], **more: float) -> dict[str, str | Lost]:
    answers = guarded(act, items, **{"workers": 2, "timeout": 30.0, **more})  # pyright: ignore[reportArgumentType]
    return {items[place]: answer for place, answer in answers}


def test_every_item_is_answered_by_no_more_than_the_asked_processes():
    found = outcomes([f"item {n}" for n in range(50)])
    assert len(found) == 50
    assert 1 <= len({str(answer).rpartition(" ")[2] for answer in found.values()}) <= 2


@pytest.mark.parametrize(
    ("how", "word"),
    [("kill", "SIGKILL"), ("segfault", "SIGSEGV"), ("raise", "ZeroDivisionError"), ("memory", "memory")],
)
def test_the_item_on_which_a_worker_dies_is_named_and_the_others_go_on(how: str, word: str):
    found = outcomes(["a", how, "b", "c"], memory_bytes=2**29)
    lost = found.pop(how)
    assert isinstance(lost, Lost)
    assert lost.kind == "crashed"
    assert word in lost.reason
    assert all(isinstance(answer, str) for answer in found.values())


@pytest.mark.parametrize("how", ["hang", "pipe"])
def test_the_item_on_which_a_worker_hangs_is_named(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pipe = tmp_path / "endless"
    os.mkfifo(pipe)
    monkeypatch.setenv("TEST_PIPE", str(pipe))
    found = outcomes(["a", how, "b"], timeout=1.5)
    lost = found.pop(how)
    assert isinstance(lost, Lost)
    assert lost.kind == "timeout"
    assert all(isinstance(answer, str) for answer in found.values())


def test_what_a_library_prints_does_not_come_among_the_answers():
    assert str(outcomes(["print", "a"])["print"]).startswith("print by")


def test_no_process_is_left_when_the_caller_stops_early():
    answers = guarded(act, ["a", "hang", "hang"], workers=3, timeout=60.0)
    _, first = next(answers)
    worker = int(str(first).rpartition(" ")[2])
    answers.close()  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_a_worker_that_cannot_start_says_why():
    def hidden(item: str) -> str:
        return item

    with pytest.raises((AttributeError, Exception), match="hidden"):
        list(guarded(hidden, ["a"], workers=1, timeout=5.0))
