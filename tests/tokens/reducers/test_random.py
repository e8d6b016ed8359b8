import pytest
import torch
from tiny import GEOMETRY, names, view_of
from torch import Tensor

from vidshift.errors import UserError
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.reducers.none import KeepAll
from vidshift.tokens.reducers.random import RandomKeepFirst, RandomTokens, keep_random
from vidshift.tokens.seeds import clip_seeds


def keep_of(reducer: RandomTokens, ids: list[str], *, epoch: int = 0, training: bool = True) -> Tensor:
    seeds_B = clip_seeds(ids, run=0, epoch=epoch)
    return reducer.select(view_of(ids), GEOMETRY, seeds_B=seeds_B, training=training, net=None).keep_BN


@pytest.mark.parametrize("keep", [0.001, 0.1, 0.33, 0.5, 0.815, 1.0])
@pytest.mark.parametrize("geometry", [GEOMETRY, Geometry()])
def test_exactly_as_many_tokens_as_said(keep: float, geometry: Geometry) -> None:
    """round(keep * N), and never none at all; the control with the first segment keeps at least that."""
    seeds_B = clip_seeds(names(6), run=0)
    count = max(1, round(keep * geometry.tokens))
    assert keep_random(seeds_B, geometry, keep=keep, keep_first=False).sum(1).tolist() == [count] * 6
    first = keep_random(seeds_B, geometry, keep=keep, keep_first=True)
    assert first.sum(1).tolist() == [max(count, geometry.per_segment)] * 6
    assert bool(first[:, : geometry.per_segment].all())


def test_every_token_is_as_likely() -> None:
    share_N = keep_random(clip_seeds(names(2000), run=0), GEOMETRY, keep=0.3, keep_first=False).float().mean(0)
    assert float((share_N - 0.3).abs().max()) < 5 * (0.3 * 0.7 / 2000) ** 0.5


@pytest.mark.parametrize("reducer", [RandomTokens(keep=0.4), RandomKeepFirst(keep=0.4)])
def test_fresh_in_each_epoch_and_fixed_at_test_time(reducer: RandomTokens) -> None:
    ids = names(3)
    assert not torch.equal(keep_of(reducer, ids, epoch=0), keep_of(reducer, ids, epoch=1))
    at_test = [keep_of(reducer, ids, epoch=epoch, training=False) for epoch in (0, 1)]
    assert torch.equal(at_test[0], at_test[1])
    assert not torch.equal(at_test[0][0], at_test[0][1])


def test_a_clip_s_tokens_do_not_depend_on_its_batch() -> None:
    reducer, ids = RandomTokens(keep=0.4), names(4)
    together = keep_of(reducer, ids)
    assert torch.equal(keep_of(reducer, ids[::-1]).flip(0), together)
    assert torch.equal(keep_of(reducer, ids[2:3])[0], together[2])


def test_none_keeps_all() -> None:
    selection = KeepAll().select(
        view_of(names(2)), GEOMETRY, seeds_B=clip_seeds(names(2), run=0), training=True, net=None
    )
    assert bool(selection.keep_BN.all())
    assert selection.kept_ratio == 1


@pytest.mark.parametrize("keep", [0.0, 1.1, -1.0])
def test_a_share_outside_its_interval_is_refused(keep: float) -> None:
    with pytest.raises(UserError, match="above 0 and at most 1"):
        RandomTokens(keep=keep)
