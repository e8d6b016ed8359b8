import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidshift.bench.clips import drawn_view, training_seeds
from vidshift.bench.settings import cases, is_adjustable, parse_kept, reducer_at, threshold_for
from vidshift.errors import UserError
from vidshift.tokens.base import reducers
from vidshift.tokens.geometry import Geometry

GEOMETRY = Geometry(frames=16, height=64, width=64)
VIEW = drawn_view(4, GEOMETRY)


@pytest.mark.parametrize("name", ["random", "random-keep-first", "motion", "motion-topk", "lmft"])
@given(kept=st.floats(0.2, 0.95))
def test_reducers_keep_the_share_that_was_asked_for(name: str, kept: float):
    reducer = reducer_at(name, kept, VIEW, GEOMETRY)
    for training in (False, True):
        selection = reducer.select(VIEW, GEOMETRY, seeds_B=training_seeds(VIEW), training=training, net=None)
        assert selection.kept_ratio == pytest.approx(kept, abs=0.01)


def test_a_share_below_the_first_segment_is_refused():
    with pytest.raises(UserError, match="first of 8 segments"):
        threshold_for(VIEW, GEOMETRY, 0.1)


def test_shares_are_read_and_ordered():
    assert parse_kept("0.5,1, 0.25,0.5") == (1.0, 0.5, 0.25)
    for wrong in ("", "0", "1.5", "half", "0.5;0.2", "nan"):
        with pytest.raises(UserError, match="is not a list of shares"):
            parse_kept(wrong)


def test_all_tokens_are_always_measured_once():
    assert cases(["lmft"], [1.0, 0.5]) == [("none", 1.0), ("lmft", 0.5)]
    assert cases(["none"], [0.5]) == [("none", 1.0)]


def test_every_reducer_can_be_set_or_runs_at_its_defaults():
    for name in reducers:
        made = reducer_at(name, 0.5, VIEW, GEOMETRY)
        assert made.name == name
        assert is_adjustable(name) or cases([name], [0.5])[-1][1] == 1.0
