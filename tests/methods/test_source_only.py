"""The bounds: labels of the source alone, and those of the target."""

import pytest
import torch
from tiny import batch_of, network_of, training_data
from torch.nn import functional as F

from vidshift.engine.batches import TrainingData
from vidshift.engine.prepare import training_data as prepared
from vidshift.methods.base import Stage, total
from vidshift.methods.source_only import SourceOnly, TargetOnly
from vidshift.tokens.base import reducers


def test_the_loss_is_cross_entropy_on_the_source():
    network = network_of(SourceOnly(), reducers["none"]()).eval()
    (stage,) = network.method.stages()
    batch = batch_of(training_data(), stage, network.method)
    assert batch.source is not None
    assert batch.target is None
    result = network(batch, stage, 0.0)
    logits_BK = network.net(batch.source.views[0], selection=None, reducer=network.reducer).logits_BK
    expected = F.cross_entropy(logits_BK, batch.source.labels_B)
    assert float(total(result.losses).detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    assert list(result.reward().loss) == ["source"]


def test_other_target_clips_change_nothing():
    """Its batches are the same, whatever the target holds and however the teacher guesses."""
    stage = SourceOnly().stages()[0]
    few, many = (batch_of(training_data(target=count), stage, SourceOnly()) for count in (2, 9))
    assert few.source is not None
    assert many.source is not None
    assert torch.equal(few.source.views[0].pixels_BTCHW, many.source.views[0].pixels_BTCHW)
    assert few.target is many.target is None


def test_target_only_is_marked_and_trains_on_the_target_handed_in_as_the_source(monkeypatch: pytest.MonkeyPatch):
    assert TargetOnly.source_is_target
    assert not SourceOnly.source_is_target
    assert TargetOnly().stages() == (Stage(name="train", data=frozenset({"source"})),)

    from types import SimpleNamespace

    from vidshift.engine import prepare

    monkeypatch.setattr(prepare, "label_indices", lambda manifest, classes: torch.tensor([manifest]))
    domains = SimpleNamespace(target_truth=1, source_train=0, classes=("a", "b"))
    clips = SimpleNamespace(source="source clips", target="target clips")
    found: TrainingData = prepared(TargetOnly(), domains, clips, None)  # pyright: ignore[reportArgumentType]
    assert (found.source, found.source_labels_N.tolist()) == ("target clips", [1])
    found = prepared(SourceOnly(), domains, clips, None)  # pyright: ignore[reportArgumentType]
    assert (found.source, found.source_labels_N.tolist()) == ("source clips", [0])
