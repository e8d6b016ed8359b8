"""ATCoN as a toy (methods.md section 10): source-free, so its second stage cannot read the source in any way.

Temporal relations from segment features, a frozen classifier, information maximisation, and pseudo-labels by
centroids, refreshed before each epoch and kept by clip.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from tiny import CLASSES, batch_of, domain_predictions, network_of, predictions, train, training_data
from torch import Tensor
from torch.nn import functional as F

from vidshift.data.view import View
from vidshift.engine.state import load_state
from vidshift.engine.step import StepContext
from vidshift.methods.base import Batch, Context, Losses, Method, Stage, Term
from vidshift.methods.parts.bank import Bank
from vidshift.models.features import Features
from vidshift.models.layers import RowLinear
from vidshift.tokens.reducers.lmft import LearnedThreshold
from vidshift.tokens.reducers.random import RandomTokens

RELATION = 6


def entropy(p: Tensor) -> Tensor:
    return -(p * p.clamp_min(1e-12).log()).sum(-1)


class ToyAtcon(Method):
    name = "toy-atcon"

    def build(self, *, width: int, classes: int, generator: torch.Generator) -> None:
        self.relation = RowLinear(2 * width, RELATION, generator=generator)
        self.classifier = RowLinear(RELATION, classes, generator=generator)
        self.labels = Bank()

    def stages(self) -> Sequence[Stage]:
        learned = ("embedding.", "blocks.", "norm.", "method.relation.")
        return (
            Stage(name="source", data=frozenset({"source"}), share=0.5, trainable=(*learned, "method.classifier.")),
            Stage(name="adapt", data=frozenset({"target"}), share=0.5, init="previous", trainable=learned),
        )

    def relations(self, features: Features) -> Tensor:
        """[B, S - 1, R] of neighbouring segments; where a segment kept no token, the pooled feature stands in."""
        empty_BS1 = (features.segment_mass_BS == 0)[..., None]
        segments_BSD = torch.where(empty_BS1, features.pool_BD[:, None], features.segments_BSD)
        pairs = torch.cat([segments_BSD[:, :-1], segments_BSD[:, 1:]], dim=-1)
        return self.relation(pairs).relu()

    def classify(self, features: Features) -> tuple[Tensor, Tensor]:
        """Logits [B, K] and those of each relation [B, S - 1, K]."""
        relations = self.relations(features)
        each = self.classifier(relations)
        return each.mean(1) + self.classifier(relations.sum(1)), each

    def on_epoch(self, ctx: Context) -> None:
        if ctx.stage.name != "adapt":
            return
        ids, q_NK = ctx.predict_all("target")
        centroids = F.normalize(q_NK.t() @ q_NK / q_NK.sum(0)[:, None], dim=-1)
        self.labels.fill(ids, (F.normalize(q_NK, dim=-1) @ centroids.t()).argmax(-1, keepdim=True))

    def step(self, ctx: Context, batch: Batch) -> Losses:
        terms = Term()
        if batch.source is not None:
            source = batch.source
            features = ctx.forward(source.views[0], seeds_B=source.seeds_B, domain="source")
            logits_BK, _ = self.classify(features)
            terms.add("source", lambda: F.cross_entropy(logits_BK, source.labels_B), domain="source", task=True)
        if batch.target is not None:
            view = batch.target.views[0]
            features = ctx.forward(view, seeds_B=batch.target.seeds_B, domain="target")
            logits_BK, each = self.classify(features)
            p_BK = ctx.gather(logits_BK.softmax(-1))
            label_B = self.labels.take(view.ids, like=logits_BK).squeeze(1).long()
            mean = each.softmax(-1).mean(1, keepdim=True)
            terms.add("im", lambda: entropy(p_BK).mean() - entropy(p_BK.mean(0)), weight=0.5, domain="target")
            terms.add("pseudo", lambda: F.cross_entropy(logits_BK, label_B), weight=0.2, domain="target", task=True)
            terms.add("agree", lambda: (mean * (mean.log() - each.log_softmax(-1))).sum(-1).mean(), domain="target")
        return terms.losses

    def predict(self, ctx: Context, view: View, *, seeds_B: Tensor) -> Tensor:
        return self.classify(ctx.forward(view, seeds_B=seeds_B, grad=False))[0].softmax(-1)


def test_the_second_stage_cannot_read_the_source() -> None:
    """Not in its batches, and not by asking for predictions of it."""
    method, data = ToyAtcon(), training_data()
    first, second = method.stages()
    source, target = batch_of(data, first, method), batch_of(data, second, method)
    assert source.source is not None
    assert source.target is None
    assert target.source is None
    assert target.target is not None
    assert target.target.guess_B is None  # nor does it see a teacher that it did not name


def test_predictions_of_the_source_are_refused(tmp_path: Path) -> None:
    class Peeping(ToyAtcon):
        def on_epoch(self, ctx: Context) -> None:
            if ctx.stage.name == "adapt":
                ctx.predict_all("source")

    with pytest.raises(RuntimeError, match="'adapt' does not name the data 'source'"):
        train(network_of(Peeping(), RandomTokens()), training_data(), tmp_path)


@pytest.mark.parametrize("reducer", [RandomTokens(keep=0.2), LearnedThreshold(initial_threshold=0.3)])
def test_both_stages_run_and_the_classifier_stays(tmp_path: Path, reducer: RandomTokens | LearnedThreshold) -> None:
    """The classifier's bits after the second stage are those after the first; the rest goes on learning."""
    network = network_of(ToyAtcon(), reducer)
    kept: dict[str, dict[str, Tensor]] = {}
    on_epoch = network.method.on_epoch

    def remember(ctx: Context) -> None:
        kept.setdefault(ctx.stage.name, {name: value.clone() for name, value in network.state_dict().items()})
        on_epoch(ctx)

    network.method.on_epoch = remember  # pyright: ignore[reportAttributeAccessIssue]
    lines = [line for line in train(network, training_data(), tmp_path, epochs=4) if line["kind"] == "step"]
    assert {line["stage"] for line in lines} == {"source", "adapt"}
    after, start = network.state_dict(), kept["adapt"]
    assert not torch.equal(start["method.classifier.weight"], kept["source"]["method.classifier.weight"])
    for name in ("method.classifier.weight", "method.classifier.bias", "net.head.weight"):
        assert torch.equal(after[name], start[name])
    for name in ("method.relation.weight", "net.blocks.1.qkv.weight"):
        assert not torch.equal(after[name], start[name])
    for line in lines:
        assert all(math.isfinite(value) for value in line.values() if isinstance(value, float))


