"""One clip of stickworld, drawn from its seed alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from vidshift.data.stickworld import figure, motion, props, scene
from vidshift.data.stickworld.raster import Array, Colour
from vidshift.data.stickworld.variant import ACTIONS, DOMAINS, Variant
from vidshift.data.stickworld.wardrobe import dress

SIZE = 96
FRAMES = 32
FPS = 16

# Each part of a clip has a random stream of its own, so that variants with one seed differ only in what they name.
_STREAMS = ("scene", "look", "people", "motion", "things", "camera", "noise")
_DRIFT_PER_FRAME = 0.5
# How far to either side of its middle the figure's way goes, in pixels of a frame of 96.
_WAY = 44.0
_ITEM_CHANCES = (0.22, 0.3, 0.3, 0.18)


@dataclass(frozen=True, kw_only=True)
class Description:
    """What can be seen in a clip. `motion` is what the figure does: the action, except in static-cue clips."""

    domain: str
    action: str
    motion: str
    scene: str
    top: str
    held: str
    cue: str | None
    facing: str


@dataclass(frozen=True)
class Drawn:
    """A clip and what was drawn into it."""

    clip_THWC: NDArray[np.uint8]
    description: Description
    joints_TJ2: Array
    """Where the figure's joints are (`figure.JOINTS`), in pixels."""


def draw_clip(
    domain: str,
    action: int,
    seed: int | Sequence[int],
    variant: Variant | None = None,
    *,
    size: int = SIZE,
    frames: int = FRAMES,
) -> Drawn:
    """Draws the action with this index in `ACTIONS`; the same arguments give the same pixels."""
    variant = variant if variant is not None else Variant()
    entropy = [seed] if isinstance(seed, int) else list(seed)
    children = SeedSequence([*entropy, DOMAINS.index(domain)]).spawn(len(_STREAMS))
    rngs = {name: np.random.default_rng(child) for name, child in zip(_STREAMS, children, strict=True)}
    scale = size / SIZE
    margin = int(np.ceil(12 * scale))

    performed = int(rngs["motion"].integers(len(ACTIONS)))
    performed = performed if variant.static_cue else action
    pose = motion.perform(performed, rngs["motion"], frames=frames, fps=FPS)

    place, room = _choose_scene(domain, action, rngs["scene"], variant)
    spread = {"studio": 14.0, "street": 20.0, "web": 34.0}[domain]
    background, horizon = scene.draw_scene(rngs["scene"], place, size=size, margin=margin, spread=spread)

    clothes = dress(domain, rngs["people"])
    body = figure.build_body(
        rngs["people"],
        top=clothes.top,
        bottom=clothes.bottom,
        skin=clothes.skin,
        hair=clothes.hair,
        hat=clothes.hat,
    )
    stand = _stand(domain, rngs["people"], pose, horizon, scale)
    things = _things(rngs["things"])
    cue = _choose_cue(domain, action, rngs["things"], variant)
    if cue is not None:
        x = _place_cue(background, cue, stand, rngs["things"], margin, scale, visible=variant.static_cue)
        if variant.static_cue:
            # The crate stands on the other side of the figure, or it would hide what has to be seen.
            side = stand.facing if x < stand.foot_x else -stand.facing
            things = replace(things, crate_x=side * abs(things.crate_x))

    look = scene.draw_look(domain, rngs["look"])
    camera_T2 = drift(rngs["camera"], frames) * scale if variant.handheld else np.zeros((frames, 2))
    canvas = _film(background, camera_T2, size, margin)
    figure.draw_figure(
        canvas, pose, body, stand, things, camera_T2, pushes=ACTIONS[performed] == "push", shadow=look.shadow
    )
    clip = _develop(canvas, look, rngs["noise"])
    description = Description(
        domain=domain,
        action=ACTIONS[action],
        motion=ACTIONS[performed],
        scene=room,
        top=clothes.top_name,
        held=things.held,
        cue=None if cue is None else props.CUES[cue][0],
        facing="right" if stand.facing > 0 else "left",
    )
    return Drawn(clip, description, figure.seen_joints(pose, body, stand, camera_T2))


def _choose_scene(domain: str, action: int, rng: Generator, variant: Variant) -> tuple[scene.Scene, str]:
    follows, any_kind, mixed = rng.random(), rng.random(), rng.random()
    kinds = {"studio": scene.STUDIO, "street": scene.STREET, "web": scene.WEB}[domain]
    chosen = kinds[int(any_kind * len(kinds))]
    if domain == "studio" and follows < variant.bias:
        chosen = kinds[action]
    if domain == "web" and mixed < 0.4:
        chosen = scene.mix_scene(rng)
    return chosen, chosen.name


def _choose_cue(domain: str, action: int, rng: Generator, variant: Variant) -> int | None:
    """Which of the eight telling objects stands in the scene; without static-cue any of them may, whatever is done.

    On the web objects keep company with actions now and then, as they do in captioned pictures.
    """
    present, related, any_cue = rng.random(), rng.random(), int(rng.integers(len(props.CUES)))
    if variant.static_cue:
        return action
    if present < 0.5:
        return None
    return action if domain == "web" and related < 0.3 else any_cue


