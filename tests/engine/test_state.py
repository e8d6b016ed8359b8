"""Saved states: whole or not there, the newest counts, and a damaged one is said in a sentence."""

from pathlib import Path

import pytest
import torch
from torch import nn

from vidshift.engine import state
from vidshift.engine.state import Position, load_best, load_state, restore_optimizer, save_best, save_state
from vidshift.errors import UserError


def trained(steps: int = 3) -> tuple[nn.Linear, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.randn(4, 3, generator=torch.Generator().manual_seed(step))).square().sum().backward()
        optimizer.step()
    return model, optimizer


def test_what_is_loaded_goes_on_bit_for_bit(tmp_path: Path):
    model, optimizer = trained()
    reducer = {"threshold": 0.1 + 0.2, "nested": {"mu": -4.59511985013459}}
    save_state(tmp_path, model, optimizer, reducer, Position(step=3, total_step=3, seconds={"train": 1.5}))
    saved = load_state(tmp_path)
    assert saved is not None
    assert saved.reducer == reducer
    assert saved.position == Position(step=3, total_step=3, seconds={"train": 1.5})
    other = nn.Linear(3, 2)
    other.load_state_dict(dict(saved.weights))
    again = torch.optim.AdamW(other.parameters(), lr=0.1)
    restore_optimizer(again, saved.optimizer)
    for one, made in ((model, optimizer), (other, again)):
        made.zero_grad()
        one(torch.ones(4, 3)).sum().backward()
        made.step()
    assert torch.equal(model.weight, other.weight)
    assert torch.equal(model.bias, other.bias)


def test_only_the_newest_state_stays(tmp_path: Path):
    model, optimizer = trained()
    for step in (9, 10, 11):
        save_state(tmp_path, model, optimizer, {}, Position(total_step=step))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000011"]


def test_what_a_kill_has_left_is_cleaned_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A half written newer state is not read; an older one that was to be removed goes."""
    model, optimizer = trained()
    monkeypatch.setattr(state, "_remove_others", lambda path: None)
    for step in (2, 4):
        save_state(tmp_path, model, optimizer, {}, Position(total_step=step))
    monkeypatch.undo()
    half = tmp_path / ".step-00000006.123.partial"
    half.mkdir()
    (half / "weights.safetensors").write_bytes(b"half")
    saved = load_state(tmp_path)
    assert saved is not None
    assert saved.position.total_step == 4
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000004"]


def test_a_save_that_fails_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    model, optimizer = trained()
    save_state(tmp_path, model, optimizer, {}, Position(total_step=2))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(state, "save_file", full)
    with pytest.raises(UserError, match=r"No space left on device.*what was saved before is whole"):
        save_state(tmp_path, model, optimizer, {}, Position(total_step=4))
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000002"]
    assert load_state(tmp_path) is not None


def test_nothing_saved_is_no_error(tmp_path: Path):
    assert load_state(tmp_path / "state") is None
    assert load_state(tmp_path) is None


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.safetensors", "state.json"])
def test_a_damaged_state_is_named_and_kept(tmp_path: Path, name: str):
    model, optimizer = trained()
    path = save_state(tmp_path, model, optimizer, {}, Position(total_step=2))
    whole = (path / name).read_bytes()
    (path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="step-00000002 is damaged"):
        load_state(tmp_path)
    assert (path / name).read_bytes() == whole[: len(whole) // 2]


def test_the_best_epoch_is_replaced_whole(tmp_path: Path):
    model, _ = trained(1)
    save_best(tmp_path / "best", model, {"a": 1}, {"accuracy": 0.5})
    better, _ = trained(2)
    save_best(tmp_path / "best", better, {"a": 2}, {"accuracy": 0.6})
    reducer, weights = load_best(tmp_path / "best")
    assert reducer == {"a": 2}
    assert torch.equal(weights["weight"], better.weight)
    assert [path.name for path in tmp_path.iterdir()] == ["best"]
