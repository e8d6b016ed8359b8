"""The paper's Gumbel baseline as a toy (tokens.md section 12 row 34): a gate with a straight-through gradient.

All tokens are computed in training, each with a gate of 0 or 1; at test time closed ones are dropped for real.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import GEOMETRY, names, network_of, predictions, train, training_data, view_of

from vidshift.methods.joint import Joint
from vidshift.methods.source_only import SourceOnly
from vidshift.tokens import motion
from vidshift.tokens.base import Reducer, Reward, Selection
from vidshift.tokens.seeds import clip_seeds, uniform


class ToyGumbel(Reducer):
    name = "toy-gumbel"
    proportional = True

    def __init__(self, *, start: float = 0.2, heat: float = 0.1, cost: float = 1.0, lr: float = 0.01) -> None:
        self.threshold = torch.tensor(start, requires_grad=True)
        self.optimizer = torch.optim.SGD([self.threshold], lr=lr)
        self.heat, self.cost = heat, cost

    def select(self, view, geometry, *, seeds_B, training, net) -> Selection:
        energy_BN, odd = motion.energy(view.clean_BTCHW, geometry)
        logits_BN = (energy_BN - self.threshold) / self.heat
        first_BN = torch.arange(geometry.tokens) < geometry.per_segment
        if not training:
            return Selection((logits_BN > 0) | first_BN, info=odd.counts())
        draw_BN = uniform(seeds_B, geometry.tokens, stream="gumbel").clamp(1e-6, 1 - 1e-6)
        soft_BN = torch.where(first_BN, 1.0, (logits_BN + draw_BN.logit()).sigmoid())
        gate_BN = (soft_BN > 0.5).float() + soft_BN - soft_BN.detach()
        everything = torch.ones_like(first_BN).expand(len(view), -1)
        info = {"open": float(gate_BN.detach().mean()), **odd.counts()}
        return Selection(everything, gate_BN=gate_BN, penalty=self.cost * soft_BN.mean(), info=info)

    def update(self, reward: Reward, probe: Any = None) -> Mapping[str, float]:
        """The gradient of the losses and of its own penalty is in `threshold.grad` by now."""
        self.optimizer.step()
        self.optimizer.zero_grad()
        return {"gate_threshold": float(self.threshold.detach())}

    def state_dict(self) -> dict[str, Any]:
        return {"threshold": self.threshold.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        with torch.no_grad():
            self.threshold.fill_(state["threshold"])


def test_the_loss_moves_the_gate(tmp_path: Path) -> None:
    """Without any cost of open tokens, the task's gradient alone reaches the threshold, through closed gates too."""
    reducer = ToyGumbel(cost=0.0, lr=1.0)
    lines = train(network_of(SourceOnly(), reducer), training_data(), tmp_path, epochs=1)
    moved = [line["gate_threshold"] for line in lines if line["kind"] == "step"]
    assert len(set(moved)) == len(moved)
    assert moved[0] != pytest.approx(0.2, abs=1e-9)


def test_what_is_open_costs_something(tmp_path: Path) -> None:
    reducer = ToyGumbel(cost=1.0, lr=0.05)
    lines = train(network_of(Joint(), reducer), training_data(), tmp_path, epochs=3)
    steps = [line for line in lines if line["kind"] == "step"]
    assert steps[-1]["gate_threshold"] > steps[0]["gate_threshold"]
    assert all(line["loss_reducer"] > 0 for line in steps)
    assert all(line["kept_source"] == 1 for line in steps)  # all tokens are computed: nothing is saved in training
    assert all(0 < line["open"] < 1 for line in steps)


def test_training_and_testing_see_the_same_tokens() -> None:
    """A closed gate is a dropped token: with the same mask, both ways give the same logits."""
    network = network_of(SourceOnly(), ToyGumbel(heat=1e-4))
    network.net.train()
    view, seeds_B = view_of(names(3)), clip_seeds(names(3), run=0)
    gated = network.reducer.select(view, GEOMETRY, seeds_B=seeds_B, training=True, net=None)
    dropped = network.reducer.select(view, GEOMETRY, seeds_B=seeds_B, training=False, net=None)
    assert gated.gate_BN is not None
    same_B = ((gated.gate_BN > 0.5) == dropped.keep_BN).all(1)
    assert bool(same_B.any())
    network.net.eval()
    by_gate = network.net(view, selection=gated, reducer=network.reducer).logits_BK
    by_drop = network.net(view, selection=dropped, reducer=network.reducer).logits_BK
    torch.testing.assert_close(by_gate[same_B], by_drop[same_B], atol=1e-4, rtol=1e-4)


def test_a_clip_does_not_depend_on_its_batch_mates() -> None:
    network = network_of(SourceOnly(), ToyGumbel())
    together = predictions(network, names(4))
    for row, name in enumerate(names(4)):
        assert torch.equal(predictions(network, [name])[0], together[row])
