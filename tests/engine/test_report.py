"""`report.html`: what it shows is what the run's files say, and a user's words cannot become markup."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from vidshift.engine.report import chart, report_page, series_of, write_report

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


def test_an_unfinished_run_has_no_report(tmp_path: Path):
    (tmp_path / "metrics.jsonl").write_text(json.dumps(METRICS[0]) + "\n")
    assert write_report(tmp_path) is None
    assert not (tmp_path / "report.html").exists()
