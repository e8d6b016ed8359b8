"""`report.html`: what it shows is what the run's files say, and a user's words cannot become markup."""

import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from vidshift.engine import report
from vidshift.engine.adapt import Finished
from vidshift.engine.config import RunConfig
from vidshift.engine.prepare import Place
from vidshift.engine.report import chart, report_of, report_page, series_of

SCORED = {
    "accuracy": 0.75,
    "per_class": {"walk": [3, 4], "<wave>": [3, 4]},
    "confusion": [[3, 1], [1, 3]],
}
SUMMARY: dict[str, Any] = {
    "source": "a",
    "target_domain": "b & c",
    "classes": ["walk", "<wave>"],
    "method": "joint",
    "reducer": "lmft",
    "seed": 3,
    "steps": 40,
    "target": SCORED,
    "source_validation": SCORED,
    "warnings": ["the learned threshold is <high>"],
}
METRICS = [
    {
        "kind": "step",
        "total_step": step,
        "loss_source": 2 / step,
        "kept_source": 0.5,
        "threshold": 0.01 * step,
        "reward": -10 / step,
    }
    for step in range(1, 41)
] + [{"kind": "epoch", "total_step": step, "source_validation_accuracy": step / 40} for step in (20, 40)]


class Checked(HTMLParser):
    """Counts what is open; unknown entities and unclosed elements show."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("meta", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Checked:
    parser = Checked()
    parser.feed(page)
    parser.close()
    return parser


def test_the_page_is_whole_and_says_what_the_run_says():
    page = report_page(SUMMARY, METRICS, rows=[("kept tokens", "30% <b>")], settings="source: <script>")
    parser = read(page)
    assert parser.open == []
    text = " ".join(parser.text)
    for told in ("a to b & c", "30% <b>", "<wave>", "the learned threshold is <high>", "source: <script>", "75%"):
        assert told in text
    assert "<script" not in page
    assert page.count("<figure>") == 5  # loss, kept, threshold, reward, source validation


def test_without_labels_and_without_training_there_is_no_empty_chart_or_matrix():
    unlabelled = {**SUMMARY, "target": {"accuracy": None, "per_class": {}, "confusion": None}}
    page = report_page(unlabelled, [], rows=[], settings="")
    assert "Target test" not in page
    assert "<figure>" not in page
    assert "Source validation: what each class" in page


def test_series_are_means_over_equal_spans_that_end_at_the_last_step():
    lines = [{"kind": "step", "total_step": step, "loss": float(step)} for step in range(1, 1001)]
    points = series_of(lines, "loss")
    assert len(points) <= 120
    assert points[0] == (9.0, 5.0)
    assert points[-1][0] == 1000
    assert series_of(lines, "reward") == []


@pytest.mark.parametrize("values", [[0.0, 0.0], [-3.0, -1.0], [5.0, 2.0]])
def test_a_chart_stays_inside_its_frame(values: list[float]):
    drawn = chart({"x": [(1.0, values[0]), (10.0, values[1])]})
    points = re.search(r'points="([^"]+)"', drawn)
    assert points is not None
    for pair in points[1].split():
        x, y = map(float, pair.split(","))
        assert 0 <= x <= 420
        assert 0 <= y <= 190


WHOLE = {
    **SUMMARY,
    "checkpoint": "last",
    "oracle_labels": False,
    "transductive": False,
    "kept_ratio": {"source": None, "target": None},
    "flops_per_clip": None,
    "seconds": {"total": 60.0, "train": 40.0},
    "target": {**SCORED, "correct": 3, "found": 4, "expected": 4},
}


def finished_in(folder: Path, **changes: Any) -> Finished:
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(RunConfig().as_yaml())
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in METRICS))
    return Finished(Place(folder=folder, cache=folder / "cache"), {**WHOLE, **changes})


def test_a_run_is_told_on_one_page_and_a_finished_one_is_left_alone(tmp_path: Path):
    finished = finished_in(tmp_path / "run")
    page, leftover = tmp_path / "run" / "report.html", tmp_path / "run" / ".report.html.7.partial"
    leftover.touch()
    assert report_of(finished) == page
    assert not leftover.exists()
    assert "75.0% of the target" in page.read_text(encoding="utf-8")
    page.write_text("read already")
    assert report_of(replace(finished, anew=False)) == page
    assert page.read_text() == "read already"


def test_names_that_are_no_utf8_are_shown_by_their_bytes(tmp_path: Path):
    page = report_of(finished_in(tmp_path / "run", source=os.fsdecode(b"caf\xe9")))
    assert page is not None
    assert r"caf\xe9 to b" in page.read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_written_to_costs_the_page_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report, "write_text", full)
    assert report_of(finished_in(tmp_path / "run")) is None
