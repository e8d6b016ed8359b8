from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vidshift.data.augment import Augment
from vidshift.data.loader import GRID, ahead, draw_seeds, draws, pick_frames, test_view, training_view

setattr(test_view, "__test__", False)  # noqa: B010 (a function of ours, not a test)


class Numbered:
    """Clips whose pixels say which clip and which frame of the grid they are."""

    frames = 4

    def __init__(self, count: int, height: int = 8, width: int = 12) -> None:
        self.ids = [f"clip-{number}" for number in range(count)]
        self.shape = (height, width)

    def __len__(self) -> int:
        return len(self.ids)

    def grid_THWC(self, index: int) -> np.ndarray:
        grid = np.zeros((GRID * self.frames, *self.shape, 3), np.uint8)
        grid[..., 0] = index
        grid[..., 1] = np.arange(GRID * self.frames)[:, None, None]
        grid[..., 2] = np.arange(self.shape[1])
        return grid


@given(total=st.integers(1, 40), batch=st.integers(1, 17), passes=st.integers(1, 4), seed=st.integers(0, 9))
def test_every_clip_once_a_pass(total, batch, passes, seed):
    steps = -(-total * passes // batch)
    found = [draw for step in range(steps) for draw in draws(step, batch=batch, total=total, seed=seed, domain="a")]
    for epoch in range(passes):
        assert sorted(draw.index for draw in found if draw.epoch == epoch) == list(range(total))
    assert [draw.epoch for draw in found] == sorted(draw.epoch for draw in found)


def test_orders_differ_between_passes_domains_and_seeds():
    def order(epoch: int, domain: str, seed: int) -> tuple[int, ...]:
        return tuple(draw.index for draw in draws(epoch, batch=20, total=20, seed=seed, domain=domain))

    assert len({order(epoch, domain, seed) for epoch in range(3) for domain in "ab" for seed in range(3)}) == 18


def test_a_step_follows_from_its_number_alone():
    clips = Numbered(7)

    def view(step: int) -> torch.Tensor:
        found = draws(step, batch=5, total=7, seed=3, domain="target")
        return training_view(clips, found, seed=3, stream="x", augment=Augment()).pixels_BTCHW

    through = [view(step) for step in range(6)]
    for step in (5, 2, 0):
        torch.testing.assert_close(view(step), through[step], rtol=0, atol=0)


def test_a_clip_looks_the_same_beside_any_others():
    clips = Numbered(9)
    found = draws(0, batch=9, total=9, seed=1, domain="a")
    together = training_view(clips, found, seed=1, stream="x", augment=Augment())
    for place, draw in enumerate(found):
        alone = training_view(clips, [draw], seed=1, stream="x", augment=Augment())
        torch.testing.assert_close(alone.pixels_BTCHW[0], together.pixels_BTCHW[place], rtol=0, atol=0)
        assert draw_seeds(clips, [draw], seed=1)[0] == draw_seeds(clips, found, seed=1)[place]


def test_streams_epochs_and_seeds_look_differently():
    clips = Numbered(1, 16, 24)

    def look(seed: int, epoch: int, stream: str) -> bytes:
        found = draws(epoch, batch=1, total=1, seed=seed, domain="a")
        return training_view(clips, found, seed=seed, stream=stream, augment=Augment()).pixels_BTCHW.numpy().tobytes()

    looks = Counter(look(seed, epoch, stream) for seed in range(2) for epoch in range(3) for stream in ("weak", "x"))
    assert len(looks) == 12
    assert look(0, 0, "weak") == look(0, 0, "weak")


def test_seeds_are_one_a_clip_and_pass():
    clips = Numbered(6)
    found = [draw for step in range(3) for draw in draws(step, batch=6, total=6, seed=0, domain="a")]
    seeds_B = draw_seeds(clips, found, seed=0)
    assert seeds_B.dtype == torch.int64
    assert len(set(seeds_B.tolist())) == 18


@given(frames=st.integers(1, 32), seed=st.integers(0, 99))
def test_one_candidate_of_each_segment_in_order(frames, seed):
    for rows in (pick_frames(frames, np.random.default_rng(seed)), pick_frames(frames, None)):
        np.testing.assert_array_equal(rows // GRID, np.arange(frames))


def test_both_candidates_are_picked_in_training_and_one_in_testing():
    rng = np.random.default_rng(0)
    offsets = np.concatenate([pick_frames(16, rng) % GRID for _ in range(50)])
    assert 0.4 < offsets.mean() < 0.6
    np.testing.assert_array_equal(pick_frames(4, None), [1, 3, 5, 7])


def test_views_are_contiguous_and_hold_the_clips_in_order():
    clips = Numbered(5)
    view = test_view(clips, [4, 0, 2])
    assert view.ids == ("clip-4", "clip-0", "clip-2")
    assert view.pixels_BTCHW.shape == (3, 4, 3, 8, 12)
    assert view.pixels_BTCHW.is_contiguous()
    assert view.pixels_BTCHW.dtype == torch.uint8
    assert view.pixels_BTCHW[:, 0, 0, 0, 0].tolist() == [4, 0, 2]
    assert view.pixels_BTCHW[0, :, 1, 0, 0].tolist() == [1, 3, 5, 7]
    assert view.pixels_BTCHW[0, 0, 2, 0].tolist() == list(range(12))
    found = draws(0, batch=3, total=5, seed=0, domain="a")
    training = training_view(clips, found, seed=0, stream="x", augment=Augment())
    assert training.pixels_BTCHW.is_contiguous()
    plain = training_view(clips, found, seed=0, stream="x", augment=None)
    assert plain.pixels_BTCHW[:, 0, 0, 0, 0].tolist() == [draw.index for draw in found]


def test_a_read_only_map_is_not_written_to():
    clips = Numbered(2)
    real = clips.grid_THWC

    def frozen(index: int) -> np.ndarray:
        grid = real(index)
        grid.flags.writeable = False
        return grid

    clips.grid_THWC = frozen
    test_view(clips, [0, 1])


@pytest.mark.filterwarnings("error")
def test_ahead_gives_every_step_in_order_from_any_beginning():
    assert list(ahead(lambda step: step * 10, range(3, 9))) == [30, 40, 50, 60, 70, 80]
    assert list(ahead(lambda step: step, range(5, 5))) == []


def test_ahead_prepares_one_step_and_no_more():
    made: list[int] = []

    def make(step: int) -> int:
        made.append(step)
        return step

    for step in ahead(make, range(10)):
        assert made[-1] <= step + 1
        if step == 4:
            break
    assert max(made) <= 5


def test_a_failure_in_the_background_reaches_the_caller():
    def make(step: int) -> int:
        if step == 2:
            raise ValueError("bad clip")
        return step

    steps = ahead(make, range(5))
    assert [next(steps), next(steps)] == [0, 1]
    with pytest.raises(ValueError, match="bad clip"):
        next(steps)
