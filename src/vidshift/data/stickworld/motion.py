"""The eight actions as joint angles over time, each with the variation that people have.

An angle is measured from straight down, positive towards where the figure faces; lengths are in body heights. No
action has a pose of its own all the time: stances, the idle arm and pauses are drawn alike for all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from vidshift.data.stickworld.variant import ACTIONS

Wave = NDArray[np.float64]
TAU = 2.0 * np.pi


@dataclass(kw_only=True)
class Pose:
    """Joint angles of a clip, one value a frame. Arm `a` acts; `b` is the other; legs likewise."""

    lean: Wave
    nod: Wave
    arm_a: Wave
    elbow_a: Wave
    arm_b: Wave
    elbow_b: Wave
    thigh_a: Wave
    knee_a: Wave
    thigh_b: Wave
    knee_b: Wave
    hop: Wave
    travel: Wave
    tilt: Wave
    picked: Wave

    def stacked(self) -> NDArray[np.float64]:
        """All angles as one array, field by field."""
        return np.stack([getattr(self, field.name) for field in fields(self)])


def smooth(x: Wave) -> Wave:
    """0 below 0, 1 above 1, and a smooth way between."""
    x = np.clip(x, 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x)


def _rest(rng: Generator, t: Wave) -> Pose:
    """Standing about: breathing, a stance that may look like a stride, and an idle arm in one of several places."""
    zero = np.zeros_like(t)
    sway = 0.025 * np.sin(TAU * rng.uniform(0.25, 0.5) * t + rng.uniform(0, TAU))
    spread = rng.uniform(-0.12, 0.32)
    knee = rng.uniform(0.02, 0.22)
    place = rng.choice(5, p=[0.55, 0.13, 0.13, 0.1, 0.09])
    arm_b, elbow_b = [(0.05, 0.2), (-0.55, 1.3), (0.35, 1.25), (2.5, 0.4), (1.1, 0.35)][place]
    arm_b += rng.normal(0, 0.15)
    elbow_b = max(elbow_b + rng.normal(0, 0.12), 0.03)
    return Pose(
        lean=zero + rng.normal(0.03, 0.05) + sway,
        nod=zero + rng.normal(0, 0.08) + 0.05 * np.sin(TAU * rng.uniform(0.2, 0.5) * t + rng.uniform(0, TAU)),
        arm_a=zero + rng.normal(0.08, 0.12) + sway,
        elbow_a=zero + abs(rng.normal(0.25, 0.15)) + 0.02,
        arm_b=zero + arm_b + sway,
        elbow_b=zero + elbow_b,
        thigh_a=zero + spread + 0.5 * sway,
        knee_a=zero + knee,
        thigh_b=zero - 0.7 * spread + 0.5 * sway,
        knee_b=zero + rng.uniform(0.02, 0.15),
        hop=zero.copy(),
        travel=zero.copy(),
        tilt=zero.copy(),
        picked=zero.copy(),
    )


def _cycle(rng: Generator, t: Wave, low: float, high: float) -> Wave:
    """Position in a repeated movement, counted in cycles, from a random beginning."""
    return t / rng.uniform(low, high) + rng.uniform(0, 1)


def _bump(position: Wave, rise: float, hold: float) -> Wave:
    """Up, stay, and down again within each cycle, as fractions of it."""
    p = position % 1.0
    return smooth(p / rise) * (1.0 - smooth((p - rise - hold) / rise))


def _drink(rng: Generator, t: Wave) -> Pose:
    pose = _rest(rng, t)
    up = _bump(_cycle(rng, t, 1.4, 2.4), rng.uniform(0.2, 0.32), rng.uniform(0.2, 0.34)) * rng.uniform(0.88, 1.05)
    arm, elbow = rng.uniform(0.1, 0.4), rng.uniform(0.4, 1.0)
    pose.arm_a = arm + (rng.uniform(0.95, 1.3) - arm) * up
    pose.elbow_a = elbow + (rng.uniform(2.0, 2.3) - elbow) * up
    pose.nod = pose.nod - rng.uniform(0.15, 0.5) * up**2
    pose.lean = pose.lean - rng.uniform(0.0, 0.1) * up
    pose.tilt = -rng.uniform(0.9, 1.5) * up**2
    return pose


def _jump(rng: Generator, t: Wave) -> Pose:
    pose = _rest(rng, t)
    p = _cycle(rng, t, 0.75, 1.25) % 1.0
    crouch = smooth(p / 0.28) * (1.0 - smooth((p - 0.28) / 0.12)) + 0.7 * smooth((p - 0.74) / 0.1) * (
        1.0 - smooth((p - 0.84) / 0.16)
    )
    air = np.clip((p - 0.36) / 0.4, 0.0, 1.0)
    flight = 4.0 * air * (1.0 - air)
    deep = rng.uniform(0.5, 1.0)
    pose.hop = rng.uniform(0.12, 0.3) * flight
    bend, tuck = deep * crouch, rng.uniform(0.0, 0.5) * flight
    pose.thigh_a = 0.2 * pose.thigh_a + 0.85 * bend + tuck
    pose.thigh_b = 0.2 * pose.thigh_b + 0.8 * bend + tuck * rng.uniform(0.4, 1.0)
    pose.knee_a = pose.knee_a + 1.6 * bend + 1.6 * tuck
    pose.knee_b = pose.knee_b + 1.55 * bend + 1.6 * tuck
    pose.lean = pose.lean + rng.uniform(0.3, 0.6) * bend
    swing = rng.uniform(0.4, 2.6)
    pose.arm_a = pose.arm_a - 0.6 * bend + swing * flight
    pose.arm_b = 0.4 * pose.arm_b - 0.6 * bend + swing * flight * rng.uniform(0.6, 1.0)
    pose.travel = rng.uniform(-0.1, 0.25) * (t - t.mean())
    return pose


def _pick(rng: Generator, t: Wave) -> Pose:
    pose = _rest(rng, t)
    rise, hold = rng.uniform(0.3, 0.42), rng.uniform(0.04, 0.14)
    position = _cycle(rng, t, 1.6, 2.5)
    down = _bump(position, rise, hold) * rng.uniform(0.9, 1.02)
    squat = rng.uniform(0.0, 1.0)
    pose.lean = pose.lean + (1.85 - 1.05 * squat) * down
    pose.thigh_a = pose.thigh_a + (0.35 + 0.95 * squat) * down
    pose.thigh_b = pose.thigh_b + (0.2 + 0.85 * squat) * down
    pose.knee_a = pose.knee_a + (0.55 + 1.45 * squat) * down
    pose.knee_b = pose.knee_b + (0.5 + 1.4 * squat) * down
    pose.arm_a = pose.arm_a + rng.uniform(0.25, 0.6) * down
    pose.elbow_a = pose.elbow_a * (1.0 - 0.8 * down)
    pose.arm_b = pose.arm_b + rng.uniform(-0.3, 0.5) * down
    pose.nod = pose.nod + 0.4 * down
    pose.picked = ((position % 1.0) > rise + 0.5 * hold).astype(np.float64)
    return pose


def _pour(rng: Generator, t: Wave) -> Pose:
    pose = _rest(rng, t)
    up = _bump(_cycle(rng, t, 1.2, 2.2), rng.uniform(0.2, 0.35), rng.uniform(0.12, 0.3))
    pose.arm_a = rng.uniform(0.25, 0.6) + rng.uniform(0.55, 0.95) * up
    pose.elbow_a = rng.uniform(0.85, 1.25) - rng.uniform(0.2, 0.7) * up
    pose.tilt = rng.uniform(1.5, 2.1) * smooth(1.4 * up - 0.25)
    if rng.random() < 0.5:
        pose.arm_b = pose.arm_b * 0.0 + rng.uniform(0.3, 0.6)
        pose.elbow_b = pose.elbow_b * 0.0 + rng.uniform(0.7, 1.1)
    pose.nod = pose.nod + rng.uniform(0.1, 0.3)
    pose.lean = pose.lean + rng.uniform(0.0, 0.15) * up
    return pose


def _push(rng: Generator, t: Wave) -> Pose:
    pose = _rest(rng, t)
    shove = 0.5 - 0.5 * np.cos(TAU * _cycle(rng, t, 0.8, 1.5))
    force = rng.uniform(0.5, 1.0)
    pose.lean = pose.lean + rng.uniform(0.12, 0.3) + rng.uniform(0.15, 0.35) * force * shove
    reach = rng.uniform(1.1, 1.45)
    drawn = rng.uniform(0.5, 1.1) * force * (1.0 - shove)
    pose.arm_a, pose.elbow_a = reach - drawn, drawn + rng.uniform(0.02, 0.25)
    pose.arm_b, pose.elbow_b = reach - 0.9 * drawn + rng.normal(0, 0.1), 0.9 * drawn + rng.uniform(0.02, 0.25)
    stride = rng.uniform(0.15, 0.4)
    phase = TAU * _cycle(rng, t, 1.2, 2.0)
    pose.thigh_a = stride * np.sin(phase) - 0.1
    pose.thigh_b = -stride * np.sin(phase) - 0.1
    pose.knee_a = 0.2 + stride * np.maximum(np.cos(phase), 0.0)
    pose.knee_b = 0.2 + stride * np.maximum(-np.cos(phase), 0.0)
    pose.travel = rng.uniform(0.1, 0.3) * (t - t.mean())
    return pose


def _gait(rng: Generator, t: Wave, pose: Pose, *, cadence: float, stride: float, lift: float, swing: float) -> Pose:
    phase = TAU * (cadence * t + rng.uniform(0, 1))
    sin, cos = np.sin(phase), np.cos(phase)
    lag = rng.uniform(-0.2, 0.3)
    pose.thigh_a, pose.thigh_b = stride * sin, -stride * sin
    pose.knee_a = 0.12 + lift * np.maximum(np.cos(phase + lag), 0.0)
    pose.knee_b = 0.12 + lift * np.maximum(-np.cos(phase + lag), 0.0)
    pose.arm_a = pose.arm_a - swing * sin
    pose.arm_b = np.where(np.abs(pose.arm_b) > 1.5, pose.arm_b, 0.4 * pose.arm_b + swing * sin)
    pose.lean = pose.lean + 0.02 * np.abs(cos)
    # Nearly half of the clips are seen as from a camera that keeps pace, or on a treadmill.
    own_speed = 4.0 * 0.48 * stride * cadence
    pose.travel = rng.choice([0.0, 1.0], p=[0.4, 0.6]) * rng.uniform(0.3, 1.0) * own_speed * (t - t.mean())
    return pose


def _run(rng: Generator, t: Wave) -> Pose:
    pose = _rest(rng, t)
    pose.lean = pose.lean + rng.uniform(0.06, 0.25)
    bend = rng.uniform(0.7, 1.6)
    pose.elbow_a, pose.elbow_b = 0.3 * pose.elbow_a + bend, 0.3 * pose.elbow_b + bend
    stride, cadence = rng.uniform(0.5, 0.78), rng.uniform(1.35, 1.85)
    pose = _gait(rng, t, pose, cadence=cadence, stride=stride, lift=rng.uniform(0.9, 1.5), swing=rng.uniform(0.4, 0.9))
    pose.hop = rng.uniform(0.02, 0.06) * np.abs(np.sin(np.arcsin(np.clip(pose.thigh_a / stride, -1, 1))))
    return pose


def _walk(rng: Generator, t: Wave) -> Pose:
    pose = _rest(rng, t)
    stride, cadence = rng.uniform(0.3, 0.52), rng.uniform(0.75, 1.15)
    return _gait(rng, t, pose, cadence=cadence, stride=stride, lift=rng.uniform(0.4, 0.9), swing=rng.uniform(0.15, 0.5))


def _wave(rng: Generator, t: Wave) -> Pose:
    pose = _rest(rng, t)
    raised = smooth((t - rng.uniform(-1.0, 0.35)) / rng.uniform(0.25, 0.45))
    raised = raised * (1.0 - smooth((t - rng.uniform(1.5, 3.0)) / rng.uniform(0.25, 0.45)))
    shake = rng.uniform(0.35, 0.75) * np.sin(TAU * rng.uniform(1.2, 2.6) * t + rng.uniform(0, TAU))
    arm = rng.uniform(1.5, 2.7)
    forearm = rng.uniform(2.8, 3.3) + shake
    pose.arm_a = pose.arm_a + (arm + 0.2 * shake - pose.arm_a) * raised
    pose.elbow_a = pose.elbow_a + (np.maximum(forearm - arm, -0.4) - pose.elbow_a) * raised
    return pose


_MOTIONS: dict[str, Callable[[Generator, Wave], Pose]] = {
    "drink": _drink,
    "jump": _jump,
    "pick": _pick,
    "pour": _pour,
    "push": _push,
    "run": _run,
    "walk": _walk,
    "wave": _wave,
}


def perform(action: int, rng: Generator, *, frames: int, fps: float) -> Pose:
    """The joint angles of one performance of the action with this index in `ACTIONS`."""
    return _MOTIONS[ACTIONS[action]](rng, np.arange(frames) / fps)
