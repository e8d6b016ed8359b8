import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import GEOMETRY, names, view_of
from torch.nn import functional as F

from vidshift.tokens.base import Packed, Selection
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.pack import pack, patches, pool, segment_means


def some_tokens(seed: int, batch: int, count: int, share: float) -> torch.Tensor:
    """`keep_BN` with at least one token a clip."""
    generator = torch.Generator().manual_seed(seed)
    keep_BN = torch.rand(batch, count, generator=generator) < share
    keep_BN[torch.arange(batch), torch.randint(count, (batch,), generator=generator)] = True
    return keep_BN


@pytest.mark.parametrize(("tubelet", "patch", "channels"), [(1, 4, 3), (2, 8, 3), (3, 2, 1)])
def test_patches_are_those_of_a_convolution(tubelet: int, patch: int, channels: int) -> None:
    g = Geometry(frames=6, height=16, width=24, tubelet=tubelet, patch=patch, channels=channels)
    generator = torch.Generator().manual_seed(0)
    pixels = torch.rand(2, g.frames, channels, g.height, g.width, generator=generator)
    weight = torch.rand(5, channels, tubelet, patch, patch, generator=generator)
    wanted = F.conv3d(pixels.transpose(1, 2), weight, stride=(tubelet, patch, patch)).flatten(2).transpose(1, 2)
    torch.testing.assert_close(patches(pixels, g) @ weight.flatten(1).t(), wanted)


@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(0, 1))
def test_packing_takes_the_kept_patches_in_order(seed: int, batch: int, share: float) -> None:
    view = view_of(names(batch))
    keep_BN = some_tokens(seed, batch, GEOMETRY.tokens, share)
    packed = pack(view, Selection(keep_BN), GEOMETRY)
    assert packed.lengths == tuple(keep_BN.sum(1).tolist())
    whole = patches(view.pixels_BTCHW, GEOMETRY)
    start = 0
    for clip, length in enumerate(packed.lengths):
        places = keep_BN[clip].nonzero().squeeze(1)
        assert torch.equal(packed.index_M[start : start + length], places)
        assert torch.equal(packed.tokens_MD[start : start + length], whole[clip, places])
        start += length
    assert packed.tokens_MD.dtype == torch.uint8


def test_a_clip_without_tokens_is_refused_by_its_name() -> None:
    keep_BN = torch.ones(3, GEOMETRY.tokens, dtype=torch.bool)
    keep_BN[1] = False
    with pytest.raises(ValueError, match="no token of clip 'clip1'"):
        pack(view_of(names(3)), Selection(keep_BN), GEOMETRY)


def test_clips_of_another_size_are_refused() -> None:
    g = Geometry(frames=8, height=16, width=32, tubelet=2, patch=8)
    with pytest.raises(ValueError, match="geometry"):
        pack(view_of(names(1)), Selection(torch.ones(1, g.tokens, dtype=torch.bool)), g)
    with pytest.raises(ValueError, match="selection"):
        pack(view_of(names(1)), Selection(torch.ones(1, 7, dtype=torch.bool)), GEOMETRY)


def packed_of(seed: int, lengths: tuple[int, ...], *, merged: bool) -> Packed:
    """Random tokens; `merged`: each stands for a few original tokens of random segments."""
    generator = torch.Generator().manual_seed(seed)
    count = sum(lengths)
    mass_MS = torch.randint(0, 3, (count, GEOMETRY.segments), generator=generator).float()
    mass_MS[:, 0] += (mass_MS.sum(1) == 0).float()
    return Packed(
        torch.randn(count, 6, generator=generator),
        torch.randint(GEOMETRY.tokens, (count,), generator=generator),
        lengths,
        GEOMETRY,
        mass_MS.sum(1) if merged else None,
        mass_MS if merged else None,
    )


@given(st.integers(0, 10**6), st.lists(st.integers(1, 9), min_size=1, max_size=4), st.booleans())
def test_pooling_and_segment_means_follow_their_definition(seed: int, lengths: list[int], merged: bool) -> None:
    packed = packed_of(seed, tuple(lengths), merged=merged)
    pooled, (segments_BSD, mass_BS) = pool(packed), segment_means(packed)
    start = 0
    for clip, length in enumerate(lengths):
        rows = range(start, start + length)
        start += length
        sizes = [float(packed.sizes()[i]) for i in rows]
        wanted = sum(s * packed.tokens_MD[i] for s, i in zip(sizes, rows, strict=True)) / sum(sizes)
        torch.testing.assert_close(pooled[clip], wanted, atol=1e-5, rtol=1e-5)
        for segment in range(GEOMETRY.segments):
            masses = [float(packed.mass()[i, segment]) for i in rows]
            assert float(mass_BS[clip, segment]) == pytest.approx(sum(masses))
            if sum(masses) == 0:
                assert not segments_BSD[clip, segment].any()
                continue
            wanted = sum(m * packed.tokens_MD[i] for m, i in zip(masses, rows, strict=True)) / sum(masses)
            torch.testing.assert_close(segments_BSD[clip, segment], wanted, atol=1e-5, rtol=1e-5)


@given(st.integers(0, 10**6), st.lists(st.integers(1, 40), min_size=2, max_size=5), st.sampled_from([1, 2]))
def test_pooling_of_a_clip_has_the_same_bits_in_every_batch(seed: int, lengths: list[int], threads: int) -> None:
    """Equal lengths take a batched mean, unequal ones a mean each: the bits are the same."""
    generator = torch.Generator().manual_seed(seed)
    width = int(torch.randint(1, 70, (), generator=generator))
    first = torch.randn(lengths[0], width, generator=generator)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        results = []
        for others in (lengths[1:], [lengths[0]] * 3, []):
            all_lengths = (lengths[0], *others)
            rest = torch.randn(sum(others), width, generator=generator)
            index_M = torch.zeros(sum(all_lengths), dtype=torch.int64)
            results.append(pool(Packed(torch.cat([first, rest]), index_M, all_lengths, GEOMETRY))[0])
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(result, results[0]) for result in results)
