import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidshift.data.check.findings import Finding
from vidshift.data.shift import distances, kolmogorov, profile, total_variation

NUMBERS = st.lists(st.floats(-1e3, 1e3, allow_nan=False), min_size=1, max_size=30).map(np.array)
COUNTS = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 9), min_size=1)


def found(**values: object) -> Finding:
    known = {"status": "ok", "width": 320, "height": 240, "fps": 25.0, "seconds": 4.0, "codec": "h264", "motion": 9.0}
    return Finding(**{**known, **values})  # pyright: ignore[reportArgumentType]


@given(NUMBERS, NUMBERS)
def test_kolmogorov_is_a_distance_between_0_and_1(a: np.ndarray, b: np.ndarray):
    assert kolmogorov(a, a) == 0
    assert kolmogorov(a, b) == kolmogorov(b, a)
    assert 0 <= kolmogorov(a, b) <= 1
    assert kolmogorov(a, a + 3000) == 1
    # By its definition, over every place where either jumps.
    at = np.concatenate([a, b])
    assert kolmogorov(a, b) == pytest.approx(max(abs((a <= x).mean() - (b <= x).mean()) for x in at))


@given(COUNTS, COUNTS)
def test_total_variation_is_a_distance_between_0_and_1(a: dict[str, int], b: dict[str, int]):
    assert total_variation(a, a) == 0
    assert total_variation(a, b) == pytest.approx(total_variation(b, a))
    assert 0 <= total_variation(a, b) <= 1 + 1e-12
    assert total_variation(a, {"z": 3}) == pytest.approx(1)
    assert total_variation(a, {name: 2 * count for name, count in a.items()}) == pytest.approx(0)


def test_a_domain_in_numbers():
    shown = profile([found(seconds=float(s), audio=s > 3) for s in range(11)] + [Finding(status="corrupt")])
    assert shown.videos == 11
    assert (shown.numbers["seconds"].low, shown.numbers["seconds"].middle, shown.numbers["seconds"].high) == (1, 5, 9)
    assert shown.words["resolution"] == {"320x240": 11}
    assert shown.words["audio"] == {"with sound": 7, "silent": 4}
    assert shown.kept is None


def test_distances_between_two_domains():
    one = [found(kept=(0.9, 0.2)), found(kept=(0.7, 0.4))]
    two = [found(kept=(0.9, 0.6), codec="mpeg4", fps=None), found(kept=(0.7, 0.8), fps=None), Finding(status="empty")]
    apart = distances(one, two)
    assert apart["codec"] == 0.5
    assert apart["width"] == 0
    assert apart["energy"] == pytest.approx(0.4)
    assert "fps" not in apart
    assert distances(one, []) == {}
