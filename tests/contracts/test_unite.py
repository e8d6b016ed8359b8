"""UNITE as a toy (methods.md section 9): does the interface carry its three stages?

Masked distillation on the target from a frozen teacher; training on the source; joint self-training in which the target
goes through the network three times: clean without gradient, and under two masks that share the attended patches out.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from tiny import GEOMETRY, batch_of, names, network_of, train, training_data, view_of
from torch import Tensor, nn
from torch.nn import functional as F

from vidshift.data.view import View
from vidshift.engine.step import StepContext
from vidshift.methods.base import Batch, Context, Losses, Method, Stage, TargetBatch, Term, ViewSpec
from vidshift.models.layers import RowLinear, sinusoid
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.pack import patches
from vidshift.tokens.reducers.lmft import LearnedThreshold
from vidshift.tokens.reducers.none import KeepAll
from vidshift.tokens.seeds import clip_seeds

LAYERS = (1, 2)
TEACHER_WIDTH = 5


class ToyTeacher(nn.Module):
    """Stands in for CLIP: features of every patch, and how much each is attended to. Buffers only: it never learns."""

    weight: Tensor

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randn(6, TEACHER_WIDTH, generator=generator))

    def forward(self, view: View, g: Geometry) -> tuple[Tensor, Tensor]:
        rows = patches(view.clean_float_BTCHW, g).unflatten(-1, (g.channels, -1))
        spread = rows.std(-1)
        return F.normalize(torch.cat([rows.mean(-1), spread], -1) @ self.weight, dim=-1), spread.sum(-1)


def committee(attention_BN: Tensor, g: Geometry, *, count: int, members: int) -> list[Tensor]:
    """Masks that share out the most attended patches of each frame: member i gets the ranks i, i + members, ..."""
    order_BSP = attention_BN.view(-1, g.segments, g.per_segment).argsort(dim=-1, descending=True)
    masks = []
    for member in range(members):
        mask_BSP = torch.zeros(order_BSP.shape, dtype=torch.bool)
        mask_BSP.scatter_(2, order_BSP[..., member::members][..., :count], True)
        masks.append(mask_BSP.flatten(1))
    return masks


class ToyUnite(Method):
    name = "toy-unite"

    def __init__(self, *, visible: int = 4) -> None:
        super().__init__()
        self.visible = visible

    def build(self, *, width: int, classes: int, generator: torch.Generator) -> None:
        self.teacher = ToyTeacher(generator)
        self.decoders = nn.ModuleList(RowLinear(width, TEACHER_WIDTH, generator=generator) for _ in LAYERS)

    def stages(self) -> Sequence[Stage]:
        body = ("embedding.", "blocks.", "norm.")
        return (
            Stage(name="distil", data=frozenset({"target"}), share=0.25, trainable=(*body, "method.decoders.")),
            Stage(name="source", data=frozenset({"source"}), share=0.25, init="previous", trainable=(*body, "head.")),
            Stage(
                name="together",
                data=frozenset({"source", "target", "probabilities"}),
                share=0.5,
                init="previous",
                trainable=body,
                lr_scale=0.1,
            ),
        )

    def views(self, stage: Stage) -> Sequence[ViewSpec]:
        if stage.name != "together":
            return (ViewSpec(stream="strong"),)
        return (ViewSpec(stream="strong"), ViewSpec(stream="clean", augment=False))

    def step(self, ctx: Context, batch: Batch) -> Losses:
        terms = Term()
        source, target = batch.source, batch.target
        if source is not None:
            logits_BK = ctx.forward(source.views[0], seeds_B=source.seeds_B, domain="source").logits_BK
            terms.add("source", lambda: F.cross_entropy(logits_BK, source.labels_B), domain="source", task=True)
        if target is not None and ctx.stage.name == "distil":
            terms.add("distil", lambda: self.distil(ctx, target), domain="target")
        elif target is not None:
            terms.add("target", lambda: self.agree(ctx, target), domain="target", task=True)
        return terms.losses

    def distil(self, ctx: Context, target: TargetBatch) -> Tensor:
        view = target.views[0]
        wanted_BND, attention_BN = self.teacher(view, ctx.geometry)
        mask_BN = committee(attention_BN, ctx.geometry, count=self.visible, members=1)[0]
        taps = tuple(f"block{layer}" for layer in LAYERS)
        features = ctx.forward(view, seeds_B=target.seeds_B, domain="target", tokens=mask_BN, taps=taps)
        wanted_MD = wanted_BND[mask_BN]
        losses = []
        for tap, decoder in zip(taps, self.decoders, strict=True):
            packed = features.taps[tap]
            place = sinusoid(ctx.geometry.tokens, packed.tokens_MD.shape[1])[packed.index_M]
            guess_MD = F.normalize(decoder(packed.tokens_MD + place), dim=-1)
            losses.append((2 - 2 * (guess_MD * wanted_MD).sum(-1)).mean())
        return torch.stack(losses).mean()

    def agree(self, ctx: Context, target: TargetBatch) -> Tensor:
        strong, clean = target.views
        own_BK = ctx.forward(clean, seeds_B=target.seeds_B, grad=False).logits_BK.softmax(-1)
        trust_B, label_B = own_BK.max(-1)
        assert target.probabilities_BK is not None
        chosen_B = label_B == target.probabilities_BK.argmax(-1)
        _, attention_BN = self.teacher(strong, ctx.geometry)
        masks = committee(attention_BN, ctx.geometry, count=self.visible, members=2)
        passes = [ctx.forward(strong, seeds_B=target.seeds_B, domain="target", tokens=mask) for mask in masks]
        each_B = F.cross_entropy(passes[1].logits_BK, label_B, reduction="none") * trust_B
        return (each_B * chosen_B).sum() / len(chosen_B)


def test_three_stages_run_under_one_budget(tmp_path: Path) -> None:
    """Each stage reads only what it names, trains only what it names, and starts from the one before."""
    network = network_of(ToyUnite(), LearnedThreshold())
    before = {name: value.clone() for name, value in network.state_dict().items()}
    data = training_data(source=6, target=6)
    lines = [line for line in train(network, data, tmp_path, epochs=4) if line["kind"] == "step"]
    assert [line["stage"] for line in lines] == ["distil"] * 2 + ["source"] * 2 + ["together"] * 4
    for line in lines:
        terms = {name for name in line if name.startswith("loss_")} - {"loss_term"}
        assert (
            terms
            == {
                "distil": {"loss_distil"},
                "source": {"loss_source"},
                "together": {"loss_source", "loss_target"},
            }[line["stage"]]
        )
        assert ("reward" in line) == (line["stage"] != "distil")  # no task loss, so nothing to learn from
        if line["stage"] != "source":
            assert line["kept_target"] == pytest.approx(4 / GEOMETRY.per_segment)
    after = network.state_dict()
    assert torch.equal(after["method.teacher.weight"], before["method.teacher.weight"])
    for name in ("net.blocks.0.qkv.weight", "method.decoders.0.weight", "net.head.weight"):
        assert not torch.equal(after[name], before[name])


def test_the_head_stays_in_the_last_stage(tmp_path: Path) -> None:
    class LastStage(ToyUnite):
        def stages(self) -> Sequence[Stage]:
            return tuple(super().stages())[2:]

    network = network_of(LastStage(), KeepAll())
    before = {name: value.clone() for name, value in network.state_dict().items()}
    train(network, training_data(), tmp_path)
    changed = {name for name, value in network.state_dict().items() if not torch.equal(value, before[name])}
    assert "net.blocks.0.qkv.weight" in changed
    assert not any(name.startswith(("net.head.", "method.")) for name in changed)


def test_target_batches_hold_what_their_stage_names() -> None:
    method, data = ToyUnite(), training_data()
    distil, source, together = method.stages()
    assert batch_of(data, distil, method).source is None
    assert batch_of(data, source, method).target is None
    first, last = batch_of(data, distil, method).target, batch_of(data, together, method).target
    assert first is not None
    assert (first.guess_B, first.probabilities_BK, len(first.views)) == (None, None, 1)
    assert last is not None
    assert last.probabilities_BK is not None
    assert len(last.views) == 2


def test_masks_share_out_the_attended_patches() -> None:
    """Ten patches with attention in order, two members of two: {0, 2} and {1, 3}."""
    g = Geometry(frames=2, height=8, width=20, tubelet=2, patch=4)
    masks = committee(torch.arange(10, 0, -1.0)[None], g, count=2, members=2)
    assert [mask[0].nonzero().squeeze(1).tolist() for mask in masks] == [[0, 2], [1, 3]]


def test_a_mask_overrides_the_reducer_and_a_full_one_changes_nothing() -> None:
    network = network_of(ToyUnite(), LearnedThreshold()).eval()
    ctx = StepContext(network, ToyUnite().stages()[0], 0.0, None)
    view, seeds_B = view_of(names(2)), clip_seeds(names(2), run=0)
    full = ctx.forward(view, seeds_B=seeds_B, tokens=torch.ones(2, GEOMETRY.tokens, dtype=torch.bool))
    assert torch.equal(full.logits_BK, network.net(view).logits_BK)
    few = torch.zeros(2, GEOMETRY.tokens, dtype=torch.bool)
    few[:, ::5] = True
    assert ctx.forward(view, seeds_B=seeds_B, tokens=few).packed.lengths == tuple(few.sum(1).tolist())


def test_a_pass_without_gradient_has_none() -> None:
    network = network_of(ToyUnite(), KeepAll()).train()
    ctx = StepContext(network, ToyUnite().stages()[2], 0.0, None)
    view, seeds_B = view_of(names(2)), clip_seeds(names(2), run=0)
    assert not ctx.forward(view, seeds_B=seeds_B, grad=False).logits_BK.requires_grad
    assert ctx.forward(view, seeds_B=seeds_B).logits_BK.requires_grad
