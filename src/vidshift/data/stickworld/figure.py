"""The figure: from joint angles to limbs on the screen, with its clothes and whatever it handles."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from vidshift.data.stickworld import raster
from vidshift.data.stickworld.motion import Pose
from vidshift.data.stickworld.raster import Array, Colour

ITEMS: tuple[str, ...] = ("nothing", "cup", "bottle", "ball")
_HEAD = 0.085


@dataclass(frozen=True, kw_only=True)
class Body:
    """Proportions in body heights, and colours."""

    thigh: float
    shin: float
    torso: float
    upper_arm: float
    forearm: float
    limb: float
    girth: float
    head: float
    top: Colour
    sleeve: Colour
    bottom: Colour
    skin: Colour
    hair: Colour
    hat: bool


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where the figure stands: `foot` and `height` in pixels, `facing` +1 to the right, `yaw` away from the profile."""

    foot_x: float
    foot_y: float
    height: float
    facing: int
    yaw: float
    near_hand: bool


@dataclass(frozen=True, kw_only=True)
class Things:
    """Objects about the figure. They are drawn alike for all actions; only the motion uses some of them."""

    held: str
    held_colour: Colour
    on_ground: bool
    ground_x: float
    ground_colour: Colour
    crate: bool
    crate_x: float
    crate_size: tuple[float, float]
    crate_colour: Colour


def build_body(rng: Generator, *, top: Colour, bottom: Colour, skin: Colour, hair: Colour, hat: bool) -> Body:
    """A person of ordinary but varied proportions."""
    legs = rng.uniform(0.94, 1.06)
    arms = rng.uniform(0.93, 1.08)
    thick = rng.uniform(0.85, 1.2)
    bare = rng.random() < 0.35
    return Body(
        thigh=0.24 * legs,
        shin=0.24 * legs,
        torso=0.28 * rng.uniform(0.95, 1.05),
        upper_arm=0.165 * arms,
        forearm=0.16 * arms,
        limb=0.032 * thick,
        girth=0.07 * thick * rng.uniform(0.9, 1.15),
        head=_HEAD * rng.uniform(0.9, 1.12),
        top=top,
        sleeve=skin if bare else top,
        bottom=bottom,
        skin=skin,
        hair=hair,
        hat=hat,
    )


def _ray(angle: NDArray[np.float64], length: float) -> NDArray[np.float64]:
    return np.stack([np.sin(angle), -np.cos(angle)], axis=-1) * length


def _shade(colour: Colour, by: float) -> Colour:
    return (colour[0] * by, colour[1] * by, colour[2] * by)


@dataclass(frozen=True)
class Joints:
    """Every joint in body heights, x towards where the figure faces and y up from the ground, one row a frame."""

    points: dict[str, NDArray[np.float64]]

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        return self.points[name]


def joints(pose: Pose, body: Body) -> Joints:
    """Forward kinematics; the lower foot stands on the ground unless the figure hops."""
    legs = {}
    for side in "ab":
        knee = _ray(getattr(pose, f"thigh_{side}"), body.thigh)
        ankle = knee + _ray(getattr(pose, f"thigh_{side}") - getattr(pose, f"knee_{side}"), body.shin)
        legs[side] = (knee, ankle)
    lowest = np.minimum(legs["a"][1][:, 1], legs["b"][1][:, 1])
    # Bending the trunk forward brings the hips back, as it must for balance.
    hip = np.stack([pose.travel - 0.16 * np.sin(pose.lean), -lowest + body.limb + pose.hop], axis=-1)
    neck = hip - _ray(-pose.lean, body.torso)
    head = neck - _ray(-(pose.lean + pose.nod), body.head * 1.35)
    points = {"hip": hip, "neck": neck, "head": head}
    shoulder = neck - (neck - hip) * 0.1
    points["shoulder"] = shoulder
    for side in "ab":
        knee, ankle = legs[side]
        points[f"knee_{side}"], points[f"ankle_{side}"] = hip + knee, hip + ankle
        arm = getattr(pose, f"arm_{side}")
        points[f"elbow_{side}"] = shoulder + _ray(arm, body.upper_arm)
        points[f"hand_{side}"] = points[f"elbow_{side}"] + _ray(arm + getattr(pose, f"elbow_{side}"), body.forearm)
    return Joints(points)


