import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from vidshift.models.layers import (
    MAX_TERMS,
    Mlp,
    Qkv,
    RowLinear,
    added,
    axes_sinusoid,
    gelu_of,
    pieces,
    rows_linear,
    sinusoid,
    truncated,
)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@given(st.integers(1, 5000))
def test_pieces_add_up_and_are_short(terms: int) -> None:
    cut = pieces(terms)
    assert sum(cut) == terms
    assert max(cut) <= MAX_TERMS
    assert 384 not in cut


@settings(max_examples=15)
@given(st.integers(1, 70), st.sampled_from([3, 384, 600, 1536]), st.sampled_from([1, 8, 128]), st.sampled_from([1, 2]))
def test_a_row_does_not_depend_on_how_many_there_are(rows: int, terms: int, width: int, threads: int) -> None:
    x_MK, weight = torch.randn(140, terms, generator=generator()), torch.randn(width, terms, generator=generator())
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        together, few = rows_linear(x_MK, weight, None), rows_linear(x_MK[5 : 5 + rows], weight, None)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(few, together[5 : 5 + rows])


@pytest.mark.parametrize("terms", [16, 384, 1300])
@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.parametrize("biased", [False, True])
def test_it_is_a_linear_layer_with_its_gradients(terms: int, rows: int, biased: bool) -> None:
    tensors = [torch.randn(*shape, generator=generator(), requires_grad=True) for shape in ((rows, terms), (5, terms))]
    if biased:
        tensors.append(torch.randn(5, generator=generator(), requires_grad=True))
    found = rows_linear(tensors[0], tensors[1], tensors[2] if biased else None)
    wanted = F.linear(tensors[0], tensors[1], tensors[2] if biased else None)
    torch.testing.assert_close(found, wanted, atol=1e-3, rtol=1e-4)
    weight = torch.randn(rows, 5, generator=generator())
    for grad, wanted_grad in zip(
        torch.autograd.grad((found * weight).sum(), tensors),
        torch.autograd.grad((wanted * weight).sum(), tensors),
        strict=True,
    ):
        torch.testing.assert_close(grad, wanted_grad, atol=1e-4, rtol=1e-4)


def test_only_the_gradients_asked_for_are_made() -> None:
    layer = RowLinear(600, 4, generator=generator())
    layer.weight.requires_grad_(False)
    x = torch.randn(2, 3, 600, generator=generator())
    out = layer(x)
    assert out.shape == (2, 3, 4)
    out.sum().backward()
    assert layer.weight.grad is None
    assert layer.bias is not None
    assert layer.bias.grad is not None
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16


def test_sinusoid_positions() -> None:
    """Row p has the norm sqrt(width / 2), 19.596 at 768 (tokens.md section 13 row 4), and VideoMAE's frequencies."""
    table = sinusoid(1568, 768)
    torch.testing.assert_close(table.norm(dim=1), torch.full((1568,), math.sqrt(384)))
    assert float(table.norm(dim=1)[17]) == pytest.approx(19.596, abs=1e-3)
    assert table[0].tolist() == [0.0, 1.0] * 384
    for p, j in ((1, 0), (1, 1), (5, 10), (1567, 767)):
        angle = p / 10000 ** (2 * (j // 2) / 768)
        assert float(table[p, j]) == pytest.approx((math.cos if j % 2 else math.sin)(angle), abs=1e-6)


def test_truncated_initialisation() -> None:
    weight = truncated(generator(), 200, 200)
    assert float(weight.detach().std()) == pytest.approx(0.02, rel=0.03)
    assert torch.equal(weight, truncated(generator(), 200, 200))


@pytest.mark.parametrize(("form", "count"), [("qv", 2 * 8), ("qkv", 3 * 8), ("none", 0)])
def test_biases_of_queries_keys_and_values(form: str, count: int) -> None:
    layer = Qkv(8, bias=form, generator=generator())
    assert sum(p.numel() for p in layer.parameters()) == 3 * 64 + count
    with torch.no_grad():
        for p in layer.parameters():
            p.fill_(1.0)
    q, k, v = layer(torch.zeros(1, 8)).chunk(3, dim=1)
    assert (q[0, 0], k[0, 0], v[0, 0]) == {"qv": (1, 0, 1), "qkv": (1, 1, 1), "none": (0, 0, 0)}[form]


def test_activations() -> None:
    x = torch.linspace(-3, 3, 7)
    for activation, wanted in (("gelu", F.gelu(x)), ("quick_gelu", x * torch.sigmoid(1.702 * x))):
        mlp = Mlp(1, 1, activation=activation, generator=generator())
        with torch.no_grad():
            mlp.fc1.weight.fill_(1.0)
            mlp.fc2.weight.fill_(1.0)
        torch.testing.assert_close(mlp(x[:, None])[:, 0], wanted)


def test_what_is_written_over_has_the_same_bits_and_leaves_its_input_alone():
    x, branch = torch.randn(40, 16), torch.randn(40, 16)
    before = x.clone()
    with torch.no_grad():
        assert torch.equal(added(x, branch.clone()), x + branch)
        assert torch.equal(gelu_of(branch.clone()), torch.nn.functional.gelu(branch))
        fresh = branch.clone()
        assert added(x, fresh).data_ptr() == fresh.data_ptr()
        half = branch.bfloat16()
        assert added(x, half).dtype == torch.float32
    assert torch.equal(x, before)
    fresh = branch.clone().requires_grad_()
    assert torch.equal(added(x, fresh * 1), x + branch)
    assert gelu_of(fresh).requires_grad
    assert torch.equal(fresh.detach(), branch)


def test_positions_by_axis_are_three_sinusoids() -> None:
    """Tokens of one row and column share two thirds, whatever their time; every width is filled; no two are alike."""
    for width in (128, 32, 14):
        table = axes_sinusoid(8, 6, 5, width).view(8, 6, 5, width)
        third = 2 * (width // 6)
        assert torch.equal(table[:, 2, 3, width - 2 * third :], table[:1, 2, 3, width - 2 * third :].expand(8, -1))
        assert torch.equal(table[4, 0, 0, : width - 2 * third], sinusoid(8, width - 2 * third)[4])
        assert torch.equal(table[0, 5, 0, width - 2 * third : width - third], sinusoid(6, third)[5])
        assert torch.equal(table[0, 0, 4, width - third :], sinusoid(5, third)[4])
        assert torch.pdist(table.flatten(0, 2)).min() > 1e-3
