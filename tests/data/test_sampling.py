import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidshift.data.sampling import Sampling, dense, positions, to_indices, uniform, views, windows
from vidshift.errors import UserError


@given(frames=st.integers(1, 64), seed=st.integers(0, 9))
def test_uniform_takes_one_position_from_each_segment(frames: int, seed: int):
    for rng in (None, np.random.default_rng(seed)):
        position_T = uniform(frames, rng=rng)
        assert (np.floor(position_T * frames + 1e-9) == np.arange(frames)).all()


def test_uniform_is_centred_in_testing():
    assert uniform(4).tolist() == [0.125, 0.375, 0.625, 0.875]
    assert to_indices(uniform(16), 16).tolist() == list(range(16))
    assert to_indices(uniform(3), 10).tolist() == [1, 5, 8]


@given(frames=st.integers(1, 32), stride=st.integers(1, 8), total=st.integers(1, 400), seed=st.integers(0, 9))
def test_dense_keeps_its_stride_and_stays_inside(frames: int, stride: int, total: int, seed: int):
    for rng in (None, np.random.default_rng(seed)):
        index_T = to_indices(dense(frames, stride=stride, total=total, rng=rng), total)
        assert (np.diff(index_T) >= 0).all()
        assert index_T.min() >= 0
        assert index_T.max() < total
        if total >= frames * stride:
            assert (np.diff(index_T) == stride).all()
        elif total >= frames:
            assert (np.diff(index_T) >= 1).all()  # no frame is shown twice while there are enough


def test_dense_window_is_centred_in_testing():
    assert to_indices(dense(16, stride=4, total=100), 100)[[0, -1]].tolist() == [19, 79]


@given(frames=st.integers(1, 32), total=st.integers(1, 300), count=st.integers(1, 7))
def test_views_differ_and_one_view_is_the_test_clip(frames: int, total: int, count: int):
    for how in (Sampling(), Sampling("dense", 4)):
        position_VT = views(how, frames, total=total, count=count)
        assert position_VT.shape == (count, frames)
        assert ((position_VT >= 0) & (position_VT < 1)).all()
        np.testing.assert_allclose(views(how, frames, total=total, count=1)[0], positions(how, frames, total=total))
    assert len(np.unique(views(Sampling(), frames, total=total, count=count), axis=0)) == count


@given(seconds=st.floats(0.1, 5000), length=st.floats(0.5, 20), hop=st.floats(0.5, 20))
def test_windows_cover_the_video_and_keep_their_length(seconds: float, length: float, hop: float):
    spans = windows(seconds, length=length, hop=hop)
    assert spans[0][0] == 0
    assert spans[-1][1] == pytest.approx(seconds)
    if seconds > length:
        assert all(end - start == pytest.approx(length) for start, end in spans)
        steps = np.diff([start for start, _ in spans])
        assert (steps <= hop + 1e-6).all()


def test_the_same_generator_gives_the_same_frames():
    one, two = (uniform(16, rng=np.random.default_rng(7)) for _ in range(2))
    assert (one == two).all()


@pytest.mark.parametrize("text", ["uniform", "dense:4", "dense:1"])
def test_parse_round_trip(text: str):
    assert str(Sampling.parse(text)) == text


@pytest.mark.parametrize("text", ["", "dense:0", "dense:x", "middle"])
def test_parse_refuses(text: str):
    with pytest.raises(UserError, match="accepted"):
        Sampling.parse(text)
