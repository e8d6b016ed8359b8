"""What `vidshift cost` counts and writes; never how fast anything is."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vidshift.bench import cost_file, cost_table
from vidshift.bench.cost import Costs, Row, estimate, measure, weigh_memory
from vidshift.bench.cost_bars import bars, report
from vidshift.bench.cost_plan import THEIRS, Case, Plan, make_plan
from vidshift.bench.host import Host
from vidshift.bench.subjects import Load, Precision
from vidshift.bench.timing import Spread
from vidshift.engine.console import Quiet
from vidshift.errors import UserError
from vidshift.models.config import VitConfig
from vidshift.models.flops import Flops, full_flops
from vidshift.tokens.geometry import Geometry

TINY = VitConfig(geometry=Geometry(frames=8, height=32, width=32, patch=8), width=32, depth=2, heads=2)


def plan(**changes: Any) -> Plan:
    start: dict[str, Any] = {
        "reducers": "none,random,motion,lmft",
        "kept": "1,0.5",
        "backbone": "small",
        "frames": 8,
        "size": None,
        "videos": (),
        "batch": 2,
        "rounds": 1,
        "precision": "float32",
        "clock": "wall",
        "threads": 1,
        "reference": True,
        "parts": "forward,training",
        "device": "cpu",
    }
    return replace(make_plan(**(start | changes)), config=TINY)


SPEEDS: tuple[tuple[Precision, float], ...] = (("float32", 1.0), ("bfloat16", 0.5))


@pytest.fixture(scope="module")
def costs() -> Costs:
    return measure(plan(precision="both"), Quiet())


def test_every_case_is_measured(costs: Costs):
    names = [(row.case.reducer, row.case.precision) for row in costs.rows]
    expected = [THEIRS, "none", "random", "motion", "lmft"]
    assert names == [(name, precision) for precision in ("float32", "bfloat16") for name in expected]
    for row in costs.rows:
        parts = {"forward", "step", "optimizer"} | (set() if row.case.reducer == THEIRS else {"select", "pack"})
        assert set(row.times) == parts
        assert all(0 < spread.low <= spread.median <= spread.high for spread in row.times.values())


def test_loads_are_those_of_the_tokens_that_were_there(costs: Costs):
    full = full_flops(TINY)
    for row in costs.rows:
        if row.case.asked == 1:
            assert (row.load.tokens, row.load.flops) == (TINY.geometry.tokens, full)
        else:
            assert row.load.tokens == pytest.approx(TINY.geometry.tokens / 2, abs=1)
            assert row.load.flops.paper == pytest.approx(full.paper / 2, rel=0.02)


def test_ratios_are_to_all_tokens_at_the_same_precision():
    host = Host.here(plan().torch_device)
    rows = [
        Row(Case(name, kept, precision), Load(100 * kept, Flops(10 * kept, 8 * kept)), times, 2)
        for precision, scale in SPEEDS
        for name, kept, times in (
            ("none", 1.0, times_of(4 * scale, 12 * scale)),
            ("random", 0.5, times_of(3 * scale, 6 * scale)),
        )
    ]
    lines = Costs(plan(precision="both"), host, rows).lines()
    for half in (lines[1], lines[3]):
        assert (half["flops_ratio"], half["forward_ratio"], half["step_ratio"]) == (0.5, 0.75, 0.5)
        assert (half["forward_over_flops"], half["step_over_flops"]) == (1.5, 1.0)
    assert lines[1]["choosing_share"] == pytest.approx(0.03 / 4)
    assert lines[3]["forward_clips_per_s"] == pytest.approx(2 / 1.5)


def times_of(forward: float, step: float) -> dict[str, Spread]:
    values = {"select": 0.01, "pack": 0.02, "forward": forward, "step": step, "optimizer": 1.0}
    return {part: Spread(value, value, value) for part, value in values.items()}


def test_memory_counts_what_a_step_adds():
    found = weigh_memory(plan(), Case("none", 1.0, "float32"))
    assert 0 < found.before <= found.peak
    assert found.after <= found.peak


def test_numbers_are_written_as_csv_and_json(costs: Costs, tmp_path: Path):
    for name in ("cost.csv", "cost.json"):
        cost_file.save(costs, tmp_path / name)
    rows = cost_file.read_csv(tmp_path / "cost.csv")
    read = json.loads((tmp_path / "cost.json").read_text())
    assert len(rows) == len(read["rows"]) == len(costs.rows)
    assert [row["forward_s"] for row in rows] == [row["forward_s"] for row in read["rows"]]
    assert rows[0]["host"] == str(costs.host)
    assert read["host"]["threads"] == 1
    assert [bar["value"] for bar in read["bars"]] == [bar.value for bar in bars(rows)]


def test_a_measurement_in_parts_is_one_table(tmp_path: Path):
    """Each part writes its columns; joined they are what one run would have given."""
    reducers = {"reducers": "lmft", "reference": False}
    for part in ("forward", "training"):
        cost_file.save(measure(plan(parts=part, **reducers), Quiet()), tmp_path / "cost.csv")
    lines = cost_file.read_csv(tmp_path / "cost.csv")
    assert [("forward_s" in line and line["forward_s"] is not None, line["step_s"] is not None) for line in lines] == [
        (True, False),
        (True, False),
        (False, True),
        (False, True),
    ]
    rows = cost_file.joined(lines)
    assert [(row["reducer"], row["asked"]) for row in rows] == [("none", 1.0), ("lmft", 0.5)]
    assert all(row["forward_s"] > 0 and row["step_s"] > 0 for row in rows)
    measured = [bar.holds is not None for bar in bars(rows)]
    assert measured == [False, True, True, True]  # nothing beside transformers' network
    text = cost_table.markdown(lines)
    assert text.count("| lmft |") == 2
    assert text.count("not measured: ") == 1
    assert text.count("Measured on ") == 1


def test_runs_of_other_settings_are_not_joined(tmp_path: Path):
    lines = cost_file.lines_of(measure(plan(parts="forward", reducers="none", reference=False), Quiet()))
    others = [{**line, "batch": 16} for line in lines]
    assert len(cost_file.joined([*lines, *others])) == 2
    assert len(cost_file.settings([*lines, *others])) == 2


def line(reducer: str, asked: float, **values: float) -> dict[str, Any]:
    return {"precision": "float32", "reducer": reducer, "asked": asked, **values}


def test_bars_tell_the_worst_and_whether_it_holds():
    rows = [
        line("none", 1.0, forward_over_transformers=1.02, choosing_share=0.0002),
        line("random", 0.5, forward_over_flops=1.0, forward_over_transformers=0.6, choosing_share=0.001),
        line("lmft", 0.5, forward_over_flops=1.08, choosing_share=0.002),
        line("lmft", 0.25, forward_over_flops=1.07, choosing_share=0.003),
    ]
    found = {bar.what: bar for bar in bars(rows)}
    assert [(bar.value, bar.holds) for bar in found.values()] == [
        (1.02, False),
        (1.08, False),
        (1.07, True),
        (None, None),
        (None, None),
        (0.003, True),
    ]
    assert [str(bar).partition(":")[0] for bar in found.values()][:4] == [
        "DOES NOT HOLD",
        "DOES NOT HOLD",
        "holds",
        "not measured",
    ]
    assert "highest of 2, with lmft" in str(list(found.values())[1])
    said = report(rows)
    assert said.count("DOES NOT HOLD") == 2
    assert said.endswith("2 such limits were not measured in this run.")


def test_memory_alone_times_nothing():
    costs = measure(plan(parts="memory", reducers="none", reference=False), Quiet())
    assert [(row.times, row.memory is not None) for row in costs.rows] == [({}, True)]
    sections = cost_table.sections(cost_file.lines_of(costs))
    assert [section.heads[-2:] for section in sections] == [("memory MiB", "peak MiB")]


def test_a_load_without_a_pass_is_that_of_a_pass():
    """The counts of a selection, and those that a pass really saw."""
    from vidshift.bench.cost import Workbench
    from vidshift.bench.subjects import Ours
    from vidshift.models.flops import features_flops

    subject = Workbench(plan()).subject(Case("motion", 0.5, "float32"))
    assert isinstance(subject, Ours)
    features = subject.vit.eval()(subject.view, reducer=subject.reducer)
    assert subject.load().flops == features_flops(subject.vit.config, features)
    assert len(set(features.trace[0])) > 1


def test_tables_name_every_reducer_and_the_precision(costs: Costs):
    from rich.console import Console

    written = io.StringIO()
    screen = Console(width=120, file=written)
    for section in cost_table.sections(cost_file.lines_of(costs)):
        screen.print(section.title, section.table())
    text = written.getvalue()
    for word in (THEIRS, "lmft", "float32", "bfloat16", "medians of 1 interleaved rounds"):
        assert word in text


def test_an_estimate_grows_with_the_rounds():
    loads = [Load(128.0, Flops(1e9, 1e9))] * len(plan().cases())
    assert estimate(plan(rounds=50), loads) > 3 * estimate(plan(rounds=1), loads) > 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reducers": "lmtf"}, "did you mean 'lmft'"),
        ({"batch": 0}, "--batch 0"),
        ({"size": 100}, "patches of 16"),
        ({"device": "tpu"}, "--device 'tpu'"),
        ({"kept": "2"}, "--kept '2'"),
        ({"parts": "training,memroy"}, "did you mean 'memory'"),
        ({"parts": ""}, "unknown part ''"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_runs(changes: dict[str, Any], said: str):
    with pytest.raises(UserError) as refused:
        plan(**changes)
    assert said in str(refused.value)


def test_the_place_of_the_numbers_is_checked_first(tmp_path: Path):
    for path, said in ((tmp_path / "cost.txt", ".csv or .json"), (tmp_path / "no" / "cost.csv", "does not exist")):
        with pytest.raises(UserError, match=said):
            cost_file.check_out(path)
    (tmp_path / "cost.json").touch()
    with pytest.raises(UserError, match=r"exists; remove it, or name a \.csv file"):
        cost_file.check_out(tmp_path / "cost.json")


@pytest.mark.parametrize("text", ["", "reducer,kept\nnone,1\n", "\x00"])
def test_another_csv_is_not_added_to(text: str, tmp_path: Path):
    (tmp_path / "other.csv").write_text(text)
    with pytest.raises(UserError, match="is no CSV of `vidshift cost`"):
        cost_file.check_out(tmp_path / "other.csv")
    with pytest.raises(UserError, match=r"none\.csv' is not there"):
        cost_file.read_csv(tmp_path / "none.csv")
