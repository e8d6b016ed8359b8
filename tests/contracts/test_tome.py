"""Token merging as a toy (tokens.md section 2): inside the blocks, on clips of unequal length, with any selection."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import GEOMETRY, batch_of, names, network_of, predictions, tiny_vit, training_data, view_of
from torch import Tensor

from vidshift.methods.base import Stage, total
from vidshift.methods.source_only import SourceOnly
from vidshift.tokens.base import Attn, Packed, Reducer, Selection
from vidshift.tokens.pack import pool
from vidshift.tokens.reducers.lmft import LearnedThreshold
from vidshift.tokens.reducers.motion import FixedThreshold

N, S = GEOMETRY.tokens, GEOMETRY.segments


class ToyTome(Reducer):
    """Merges r of 64 tokens in each block: even tokens into their most similar odd one, by keys."""

    name = "toy-tome"
    proportional = True

    def __init__(self, r: int = 8, *, first: Reducer | None = None) -> None:
        self.r, self.first = r, first
        self.counts: list[tuple[int, ...]] = []

    def select(self, view, geometry, *, seeds_B, training, net) -> Selection:
        chooser = self.first if self.first is not None else Reducer()
        return chooser.select(view, geometry, seeds_B=seeds_B, training=training, net=net)

    def reduce(self, layer: int, packed: Packed, attn: Attn) -> Packed:
        metric = torch.nn.functional.normalize(attn.keys().float(), dim=-1)
        parts = [
            self.merge(*columns)
            for columns in zip(
                metric.split(packed.lengths),
                packed.tokens_MD.split(packed.lengths),
                packed.index_M.split(packed.lengths),
                packed.sizes().split(packed.lengths),
                packed.mass().split(packed.lengths),
                strict=True,
            )
        ]
        tokens, index, sizes, mass = (torch.cat(column) for column in zip(*parts, strict=True))
        lengths = tuple(len(part[1]) for part in parts)
        self.counts.append(lengths)
        return Packed(tokens, index, lengths, packed.geometry, sizes, mass)

    def merge(self, metric: Tensor, tokens: Tensor, index: Tensor, sizes: Tensor, mass: Tensor) -> tuple[Tensor, ...]:
        """One clip."""
        n = len(tokens)
        r = min(round(self.r * n / N), n // 2)
        scores, partner = (metric[0::2] @ metric[1::2].t()).max(-1) if n > 1 else (metric[:, 0], index)
        order = scores.argsort(descending=True)
        gone, stay = order[:r], order[r:]
        target = partner[gone]

        def joined(rows: Tensor) -> Tensor:
            even, odd = rows[0::2], rows[1::2]
            return torch.cat([even[stay], odd.index_add(0, target, even[gone])])

        new_sizes = joined(sizes)
        weighted = joined(tokens * sizes[:, None]) / new_sizes[:, None]
        return weighted, torch.cat([index[0::2][stay], index[1::2]]), new_sizes, joined(mass)


def test_merging_nothing_changes_nothing() -> None:
    """r = 0 is the plain network, though tokens come out in another order (section 13 row 8)."""
    net, view = tiny_vit(), view_of(names(3))
    torch.testing.assert_close(net(view, reducer=ToyTome(0)).logits_BK, net(view).logits_BK, atol=1e-5, rtol=1e-5)


def test_every_clip_loses_its_share_in_every_block() -> None:
    net, reducer = tiny_vit(), ToyTome(8)
    features = net(view_of(names(2)), reducer=reducer)
    assert reducer.counts == [(N - 8, N - 8), (N - 15, N - 15), (N - 21, N - 21)]
    assert features.trace == ((N, N), *reducer.counts)


@settings(max_examples=10)
@given(st.integers(0, 40), st.floats(0.01, 0.5), st.integers(1, 4))
def test_sizes_and_masses_are_conserved(r: int, threshold: float, batch: int) -> None:
    """In every clip and segment, on unequal lengths: what was selected is what is stood for at the end."""
    net, reducer = tiny_vit(), ToyTome(r, first=FixedThreshold(threshold=threshold))
    features = net(view_of(names(batch)), reducer=reducer)
    keep_BN = features.selection.keep_BN
    packed = features.packed
    sizes = torch.stack([part.sum() for part in packed.sizes().split(packed.lengths)])
    torch.testing.assert_close(sizes, keep_BN.sum(1).float())
    torch.testing.assert_close(features.segment_mass_BS, keep_BN.view(batch, S, -1).sum(2).float())
    for before, after in zip(features.trace, features.trace[1:], strict=False):
        assert all(b - a == min(round(r * b / N), b // 2) for b, a in zip(before, after, strict=True))


def test_equal_tokens_merge_into_themselves() -> None:
    """The size-weighted mean of equal tokens is their plain mean."""
    row = torch.randn(1, 8)
    packed = Packed(row.expand(6, -1), torch.arange(6), (4, 2), GEOMETRY, torch.tensor([1.0, 3, 2, 1, 5, 1]))
    torch.testing.assert_close(pool(packed), row.expand(2, -1))


def test_a_clip_does_not_depend_on_its_batch_mates() -> None:
    network = network_of(SourceOnly(), ToyTome(9, first=FixedThreshold(threshold=0.05)))
    together = predictions(network, names(4))
    for row, name in enumerate(names(4)):
        assert torch.equal(predictions(network, [name])[0], together[row])


@pytest.mark.parametrize("class_token", [False, True])
def test_it_trains_with_a_learned_threshold_and_drop_path(class_token: bool) -> None:
    stage = Stage(name="train", data=frozenset({"source"}))
    net = tiny_vit(drop_path=0.5, class_token=class_token)
    network = network_of(SourceOnly(), ToyTome(8, first=LearnedThreshold(initial_threshold=0.1)), net=net).train()
    result = network(batch_of(training_data(), stage, network.method), stage, 0.0)
    total(result.losses).backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in network.net.parameters())