def test_pseudo_labels_are_kept_by_clip_and_saved_with_the_run(tmp_path: Path) -> None:
    network, data = network_of(ToyAtcon(), RandomTokens()), training_data(target=5)
    train(network, data, tmp_path)
    assert isinstance(network.method, ToyAtcon)
    assert len(network.method.labels) == 5
    saved = load_state(tmp_path / "state")
    assert saved is not None
    again = network_of(ToyAtcon(), RandomTokens())
    again.load_state_dict(dict(saved.weights))
    assert isinstance(again.method, ToyAtcon)
    assert data.target is not None
    like = torch.zeros(())
    labels = again.method.labels.take(data.target.ids, like=like)
    assert torch.equal(labels, network.method.labels.take(data.target.ids, like=like))
    assert set(labels.flatten().tolist()) <= set(range(CLASSES))


def test_its_own_predictions_do_not_depend_on_batch_mates() -> None:
    network = network_of(ToyAtcon(), RandomTokens(keep=0.1))
    data = training_data(target=4)
    assert data.target is not None
    together = domain_predictions(network, data)("target")[1]
    for row, name in enumerate(data.target.ids):
        torch.testing.assert_close(predictions(network, [name])[0], together[row], rtol=1e-6, atol=1e-7)


def test_empty_segments_fall_back_to_the_pooled_feature() -> None:
    network = network_of(ToyAtcon(), RandomTokens(keep=0.02)).eval()
    assert isinstance(network.method, ToyAtcon)
    data = training_data()
    batch = batch_of(data, network.method.stages()[1], network.method).target
    assert batch is not None
    ctx = StepContext(network, network.method.stages()[1], 0.0, None)
    features = ctx.forward(batch.views[0], seeds_B=batch.seeds_B)
    assert bool((features.segment_mass_BS == 0).any())
    assert bool(network.method.classify(features)[0].isfinite().all())
