from dataclasses import fields

import numpy as np
import pytest

from vidshift.data.stickworld import figure, motion
from vidshift.data.stickworld.variant import ACTIONS

FPS, FRAMES, SEEDS = 16, 32, 40


def poses(action: str, seed: int) -> motion.Pose:
    return motion.perform(ACTIONS.index(action), np.random.default_rng(seed), frames=FRAMES, fps=FPS)


def joints(action: str, seed: int) -> figure.Joints:
    body = figure.build_body(
        np.random.default_rng(0), top=(0, 0, 0), bottom=(0, 0, 0), skin=(0, 0, 0), hair=(0, 0, 0), hat=False
    )
    return figure.joints(poses(action, seed), body)


def median(action: str, measure) -> float:
    return float(np.median([measure(joints(action, seed)) for seed in range(SEEDS)]))


@pytest.mark.parametrize("action", ACTIONS)
def test_a_pose_is_one_finite_number_a_frame(action):
    for seed in range(SEEDS):
        pose = poses(action, seed)
        for field in fields(pose):
            value = getattr(pose, field.name)
            assert value.shape == (FRAMES,)
            assert np.isfinite(value).all()


@pytest.mark.parametrize("action", ACTIONS)
def test_no_joint_jumps_from_one_place_to_another(action):
    """In a sixteenth of a second nothing goes further than a hand that is thrown up."""
    for seed in range(SEEDS):
        at = joints(action, seed)
        for name in ("head", "hip", "hand_a", "hand_b", "ankle_a", "ankle_b"):
            assert np.linalg.norm(np.diff(at[name], axis=0), axis=-1).max() < 0.6


@pytest.mark.parametrize("action", ACTIONS)
def test_limbs_keep_their_lengths(action):
    at = joints(action, 1)
    for upper, lower in (("hip", "knee_a"), ("knee_b", "ankle_b"), ("elbow_a", "hand_a"), ("hip", "neck")):
        length = np.linalg.norm(at[upper] - at[lower], axis=-1)
        np.testing.assert_allclose(length, length[0], rtol=1e-9)


@pytest.mark.parametrize("action", sorted(set(ACTIONS) - {"jump", "run"}))
def test_one_foot_is_always_on_the_ground(action):
    for seed in range(SEEDS):
        at = joints(action, seed)
        lowest = np.minimum(at["ankle_a"][:, 1], at["ankle_b"][:, 1])
        assert np.ptp(lowest) < 1e-9


def test_each_action_does_what_it_says():
    def rise(at: figure.Joints) -> float:
        return float(np.minimum(at["ankle_a"][:, 1], at["ankle_b"][:, 1]).max())

    def hand_to_mouth(at: figure.Joints) -> float:
        return float(np.linalg.norm(at["hand_a"] - at["head"], axis=-1).min())

    def lowest_hand(at: figure.Joints) -> float:
        return float(at["hand_a"][:, 1].min())

    def way(at: figure.Joints) -> float:
        return float(np.ptp(at["hip"][:, 0]))

    def strides(at: figure.Joints) -> float:
        apart = at["ankle_a"][:, 0] - at["ankle_b"][:, 0]
        return float((np.diff(np.sign(apart)) != 0).sum())

    def hand_above_head(at: figure.Joints) -> float:
        return float((at["hand_a"][:, 1] - at["head"][:, 1]).max())

    standing = ("drink", "pick", "pour", "wave")
    assert median("jump", rise) > 0.15 + max(median(other, rise) for other in standing)
    assert median("drink", hand_to_mouth) < 0.2  # a head's radius, and a cup
    assert all(median(other, hand_to_mouth) > 0.24 for other in ACTIONS if other not in ("drink", "wave"))
    assert median("pick", lowest_hand) < 0.24
    assert all(median(other, lowest_hand) > 0.34 for other in ACTIONS if other != "pick")
    assert median("wave", hand_above_head) > 0.08 > 0 > max(median(o, hand_above_head) for o in ACTIONS if o != "wave")
    assert median("run", strides) >= 1.5 * median("walk", strides) >= 6
    assert max(median(other, way) for other in standing) < 0.2 < median("walk", way) < 0.5 * median("run", way)


def test_people_differ():
    for action in ACTIONS:
        first = poses(action, 0).stacked()
        assert all(np.abs(poses(action, seed).stacked() - first).max() > 0.1 for seed in range(1, 10))
