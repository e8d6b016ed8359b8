"""The loop over steps and epochs, on a network of milliseconds."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny import network_of, train, training_data
from torch import Tensor

from vidshift.engine.config import RunConfig
from vidshift.engine.console import Quiet
from vidshift.engine.defaults import with_defaults
from vidshift.engine.step import Network
from vidshift.engine.train import Trainer, note, steps_per_epoch
from vidshift.errors import UserError
from vidshift.methods.base import Batch, Context, Losses, Method, Stage, methods
from vidshift.methods.source_only import SourceOnly
from vidshift.tokens.base import reducers


def weights_of(network: Network) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in network.state_dict().items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return all(torch.equal(value, other[name]) for name, value in one.items())


class Spoilt(SourceOnly):
    """Its loss is no number at one step, counted over all calls."""

    def __init__(self, *, at: int, factor: float = math.nan) -> None:
        super().__init__()
        self.at, self.factor, self.calls = at, factor, 0

    def step(self, ctx: Context, batch: Batch) -> Losses:
        losses = super().step(ctx, batch)
        self.calls += 1
        if self.calls == self.at:
            only = losses["source"]
            return {"source": type(only)(only.value * self.factor, domain="source", task=True)}
        return losses


@pytest.mark.parametrize(("factor", "told"), [(math.nan, "loss became nan"), (math.inf, "loss became inf")])
def test_a_loss_that_is_no_number_stops_the_run_with_the_state_before_it(tmp_path: Path, factor: float, told: str):
    """Two steps an epoch: it fails at the fourth, after three whole ones."""
    whole = network_of(SourceOnly(), reducers["none"]())
    train(whole, training_data(), tmp_path / "whole", epochs=2)
    network = network_of(Spoilt(at=4, factor=factor), reducers["none"]())
    with pytest.raises(UserError, match=rf"{told} at step 4 of stage 'train'.*--lr") as caught:
        train(network, training_data(), tmp_path / "run", epochs=2)
    assert caught.value.exit_code == 1
    (kept,) = (tmp_path / "run" / "state").iterdir()
    assert str(kept) in str(caught.value)
    assert json.loads((kept / "state.json").read_text())["position"]["total_step"] == 3
    assert all(bool(value.isfinite().all()) for value in load_file(kept / "weights.safetensors").values())
    # Going on from there, without what spoilt it, ends where an undisturbed run ends.
    again = network_of(SourceOnly(), reducers["none"]())
    lines = train(again, training_data(), tmp_path / "run", epochs=2)
    assert same(weights_of(again), weights_of(whole))
    assert [line["total_step"] for line in lines if line["kind"] == "step"] == [1, 2, 3, 4]


def test_a_gradient_that_is_no_number_is_caught_before_the_weights(tmp_path: Path):
    class Cliff(SourceOnly):
        """The loss is fine, its slope is not: sqrt at 0."""

        def step(self, ctx: Context, batch: Batch) -> Losses:
            losses = super().step(ctx, batch)
            only = losses["source"]
            zero = (only.value - only.value.detach()).sqrt()
            return {"source": type(only)(only.value + zero, domain="source", task=True)}

    network = network_of(Cliff(), reducers["none"]())
    before = weights_of(network)
    with pytest.raises(UserError, match="the gradient became nan at step 1"):
        train(network, training_data(), tmp_path)
    assert same(before, weights_of(network))


def test_an_epoch_passes_over_the_longer_domain_whatever_the_filter_keeps(tmp_path: Path):
    for kept in (True, False):
        assert steps_per_epoch(training_data(source=6, target=11, kept=kept), batch=3) == 4
    assert steps_per_epoch(training_data(source=6, target=5), batch=3) == 2


@pytest.mark.parametrize("method", [name for name in methods if methods[name]().stages()])
def test_every_method_gets_the_same_budget(method: str, tmp_path: Path):
    network = network_of(methods[method](), reducers["none"]())
    trainer = Trainer(with_defaults(RunConfig(epochs=3, batch=3)), tmp_path, network, training_data())
    assert trainer.total_steps == 3 * 2


class Two(Method):
    """Two stages of which the second begins again from the pretrained weights and reads no source."""

    name = "two"
    seen: list[dict[str, Tensor]]

    def __init__(self) -> None:
        super().__init__()
        self.seen = []

    def stages(self) -> Sequence[Stage]:
        own = frozenset({"target", "table"})
        return (
            Stage(name="first", data=frozenset({"source"}), share=0.5),
            Stage(name="second", data=own, share=0.5, init="pretrained"),  # pyright: ignore[reportArgumentType]
        )

    def step(self, ctx: Context, batch: Batch) -> Losses:
        assert (batch.source is None) == (ctx.stage.name == "second")
        self.seen.append({name: value.clone() for name, value in ctx.network.net.state_dict().items()})  # pyright: ignore
        if batch.source is not None:
            return SourceOnly.step(self, ctx, batch)  # pyright: ignore[reportArgumentType]
        assert batch.target is not None
        logits = ctx.forward(batch.target.views[0], seeds_B=batch.target.seeds_B, domain="target").logits_BK
        from vidshift.methods.base import Loss

        return {"entropy": Loss(logits.square().mean())}


def test_a_stage_starts_again_from_the_pretrained_weights_and_gets_only_its_data(tmp_path: Path):
    method = Two()
    train(network_of(method, reducers["none"]()), training_data(), tmp_path, epochs=2)
    assert len(method.seen) == 4
    assert same(method.seen[2], method.seen[0])
    assert not same(method.seen[1], method.seen[0])


def test_the_state_is_saved_every_so_often(tmp_path: Path):
    network = network_of(SourceOnly(), reducers["none"]())
    seen: list[list[str]] = []

    class Watching(Quiet):
        def task(self, name: str, total: int):  # pyright: ignore[reportIncompatibleMethodOverride]
            from contextlib import contextmanager

            class Watch:
                def update(self, done: int, note: str = "") -> None:
                    place = tmp_path / "state"
                    seen.append(sorted(path.name for path in place.iterdir()) if place.exists() else [])

            @contextmanager
            def watch():
                yield Watch()

            return watch()

    config = with_defaults(RunConfig(epochs=1, batch=1, save_every=2))
    Trainer(config, tmp_path, network, training_data()).run(Watching())
    assert seen[:6] == [[], [], [], ["step-00000002"], ["step-00000002"], ["step-00000004"]]
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["step-00000006"]


def test_a_step_in_a_few_words():
    values = {"loss": 1.5, "accuracy_source": 0.25, "kept_source": 0.2, "kept_target": 0.4, "threshold": 0.0123}
    assert note({**values, "clips_per_second": 80.4}) == "loss 1.500  acc 25%  kept 30%  tau 0.012  80 clips/s"
