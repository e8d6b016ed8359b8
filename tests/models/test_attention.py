import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vidshift.models.attention import attend, choose, runs

LENGTHS = st.lists(st.sampled_from([1, 2, 5, 5, 9]), min_size=1, max_size=5)


def qkv(count: int, seed: int = 0, *, heads: int = 2, dim: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(count, heads, dim, generator=generator, requires_grad=True) for _ in range(3))
    return q, k, v


def by_clip(q: Tensor, k: Tensor, v: Tensor, lengths: list[int], sizes_M: Tensor | None) -> Tensor:
    """softmax(q k^T / sqrt(d)) v of each clip and head; a key of size s counts as s equal keys."""
    out, start = [], 0
    for length in lengths:
        rows = slice(start, start + length)
        start += length
        weights = torch.einsum("ihd,jhd->hij", q[rows], k[rows]).div(q.shape[-1] ** 0.5).exp()
        if sizes_M is not None:
            weights = weights * sizes_M[rows]
        out.append(torch.einsum("hij,jhd->ihd", weights / weights.sum(-1, keepdim=True), v[rows]))
    return torch.cat(out)


@settings(max_examples=30)
@given(LENGTHS, st.integers(0, 1000), st.booleans())
def test_every_backend_follows_the_definition(lengths: list[int], seed: int, sized: bool) -> None:
    """Outputs and gradients, with and without sizes."""
    tensors = qkv(sum(lengths), seed)
    generator = torch.Generator().manual_seed(seed)
    sizes_M = torch.randint(1, 5, (sum(lengths),), generator=generator).float() if sized else None
    weight = torch.randn(tensors[0].shape, generator=generator)
    wanted = by_clip(*tensors, lengths, sizes_M)
    wanted_grads = torch.autograd.grad((wanted * weight).sum(), tensors)
    for backend in ("loop", "dense"):
        found = attend(*tensors, tuple(lengths), sizes_M=sizes_M, backend=backend)
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
        grads = torch.autograd.grad((found * weight).sum(), tensors)
        for grad, wanted_grad in zip(grads, wanted_grads, strict=True):
            torch.testing.assert_close(grad, wanted_grad, atol=1e-5, rtol=1e-5)


def test_a_gradient_reaches_the_sizes() -> None:
    """A gate is a size that learns; near 0 its gradient is finite and what a small step would change."""
    q, k, v = (t.detach() for t in qkv(5))
    sizes_M = torch.tensor([1.0, 1e-6, 1.0, 1.0, 1e-6], requires_grad=True)
    attend(q, k, v, (3, 2), sizes_M=sizes_M).sum().backward()
    assert sizes_M.grad is not None
    bumped = sizes_M.detach().clone()
    bumped[1] += 1e-3
    change = attend(q, k, v, (3, 2), sizes_M=bumped).sum() - attend(q, k, v, (3, 2), sizes_M=sizes_M.detach()).sum()
    assert float(sizes_M.grad[1]) == pytest.approx(float(change) / 1e-3, rel=0.02)


def test_neighbours_of_equal_length_are_one_call() -> None:
    assert runs((3, 3, 5, 3)) == [(2, 3), (1, 5), (1, 3)]


def test_the_bits_of_a_clip_do_not_depend_on_how_it_is_called() -> None:
    q, k, v = qkv(30, heads=3, dim=8)
    together = attend(q, k, v, (10, 10, 10))
    ragged = attend(q, k, v, (10, 10, 4, 6))
    alone = attend(q[10:20], k[10:20], v[10:20], (10,))
    assert torch.equal(together[:20], ragged[:20])
    assert torch.equal(together[10:20], alone)


def test_the_backend_follows_the_device() -> None:
    q = qkv(4)[0]
    assert choose(q) == "loop"
    assert choose(q.to(torch.bfloat16), biased=True) == "loop"
    with pytest.raises(ValueError, match="no sizes"):
        attend(q, q, q, (4,), sizes_M=torch.ones(4), backend="varlen")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the fused kernel needs a GPU")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_fused_kernel_agrees_with_the_loop(dtype: torch.dtype) -> None:
    lengths = (40, 7, 7, 130)
    q, k, v = (t.detach().to("cuda", dtype).requires_grad_() for t in qkv(sum(lengths), heads=3, dim=64))
    assert choose(q) == "varlen"
    results = []
    for backend in ("varlen", "loop"):
        out = attend(q, k, v, lengths, backend=backend)
        results.append((out, *torch.autograd.grad(out.float().square().sum(), (q, k, v))))
    for found, wanted in zip(*results, strict=True):
        torch.testing.assert_close(found, wanted, atol=0.03, rtol=0.03)