def _stand(domain: str, rng: Generator, pose: motion.Pose, horizon: float, scale: float) -> figure.Placement:
    low, high = {"studio": (50.0, 64.0), "street": (38.0, 54.0), "web": (38.0, 66.0)}[domain]
    height = rng.uniform(low, high)
    foot_y = rng.uniform(max(horizon + 8.0, height * 0.98 + 6.0), 92.0)
    yaw = rng.uniform(-0.85, 0.85)
    facing = 1 if rng.random() < 0.5 else -1
    near_hand = bool(rng.random() < 0.5)
    if not near_hand:
        # Turned away from the camera, the body would hide all that the far hand does.
        yaw = -facing * abs(yaw)
    # Room for the way that the figure goes; the camera keeps pace with one that would leave the picture.
    half = 0.5 * float(np.ptp(pose.travel)) * height * float(np.cos(yaw))
    pose.travel *= min(1.0, _WAY / max(half, 1e-6))
    free = max(34.0 - half, 3.0)
    return figure.Placement(
        foot_x=(48.0 + rng.uniform(-free, free) * 0.7) * scale,
        foot_y=foot_y * scale,
        height=height * scale,
        facing=facing,
        yaw=yaw,
        near_hand=near_hand,
    )


def _colour(rng: Generator) -> Colour:
    red, green, blue = rng.uniform(40, 240, 3)
    return (float(red), float(green), float(blue))


def _things(rng: Generator) -> figure.Things:
    """The same chances for every action: a bottle in the hand says nothing."""
    high = rng.uniform(0.36, 0.72)
    return figure.Things(
        held=figure.ITEMS[int(rng.choice(len(figure.ITEMS), p=_ITEM_CHANCES))],
        held_colour=_colour(rng),
        on_ground=bool(rng.random() < 0.65),
        ground_x=float(rng.uniform(0.16, 0.34)),
        ground_colour=_colour(rng),
        crate=bool(rng.random() < 0.55),
        crate_x=float(rng.choice([-1.0, 1.0]) * rng.uniform(0.38, 0.7)),
        crate_size=(float(rng.uniform(0.24, 0.42)), float(high)),
        crate_colour=_colour(rng),
    )


def _place_cue(
    background: Array, cue: int, stand: figure.Placement, rng: Generator, margin: int, scale: float, *, visible: bool
) -> float:
    """To the side of the figure with more room when it must be seen, else anywhere; returns where."""
    size = rng.uniform(18.0, 25.0) * scale
    x = rng.uniform(10.0, 86.0) * scale
    near = stand.foot_x / scale
    if visible:
        x = (rng.uniform(9.0, 20.0) if near > 48.0 else rng.uniform(76.0, 87.0)) * scale
    foot = stand.foot_y - rng.uniform(0.1, 0.3) * stand.height
    props.draw_cue(background, cue, x + margin, foot + margin, size)
    return x


def drift(rng: Generator, frames: int) -> NDArray[np.float64]:
    """Where a hand-held camera looks: half a pixel further in every frame, in a slowly turning direction."""
    time = np.arange(frames - 1)
    turn = rng.uniform(0, motion.TAU) + 0.6 * np.sin(
        motion.TAU * time / rng.uniform(24, 64) + rng.uniform(0, motion.TAU)
    )
    steps = _DRIFT_PER_FRAME * np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    path = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    return path - 0.5 * (path.min(axis=0) + path.max(axis=0))


def _film(background: Array, camera_T2: NDArray[np.float64], size: int, margin: int) -> Array:
    """The background seen from each camera position, by cubic interpolation between pixels (Catmull-Rom)."""
    frames = len(camera_T2)
    canvas = np.empty((frames, size, size, 3), dtype=np.float32)
    if not camera_T2.any():
        canvas[:] = background[margin : margin + size, margin : margin + size]
        return canvas
    whole = np.floor(camera_T2).astype(np.intp)
    taps_T2K = _cubic((camera_T2 - whole).astype(np.float32))
    for frame in range(frames):
        x, y = whole[frame] + margin - 1
        rows = background[y : y + size + 3, x : x + size + 3]
        wide = np.zeros((size + 3, size, 3), dtype=np.float32)
        for k in range(4):
            wide += taps_T2K[frame, 0, k] * rows[:, k : k + size]
        canvas[frame] = 0.0
        for k in range(4):
            canvas[frame] += taps_T2K[frame, 1, k] * wide[k : k + size]
    return canvas


def _cubic(f: Array) -> Array:
    f2, f3 = f * f, f * f * f
    return np.stack([-f3 + 2 * f2 - f, 3 * f3 - 5 * f2 + 2, -3 * f3 + 4 * f2 + f, f3 - f2], axis=-1) * np.float32(0.5)


def _develop(canvas: Array, look: scene.Look, rng: Generator) -> NDArray[np.uint8]:
    """Light, sensor noise (mostly in brightness), and eight bits."""
    frames, size = canvas.shape[:2]
    gain, haze = scene.light(look, size)
    haze = np.broadcast_to(haze, gain.shape).copy()  # adding three numbers at a time is slow
    grain = rng.standard_normal((2 * size, 2 * size, 1), dtype=np.float32) * np.float32(look.noise)
    tint = rng.standard_normal((2 * size, 2 * size, 3), dtype=np.float32) * np.float32(0.35 * look.noise)
    sheet = grain + tint
    corners = rng.integers(0, size + 1, (frames, 2))
    clip = np.empty(canvas.shape, dtype=np.uint8)
    for picture, bytes_HWC, (y, x) in zip(canvas, clip, corners, strict=True):  # one frame fits a processor's cache
        picture *= gain
        picture += haze
        picture += sheet[y : y + size, x : x + size]
        np.maximum(picture, 0.0, out=picture)
        np.minimum(picture, 255.0, out=picture)
        picture += np.float32(0.5)
        bytes_HWC[:] = picture
    return clip
