"""Every registered method with every registered reducer: one step of each stage on the CPU."""

import math
from dataclasses import fields

import pytest
import torch
from tiny import batch_of, domain_predictions, names, network_of, predictions, training_data, view_of

from vidshift.engine.step import Network, StepContext
from vidshift.methods.base import Batch, Stage, TargetBatch, methods, total
from vidshift.tokens.base import Reward, reducers
from vidshift.tokens.seeds import clip_seeds

PAIRS = [(method, reducer) for method in methods for reducer in reducers]


def one_step(network: Network, batch: Batch, stage: Stage) -> dict[str, float]:
    """What the engine does in a step, without its schedule and log."""
    network.train()
    result = network(batch, stage, 0.5)
    loss = total(result.losses)
    network.zero_grad()
    loss.backward()
    parameters = [p for p in network.parameters() if p.grad is not None]
    assert parameters
    assert all(bool(p.grad.isfinite().all()) for p in parameters if p.grad is not None)
    torch.optim.AdamW(parameters, lr=1e-3).step()

    def probe() -> Reward:
        with torch.no_grad():
            return network.eval()(batch, stage, 0.5).reward()

    reward = result.reward()
    assert all(0 < kept <= 1 for kept in reward.kept.values())
    learned = network.reducer.update(reward, probe if network.reducer.wants_probe else None)
    values = {name: float(term.value.detach()) for name, term in result.losses.items()}
    return {"loss": float(loss.detach()), **values, **learned}


@pytest.mark.parametrize(("method", "reducer"), PAIRS)
def test_one_step_of_every_stage(method: str, reducer: str) -> None:
    network = network_of(methods[method](), reducers[reducer]())
    data = training_data()
    for stage in network.method.stages():
        ctx = StepContext(network, stage, 0.0, domain_predictions(network, data))
        network.method.on_epoch(ctx)
        batch = batch_of(data, stage, network.method)
        assert (batch.source is not None) == ("source" in stage.data)
        assert batch.target is None or "target" in stage.data
        for name, value in one_step(network, batch, stage).items():
            assert math.isfinite(value), name


@pytest.mark.parametrize(("method", "reducer"), PAIRS)
def test_a_prediction_does_not_depend_on_batch_mates(method: str, reducer: str) -> None:
    network = network_of(methods[method](), reducers[reducer]())
    network.reducer.fix()
    ids = names(5)
    together = predictions(network, ids)
    torch.testing.assert_close(together.sum(1), torch.ones(5))
    for row, name in enumerate(ids):
        torch.testing.assert_close(predictions(network, [name])[0], together[row], rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(predictions(network, ids[::-1]), together.flip(0), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("reducer", list(reducers))
def test_a_training_step_does_not_depend_on_batch_mates(reducer: str) -> None:
    """The losses of a clip in a training step too: drop path and random tokens are drawn from its own seed."""
    network = network_of(methods["source-only"](), reducers[reducer]()).train()
    view, seeds_B = view_of(names(4)), clip_seeds(names(4), run=3, epoch=1)
    stage = Stage(name="train", data=frozenset({"source"}))
    together = StepContext(network, stage, 0.0, None).forward(view, seeds_B=seeds_B).logits_BK
    for row in range(4):
        alone = StepContext(network, stage, 0.0, None).forward(view.take([row]), seeds_B=seeds_B[row : row + 1])
        torch.testing.assert_close(alone.logits_BK[0], together[row], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", list(methods))
def test_shares_of_the_budget_add_up(method: str) -> None:
    """Every method of a direction gets the same budget of steps."""
    stages = methods[method]().stages()
    assert not stages or math.isclose(sum(stage.share for stage in stages), 1.0)
    assert len({stage.name for stage in stages}) == len(stages)


@pytest.mark.parametrize("name", list(methods))
def test_a_method_can_be_made_again_from_its_options(name: str) -> None:
    made = methods[name]()
    assert made.name == name
    assert methods[name](**made.options()).options() == made.options()


@pytest.mark.parametrize("name", list(reducers))
def test_a_reducer_can_be_made_again_from_its_options_and_state(name: str) -> None:
    made = reducers[name]()
    assert made.name == name
    again = reducers[name](**made.options())
    assert again.options() == made.options()
    again.load_state_dict(made.state_dict())
    assert again.state_dict() == made.state_dict()


def test_a_target_batch_has_no_label() -> None:
    assert {entry.name for entry in fields(TargetBatch)} == {
        "views",
        "seeds_B",
        "guess_B",
        "confidence_B",
        "probabilities_BK",
    }
    assert not any("label" in name for name in dir(TargetBatch))
