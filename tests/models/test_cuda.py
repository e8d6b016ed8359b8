"""The network on a GPU against its CPU twin. Skipped where there is none; the kernel alone is in test_attention.py."""

import pytest
import torch
from tiny import names, tiny_vit, view_of
from torch import Tensor

from vidshift.models import cuda
from vidshift.models.vit import VideoTransformer
from vidshift.tokens.base import Reducer
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.reducers.motion import FixedThreshold
from vidshift.tokens.reducers.random import RandomTokens
from vidshift.tokens.seeds import clip_seeds

DEVICE = "cuda"
GEOMETRY = Geometry(frames=8, height=48, width=48, tubelet=2, patch=8)
IDS = names(4)
REDUCERS = (Reducer(), FixedThreshold(threshold=0.05), RandomTokens(keep=0.4))
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def twins() -> tuple[VideoTransformer, VideoTransformer]:
    """The same weights on the CPU and on the GPU; heads as wide as the fused kernel likes them."""
    here, there = (tiny_vit(GEOMETRY, width=128, heads=2, drop_path=0.3) for _ in range(2))
    return here, there.to(DEVICE)


def gradients(net: VideoTransformer, loss: Tensor) -> dict[str, Tensor]:
    net.zero_grad(set_to_none=True)
    loss.backward()
    return {name: p.grad.detach().float().cpu() for name, p in net.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("reducer", REDUCERS)
def test_the_same_tokens_are_kept(reducer: Reducer) -> None:
    """Sums over integers and hashes of integers: equal bits on any device."""
    view, seeds_B = view_of(IDS, GEOMETRY), clip_seeds(IDS, run=3)
    here, there = (
        reducer.select(one, GEOMETRY, seeds_B=seeds_B, training=True, net=None) for one in (view, view.to(DEVICE))
    )
    assert torch.equal(here.keep_BN, there.keep_BN.cpu())


@pytest.mark.parametrize("reducer", REDUCERS)
@pytest.mark.parametrize("training", [False, True])
def test_float32_gives_the_same_logits_and_gradients(reducer: Reducer, training: bool) -> None:
    view, seeds_B = view_of(IDS, GEOMETRY), clip_seeds(IDS, run=3)
    here, there = (net.train(training) for net in twins())
    wanted = here(view, reducer=reducer, seeds_B=seeds_B).logits_BK
    found = there(view.to(DEVICE), reducer=reducer, seeds_B=seeds_B).logits_BK
    torch.testing.assert_close(found.cpu(), wanted, atol=1e-4, rtol=1e-4)
    expected = gradients(here, wanted.square().sum())
    for name, grad in gradients(there, found.square().sum()).items():
        torch.testing.assert_close(grad, expected[name], atol=1e-3, rtol=1e-3, msg=lambda text, n=name: f"{n}: {text}")


@pytest.mark.parametrize("reducer", REDUCERS)
def test_bfloat16_takes_the_fused_kernel_and_agrees_loosely(reducer: Reducer, monkeypatch: pytest.MonkeyPatch) -> None:
    view, seeds_B = view_of(IDS, GEOMETRY), clip_seeds(IDS, run=3)
    here, there = twins()
    calls: list[tuple[int, ...]] = []
    fused = cuda.varlen

    def counted(q: Tensor, k: Tensor, v: Tensor, lengths: tuple[int, ...]) -> Tensor:
        calls.append(lengths)
        return fused(q, k, v, lengths)

    monkeypatch.setattr(cuda, "varlen", counted)
    wanted = here(view, reducer=reducer, seeds_B=seeds_B).logits_BK
    with torch.autocast(DEVICE, torch.bfloat16):
        features = there(view.to(DEVICE), reducer=reducer, seeds_B=seeds_B)
    assert calls == [features.trace[0]] * there.config.depth
    torch.testing.assert_close(features.logits_BK.float().cpu(), wanted, atol=0.1, rtol=0.1)
    grads = gradients(there, features.logits_BK.float().square().sum())
    assert set(grads) == {name for name, _ in there.named_parameters()}
    assert all(bool(grad.isfinite().all()) for grad in grads.values())


def test_a_clip_does_not_see_its_batch_mates() -> None:
    _, net = twins()
    view = view_of(IDS, GEOMETRY).to(DEVICE)
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
        together = net(view, reducer=FixedThreshold(threshold=0.05)).logits_BK.float()
        alone = torch.cat(
            [net(view.take([row]), reducer=FixedThreshold(threshold=0.05)).logits_BK.float() for row in range(4)]
        )
    torch.testing.assert_close(together, alone, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_costs_are_measured_there(precision: str) -> None:
    from vidshift.bench.cost import measure
    from vidshift.bench.cost_plan import make_plan
    from vidshift.engine.console import Quiet

    plan = make_plan(
        reducers="lmft",
        kept="0.5",
        backbone="small",
        frames=8,
        size=64,
        videos=(),
        batch=2,
        rounds=1,
        precision="bfloat16" if precision == "bfloat16" else "float32",
        clock="wall",
        threads=1,
        reference=True,
        parts="forward,training,memory",
        device=DEVICE,
    )
    costs = measure(plan, Quiet())
    assert [row.case.reducer for row in costs.rows] == ["transformers", "none", "lmft"]
    assert all(row.memory is not None and row.memory.peak > 0 and row.times["step"].median > 0 for row in costs.rows)
