"""What a run is told of the study, and when it is told nothing."""

from dataclasses import replace

import pytest

from vidshift.bench.cells import Cell
from vidshift.engine.config import RunConfig
from vidshift.engine.expected import expected, published

STUDY = {
    "directions": {
        "studio->street": {
            "joint + lmft": {
                "seeds": 4,
                "accuracy": 0.7,
                "spread": 0.02,
                "against": {"joint + none": {"mean": 0.013, "low": -0.01, "high": 0.03}},
            },
            "source-only": {"seeds": 4, "accuracy": 0.5, "spread": 0.01, "against": {}},
        }
    }
}


def test_the_defaults_are_told_mean_spread_and_differences():
    found = expected(RunConfig(seed=5), STUDY)
    assert found is not None
    assert str(found) == (
        "70.0%, deviation 2.0, over 4 seeds; in points +1.3 [-1.0, 3.0] against joint + none (docs/study.md)"
    )


def test_a_run_s_own_file_names_the_network_and_the_teacher():
    assert expected(RunConfig(backbone="stick", teacher="stick"), STUDY) is not None
    assert expected(RunConfig(backbone="small"), STUDY) is None


def test_rows_are_found_by_the_names_of_a_comparison():
    found = expected(RunConfig(method="source-only", reducer="none"), STUDY)
    assert found is not None
    assert found.accuracy == 0.5


@pytest.mark.parametrize("method", ["joint", "source-only", "target-only", "zero-shot"])
def test_a_run_is_looked_up_by_the_name_that_a_comparison_gives_it(method):
    """A run that the study knows by `Cell.row` is found, whatever its method and with all tokens."""
    row = Cell(source="studio", target="street", method=method, reducer="none").row
    study = {"directions": {"studio->street": {row: STUDY["directions"]["studio->street"]["source-only"]}}}
    assert expected(RunConfig(method=method, reducer="none"), study) is not None


@pytest.mark.parametrize(
    "changes",
    [{"epochs": 3}, {"variant": "handheld"}, {"target": "/videos"}, {"reducer": "random"}, {"gamma": 0.5},
     {"reducer_options": {"policy": "paired"}}, {"transductive": True}],
)  # fmt: skip
def test_any_other_setting_is_told_nothing(changes):
    assert expected(replace(RunConfig(), **changes), STUDY) is None


def test_what_ships_can_be_read():
    for rows in published().get("directions", {}).values():
        for row in rows.values():
            assert 0 <= row["accuracy"] <= 1
            assert row["seeds"] >= 1
