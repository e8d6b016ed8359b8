import pytest
import torch
from tiny import GEOMETRY, names, tiny_vit, view_of
from torch import Tensor

from vidshift.models.layers import sinusoid
from vidshift.tokens import motion
from vidshift.tokens.base import Reducer, Selection
from vidshift.tokens.pack import segment_means

N, S = GEOMETRY.tokens, GEOMETRY.segments


def some(batch: int = 2) -> Tensor:
    keep_BN = torch.rand(batch, N, generator=torch.Generator().manual_seed(0)) < 0.5
    keep_BN[:, 0] = True
    return keep_BN


def test_positions_come_from_the_original_index() -> None:
    """Tokens that are dropped and put back get the same rows (tokens.md section 13 row 4)."""
    net, view, keep_BN = tiny_vit(), view_of(names(2)), some()
    full = net.embedding(view, Selection(torch.ones(2, N, dtype=torch.bool)))
    part = net.embedding(view, Selection(keep_BN))
    assert torch.equal(part.tokens_MD, full.tokens_MD[keep_BN.flatten()])
    placed = part.tokens_MD - net.embed(view).flatten(0, 1)[keep_BN.flatten()]
    torch.testing.assert_close(placed, sinusoid(N, 32)[keep_BN.nonzero()[:, 1]], atol=1e-5, rtol=1e-5)


def test_only_kept_patches_are_embedded() -> None:
    net, view, keep_BN = tiny_vit(), view_of(names(2)), some()
    rows: list[int] = []
    net.embedding.patch.register_forward_hook(lambda _module, inputs, _out: rows.append(inputs[0].shape[0]))
    net.embedding(view, Selection(keep_BN))
    assert rows == [int(keep_BN.sum())]


class RunLengths(Reducer):
    """RLT's idea as a toy: a kept token stands for the segments until the next kept token at its place."""

    def select(self, view, geometry, *, seeds_B, training, net) -> Selection:
        energy_BN, _ = motion.energy(view.clean_BTCHW, geometry)
        keep_BN = energy_BN > 0.1
        keep_BSP = keep_BN.view(len(view), geometry.segments, -1)
        lengths_BSP = torch.ones_like(keep_BSP, dtype=torch.int64)
        for t in reversed(range(geometry.segments - 1)):
            lengths_BSP[:, t] = torch.where(keep_BSP[:, t + 1], 1, 1 + lengths_BSP[:, t + 1])
        return Selection(keep_BN, lengths_BN=lengths_BSP.flatten(1))


def test_run_lengths_reach_the_tokens_they_belong_to() -> None:
    """In a clip's own order, which RLT's released code mixes up (tokens.md section 1.3)."""
    net, view = tiny_vit(run_lengths=True), view_of(names(3))
    selection = RunLengths().select(view, GEOMETRY, seeds_B=torch.zeros(3), training=False, net=None)
    lengths_BN = selection.lengths_BN
    assert lengths_BN is not None
    keep_BN = selection.keep_BN
    assert int((lengths_BN * keep_BN).sum()) == 3 * N  # runs cover every token once
    assert int(lengths_BN[keep_BN].max()) > 1
    bare = net.embedding(view, Selection(keep_BN)).tokens_MD
    table = net.embedding.lengths
    assert table is not None
    added = net.embedding(view, selection).tokens_MD - bare
    torch.testing.assert_close(added, table[lengths_BN[keep_BN] - 1], atol=1e-5, rtol=1e-5)
    net(view, reducer=RunLengths()).logits_BK.sum().backward()
    assert table.grad is not None


