"""The teacher alone: nothing is trained, and what it says is what is predicted."""

from pathlib import Path

import pytest
import torch
from tiny import CLASSES, names, network_of, train, training_data, view_of
from torch import Tensor

from vidshift.data.view import View
from vidshift.methods.zero_shot import ZeroShot
from vidshift.tokens.base import reducers
from vidshift.tokens.seeds import clip_seeds


def teacher(view: View) -> Tensor:
    return torch.eye(CLASSES)[[int(name[-1]) % CLASSES for name in view.ids]]


def test_predictions_are_the_teachers():
    network = network_of(ZeroShot(), reducers["lmft"](), teach=teacher)
    ids = names(5)
    found, observed = network.predict(view_of(ids), clip_seeds(ids, run=0))
    assert found.argmax(1).tolist() == [0, 1, 2, 0, 1]
    assert observed.lengths == []  # the network was not asked


def test_nothing_is_trained(tmp_path: Path):
    network = network_of(ZeroShot(), reducers["none"](), teach=teacher)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    assert train(network, training_data(), tmp_path) == []
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_without_a_teacher_it_says_so():
    network = network_of(ZeroShot(), reducers["none"]())
    network.teach = None
    with pytest.raises(RuntimeError, match="no teacher"):
        network.predict(view_of(names(1)), clip_seeds(names(1), run=0))
