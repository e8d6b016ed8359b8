"""`metrics.jsonl`: whole lines, none twice, whatever a kill has left."""

import json
import sys
from pathlib import Path

import pytest

from vidshift.engine.log import MetricsLog, read_metrics
from vidshift.errors import UserError


def test_on_resume_it_is_cut_back_to_what_the_state_has_seen(tmp_path: Path):
    path = tmp_path / "metrics.jsonl"
    first = MetricsLog(path)
    first.write("step", {"step": 0})
    kept = first.sync()
    assert kept == path.stat().st_size
    first.write("step", {"step": 1})
    first.close()
    with path.open("a") as file:
        file.write('{"kind": "step", "st')  # killed while writing
    assert [line["step"] for line in read_metrics(path)] == [0, 1]
    again = MetricsLog(path, keep_bytes=kept)
    again.write("step", {"step": 1})
    again.close()
    assert [line["step"] for line in read_metrics(path)] == [0, 1]
    assert path.read_text().count("\n") == 2


def test_a_file_shorter_than_the_state_remembers_is_not_filled_with_zeros(tmp_path: Path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"kind": "step"}\n')
    MetricsLog(path, keep_bytes=10_000).close()
    assert path.read_text() == '{"kind": "step"}\n'


def test_a_new_run_begins_with_an_empty_file(tmp_path: Path):
    path = tmp_path / "metrics.jsonl"
    path.write_text("from a run that was killed before its first state\n")
    MetricsLog(path).close()
    assert path.read_text() == ""


def test_a_number_that_json_does_not_know_is_refused(tmp_path: Path):
    log = MetricsLog(tmp_path / "metrics.jsonl")
    with pytest.raises(ValueError, match="JSON"):
        log.write("step", {"loss": float("nan")})
    log.close()


def test_tensorboard_gets_the_same_numbers_and_is_asked_for_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[tuple[str, float, int]] = []

    class Writer:
        def __init__(self, folder: Path) -> None:
            assert folder == tmp_path / "tensorboard"

        def add_scalar(self, name: str, value: float, step: int) -> None:
            seen.append((name, value, step))

        def close(self) -> None:
            seen.append(("closed", 0, 0))

    from types import SimpleNamespace

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    log = MetricsLog(tmp_path / "metrics.jsonl", tensorboard=True)
    log.write("step", {"total_step": 3, "loss": 0.5, "stage": "train"})
    log.close()
    assert seen == [("step/total_step", 3, 3), ("step/loss", 0.5, 3), ("closed", 0, 0)]
    assert json.loads((tmp_path / "metrics.jsonl").read_text())["loss"] == 0.5
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match=r"pip install 'vidshift\[tensorboard\]'"):
        MetricsLog(tmp_path / "metrics.jsonl", tensorboard=True)