def test_a_closed_gate_acts_like_dropping() -> None:
    """With proportional attention: logits, segment features and masses."""

    class Gated(Reducer):
        proportional = True

    net, view, keep_BN = tiny_vit(), view_of(names(2)), some()
    keep_BN.view(2, S, -1)[:, 2] = False
    everything = torch.ones(2, N, dtype=torch.bool)
    gate = net(view, selection=Selection(everything, gate_BN=keep_BN.float()), reducer=Gated())
    drop = net(view, selection=Selection(keep_BN))
    torch.testing.assert_close(gate.logits_BK, drop.logits_BK, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(gate.segment_mass_BS, drop.segment_mass_BS, atol=1e-3, rtol=1e-3)
    filled = drop.segment_mass_BS > 0
    assert not bool(filled[:, 2].any())
    torch.testing.assert_close(gate.segments_BSD[filled], drop.segments_BSD[filled], atol=1e-3, rtol=1e-3)


def test_an_open_gate_changes_nothing_and_gates_learn() -> None:
    """The gradient of a gate is what a small turn of it would change, for open and for closed ones."""

    class Gated(Reducer):
        proportional = True

    net, view = tiny_vit().double(), view_of(names(1))
    everything, place = torch.ones(1, N, dtype=torch.bool), 37
    for start in (1.0, 0.0):
        gate_BN = torch.ones(1, N)
        gate_BN[0, place] = start
        gate_BN.requires_grad_()

        def logit(gate_BN: Tensor) -> Tensor:
            return net(view, selection=Selection(everything, gate_BN=gate_BN), reducer=Gated()).logits_BK[0, 0]

        logit(gate_BN).backward()
        assert gate_BN.grad is not None
        with torch.no_grad():
            turned = gate_BN.clone()
            turned[0, place] += 1e-2
            change = float(logit(turned) - logit(gate_BN)) / 1e-2
        assert float(gate_BN.grad[0, place]) == pytest.approx(change, rel=0.02)
        assert abs(change) > 1e-6
        if start == 1:
            torch.testing.assert_close(logit(gate_BN), net(view).logits_BK[0, 0], atol=1e-5, rtol=1e-5)
    with pytest.raises(ValueError, match="proportional"):
        net(view, selection=Selection(everything, gate_BN=torch.ones(1, N)))


def merging(keep_BN: Tensor, *, share: float) -> Tensor:
    """`merged_BN`: some dropped tokens go to the first kept one after them, or to the last; others to nobody."""
    merged_BN = torch.full_like(keep_BN, -1, dtype=torch.int64)
    generator = torch.Generator().manual_seed(1)
    for clip, keep_N in enumerate(keep_BN):
        kept = keep_N.nonzero().squeeze(1)
        for place in (~keep_N).nonzero().squeeze(1).tolist():
            if float(torch.rand((), generator=generator)) < share:
                after = kept[kept > place]
                merged_BN[clip, place] = after[0] if len(after) else kept[-1]
    return merged_BN


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_dropped_tokens_merge_into_their_receivers(share: float) -> None:
    """Averages of patch embeddings, with sizes and masses by segment: everything merged conserves all mass."""
    net, view, keep_BN = tiny_vit(), view_of(names(2)), some()
    merged_BN = merging(keep_BN, share=share)
    packed = net.embedding(view, Selection(keep_BN, merged_BN=merged_BN))
    embedded_BND, table = net.embed(view), sinusoid(N, 32)
    assert packed.sizes_M is not None
    assert packed.mass_MS is not None
    start = 0
    for clip, length in enumerate(packed.lengths):
        kept = keep_BN[clip].nonzero().squeeze(1)
        assert torch.equal(packed.index_M[start : start + length], kept)
        for row, place in enumerate(kept.tolist(), start):
            group = [place, *(merged_BN[clip] == place).nonzero().squeeze(1).tolist()]
            wanted = embedded_BND[clip, group].mean(0) + table[place]
            torch.testing.assert_close(packed.tokens_MD[row], wanted, atol=1e-5, rtol=1e-5)
            assert float(packed.sizes_M[row]) == len(group)
            counts = torch.bincount(torch.tensor(group) // GEOMETRY.per_segment, minlength=S)
            assert packed.mass_MS[row].tolist() == counts.tolist()
        start += length
    assert float(packed.mass_MS.sum()) == int(keep_BN.sum() + (merged_BN >= 0).sum())
    if share == 1:
        assert segment_means(packed)[1].tolist() == [[GEOMETRY.per_segment] * S] * 2


def test_merging_into_a_dropped_token_is_refused() -> None:
    keep_BN = some(1)
    merged_BN = torch.full((1, N), -1)
    first, second = (~keep_BN[0]).nonzero().squeeze(1)[:2].tolist()
    merged_BN[0, first] = second
    with pytest.raises(ValueError, match="dropped itself"):
        tiny_vit().embedding(view_of(names(1)), Selection(keep_BN, merged_BN=merged_BN))
