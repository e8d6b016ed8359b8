"""A real process is killed and the run goes on as if nothing had happened."""

import json
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from nursery import Ended, Nursery
from tinyruns import assert_same_run, metrics_of, tiny_arguments

Start = Callable[..., Ended]


@pytest.fixture(scope="module")
def start(nursery: Nursery, tiny_cache: Path, tiny_table: Path) -> Start:
    """Starts a run in a folder, or goes on with it."""

    def begin(
        folder: Path,
        *,
        resume: bool = False,
        flags: dict[str, object] | None = None,
        cache: Path = tiny_cache,
        **plan: object,
    ) -> Ended:
        if resume:
            here = ["--cache", str(cache), "--workers", "1"]
            return nursery.run(["adapt", "--resume", str(folder), *here], **plan)
        given: dict[str, object] = {"cache": cache, **(flags or {})}
        return nursery.run(tiny_arguments(tiny_cache, tiny_table, out=folder, **given), **plan)

    return begin


@pytest.fixture(scope="module")
def reference(start: Start, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A run that nobody disturbed, and how many file operations it took."""
    folder = tmp_path_factory.mktemp("reference") / "run"
    ended = start(folder)
    assert ended.status == 0, ended.err
    return folder, ended.events


def named(plan: dict[str, object]) -> str:
    return f"{str(plan['call']).split(':')[1]}{plan['nth']}"


@pytest.mark.parametrize(
    "plan",
    [
        {"call": "vidshift.engine.adapt:teach_clips", "nth": 1},
        {"call": "vidshift.engine.adapt:write_table", "nth": 1},
        {"call": "vidshift.engine.train:learn", "nth": 4},
        {"call": "vidshift.engine.evaluate:test_view", "nth": 2},
        {"call": "vidshift.engine.state:save_file", "nth": 4, "half": True},
        {"call": "vidshift.engine.adapt:predict_clips", "nth": 3},
        {"call": "vidshift.engine.adapt:write_json", "nth": 1},
    ],
    ids=named,
)
def test_a_killed_run_goes_on_exactly(
    start: Start, reference: tuple[Path, int], tmp_path: Path, plan: dict[str, object]
):
    folder = tmp_path / "run"
    assert start(folder, **plan).status == -signal.SIGKILL
    ended = start(folder, resume=True)
    assert ended.status == 0, ended.err
    assert_same_run(folder, reference[0])


@pytest.mark.parametrize(
    "plan",
    [
        {"call": "vidshift.data.stickworld.sealed:encode", "nth": 30},
        {"call": "vidshift.data.clips:_fill", "nth": 3},
    ],
    ids=named,
)
def test_a_run_killed_while_it_draws_or_decodes_goes_on_exactly(
    start: Start, reference: tuple[Path, int], tmp_path: Path, plan: dict[str, object]
):
    """Into a cache of its own: what an earlier run has drawn would hide it."""
    folder, cache = tmp_path / "run", tmp_path / "cache"
    assert start(folder, cache=cache, **plan).status == -signal.SIGKILL
    assert [path.name for path in folder.iterdir() if not path.name.startswith(".")] == ["config.yaml"]
    drawn = {path: path.stat().st_mtime_ns for path in cache.rglob("*.mp4")}
    assert len(drawn) >= 29
    ended = start(folder, cache=cache, resume=True)
    assert ended.status == 0, ended.err
    assert {path: path.stat().st_mtime_ns for path in drawn} == drawn
    assert_same_run(folder, reference[0])


@pytest.mark.long
def test_a_run_killed_at_any_file_operation_goes_on_exactly(start: Start, reference: tuple[Path, int], tmp_path: Path):
    for nth in range(1, reference[1] + 1):
        folder = tmp_path / f"run-{nth}"
        assert start(folder, event=True, nth=nth).status == -signal.SIGKILL
        again = {} if (folder / "config.yaml").exists() else {"flags": {}}
        ended = start(folder, resume=not again, **again)
        assert ended.status == 0, (nth, ended.err)
        assert_same_run(folder, reference[0])
        shutil.rmtree(folder)


@pytest.mark.long
def test_a_run_killed_again_and_again_at_any_time_ends_the_same(
    start: Start, reference: tuple[Path, int], tmp_path: Path
):
    rng = random.Random(0)
    for number in range(10):
        folder = tmp_path / f"run-{number}"
        limit = 0.1
        while True:
            ended = start(folder, resume=(folder / "config.yaml").exists(), after=rng.uniform(0, limit))
            if ended.status == 0:
                break
            assert ended.status == -signal.SIGKILL, ended.err
            limit *= 1.2
        assert_same_run(folder, reference[0])


def test_ctrl_c_saves_and_says_how_to_go_on(start: Start, reference: tuple[Path, int], tmp_path: Path):
    folder = tmp_path / "run"
    ended = start(folder, call="vidshift.engine.train:learn", nth=3, signal=signal.SIGINT)
    assert ended.status == 130
    assert f"vidshift adapt --resume {folder}" in ended.err.splitlines()[-1]
    assert [path.name for path in (folder / "state").iterdir()] == ["step-00000003"]
    assert sum(line["kind"] == "step" for line in metrics_of(folder)) == 3
    assert start(folder, resume=True).status == 0
    assert_same_run(folder, reference[0])


def test_ctrl_c_outside_of_training_says_how_to_go_on(start: Start, reference: tuple[Path, int], tmp_path: Path):
    folder = tmp_path / "run"
    ended = start(folder, call="vidshift.engine.adapt:predict_clips", nth=3, signal=signal.SIGINT)
    assert ended.status == 130
    assert f"vidshift adapt --resume {folder}" in ended.err.splitlines()[-1]
    assert start(folder, resume=True).status == 0
    assert_same_run(folder, reference[0])


def test_the_oracle_choice_survives_a_kill(start: Start, tmp_path: Path):
    flags: dict[str, object] = {"checkpoint": "oracle", "epochs": 3}
    whole, folder = tmp_path / "whole", tmp_path / "run"
    assert start(whole, flags=flags).status == 0
    assert start(folder, flags=flags, call="vidshift.engine.train:save_best", nth=1).status == -signal.SIGKILL
    assert start(folder, resume=True, call="vidshift.engine.train:learn", nth=5).status == -signal.SIGKILL
    assert start(folder, resume=True).status == 0
    assert_same_run(folder, whole)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["checkpoint"] == "oracle"
    best = [line for line in metrics_of(folder) if line["kind"] == "epoch"]
    chosen = max(best, key=lambda line: line["oracle_target_accuracy"])
    assert summary["checkpoint_step"] == chosen["total_step"]
    assert summary["target"]["accuracy"] == chosen["oracle_target_accuracy"]


def test_a_finished_run_is_left_alone(start: Start, reference: tuple[Path, int]):
    folder = reference[0]
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    ended = start(folder, resume=True)
    assert ended.status == 0
    assert "was finished before" in ended.out
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_seconds_add_up_over_processes(start: Start, tmp_path: Path):
    folder = tmp_path / "run"
    start(folder, call="vidshift.engine.train:learn", nth=4)
    saved = json.loads(next((folder / "state").glob("*/state.json")).read_text())["position"]["seconds"]
    assert start(folder, resume=True).status == 0
    seconds = json.loads((folder / "summary.json").read_text())["seconds"]
    assert seconds["total"] > saved["total"]
    assert seconds["train"] > saved["train"]
    assert seconds["total"] >= seconds["train"] + seconds["wait"] + seconds["evaluate"]