class Projector:
    """From body coordinates to pixels: turned by the yaw, moved by the camera."""

    def __init__(self, place: Placement, camera_T2: NDArray[np.float64]) -> None:
        self._place, self._camera = place, camera_T2
        self._across = place.facing * float(np.cos(place.yaw))
        self._depth = float(np.sin(place.yaw))

    def __call__(self, point_T2: NDArray[np.float64], *, depth: float = 0.0) -> Array:
        place = self._place
        x = place.foot_x + place.height * (self._across * point_T2[:, 0] + self._depth * depth)
        y = place.foot_y - place.height * point_T2[:, 1] + place.height * 0.12 * depth
        return (np.stack([x, y], axis=-1) - self._camera).astype(np.float32)

    def angle(self, angle: NDArray[np.float64]) -> Array:
        return (angle * self._place.facing).astype(np.float32)


JOINTS = ("head", "neck", "hip", *(f"{part}_{side}" for part in ("elbow", "hand", "knee", "ankle") for side in "ab"))


def seen_joints(pose: Pose, body: Body, place: Placement, camera_T2: NDArray[np.float64]) -> Array:
    """`joints_TJ2`: where `JOINTS` are in the picture, in pixels (x, y); they may lie outside of it."""
    at, to = joints(pose, body), Projector(place, camera_T2)
    return np.stack([to(at[name]) for name in JOINTS], axis=1)


def draw_figure(
    canvas_THWC: Array,
    pose: Pose,
    body: Body,
    place: Placement,
    things: Things,
    camera_T2: NDArray[np.float64],
    *,
    pushes: bool,
    shadow: float,
) -> None:
    """Draws the figure and the things about it, from the far side to the near one."""
    at = joints(pose, body)
    to = Projector(place, camera_T2)
    size = place.height
    near, far = ("a", "b") if place.near_hand else ("b", "a")
    limb = body.limb * size
    ground = np.stack([at["hip"][:, 0], np.zeros_like(pose.lean)], axis=-1)
    for spread, strength in ((0.2, 0.5), (0.13, 0.5)):
        middle = to(ground)
        reach = np.array([spread * size, 0.0], dtype=np.float32)
        raster.capsule(canvas_THWC, middle - reach, middle + reach, 0.035 * size, (0, 0, 0), alpha=shadow * strength)

    if things.crate:
        _draw_crate(canvas_THWC, at, to, things, size, pushes=pushes)

    _leg(canvas_THWC, at, to, far, -0.06, limb * 1.25, _shade(body.bottom, 0.72), size)
    _arm(canvas_THWC, at, to, far, -0.13, limb, _shade(body.sleeve, 0.75), _shade(body.skin, 0.8))
    if far == "a":
        _draw_held(canvas_THWC, at, to, pose, things, size, depth=-0.13)
    raster.capsule(
        canvas_THWC, to(at["hip"], depth=-0.03), to(at["shoulder"], depth=-0.05), body.girth * size, body.top
    )
    raster.capsule(canvas_THWC, to(at["hip"], depth=0.03), to(at["shoulder"], depth=0.05), body.girth * size, body.top)
    raster.capsule(canvas_THWC, to(at["neck"]), to(at["head"]), limb * 0.9, _shade(body.skin, 0.9))
    _leg(canvas_THWC, at, to, near, 0.06, limb * 1.25, body.bottom, size)
    _draw_head(canvas_THWC, at, to, pose, body, size)
    if things.on_ground:
        _draw_ground_item(canvas_THWC, at, to, pose, things, size)
    _arm(canvas_THWC, at, to, near, 0.13, limb, _shade(body.sleeve, 0.93), body.skin)
    if near == "a":
        _draw_held(canvas_THWC, at, to, pose, things, size, depth=0.13)


def _leg(
    canvas: Array, at: Joints, to: Projector, side: str, depth: float, radius: float, colour: Colour, size: float
) -> None:
    knee, ankle = to(at[f"knee_{side}"], depth=depth), to(at[f"ankle_{side}"], depth=depth)
    raster.capsule(canvas, to(at["hip"], depth=depth * 0.6), knee, radius, colour)
    raster.capsule(canvas, knee, ankle, radius * 0.85, colour)
    toe = to(at[f"ankle_{side}"] + np.array([0.055, -0.005]), depth=depth)
    raster.capsule(canvas, ankle, toe, radius * 0.8, _shade(colour, 0.45))


