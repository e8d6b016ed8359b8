"""One optimisation step."""

import pytest
import torch
from tiny import batch_of, network_of, tiny_vit, training_data

from vidshift.engine.config import RunConfig
from vidshift.engine.defaults import with_defaults
from vidshift.engine.learn import build_optimizer, first_clips, learn
from vidshift.methods.base import Stage
from vidshift.methods.joint import Joint
from vidshift.tokens.base import reducers
from vidshift.tokens.reducers.lmft import LearnedThreshold

STAGE = Joint().stages()[0]


def test_learning_rates_fall_from_layer_to_layer_and_vectors_do_not_decay():
    network = network_of(Joint(), reducers["none"](), net=tiny_vit(depth=3))
    config = RunConfig(lr=0.5, layer_decay=0.1, weight_decay=0.25)
    optimizer = build_optimizer(network, STAGE, config)
    of = {id(p): group for group in optimizer.param_groups for p in group["params"]}
    head = network.net.head
    assert head is not None
    assert of[id(head.weight)]["lr"] == pytest.approx(0.5)
    assert of[id(head.weight)]["weight_decay"] == 0.25
    assert head.bias is not None
    assert of[id(head.bias)]["weight_decay"] == 0
    rates = [of[id(next(block.parameters()))]["lr"] for block in network.net.blocks]
    assert rates == pytest.approx([0.5e-3, 0.5e-2, 0.5e-1])
    assert of[id(network.net.embedding.patch.weight)]["lr"] == pytest.approx(0.5e-4)
    assert {id(p) for p in network.parameters()} == set(of)


def test_a_stage_trains_only_what_it_names():
    network = network_of(Joint(), reducers["none"]())
    stage = Stage(name="head", data=frozenset({"source", "target", "table"}), trainable=("head.",), target_rows="kept")
    before = {name: value.clone() for name, value in network.state_dict().items()}
    optimizer = build_optimizer(network, stage, with_defaults(RunConfig(lr=0.1)))
    learn(network.train(), optimizer, batch_of(training_data(), stage, network.method), stage, progress=0.0, scale=1.0)
    changed = {name for name, value in network.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"net.head.weight", "net.head.bias"}


def test_at_scale_zero_the_weights_stay():
    network = network_of(Joint(), reducers["none"]()).train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    optimizer = build_optimizer(network, STAGE, with_defaults(RunConfig()))
    learn(network, optimizer, batch_of(training_data(), STAGE, network.method), STAGE, progress=0.0, scale=0.0)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


@pytest.mark.parametrize("policy", ["paper", "paired"])
def test_the_policy_learns_from_the_step(policy: str):
    """`paired` tries two thresholds on the same few clips, in evaluation mode, and leaves the network in training."""
    network = network_of(Joint(), LearnedThreshold(policy=policy, initial_threshold=0.2)).train()
    optimizer = build_optimizer(network, STAGE, with_defaults(RunConfig()))
    seen: list[tuple[int, bool]] = []
    forward = network.forward

    def spy(*args, **options):
        seen.append((len(args[0].source.labels_B), network.training))
        return forward(*args, **options)

    network.forward = spy
    data = training_data(source=12, target=12)
    batch = batch_of(data, STAGE, network.method, size=6)
    done = learn(network, optimizer, batch, STAGE, progress=0.0, scale=1.0)
    assert seen == ([(6, True)] if policy == "paper" else [(6, True), (4, False), (4, False)])
    assert network.training
    values = done.values
    assert done.clips == 12
    kept = values["kept_source"] + values["kept_target"]
    assert values["loss"] == pytest.approx(values["loss_source"] + 0.5 * values["loss_target"], rel=1e-5)
    assert values["kept_term"] == pytest.approx(-kept)
    assert values["loss_term"] == pytest.approx(-10 * (values["loss_source"] + values["loss_target"]))
    if policy == "paper":
        assert values["reward"] == pytest.approx(values["loss_term"] + values["kept_term"])


def test_the_first_few_clips_keep_their_labels_and_seeds():
    batch = batch_of(training_data(), STAGE, Joint(), size=4)
    few = first_clips(batch, 2)
    assert batch.source is not None
    assert few.source is not None
    assert few.target is not None
    assert few.source.views[0].ids == batch.source.views[0].ids[:2]
    assert torch.equal(few.source.labels_B, batch.source.labels_B[:2])
    assert torch.equal(few.source.seeds_B, batch.source.seeds_B[:2])
    assert few.target.guess_B is not None
    assert len(few.target.guess_B) == 2
    same = first_clips(batch, 99)
    assert same.source is not None
    assert len(same.source.labels_B) == 4
