"""The packed network against a plain dense one, and the independence of clips (tokens.md section 13 rows 1, 2, 4)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from dense_reference import dense
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import GEOMETRY, film, names, tiny_config, tiny_vit, view_of
from torch import Tensor

from vidshift.data.view import View
from vidshift.errors import UserError
from vidshift.models.config import preset
from vidshift.models.vit import VideoTransformer
from vidshift.tokens.base import Reducer, Selection, reducers
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.pack import patches
from vidshift.tokens.reducers.motion import FixedThreshold
from vidshift.tokens.reducers.random import RandomTokens
from vidshift.tokens.seeds import clip_seeds

GEOMETRIES = (
    Geometry(frames=4, height=16, width=24, tubelet=1, patch=8),
    Geometry(frames=4, height=16, width=24, tubelet=2, patch=8),
    Geometry(frames=6, height=12, width=4, tubelet=3, patch=4),
    Geometry(frames=2, height=8, width=8, tubelet=2, patch=8, channels=1),
)


@contextmanager
def thread_count(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def random_keep(batch: int, count: int, *, seed: int = 0, share: float = 0.6) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    keep_BN = torch.rand(batch, count, generator=generator) < share
    keep_BN[:, 0] = True
    return keep_BN


def float_view(geometry: Geometry, count: int = 3) -> View:
    view = view_of(names(count), geometry)
    return View(view.pixels_BTCHW.float() / 255, view.ids)


def config_of(geometry: Geometry):
    each = geometry.channels
    return tiny_config(geometry, mean=(0.4, 0.5, 0.6)[:each], std=(0.2, 0.3, 0.25)[:each])


def trained_like(net: VideoTransformer) -> VideoTransformer:
    """Biases and norms away from their initial zeros and ones, so that forgetting one shows."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return net


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("partial", [False, True])
def test_packed_equals_dense(geometry: Geometry, partial: bool) -> None:
    """Logits and all gradients, at full keep and on kept tokens, against a network that shares no code."""
    net = trained_like(VideoTransformer(config_of(geometry), seed=1)).eval()
    view = float_view(geometry)
    keep_BN = random_keep(3, geometry.tokens) if partial else torch.ones(3, geometry.tokens, dtype=torch.bool)
    pixels = view.pixels_BTCHW.requires_grad_()
    labels_B = torch.tensor([0, 2, 1])
    logits_BK = net(view, selection=Selection(keep_BN)).logits_BK
    torch.nn.functional.cross_entropy(logits_BK, labels_B).backward()
    found = {name: parameter.grad for name, parameter in net.named_parameters()}

    weights = {name: value.detach().clone().requires_grad_() for name, value in net.named_parameters()}
    plain = view.pixels_BTCHW.detach().clone().requires_grad_()
    wanted_BK = dense(plain, weights, net.config, keep_BN if partial else None)
    torch.nn.functional.cross_entropy(wanted_BK, labels_B).backward()
    torch.testing.assert_close(logits_BK, wanted_BK, atol=1e-5, rtol=1e-5)
    for name, weight in weights.items():
        torch.testing.assert_close(
            found[name], weight.grad, atol=1e-5, rtol=1e-4, msg=lambda text, n=name: f"{n}: {text}"
        )
    torch.testing.assert_close(pixels.grad, plain.grad, atol=1e-5, rtol=1e-4)


def test_uint8_pixels_are_read_as_their_share_of_255() -> None:
    net = tiny_vit()
    view = view_of(names(2))
    wanted = net(View(view.pixels_BTCHW.float() / 255, view.ids)).logits_BK
    torch.testing.assert_close(net(view).logits_BK, wanted, atol=1e-5, rtol=1e-5)


def test_dropped_tokens_get_no_gradient_and_change_nothing() -> None:
    net, view = tiny_vit(), float_view(GEOMETRY, 2)
    keep_BN = random_keep(2, GEOMETRY.tokens, share=0.4)
    pixels = view.pixels_BTCHW.requires_grad_()
    logits_BK = net(view, selection=Selection(keep_BN)).logits_BK
    logits_BK.square().sum().backward()
    assert pixels.grad is not None
    gradient_BN = patches(pixels.grad, GEOMETRY).abs().sum(-1)
    assert bool((gradient_BN[~keep_BN] == 0).all())
    assert bool((gradient_BN[keep_BN] > 0).all())


def mates(seed: int, count: int) -> list[str]:
    generator = torch.Generator().manual_seed(seed)
    return [f"mate{int(n)}" for n in torch.randint(0, 40, (count,), generator=generator)]


REDUCERS = (
    Reducer(),
    FixedThreshold(threshold=0.02),
    FixedThreshold(threshold=0.3),
    RandomTokens(keep=0.4),
    *(reducers[name]() for name in reducers),
)


