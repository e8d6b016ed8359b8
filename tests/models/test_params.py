"""Layer-wise learning-rate decay that is really applied (tokens.md sections 1.5 and 7.2)."""

import pytest
import torch
from tiny import tiny_config, tiny_vit

from vidshift.models.config import preset
from vidshift.models.vit import VideoTransformer


def test_the_multipliers_of_vit_b() -> None:
    """0.75 ** (13 - i): 0 the embedding, i + 1 block i, 13 the last norm and the head."""
    with torch.device("meta"):
        net = VideoTransformer(preset("vit-b", classes=8))
    names = {id(parameter): name for name, parameter in net.named_parameters()}
    seen: set[str] = set()
    for group in net.param_groups(lr=2.0, weight_decay=0.05, layer_decay=0.75):
        for parameter in group["params"]:
            name = names[id(parameter)]
            assert name not in seen
            seen.add(name)
            layer = 0 if name.startswith("embedding.") else 13
            layer = int(name.split(".")[1]) + 1 if name.startswith("blocks.") else layer
            assert group["lr"] == pytest.approx(2.0 * 0.75 ** (13 - layer))
            assert group["weight_decay"] == (0.05 if parameter.dim() > 1 else 0.0)
    assert seen == set(names.values())


def test_the_decay_reaches_the_weights() -> None:
    """With equal gradients a step of plain descent moves each layer by its own rate."""
    net = tiny_vit(depth=3)
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    optimizer = torch.optim.SGD(net.param_groups(lr=0.1, weight_decay=0.0, layer_decay=0.5), lr=99.0)
    for parameter in net.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    moved = {name: float((before[name] - p.detach()).mean()) for name, p in net.named_parameters()}
    assert moved["embedding.patch.weight"] == pytest.approx(0.1 * 0.5**4, rel=1e-3)
    assert moved["blocks.0.qkv.weight"] == pytest.approx(0.1 * 0.5**3, rel=1e-3)
    assert moved["blocks.2.mlp.fc1.weight"] == pytest.approx(0.1 * 0.5, rel=1e-3)
    assert moved["norm.weight"] == pytest.approx(0.1, rel=1e-3)
    assert moved["head.bias"] == pytest.approx(0.1, rel=1e-3)


def test_frozen_parameters_are_left_out_and_tables_of_positions_are_not_decayed() -> None:
    net = VideoTransformer(tiny_config(positions="learned", run_lengths=True, class_token=True))
    net.embedding.patch.weight.requires_grad_(False)
    groups = net.param_groups(lr=1.0, weight_decay=0.1)
    decay = {id(p): group["weight_decay"] for group in groups for p in group["params"]}
    assert id(net.embedding.patch.weight) not in decay
    for name in ("positions", "lengths", "class_token"):
        assert decay[id(getattr(net.embedding, name))] == 0
    assert decay[id(net.blocks[0].get_parameter("qkv.weight"))] == 0.1
    assert {group["lr"] for group in groups} == {1.0}
