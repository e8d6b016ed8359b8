import time

import pytest
import torch

from vidshift.bench.timing import Clock, Spread, interleave, matmul_rate


def test_spread_is_the_median_between_the_extremes():
    assert Spread.of([3.0, 1.0, 10.0]) == Spread(3.0, 1.0, 10.0)
    assert Spread.of([2.0, 4.0]).median == 3.0


def test_the_cpu_clock_does_not_count_sleep():
    def rest() -> None:
        time.sleep(0.05)

    assert Clock("wall").time(rest) >= 0.05
    assert Clock("cpu").time(rest) < 0.05


def test_rounds_are_interleaved_and_the_warm_up_is_not_counted():
    order: list[str] = []
    heard: list[int] = []

    def work(name: str):
        def run() -> dict[str, float]:
            order.append(name)
            return {"forward": float(order.count(name))}

        return run

    found = interleave([work("a"), work("b"), work("c")], rounds=3, tick=heard.append)
    # Every round has each work once, and begins with another one.
    assert order == list("abc" + "bca" + "cab" + "abc")
    assert found == [{"forward": Spread(3.0, 2.0, 4.0)}] * 3
    assert heard == list(range(1, 13))


def test_the_rate_of_a_matrix_product_is_positive():
    assert matmul_rate(torch.float32, torch.device("cpu"), size=64) > 0


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_work_without_a_part_has_no_entry_for_it(rounds: int):
    found = interleave([lambda: {"select": 1.0}, dict], rounds=rounds, tick=lambda _: None)
    assert found == [{"select": Spread(1.0, 1.0, 1.0)}, {}]
