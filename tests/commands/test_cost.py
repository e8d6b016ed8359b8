"""`vidshift cost` as a person calls it; never how fast anything is."""

import json
from pathlib import Path

import pytest

from vidshift.commands.cost import cost
from vidshift.errors import UserError


def test_parts_end_in_one_file_that_can_be_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "cost.csv"
    for part in ("forward", "training"):
        cost(
            frames=4,
            size=32,
            batch=2,
            rounds=1,
            threads=1,
            reducers="motion",
            kept="0.8",
            parts=part,
            out=out,
            quiet=True,
            json=True,
        )
    said = capsys.readouterr()
    assert said.err == ""
    last = json.loads(said.out.splitlines()[-1])
    assert last["plan"]["parts"] == ["training"]
    assert [bar["holds"] is None for bar in last["bars"]] == [True, True, False, True]
    assert "3 such limits were not measured in this run." in said.out
    assert "small, 2 clips of 4 x 32 x 32, float32: wall time, medians of 1 interleaved rounds" in said.out

    cost(show=out, json=True)
    shown = capsys.readouterr().out
    assert "| motion | 0.8" in shown
    assert "not measured" not in shown
    (first, *_), count = json.loads(shown.splitlines()[-1])["rows"], shown.count("limit ")
    assert count == 4
    assert {"forward_s", "step_s", "host", "measured"} <= first.keys()


def test_a_file_with_other_columns_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    for call in (lambda path: cost(out=path), lambda path: cost(show=path)):
        with pytest.raises(UserError, match="lacks the column 'host'"):
            call(tmp_path / "other.csv")
