import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidshift.bench.statistics import difference, interval, mcnemar, pack_hits, unpack_hits


def test_mcnemar_agrees_with_a_count_by_hand():
    first = np.array([True] * 9 + [False] * 2 + [True] * 50)
    second = np.array([False] * 9 + [True] * 2 + [True] * 50)
    found = mcnemar(first, second)
    assert (found.only_first, found.only_second) == (9, 2)
    # 2 * (C(11,0) + C(11,1) + C(11,2)) / 2^11
    assert found.p == pytest.approx(2 * (1 + 11 + 55) / 2**11)


def test_mcnemar_without_disagreement_says_nothing():
    hits = np.array([True, False, True])
    assert mcnemar(hits, hits).p == 1.0


def test_mcnemar_of_large_counts_does_not_overflow():
    first = np.repeat([True, False], [6000, 5000])
    assert 0 < mcnemar(first, ~first).p < 1e-10


def test_an_interval_covers_the_mean_as_often_as_it_says():
    """Seeds differ in their rate and clips are drawn from it: two levels, as in a study."""
    rng, covered, trials = np.random.default_rng(0), 0, 200
    for _ in range(trials):
        rates = np.clip(rng.normal(0.6, 0.05, 12), 0, 1)
        found = interval([(rng.random(200) < rate).astype(float) for rate in rates], draws=500)
        covered += found.low <= 0.6 <= found.high
    assert 0.87 <= covered / trials <= 0.99


def test_pairing_by_clip_narrows_the_interval():
    rng = np.random.default_rng(1)
    base = [rng.random(500) < 0.6 for _ in range(6)]
    better = [hits | (rng.random(500) < 0.05) for hits in base]
    strangers = [rng.random(500) < 0.62 for _ in range(6)]
    paired, unpaired = difference(better, base), difference(strangers, base)
    assert paired.low > 0
    assert paired.high - paired.low < 0.5 * (unpaired.high - unpaired.low)


def test_the_resampling_is_that_of_clips_and_seeds():
    """Against a bootstrap that really draws every clip."""
    rng = np.random.default_rng(2)
    values = [rng.choice([-1.0, 0.0, 1.0], 80, p=[0.1, 0.6, 0.3]) for _ in range(5)]
    means = [np.mean([rng.choice(values[seed], 80).mean() for seed in rng.integers(0, 5, 5)]) for _ in range(4000)]
    low, high = np.quantile(means, [0.025, 0.975])
    found = interval(values)
    assert (found.low, found.high) == (pytest.approx(low, abs=0.012), pytest.approx(high, abs=0.012))


@given(st.lists(st.booleans(), min_size=1, max_size=300))
def test_hits_survive_packing(bits: list[bool]):
    hits = np.array(bits)
    assert np.array_equal(unpack_hits(pack_hits(hits)), hits)
