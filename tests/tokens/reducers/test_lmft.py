import json
from typing import Any

import pytest
import torch
from tiny import GEOMETRY, names, view_of

from vidshift.errors import UserError
from vidshift.tokens import motion
from vidshift.tokens.base import Reward, Selection
from vidshift.tokens.policy import expected_threshold, logit
from vidshift.tokens.reducers.lmft import LearnedThreshold
from vidshift.tokens.seeds import clip_seeds

REWARD = Reward({"source": 1.0, "target": 2.0}, {"source": 0.4, "target": 0.6})


def select(reducer: LearnedThreshold, *, training: bool = True, clips: int = 4) -> Selection:
    ids = names(clips)
    return reducer.select(view_of(ids), GEOMETRY, seeds_B=clip_seeds(ids, run=0), training=training, net=None)


def threshold(reducer: LearnedThreshold, *, training: bool = True) -> float:
    return select(reducer, training=training, clips=1).info["threshold"]


def test_one_threshold_for_every_clip_of_a_step() -> None:
    """Drawn once per update, whatever views, domains or batches are selected from in between."""
    reducer = LearnedThreshold(policy="paper", initial_threshold=0.2)
    drawn = threshold(reducer)
    selection = select(reducer)
    assert selection.info["threshold"] == drawn
    energy_BN, _ = motion.energy(view_of(names(4)).clean_BTCHW, GEOMETRY)
    assert torch.equal(selection.keep_BN, energy_BN > drawn)
    reducer.update(REWARD)
    assert threshold(reducer) != drawn


def test_the_threshold_of_testing_is_the_expected_one() -> None:
    """Before and after `fix`, and the same for training passes once fixed."""
    reducer = LearnedThreshold(policy="paper", initial_threshold=0.2)
    expected = expected_threshold(logit(0.2), -1.0)
    assert threshold(reducer, training=False) == reducer.threshold == expected
    assert threshold(reducer) != expected
    reducer.fix()
    assert threshold(reducer) == threshold(reducer, training=False) == expected
    with pytest.raises(RuntimeError, match="fixed"):
        reducer.update(REWARD)


def test_both_readings_of_the_printed_initial_value() -> None:
    """As a threshold it is 0.01, the default; as a latent, a median of 0.5025 (tokens.md section 12 row 3)."""
    assert LearnedThreshold().policy.mu == pytest.approx(-4.595, abs=1e-3)
    assert LearnedThreshold().threshold == pytest.approx(0.01068, abs=0.0012)
    literal = LearnedThreshold(initial_mu=0.01)
    assert literal.policy.mu == 0.01
    assert literal.threshold == pytest.approx(0.5024, abs=0.03)
    assert LearnedThreshold(**literal.options()).policy.mu == 0.01


def test_the_reward_of_a_step_is_the_printed_one() -> None:
    log = LearnedThreshold(policy="paper").update(REWARD)
    assert log["reward"] == pytest.approx(-10 * 3.0 - 1.0)
    assert log["loss_term"] == pytest.approx(-30.0)
    assert log["kept_term"] == pytest.approx(-1.0)


def test_a_step_without_task_losses_teaches_nothing() -> None:
    """As a reward of 0 it would be the first baseline, and the next advantage about -40."""
    reducer = LearnedThreshold(policy="paper")
    before = threshold(reducer)
    assert reducer.update(Reward({}, {})) == {}
    assert reducer.policy.baseline is None
    assert threshold(reducer) != before
    assert reducer.update(REWARD)["advantage"] == 0


def test_the_paired_policy_tries_two_thresholds_on_the_same_clips() -> None:
    reducer = LearnedThreshold(policy="paired", initial_threshold=0.2)
    assert reducer.wants_probe
    tried: list[float] = []

    def probe() -> Reward:
        tried.append(threshold(reducer, training=False))
        return Reward({"source": tried[-1]}, {"source": 1 - tried[-1]})

    drawn = threshold(reducer)
    log = reducer.update(REWARD, probe)
    assert tried[0] == drawn
    assert logit(tried[0]) + logit(tried[1]) == pytest.approx(2 * logit(0.2))
    assert log["reward_difference"] == pytest.approx(-9 * (tried[0] - tried[1]))
    assert reducer.policy.log_sigma == pytest.approx(-1.0, abs=1e-9)
    assert threshold(reducer, training=False) == reducer.threshold
    with pytest.raises(ValueError, match="probes"):
        reducer.update(REWARD)


def test_a_probe_that_fails_leaves_no_threshold_behind() -> None:
    reducer = LearnedThreshold(policy="paired")

    def probe() -> Reward:
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        reducer.update(REWARD, probe)
    assert threshold(reducer, training=False) == reducer.threshold


@pytest.mark.parametrize("fixed", [False, True])
def test_the_state_goes_through_json_exactly(fixed: bool) -> None:
    reducer = LearnedThreshold(policy="paper", seed=4)
    for loss in (1.0, 0.7, 0.9):
        reducer.update(Reward({"source": loss}, {"source": 0.5}))
    if fixed:
        reducer.fix()
    again = LearnedThreshold(**reducer.options())
    again.load_state_dict(json.loads(json.dumps(reducer.state_dict())))
    assert again.state_dict() == reducer.state_dict()
    assert threshold(again) == threshold(reducer)
    if not fixed:
        assert again.update(REWARD) == reducer.update(REWARD)
        assert threshold(again) == threshold(reducer)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"policy": "pared"}, "did you mean 'paired'"),
        ({"initial_threshold": 1.0}, "initial_threshold 1 is not accepted"),
        ({"initial_log_sigma": -9.0}, "from -4 to 0"),
        ({"loss_weight": -1.0}, "negative"),
        ({"policy_lr": -1.0}, "negative"),
        ({"floor": 2.0}, "floor 2 is not accepted"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        LearnedThreshold(**options)
    assert caught.value.exit_code == 2


def test_a_warning_at_the_edge() -> None:
    assert not LearnedThreshold().warnings()
    assert "keeps little more" in LearnedThreshold(initial_threshold=0.99).warnings()[0]
