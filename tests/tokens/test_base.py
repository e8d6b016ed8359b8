import pytest
import torch

from vidshift.tokens.base import Packed, Reducer, Reward, Selection
from vidshift.tokens.geometry import Geometry

G = Geometry(frames=4, height=4, width=4, tubelet=2, patch=2)


def test_the_reward_is_minus_weighted_losses_minus_what_is_kept() -> None:
    reward = Reward({"source": 0.5, "target": 2.0}, {"source": 0.25, "target": 0.75})
    assert reward.value(loss_weight=10) == pytest.approx(-10 * (0.5 + 2.0) - (0.25 + 0.75))
    assert reward.value(loss_weight=0) == pytest.approx(-1.0)


def test_an_absent_domain_drops_out_of_the_reward_with_its_kept_term() -> None:
    reward = Reward({"source": 0.5}, {"source": 0.25, "target": 0.75})
    assert reward.value(loss_weight=10) == pytest.approx(-5.25)


def test_a_packed_token_counts_once_for_its_own_segment() -> None:
    packed = Packed(torch.zeros(3, 5), torch.tensor([0, 7, 4]), (1, 2), G)
    assert packed.sizes().tolist() == [1, 1, 1]
    assert packed.mass().tolist() == [[1, 0], [0, 1], [0, 1]]
    assert packed.clip_M.tolist() == [0, 1, 1]
    assert packed.lengths_B.tolist() == [1, 2]
    assert "2 clips, 3 tokens" in repr(packed)


def test_a_selection_says_what_it_keeps() -> None:
    selection = Selection(torch.tensor([[True, False], [True, True]]))
    assert selection.kept_B.tolist() == [1, 2]
    assert selection.kept_ratio == 0.75
    assert "kept 0.750" in repr(selection)


def test_a_reducer_without_state_refuses_one() -> None:
    reducer = Reducer()
    reducer.load_state_dict({})
    with pytest.raises(ValueError, match="keeps no state"):
        reducer.load_state_dict({"threshold": 0.5})
    assert not reducer.reduces_inside
