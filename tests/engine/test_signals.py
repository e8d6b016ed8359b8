"""The first signal asks, the second one ends; afterwards everything is as before."""

import os
import signal
import threading

import pytest

from vidshift.engine.signals import Interrupted, Stop, listening


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_stops(number: signal.Signals):
    stop, before = Stop(), signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), listening(stop):  # noqa: PT012
        assert not stop.asked
        os.kill(os.getpid(), number)
        assert stop.signum == number
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_the_exit_status_is_the_shells():
    assert Interrupted("stopped").exit_code == 130
    assert Interrupted("stopped", signum=signal.SIGTERM).exit_code == 143


def test_in_another_thread_it_leaves_signals_alone():
    before, seen = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with listening(Stop()):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
