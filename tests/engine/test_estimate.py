"""The time that is told beforehand: nothing of the run is changed by it, and above the limit nothing is trained."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from nursery import Ended, Nursery
from tinyruns import assert_same_run, tiny_arguments

from vidshift import cli
from vidshift.engine.adapt import Adapt, Place
from vidshift.engine.config import RunConfig, load_config
from vidshift.engine.console import Quiet
from vidshift.engine.estimate import Estimate
from vidshift.engine.limit import Limit, clock, ways
from vidshift.errors import UserError

SOME = Estimate(teacher=60, training=3600, testing=600, config=RunConfig(epochs=8), device=torch.device("cpu"))


@dataclass
class Ears(Quiet):
    heard: list[str]

    def say(self, text: str) -> None:
        self.heard.append(text)


@pytest.fixture
def place(tiny_cache: Path, tmp_path: Path) -> Callable[[str], Place]:
    return lambda name: Place(folder=tmp_path / name, cache=tiny_cache, workers=1)


@pytest.fixture
def config(tiny_cache: Path, tiny_table: Path, tmp_path: Path) -> RunConfig:
    assert cli.run([*tiny_arguments(tiny_cache, tiny_table, out=tmp_path / "first"), "-q", "--yes"]) == 0
    return load_config(tmp_path / "first" / "config.yaml")


def test_a_run_is_the_same_bit_for_bit_with_and_without_an_estimate(config: RunConfig, place: Any):
    told: list[Estimate | None] = []
    torch.manual_seed(7)
    Adapt(config, place("with"), Quiet(), agree=told.append).run()
    torch.manual_seed(7)
    Adapt(config, place("without"), Quiet()).run()
    assert_same_run(place("with").folder, place("without").folder)
    (estimate,) = told
    assert estimate is not None
    assert estimate.training > 0 < estimate.testing
    assert estimate.teacher == 0  # somebody's table is there already


@pytest.mark.parametrize("reducer", ["none", "lmft"])
def test_longer_runs_take_longer(config: RunConfig, place: Any, reducer: str):
    told: list[Any] = []

    def refuse(estimate: Estimate | None) -> None:
        told.append(estimate)
        raise UserError("no")

    for epochs in (1, 100):
        for teacher in (config.teacher, "source"):
            run = Adapt(
                replace(config, epochs=epochs, teacher=teacher, reducer=reducer), place("no"), Quiet(), agree=refuse
            )
            with pytest.raises(UserError, match="no"):
                run.run()
    assert not place("no").folder.exists()
    short, short_source, long, long_source = told
    assert long.training > 20 * short.training
    assert short_source.teacher > 0 == short.teacher
    assert long_source.teacher > 20 * short_source.teacher


@pytest.fixture
def start(nursery: Nursery, tiny_cache: Path, tiny_table: Path) -> Callable[..., Ended]:
    def begin(folder: Path, *more: str, resume: bool = False, **plan: object) -> Ended:
        if resume:
            where = ["--cache", str(tiny_cache), "--workers", "1"]
            return nursery.run(["adapt", "--resume", str(folder), *where, *more], **plan)
        return nursery.run([*tiny_arguments(tiny_cache, tiny_table, out=folder), *more], **plan)

    return begin


def test_above_the_limit_it_stops_before_anything_is_trained_unless_it_is_told_to_go_on(
    start: Callable[..., Ended], tmp_path: Path
):
    folder = tmp_path / "run"
    ended = start(folder, "--time-limit", "0")
    assert ended.status == 2
    last = ended.err.splitlines()[-1]
    for told in ("more than --time-limit 0 (minutes)", "--yes", "--epochs", "--device cuda", "--backbone"):
        assert told in last
    assert not folder.exists()
    killed = start(folder, "--time-limit", "0", "--yes", call="vidshift.engine.train:learn", nth=3)
    assert killed.status == -9
    assert "From a few measured steps, the run will take about" in killed.err
    assert start(folder, "--time-limit", "0", resume=True).status == 0


def test_a_person_is_asked_and_may_say_no():
    ears, questions = Ears([]), []

    def answer(yes: bool) -> Callable[[str], bool]:
        return lambda question: bool(questions.append(question)) or yes

    Limit(10, yes=False, console=ears, ask=answer(True))(SOME)
    with pytest.raises(UserError, match="not started, as you chose"):
        Limit(10, yes=False, console=ears, ask=answer(False))(SOME)
    assert len(questions) == 2
    assert "Go on? [y/N]" in questions[0]
    Limit(10, yes=True, console=ears, ask=answer(False))(SOME)
    Limit(600, yes=False, console=ears, ask=answer(False))(SOME)
    assert len(questions) == 2
    assert ears.heard[0].startswith(
        "From a few measured steps, the run will take about 71 min on this machine (the teach"
    )
    Limit(0, yes=False, console=ears, ask=answer(False))(None)
    assert "cannot be told" in ears.heard[-1]
    with pytest.raises(UserError, match="--time-limit cannot be -1"):
        Limit(-1, yes=False, console=ears)


def test_the_epochs_that_fit_are_named():
    assert ways(SOME, minutes=30)[0] == "--epochs 2 (instead of 8)"  # 30 - 11 minutes, of 7.5 each
    assert ways(SOME, minutes=5)[0] == "fewer --epochs than 8"
    assert "a table of labels (--teacher labels.csv)" in ways(replace(SOME, teacher=4000), minutes=30)


def test_times_are_no_finer_than_an_estimate():
    found = [clock(seconds) for seconds in (0.2, 80, 600, 7200, 100 * 3600)]
    assert found == ["1 s", "80 s", "10 min", "2.0 hours", "4.2 days"]
