import torch
from hypothesis import given
from hypothesis import strategies as st

from vidshift.tokens.seeds import clip_seeds, generator, mix, uniform

WORD = (1 << 64) - 1


def splitmix(x: int) -> int:
    """The published finaliser on Python's unbounded integers."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_mix_is_splitmix64(number: int) -> None:
    assert int(mix(torch.tensor([number]))[0]) & WORD == splitmix(number & WORD)


def test_draws_are_uniform_and_streams_differ() -> None:
    seeds_B = clip_seeds([f"clip{i}" for i in range(200)], run=0)
    draws = uniform(seeds_B, 100, stream="one")
    assert draws.min() >= 0
    assert draws.max() < 1
    assert abs(float(draws.mean()) - 0.5) < 0.01
    assert abs(float(draws.var()) - 1 / 12) < 0.005
    correlation = torch.corrcoef(torch.stack([draws.flatten(), uniform(seeds_B, 100, stream="two").flatten()]))
    assert abs(float(correlation[0, 1])) < 0.03
    assert abs(float(torch.corrcoef(torch.stack([draws[:, 0], draws[:, 1]]))[0, 1])) < 0.25


def test_a_clip_s_draws_depend_on_nothing_but_its_seed() -> None:
    seeds_B = clip_seeds(["a", "b", "c"], run=1, epoch=2)
    draws = uniform(seeds_B, 7, stream="one")
    assert torch.equal(uniform(seeds_B[1:2], 7, stream="one")[0], draws[1])
    assert torch.equal(uniform(seeds_B.flip(0), 7, stream="one"), draws.flip(0))
    assert torch.equal(uniform(seeds_B, 3, stream="one"), draws[:, :3])


def test_run_epoch_and_clip_all_matter() -> None:
    seeds = {int(clip_seeds([name], run=run, epoch=epoch)) for name in "ab" for run in (0, 1) for epoch in (0, 1)}
    assert len(seeds) == 8
    assert torch.rand(1, generator=generator("x", 1)) == torch.rand(1, generator=generator("x", 1))
    assert torch.rand(1, generator=generator("x", 1)) != torch.rand(1, generator=generator("x", 2))
