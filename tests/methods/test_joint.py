"""L = CE(source) + lambda_t CE(target, guesses), and what it becomes without the second term."""

from pathlib import Path

import pytest
import torch
from tiny import batch_of, network_of, train, training_data
from torch.nn import functional as F

from vidshift.errors import UserError
from vidshift.methods.base import total
from vidshift.methods.joint import Joint
from vidshift.methods.source_only import SourceOnly
from vidshift.tokens.base import reducers


def test_the_loss_is_the_printed_sum():
    network = network_of(Joint(target_weight=0.5), reducers["none"]())
    (stage,) = network.method.stages()
    batch = batch_of(training_data(), stage, network.method)
    assert batch.source is not None
    assert batch.target is not None
    assert batch.target.guess_B is not None
    result = network.eval()(batch, stage, 0.5)
    losses = {}
    for name, part, labels_B in (("s", batch.source, batch.source.labels_B), ("t", batch.target, batch.target.guess_B)):
        logits_BK = network.net(part.views[0], selection=None, reducer=network.reducer).logits_BK
        losses[name] = F.cross_entropy(logits_BK, labels_B)
    assert float(total(result.losses).detach()) == pytest.approx(
        float((losses["s"] + 0.5 * losses["t"]).detach()), rel=1e-5
    )
    # The reward takes both losses unweighted.
    assert result.reward().loss == pytest.approx(
        {"source": float(losses["s"].detach()), "target": float(losses["t"].detach())}, rel=1e-5
    )
    assert result.reward().kept == {"source": 1.0, "target": 1.0}


@pytest.mark.parametrize(("weight", "kept"), [(0.0, True), (0.5, False)])
def test_without_a_target_term_it_is_source_only_bit_for_bit(weight: float, kept: bool, tmp_path: Path):
    """By a weight of zero, and by a filter that no guess passes: with every step, draw and update of `lmft`."""
    ends = []
    for name, method in (("joint", Joint(target_weight=weight)), ("source", SourceOnly())):
        network = network_of(method, reducers["lmft"]())
        train(network, training_data(kept=kept), tmp_path / name, augment=True)
        ends.append((network.state_dict(), network.reducer.state_dict()))
    (one, policy), (other, same_policy) = ends
    assert all(torch.equal(value, other[name]) for name, value in one.items())
    assert policy == same_policy


def test_a_target_term_changes_what_is_learned(tmp_path: Path):
    ends = []
    for weight in (0.0, 0.5):
        network = network_of(Joint(target_weight=weight), reducers["none"]())
        train(network, training_data(), tmp_path / str(weight))
        assert network.net.head is not None
        ends.append(network.net.head.weight)
    assert not torch.equal(*ends)


def test_only_guesses_that_are_kept_are_trained_on():
    data = training_data(target=5)
    assert data.guesses is not None
    data.guesses.kept_N[:3] = False
    method = Joint()
    batch = batch_of(data, method.stages()[0], method, size=6)
    assert batch.target is not None
    assert set(batch.target.views[0].ids) == {"target3", "target4"}


def test_a_negative_weight_is_refused():
    with pytest.raises(UserError, match="target_weight -1"):
        Joint(target_weight=-1.0)