@pytest.mark.parametrize("threads", [1, 2])
@settings(max_examples=12)
@given(st.integers(0, 10**6), st.integers(2, 7), st.sampled_from(REDUCERS), st.booleans())
def test_changing_one_clip_leaves_the_others_bits(
    threads: int, seed: int, batch: int, reducer: Reducer, training: bool
) -> None:
    """Also where the changed clip keeps another number of tokens than before, and in training with its drop path."""
    net, ids = tiny_vit(drop_path=0.4), mates(seed, batch)
    net.train(training)
    changed = seed % batch
    others = [f"other{seed}" if row == changed else name for row, name in enumerate(ids)]
    seeds_B = clip_seeds(ids, run=seed)
    with thread_count(threads), torch.no_grad():
        before = net(view_of(ids), reducer=reducer, seeds_B=seeds_B).logits_BK
        after = net(view_of(others), reducer=reducer, seeds_B=seeds_B).logits_BK
    rest = [row for row in range(batch) if row != changed]
    assert torch.equal(before[rest], after[rest])
    assert not torch.equal(before[changed], after[changed])


@pytest.mark.parametrize("threads", [1, 2])
@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from(REDUCERS), st.booleans())
def test_composition_and_order_change_nothing_that_counts(
    threads: int, seed: int, batch: int, reducer: Reducer, training: bool
) -> None:
    net, ids = tiny_vit(drop_path=0.4), mates(seed, batch)
    net.train(training)
    order = torch.randperm(batch, generator=torch.Generator().manual_seed(seed))

    def logits_of(rows: list[int]) -> Tensor:
        chosen = [ids[row] for row in rows]
        return net(view_of(chosen), reducer=reducer, seeds_B=clip_seeds(chosen, run=seed)).logits_BK

    with thread_count(threads), torch.no_grad():
        together = logits_of(list(range(batch)))
        within = 1e-6 * together.abs().amax()
        assert (logits_of(order.tolist()) - together[order]).abs().amax() <= within
        for row in range(batch):
            assert (logits_of([row])[0] - together[row]).abs().amax() <= within


@pytest.mark.parametrize("threads", [1, 2])
def test_the_built_in_size_keeps_bits_too(threads: int) -> None:
    """Patches of 1536 numbers, which BLAS libraries sum in parts when rows are few (`layers.MAX_TERMS`)."""
    net = VideoTransformer(preset("small", classes=8, head_scale=1.0, drop_path=0.0), seed=0).eval()
    clips = {name: film(name, net.geometry) for name in names(4)}

    def logits_of(*ids: str) -> Tensor:
        view = View(torch.stack([clips[name] for name in ids]), ids)
        return net(view, reducer=FixedThreshold(threshold=0.05)).logits_BK

    with thread_count(threads), torch.no_grad():
        alone = {name: logits_of(name)[0] for name in clips}
        for ids in (("clip0", "clip1"), ("clip2", "clip1", "clip0"), ("clip1", "clip1", "clip3", "clip0")):
            together = logits_of(*ids)
            assert all(torch.equal(together[row], alone[name]) for row, name in enumerate(ids))


def test_drop_path_is_drawn_per_clip_from_its_seed() -> None:
    net, ids = tiny_vit(drop_path=0.9).train(), names(6)
    view, seeds_B = view_of(ids), clip_seeds(ids, run=1)
    first = net(view, seeds_B=seeds_B).logits_BK
    torch.manual_seed(99)
    assert torch.equal(net(view, seeds_B=seeds_B).logits_BK, first)
    other = net(view, seeds_B=clip_seeds(ids, run=2)).logits_BK
    assert not torch.equal(other, first)
    mixed = net(view, seeds_B=torch.cat([seeds_B[:3], clip_seeds(ids[3:], run=2)])).logits_BK
    assert torch.equal(mixed, torch.cat([first[:3], other[3:]]))
    twins = View(view.pixels_BTCHW[:1].expand(40, -1, -1, -1, -1), tuple(names(40)))
    assert len(net(twins, seeds_B=clip_seeds(twins.ids, run=1)).logits_BK.unique(dim=0)) > 1
    with pytest.raises(ValueError, match="seeds_B"):
        net(view)


def test_drop_path_grows_with_the_layer_and_is_off_in_evaluation() -> None:
    net = tiny_vit(drop_path=0.2, depth=5)
    assert net._rates() == pytest.approx([0, 0.05, 0.1, 0.15, 0.2])
    view = view_of(names(2))
    assert torch.equal(net(view).logits_BK, tiny_vit(drop_path=0.0, depth=5)(view).logits_BK)


