"""The plain loop: it trains, stops, and goes on as if nothing had happened."""

import json
import os
import signal
from pathlib import Path

import pytest
import torch
from torch import nn

from vidshift.engine.console import Quiet
from vidshift.engine.fit import Fit, Plan, optimizer_of, seconds_per_step, summary_of
from vidshift.engine.log import read_metrics
from vidshift.engine.signals import Interrupted
from vidshift.errors import UserError

PLAN = Plan(steps=23, lr=0.2, log_every=5, save_every=10)


def line(seed: int = 0) -> nn.Linear:
    made = nn.Linear(3, 1)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        made.weight.copy_(torch.randn(1, 3, generator=generator))
        made.bias.zero_()
    return made


def loss_of(model: nn.Linear):
    def loss(step: int) -> torch.Tensor:
        x = torch.randn(8, 3, generator=torch.Generator().manual_seed(step))
        return (model(x) - x.sum(1, keepdim=True)).square().mean()

    return loss


def fit(folder: Path, plan: Plan = PLAN) -> tuple[Fit, nn.Linear]:
    folder.mkdir(exist_ok=True)
    model = line()
    return Fit(model, plan, folder, name="fitting", go_on="call again"), model


def without_seconds(path: Path) -> list[dict]:
    return read_metrics(path / "metrics.jsonl")


def test_the_loss_falls_and_is_told(tmp_path: Path):
    fitting, model = fit(tmp_path)
    position = fitting.run(loss_of(model), Quiet())
    told = summary_of(position, PLAN, read_metrics(tmp_path / "metrics.jsonl"))
    assert position.total_step == told["steps"] == 23
    assert told["loss_last"] < 0.5 * told["loss_first"]
    assert [entry["total_step"] for entry in without_seconds(tmp_path)] == [5, 10, 15, 20, 23]
    assert not model.training


@pytest.mark.parametrize("stopped_at", [3, 10, 17])
def test_a_stopped_fit_goes_on_with_the_same_numbers(tmp_path: Path, stopped_at: int):
    whole, model = fit(tmp_path / "whole")
    whole.run(loss_of(model), Quiet())

    stopped, other = fit(tmp_path / "parts")
    plain = loss_of(other)

    def asks(step: int) -> torch.Tensor:
        if step == stopped_at - 1:
            os.kill(os.getpid(), signal.SIGINT)
        return plain(step)

    with pytest.raises(Interrupted, match=rf"stopped at step {stopped_at} of 23.*call again") as caught:
        stopped.run(asks, Quiet())
    assert caught.value.exit_code == 130
    resumed, last = fit(tmp_path / "parts")
    assert resumed.position.total_step == stopped_at
    resumed.run(loss_of(last), Quiet())
    assert torch.equal(last.weight, model.weight)
    assert torch.equal(last.bias, model.bias)
    assert without_seconds(tmp_path / "parts") == without_seconds(tmp_path / "whole")


def test_a_killed_fit_goes_back_to_the_last_state(tmp_path: Path):
    whole, model = fit(tmp_path / "whole")
    whole.run(loss_of(model), Quiet())
    killed, other = fit(tmp_path / "parts")
    plain = loss_of(other)

    def dies(step: int) -> torch.Tensor:
        if step == 17:
            raise RuntimeError("killed")
        return plain(step)

    with pytest.raises(RuntimeError):
        killed.run(dies, Quiet())
    resumed, last = fit(tmp_path / "parts")
    assert resumed.position.total_step == 10
    resumed.run(loss_of(last), Quiet())
    assert torch.equal(last.weight, model.weight)
    assert without_seconds(tmp_path / "parts") == without_seconds(tmp_path / "whole")


def test_a_finished_fit_changes_nothing(tmp_path: Path):
    first, model = fit(tmp_path)
    first.run(loss_of(model), Quiet())
    lines = (tmp_path / "metrics.jsonl").read_bytes()
    again, other = fit(tmp_path)
    again.run(loss_of(other), Quiet())
    assert torch.equal(model.weight, other.weight)
    assert (tmp_path / "metrics.jsonl").read_bytes() == lines


def test_a_loss_without_a_number_stops_before_a_state_is_spoilt(tmp_path: Path):
    fitting, model = fit(tmp_path)
    plain = loss_of(model)
    with pytest.raises(UserError, match="before step 15"):
        fitting.run(lambda step: plain(step) * (float("nan") if step == 11 else 1.0), Quiet())
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["step-00000010"]
    assert all(json.loads(text) for text in (tmp_path / "metrics.jsonl").read_text().splitlines())


def test_vectors_are_not_decayed():
    groups = optimizer_of(line(), PLAN).param_groups
    assert [(len(group["params"]), group["weight_decay"]) for group in groups] == [(1, 0.05), (1, 0.0)]


def test_measuring_the_pace_leaves_the_weights_alone():
    model = line()
    before = model.weight.clone()
    assert seconds_per_step(model, loss_of(model), PLAN) > 0
    assert torch.equal(model.weight, before)