def _arm(
    canvas: Array, at: Joints, to: Projector, side: str, depth: float, radius: float, sleeve: Colour, skin: Colour
) -> None:
    elbow, hand = to(at[f"elbow_{side}"], depth=depth), to(at[f"hand_{side}"], depth=depth)
    raster.capsule(canvas, to(at["shoulder"], depth=depth * 0.9), elbow, radius, sleeve)
    raster.capsule(canvas, elbow, hand, radius * 0.88, sleeve)
    raster.capsule(canvas, hand, hand, radius * 1.15, skin)


def _draw_head(canvas: Array, at: Joints, to: Projector, pose: Pose, body: Body, size: float) -> None:
    tilt = pose.lean + pose.nod
    back = np.stack([-np.cos(tilt), np.sin(tilt)], axis=-1) * body.head * 0.28
    up = np.stack([np.sin(tilt), np.cos(tilt)], axis=-1) * body.head
    raster.capsule(canvas, to(at["head"] + back + up * 0.25), to(at["head"] + back), body.head * size, body.hair)
    raster.capsule(canvas, to(at["head"]), to(at["head"]), body.head * 0.93 * size, body.skin)
    if body.hat:
        brim = np.stack([np.cos(tilt), -np.sin(tilt)], axis=-1) * body.head
        middle = at["head"] + up * 0.75
        raster.capsule(canvas, to(middle - brim * 0.9), to(middle + brim * 1.3), 0.022 * size, body.hair)


def _draw_held(
    canvas: Array, at: Joints, to: Projector, pose: Pose, things: Things, size: float, *, depth: float
) -> None:
    if things.held == "nothing":
        return
    hand = to(at["hand_a"] + np.array([0.025, 0.0]), depth=depth)
    turn = to.angle(pose.tilt)
    if things.held == "ball":
        raster.capsule(canvas, hand, hand, 0.05 * size, things.held_colour)
        return
    tall = 0.075 if things.held == "bottle" else 0.045
    up = np.stack([np.sin(turn), -np.cos(turn)], axis=-1) * np.float32(size)
    flow = (pose.tilt > 1.25).astype(np.float32)
    if flow.any():
        lip = hand + up * np.float32(tall * 1.3)
        fall = np.stack([np.zeros_like(flow), flow * np.float32(0.22 * size)], axis=-1)
        # Where nothing flows the stream is a point inside the vessel, covered when that is drawn.
        source = np.where(flow[:, None] > 0, lip, hand)
        raster.capsule(canvas, source, source + fall, 0.012 * size, (215, 230, 245))
    raster.box(
        canvas,
        hand + up * np.float32(0.2 * tall),
        (0.034 * size, tall * size),
        things.held_colour,
        angle=turn,
        corner=0.01 * size,
    )
    if things.held == "bottle":
        neck = hand + up * np.float32(1.45 * tall)
        raster.box(canvas, neck, (0.014 * size, 0.03 * size), _shade(things.held_colour, 0.7), angle=turn)


def _draw_ground_item(canvas: Array, at: Joints, to: Projector, pose: Pose, things: Things, size: float) -> None:
    lying = np.zeros_like(at["hand_a"]) + np.array([things.ground_x, 0.03])
    centre = np.where(pose.picked[:, None] > 0, at["hand_a"] - np.array([0.0, 0.04]), lying)
    raster.box(canvas, to(centre), (0.045 * size, 0.035 * size), things.ground_colour, corner=0.01 * size)


def _draw_crate(canvas: Array, at: Joints, to: Projector, things: Things, size: float, *, pushes: bool) -> None:
    wide, high = things.crate_size
    left = np.zeros(len(at["hip"])) + things.crate_x
    if pushes:
        reach = np.maximum(at["hand_a"][:, 0], at["hand_b"][:, 0])
        left = np.maximum.accumulate(reach) + wide * 0.5 + 0.02
    centre = to(np.stack([left, np.full_like(left, high * 0.5)], axis=-1))
    half = (wide * 0.5 * size, high * 0.5 * size)
    raster.box(canvas, centre, half, _shade(things.crate_colour, 0.7), corner=1.0)
    raster.box(canvas, centre, (half[0] * 0.8, half[1] * 0.82), things.crate_colour)
