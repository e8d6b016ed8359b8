"""Warm-up and cosine."""

import math

import pytest

from vidshift.engine.schedule import factor


def test_values_worked_out_by_hand():
    """10 steps, 4 of warm-up: quarters up to 1, then a half cosine over 6 steps down to the floor."""
    found = [factor(step, total=10, warmup=0.4, floor=0.0) for step in range(11)]
    assert found[:5] == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])
    assert found[5] == pytest.approx((1 + math.sqrt(3) / 2) / 2)
    assert found[7] == pytest.approx(0.5)
    assert found[10] == pytest.approx(0.0)


@pytest.mark.parametrize("warmup", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("total", [1, 2, 57])
def test_it_rises_then_falls_and_is_never_zero(total: int, warmup: float):
    found = [factor(step, total=total, warmup=warmup) for step in range(total)]
    top = found.index(max(found))
    assert max(found) == pytest.approx(1)
    assert found[:top] == sorted(found[:top])
    assert found[top:] == sorted(found[top:], reverse=True)
    assert all(0 < value <= 1 for value in found)
    assert factor(total + 5, total=total, warmup=warmup) >= 1e-3
