"""The results file: one JSON line a run, whole or not counted."""

from pathlib import Path

from vidshift.bench.cells import Cell
from vidshift.bench.compare import Line, read_lines

CELL = Cell(
    source="studio",
    target="street",
    method="joint",
    reducer="lmft",
    method_options=(("target_weight", 0.3),),
    settings=(("gamma", 0.6),),
    seed=3,
)


def test_a_line_comes_back_as_it_was():
    line = Line(CELL, {"target": {"accuracy": 0.1 + 0.2}, "hits": "2:80"})
    again = Line.parse(line.as_json())
    assert again == line
    assert hash(again.cell) == hash(CELL)
    assert again.accuracy == 0.1 + 0.2
    assert "\n" not in line.as_json()


def test_a_last_line_cut_short_by_a_kill_is_left_out(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    assert read_lines(path) == []
    whole = Line(CELL, {"target": {"accuracy": 0.5}}).as_json()
    for cut in (1, len(whole) // 2, len(whole) - 1):
        path.write_text(f"{whole}\n{whole}\n{whole[:cut]}")
        assert len(read_lines(path)) == 2
