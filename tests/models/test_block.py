import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import GEOMETRY, tiny_config

from vidshift.models import block as module
from vidshift.models.block import AttnView, Block, DropPath, join_class, split_class
from vidshift.tokens.base import Attn, Packed, Reducer
from vidshift.tokens.seeds import clip_seeds


def packed_of(lengths: tuple[int, ...], width: int = 32, *, merged: bool = False) -> Packed:
    generator = torch.Generator().manual_seed(0)
    count = sum(lengths)
    index_M = torch.cat([torch.randperm(GEOMETRY.tokens, generator=generator)[:n].sort().values for n in lengths])
    mass_MS = torch.randint(1, 3, (count, GEOMETRY.segments), generator=generator).float()
    tokens_MD = torch.randn(count, width, generator=generator)
    return Packed(
        tokens_MD, index_M, lengths, GEOMETRY, mass_MS.sum(1) if merged else None, mass_MS if merged else None
    )


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("rows", [2, 196])
def test_what_a_reducer_sees_of_the_attention(biased: bool, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the matrix are made a few at a time; the result is that of the whole matrix."""
    monkeypatch.setattr(module, "QUERY_ROWS", rows)
    generator = torch.Generator().manual_seed(0)
    lengths = (5, 3)
    q, k = (torch.randn(8, 2, 4, generator=generator, requires_grad=True) for _ in range(2))
    sizes_M = torch.randint(1, 4, (8,), generator=generator).float()
    view = AttnView(q, k, lengths, bias_M=sizes_M.log() if biased else None, patch_M=None)
    torch.testing.assert_close(view.keys(), k.detach().mean(1))
    received = []
    for clip, span in enumerate((slice(0, 5), slice(5, 8))):
        logits = torch.einsum("ihd,jhd->hij", q[span], k[span]) / 2
        matrix = (logits + sizes_M[span].log() if biased else logits).softmax(-1)
        torch.testing.assert_close(view.head_means(clip), matrix.mean(0).detach())
        received.append(matrix.mean((0, 1)).detach())
        assert float(received[-1].sum()) == pytest.approx(1)
    torch.testing.assert_close(view.column_means(), torch.cat(received))
    assert not view.keys().requires_grad


def test_class_tokens_attend_but_are_not_shown() -> None:
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(7, 2, 4, generator=generator) for _ in range(2))
    patch_M = torch.tensor([False, True, True, True, False, True, True])
    whole = AttnView(q, k, (4, 3), bias_M=None, patch_M=None)
    shown = AttnView(q, k, (4, 3), bias_M=None, patch_M=patch_M)
    assert torch.equal(shown.keys(), whole.keys()[patch_M])
    assert torch.equal(shown.column_means(), whole.column_means()[patch_M])
    assert torch.equal(shown.head_means(1), whole.head_means(1)[1:, 1:])


@pytest.mark.parametrize("merged", [False, True])
def test_class_tokens_join_and_leave(merged: bool) -> None:
    packed, class_BD = packed_of((4, 1, 6), merged=merged), torch.randn(3, 32)
    joined = join_class(packed, class_BD)
    assert joined.lengths == (5, 2, 7)
    assert (joined.index_M < 0).nonzero().squeeze(1).tolist() == [0, 5, 7]
    back, back_class_BD, patch_M = split_class(joined)
    assert torch.equal(back_class_BD, class_BD)
    assert patch_M.sum() == 11
    for name in ("tokens_MD", "index_M", "sizes_M", "mass_MS"):
        was, now = getattr(packed, name), getattr(back, name)
        assert now is None if was is None else torch.equal(now, was)
    if merged:
        assert joined.mass_MS is not None
        assert joined.mass_MS[0].sum() == 0  # a class token stands for no segment


@settings(max_examples=20)
@given(st.floats(0.05, 0.9), st.integers(2, 6))
def test_drop_path_keeps_the_mean(rate: float, depth: int) -> None:
    rates = torch.linspace(0, rate, depth).tolist()
    drop = DropPath.draw(clip_seeds([f"clip{i}" for i in range(3000)], run=0), rates, torch.device("cpu"))
    assert drop is not None
    factors = drop.factors_BL2
    assert bool((factors[:, 0] == 1).all())
    for layer, p in enumerate(rates):
        values = factors[:, layer].unique()
        assert all(float(v) in (0.0, pytest.approx(1 / (1 - p))) for v in values)
        spread = (p / (1 - p) / 6000) ** 0.5
        assert abs(float(factors[:, layer].mean()) - 1) < 5 * spread + 1e-6


def test_no_rate_no_drop_path() -> None:
    assert DropPath.draw(clip_seeds(["a"], run=0), [0.0, 0.0], torch.device("cpu")) is None


class Halve(Reducer):
    """Keeps every other token of each clip, and notes what it was shown."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, tuple[int, ...]]] = []

    def reduce(self, layer: int, packed: Packed, attn: Attn) -> Packed:
        self.seen.append((layer, packed.lengths))
        assert attn.keys().shape[0] == sum(packed.lengths)
        keep_M = torch.cat([torch.arange(n) % 2 == 0 for n in packed.lengths])
        lengths = tuple((n + 1) // 2 for n in packed.lengths)
        return Packed(packed.tokens_MD[keep_M], packed.index_M[keep_M], lengths, packed.geometry)


@pytest.mark.parametrize("with_class", [False, True])
def test_a_reducer_acts_between_attention_and_mlp(with_class: bool) -> None:
    """The MLP sees what the reducer left; drop path follows the new lengths."""
    block = Block(tiny_config(class_token=with_class), generator=torch.Generator().manual_seed(0))
    packed, reducer = packed_of((5, 8)), Halve()
    plain = block(packed, layer=4, reducer=None, drop=None)
    if with_class:
        packed = join_class(packed, torch.zeros(2, 32))
    drop = DropPath(torch.ones(2, 5, 2))
    out = block(packed, layer=4, reducer=reducer, drop=drop)
    assert reducer.seen == [(4, (5, 8))]
    if with_class:
        out, class_BD, _ = split_class(out)
        assert class_BD.shape == (2, 32)
    else:
        rows = [0, 2, 4, 5, 7, 9, 11]
        torch.testing.assert_close(out.tokens_MD, plain.tokens_MD[rows])
    assert out.lengths == (3, 4)