@pytest.mark.parametrize("tubelet", [1, 2])
@pytest.mark.parametrize("training", [False, True])
def test_bfloat16_agrees_loosely(tubelet: int, training: bool) -> None:
    """Under autocast, as the engine runs it: forward and backward, with ragged lengths and drop path."""
    g = Geometry(frames=4, height=32, width=32, tubelet=tubelet, patch=8)
    net, view = tiny_vit(g, drop_path=0.3).train(training), view_of(names(3), g)
    selection, seeds_B = Selection(random_keep(3, g.tokens)), clip_seeds(names(3), run=0)
    exact = net(view, selection=selection, seeds_B=seeds_B).logits_BK
    with torch.autocast("cpu", torch.bfloat16):
        rounded = net(view, selection=selection, seeds_B=seeds_B).logits_BK
    rounded.float().square().sum().backward()
    assert not torch.equal(rounded.float(), exact)
    torch.testing.assert_close(rounded.float(), exact, atol=0.05, rtol=0.05)
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in net.parameters())


def test_a_model_wholly_in_bfloat16_runs() -> None:
    net, view = tiny_vit(), view_of(names(2))
    exact = net(view).logits_BK
    rounded = net.to(torch.bfloat16)(view)
    assert rounded.logits_BK.dtype == torch.bfloat16
    torch.testing.assert_close(rounded.logits_BK.float(), exact, atol=0.1, rtol=0.1)


def test_taps_give_the_tokens_of_a_layer() -> None:
    net, view = tiny_vit(), view_of(names(2))
    selection = Selection(random_keep(2, GEOMETRY.tokens))
    features = net(view, selection=selection, taps=("embed", "block0", "block2"))
    assert set(features.taps) == {"embed", "block0", "block2"}
    embedded = net.embedding(view, selection)
    assert torch.equal(features.taps["embed"].tokens_MD, embedded.tokens_MD)
    assert torch.equal(features.taps["block2"].tokens_MD, features.packed.tokens_MD)
    assert torch.equal(features.taps["block0"].index_M, embedded.index_M)
    with pytest.raises(UserError, match="accepted: block0, block1, block2, embed"):
        net(view, taps=("block3",))


@pytest.mark.parametrize(
    "changes",
    [
        {"class_token": True},
        {"class_token": True, "pooling": "class"},
        {"norm_tokens": True},
        {"pre_norm": True, "layer_scale": True, "activation": "quick_gelu"},
        {"qkv_bias": "qkv", "positions": "learned", "patch_bias": False},
        {"qkv_bias": "none", "run_lengths": True},
    ],
)
def test_other_families_of_transformers(changes: dict[str, Any]) -> None:
    """Class tokens, norms elsewhere, learned positions: finite, trainable, and independent of batch mates."""
    net = trained_like(tiny_vit(**changes))
    view, keep_BN = view_of(names(3)), random_keep(3, GEOMETRY.tokens)
    features = net(view, selection=Selection(keep_BN))
    assert features.packed.lengths == tuple(keep_BN.sum(1).tolist())
    assert torch.equal(features.packed.index_M, keep_BN.nonzero()[:, 1])
    alone = net(view.take([1]), selection=Selection(keep_BN[1:2])).logits_BK[0]
    assert torch.equal(alone, features.logits_BK[1])
    features.logits_BK.sum().backward()
    unused = {name for name, p in net.named_parameters() if p.grad is None}
    assert unused <= {"embedding.lengths"}  # no run lengths were given
    received_BN = net.attention(view)
    assert received_BN.shape == (3, GEOMETRY.tokens)
    if not changes.get("class_token"):
        torch.testing.assert_close(received_BN.sum(1), torch.ones(3))


def test_the_probe_embeds_without_positions() -> None:
    net, view = tiny_vit(), view_of(names(2))
    full = net.embedding(view, Selection(torch.ones(2, GEOMETRY.tokens, dtype=torch.bool)))
    placed = net.embed(view).flatten(0, 1) + net.embedding.table_ND.repeat(2, 1)
    torch.testing.assert_close(placed, full.tokens_MD)


def test_a_head_for_other_classes_and_none() -> None:
    net = tiny_vit()
    net.reset_head(7, seed=3)
    assert net(view_of(names(2))).logits_BK.shape == (2, 7)
    assert net.config.classes == 7
    net.reset_head(0)
    assert net(view_of(names(2))).logits_BK.shape == (2, 0)


def test_weights_come_from_the_seed_alone() -> None:
    torch.manual_seed(0)
    one = tiny_vit(seed=5).state_dict()
    torch.manual_seed(1)
    two, other = tiny_vit(seed=5).state_dict(), tiny_vit(seed=6).state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["head.weight"], other["head.weight"])


def test_vit_b_has_videomae_s_parameters() -> None:
    """86,227,200 without a head and 769 a class (tokens.md section 7.1)."""
    with torch.device("meta"):
        count = sum(p.numel() for p in VideoTransformer(preset("vit-b", classes=8)).parameters())
    assert count == 86_227_200 + 769 * 8
