"""Scores against values worked out by hand."""

import math
from pathlib import Path

import pytest
import torch
from tiny import Memory, names, network_of, predictions

from vidshift.data.manifest import Manifest, Row
from vidshift.engine.evaluate import label_indices, predict_clips, score
from vidshift.errors import UserError
from vidshift.methods.source_only import SourceOnly
from vidshift.tokens.base import reducers

CLASSES = ("a", "b", "c")


def manifest(labels: str) -> Manifest:
    """One row a letter; a dot is a clip without a label."""
    rows = (Row(id=f"v{k}", path=Path(f"v{k}.mp4"), label=None if x == "." else x) for k, x in enumerate(labels))
    return Manifest(tuple(rows), CLASSES)


def sure(guesses: str) -> torch.Tensor:
    return torch.eye(3)[[CLASSES.index(letter) for letter in guesses]]


def ids(count: int) -> list[str]:
    return [f"v{k}" for k in range(count)]


def test_by_hand():
    """Three of a, one of b: 2 + 1 right. Micro 3/4, macro (2/3 + 1) / 2; c, of which there is none, does not count."""
    found = score(ids(4), sure("aacb"), manifest("aaab"), CLASSES)
    assert (found.accuracy, found.correct, found.found, found.expected) == (0.75, 3, 4, 4)
    assert found.macro_accuracy == pytest.approx(5 / 6)
    assert found.per_class == {"a": (2, 3), "b": (1, 1)}
    assert found.confusion == ((2, 0, 1), (0, 1, 0), (0, 0, 0))
    assert found.confidence == 1
    assert found.entropy == pytest.approx(0, abs=1e-9)
    shares = (0.5, 0.25, 0.25)
    assert found.predicted_entropy == pytest.approx(-sum(p * math.log(p) for p in shares) / math.log(3))


def test_the_order_of_predictions_does_not_matter():
    one = score(ids(4), sure("aacb"), manifest("aaab"), CLASSES)
    assert score(ids(4)[::-1], sure("bcaa"), manifest("aaab"), CLASSES) == one


def test_a_clip_without_a_prediction_is_expected_and_not_found():
    found = score(ids(2), sure("ab"), manifest("abc"), CLASSES)
    assert (found.accuracy, found.correct, found.found, found.expected) == (1.0, 2, 2, 3)
    assert score(ids(2), sure("ab"), manifest("ab"), CLASSES, expected=9).expected == 9


@pytest.mark.parametrize("labels", ["...", "a.b"])
def test_without_all_labels_there_is_no_accuracy_but_label_free_numbers(labels: str):
    probs = torch.full((3, 3), 1 / 3)
    found = score(ids(3), probs, manifest(labels), CLASSES)
    assert found.accuracy is found.correct is found.macro_accuracy is None
    assert found.per_class == {}
    assert found.confidence == pytest.approx(1 / 3)
    assert found.entropy == pytest.approx(math.log(3))
    assert found.predicted_entropy == pytest.approx(1)


def test_nothing_found_is_not_an_accuracy_of_zero():
    found = score([], torch.zeros(0, 3), manifest("ab"), CLASSES)
    assert (found.accuracy, found.found, found.expected) == (None, 0, 2)
    assert math.isnan(found.confidence)


def test_a_label_that_is_no_class_is_named():
    rows = (Row(id="v0", path=Path("v0.mp4"), label="bb"),)
    with pytest.raises(UserError, match=r"v0.mp4 has the label 'bb'.*a, b, c"):
        label_indices(Manifest(rows, CLASSES), CLASSES)
    with pytest.raises(UserError, match="no label"):
        label_indices(manifest("."), CLASSES)
    assert label_indices(manifest("cab"), CLASSES).tolist() == [2, 0, 1]


@pytest.mark.parametrize("batch", [1, 3, 32])
def test_predictions_come_in_the_clips_order_whatever_the_batch(batch: int):
    network = network_of(SourceOnly(), reducers["motion"]())
    clips, told = Memory(names(5)), []
    network.train()
    found = predict_clips(network, clips, batch=batch, progress=lambda done, total: told.append((done, total)))
    assert network.training
    assert found.ids == tuple(names(5))
    assert len(found.kept_N) == 5
    assert told[-1] == (5, 5)
    torch.testing.assert_close(found.probabilities_NK.sum(1), torch.ones(5))
    one_by_one = torch.cat([predict_clips(network, Memory([name])).probabilities_NK for name in names(5)])
    torch.testing.assert_close(found.probabilities_NK, one_by_one, rtol=1e-6, atol=1e-7)
    assert predictions(network, names(5)).shape == found.probabilities_NK.shape
