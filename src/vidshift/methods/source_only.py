"""`source-only` and `target-only`: supervised training on one domain, the bounds (methods.md section 1)."""

from collections.abc import Sequence

from torch.nn import functional as F

from vidshift.methods.base import Batch, Context, Losses, Method, Stage, Term, methods


@methods.register("source-only")
class SourceOnly(Method):
    """L = CE(source). The target is not read."""

    name = "source-only"

    def stages(self) -> Sequence[Stage]:
        return (Stage(name="train", data=frozenset({"source"})),)

    def step(self, ctx: Context, batch: Batch) -> Losses:
        source = batch.source
        assert source is not None
        features = ctx.forward(source.views[0], seeds_B=source.seeds_B, domain="source")
        terms = Term()
        terms.add("source", lambda: F.cross_entropy(features.logits_BK, source.labels_B), domain="source", task=True)
        return terms.losses


@methods.register("target-only")
class TargetOnly(SourceOnly):
    """The same on the labels of target-train: an oracle, marked as such wherever it is reported."""

    name = "target-only"
    source_is_target = True
