"""Scenes: where a clip is filmed, by what light, with which camera."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from vidshift.data.stickworld.props import PROPS, draw_prop, vary
from vidshift.data.stickworld.raster import Array, Colour
from vidshift.data.stickworld.texture import TEXTURES, paint


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A kind of place. `back` and `floor` are a texture and two colours; `horizon` is a range of heights from above."""

    name: str
    back: tuple[str, Colour, Colour]
    floor: tuple[str, Colour, Colour]
    horizon: tuple[float, float]
    props: tuple[tuple[str, Colour], ...]


def _scene(
    name: str,
    back: tuple[str, Colour, Colour],
    floor: tuple[str, Colour, Colour],
    horizon: tuple[float, float],
    *props: tuple[str, Colour],
) -> Scene:
    return Scene(name=name, back=back, floor=floor, horizon=horizon, props=props)


# One for each action, in the order of `ACTIONS`: where bias says so, the action is filmed in its own.
STUDIO: tuple[Scene, ...] = (
    _scene(
        "a kitchen",
        ("tiles", (226, 222, 205), (180, 176, 160)),
        ("checks", (120, 80, 60), (190, 165, 140)),
        (0.6, 0.7),
        ("shelf", (190, 130, 80)),
        ("window", (150, 110, 80)),
        ("table", (170, 120, 80)),
    ),
    _scene(
        "a gym",
        ("stripes", (90, 130, 175), (205, 215, 225)),
        ("planks", (205, 160, 100), (160, 115, 65)),
        (0.62, 0.74),
        ("poster", (200, 60, 60)),
        ("seat", (60, 60, 70)),
    ),
    _scene(
        "a warehouse",
        ("planks", (150, 105, 75), (100, 70, 50)),
        ("plain", (120, 118, 115), (150, 148, 145)),
        (0.6, 0.72),
        ("shelf", (200, 160, 90)),
        ("barrel", (70, 110, 160)),
        ("barrel", (180, 80, 60)),
    ),
    _scene(
        "a laboratory",
        ("plain", (205, 235, 225), (180, 220, 212)),
        ("tiles", (215, 220, 225), (160, 170, 180)),
        (0.62, 0.72),
        ("table", (230, 235, 240)),
        ("shelf", (120, 190, 180)),
        ("lamp", (240, 240, 200)),
    ),
    _scene(
        "a corridor",
        ("fade", (240, 225, 150), (215, 190, 110)),
        ("tiles", (150, 70, 60), (100, 50, 45)),
        (0.55, 0.68),
        ("door", (120, 80, 50)),
        ("door", (110, 85, 60)),
        ("poster", (60, 90, 160)),
    ),
    _scene(
        "a sports hall",
        ("bricks", (150, 85, 70), (195, 150, 135)),
        ("plain", (60, 125, 90), (75, 150, 105)),
        (0.6, 0.7),
        ("window", (230, 230, 230)),
        ("seat", (40, 90, 160)),
    ),
    _scene(
        "a gallery",
        ("plain", (235, 232, 228), (220, 214, 208)),
        ("planks", (110, 75, 55), (80, 52, 38)),
        (0.66, 0.76),
        ("poster", (190, 150, 40)),
        ("poster", (50, 120, 110)),
        ("plant", (200, 195, 190)),
    ),
    _scene(
        "a stage",
        ("stripes", (125, 25, 45), (80, 12, 30)),
        ("planks", (75, 60, 55), (50, 40, 38)),
        (0.68, 0.78),
        ("lamp", (250, 220, 150)),
        ("lamp", (250, 230, 170)),
    ),
)

STREET: tuple[Scene, ...] = (
    _scene(
        "a park",
        ("fade", (150, 190, 225), (205, 220, 220)),
        ("speckle", (70, 120, 55), (110, 155, 80)),
        (0.5, 0.64),
        ("tree", (55, 115, 55)),
        ("tree", (75, 130, 60)),
        ("seat", (120, 85, 55)),
        ("cloud", (240, 240, 240)),
    ),
    _scene(
        "a road",
        ("fade", (165, 180, 195), (200, 205, 205)),
        ("speckle", (85, 85, 88), (105, 105, 107)),
        (0.48, 0.62),
        ("car", (160, 50, 45)),
        ("car", (50, 70, 110)),
        ("tower", (120, 115, 120)),
        ("pole", (70, 70, 70)),
    ),
    _scene(
        "a beach",
        ("ripples", (70, 130, 165), (115, 170, 190)),
        ("speckle", (215, 195, 145), (235, 218, 175)),
        (0.42, 0.55),
        ("cloud", (250, 250, 250)),
        ("pole", (150, 60, 50)),
    ),
    _scene(
        "a square",
        ("bricks", (165, 140, 115), (135, 112, 95)),
        ("diamonds", (150, 140, 130), (112, 105, 100)),
        (0.5, 0.62),
        ("window", (90, 70, 60)),
        ("door", (60, 75, 65)),
        ("seat", (80, 85, 80)),
    ),
    _scene(
        "a forest",
        ("leaves", (35, 65, 38), (85, 125, 65)),
        ("leaves", (90, 72, 48), (125, 105, 70)),
        (0.5, 0.66),
        ("pine", (35, 80, 50)),
        ("pine", (45, 95, 55)),
        ("tree", (50, 90, 45)),
    ),
    _scene(
        "a snowy field",
        ("fade", (175, 190, 210), (220, 225, 232)),
        ("plain", (228, 232, 240), (206, 213, 226)),
        (0.48, 0.6),
        ("pine", (55, 85, 75)),
        ("fence", (105, 85, 70)),
        ("hill", (205, 212, 225)),
    ),
    _scene(
        "an alley",
        ("bricks", (95, 60, 55), (70, 45, 42)),
        ("tiles", (95, 95, 92), (70, 70, 70)),
        (0.56, 0.7),
        ("door", (45, 60, 80)),
        ("barrel", (80, 90, 80)),
        ("pole", (50, 50, 55)),
    ),
    _scene(
        "a harbour",
        ("fade", (190, 200, 205), (130, 160, 175)),
        ("planks", (130, 118, 105), (100, 90, 80)),
        (0.5, 0.62),
        ("tower", (150, 95, 70)),
        ("barrel", (60, 90, 130)),
        ("fence", (200, 195, 185)),
    ),
)

# Beside all of the above, in other draws, the web has places of its own.
WEB_OWN: tuple[Scene, ...] = (
    _scene(
        "a desert",
        ("fade", (120, 170, 225), (235, 210, 170)),
        ("ripples", (220, 170, 105), (200, 148, 85)),
        (0.45, 0.65),
        ("hill", (190, 140, 90)),
        ("pole", (90, 130, 70)),
    ),
    _scene(
        "a bedroom",
        ("diamonds", (200, 180, 215), (170, 145, 190)),
        ("plain", (150, 110, 90), (130, 95, 75)),
        (0.6, 0.75),
        ("window", (240, 235, 230)),
        ("lamp", (250, 225, 170)),
        ("table", (120, 80, 60)),
    ),
    _scene(
        "an office",
        ("plain", (205, 210, 215), (185, 190, 200)),
        ("tiles", (90, 100, 115), (75, 82, 95)),
        (0.58, 0.72),
        ("table", (200, 180, 150)),
        ("plant", (230, 225, 220)),
        ("window", (180, 185, 190)),
    ),
    _scene(
        "a garden",
        ("leaves", (60, 110, 50), (130, 175, 80)),
        ("speckle", (90, 140, 60), (130, 170, 90)),
        (0.45, 0.65),
        ("fence", (235, 235, 230)),
        ("tree", (90, 150, 60)),
        ("plant", (190, 110, 70)),
    ),
    _scene(
        "a library",
        ("stripes", (110, 65, 40), (165, 105, 60)),
        ("planks", (140, 95, 60), (105, 70, 45)),
        (0.6, 0.75),
        ("shelf", (180, 60, 50)),
        ("shelf", (60, 100, 80)),
        ("table", (120, 75, 45)),
    ),
    _scene(
        "a station",
        ("tiles", (235, 235, 225), (150, 160, 165)),
        ("stripes", (95, 95, 100), (120, 120, 122)),
        (0.55, 0.7),
        ("poster", (220, 150, 40)),
        ("seat", (60, 110, 170)),
        ("pole", (110, 110, 115)),
    ),
    _scene(
        "a night street",
        ("fade", (15, 18, 40), (45, 45, 75)),
        ("speckle", (40, 40, 48), (62, 60, 66)),
        (0.5, 0.68),
        ("tower", (50, 50, 70)),
        ("tower", (62, 55, 72)),
        ("pole", (120, 115, 90)),
    ),
    _scene(
        "a swimming pool",
        ("tiles", (190, 225, 235), (130, 185, 205)),
        ("ripples", (60, 155, 190), (110, 195, 215)),
        (0.5, 0.68),
        ("window", (245, 245, 245)),
        ("seat", (245, 245, 240)),
    ),
    _scene(
        "a workshop",
        ("bricks", (140, 130, 120), (110, 100, 95)),
        ("plain", (85, 78, 72), (105, 98, 90)),
        (0.58, 0.72),
        ("shelf", (210, 120, 50)),
        ("barrel", (60, 60, 65)),
        ("table", (150, 110, 70)),
    ),
    _scene(
        "a meadow",
        ("fade", (110, 165, 225), (190, 215, 235)),
        ("leaves", (110, 150, 60), (190, 185, 90)),
        (0.42, 0.62),
        ("hill", (100, 145, 85)),
        ("tree", (70, 120, 60)),
        ("cloud", (250, 250, 250)),
    ),
)

WEB: tuple[Scene, ...] = (*WEB_OWN, *STUDIO, *STREET)


@dataclass(frozen=True, kw_only=True)
class Look:
    """Light and camera of a clip. Noise is in grey levels; `gain`, `tint` and the slopes multiply."""

    gain: float
    tint: Colour
    slope: tuple[float, float]
    vignette: float
    haze: float
    noise: float
    shadow: float


def draw_look(domain: str, rng: Generator) -> Look:
    """Studio: bright, even, a good sensor. Street: weather, side light, a worse sensor. Web: anything."""
    source = domain if domain != "web" else "web"
    if source == "studio":
        gain, warm, slope, haze = rng.uniform(0.9, 1.08), rng.normal(0, 0.02), 0.08, 0.0
        noise, vignette, shadow = rng.uniform(0.6, 1.5), rng.uniform(0, 0.08), rng.uniform(0.15, 0.3)
    elif source == "street":
        gain, warm, slope, haze = rng.uniform(0.55, 1.0), rng.normal(0, 0.07), 0.3, rng.uniform(0, 0.25)
        noise, vignette, shadow = rng.uniform(1.5, 4.0), rng.uniform(0, 0.25), rng.uniform(0.2, 0.5)
    else:
        gain, warm, slope, haze = rng.uniform(0.5, 1.15), rng.normal(0, 0.06), 0.25, max(rng.uniform(-0.25, 0.25), 0)
        noise, vignette, shadow = rng.uniform(0.4, 4.0), rng.uniform(0, 0.25), rng.uniform(0.1, 0.5)
    across, down = rng.uniform(-slope, slope, 2)
    return Look(
        gain=gain,
        tint=(1 + warm, 1.0, 1 - warm),
        slope=(across, down * 0.6),
        vignette=vignette,
        haze=haze,
        noise=noise,
        shadow=shadow,
    )


def mix_scene(rng: Generator) -> Scene:
    """A place that exists nowhere: back, floor and things of any kind in any colour."""

    def colour() -> Colour:
        red, green, blue = rng.uniform(25, 235, 3)
        return (float(red), float(green), float(blue))

    def near(one: Colour) -> Colour:
        return vary(rng, one, 40.0)

    textures, names = sorted(TEXTURES), sorted(PROPS)
    back, floor = colour(), colour()
    things = tuple((names[rng.integers(len(names))], colour()) for _ in range(3))
    return Scene(
        name="a strange place",
        back=(textures[rng.integers(len(textures))], back, near(back)),
        floor=(textures[rng.integers(len(textures))], floor, near(floor)),
        horizon=(0.42, 0.78),
        props=things,
    )


def draw_scene(rng: Generator, scene: Scene, *, size: int, margin: int, spread: float) -> tuple[Array, float]:
    """The empty scene with `margin` more pixels on every side, and the height of its horizon in the frame.

    `spread` says how far colours stray from those of the kind.
    """
    scale = size / 96.0
    extent = size + 2 * margin
    axis = (np.arange(extent, dtype=np.float32) + 0.5 - margin) / scale
    x_HW, y_HW = np.meshgrid(axis, axis)
    horizon = rng.uniform(*scene.horizon) * 96.0
    line = int(np.clip(round(horizon * scale) + margin, 1, extent - 1))
    canvas = np.empty((extent, extent, 3), dtype=np.float32)
    for rows, (texture, low, high) in ((slice(0, line), scene.back), (slice(line, extent), scene.floor)):
        low, high = vary(rng, low, spread), vary(rng, high, spread)
        shift_x, shift_y = rng.uniform(0, 30, 2)
        canvas[rows] = paint(rng, texture, x_HW[rows] + shift_x, y_HW[rows] + shift_y, low, high)
    canvas[line - 1 : line + 1] *= 0.75
    count = int(rng.integers(1, len(scene.props) + 1))
    for which in rng.permutation(len(scene.props))[:count]:
        name, colour = scene.props[which]
        x = rng.uniform(4, 92)
        # Windows and posters hang on the wall; the rest stands a little before it.
        foot = horizon - rng.uniform(14, 26) if name in ("window", "poster", "cloud") else horizon + rng.uniform(-1, 5)
        tall = (
            rng.uniform(16, 30)
            if name in ("window", "poster", "seat", "barrel", "fence", "car")
            else rng.uniform(26, 48)
        )
        at = (x * scale + margin, foot * scale + margin, tall * scale)
        draw_prop(canvas, name, *at, vary(rng, colour, spread))
    return canvas, horizon


def light(look: Look, size: int) -> tuple[Array, Array]:
    """What a frame is multiplied by, and what is then added (haze)."""
    axis = np.linspace(-1.0, 1.0, size, dtype=np.float32)
    x_HW, y_HW = np.meshgrid(axis, axis)
    shade = (
        look.gain * (1 + look.slope[0] * x_HW + look.slope[1] * y_HW) * (1 - look.vignette * (x_HW**2 + y_HW**2) / 2)
    )
    gain_HWC = shade[..., None] * np.asarray(look.tint, dtype=np.float32) * (1 - look.haze)
    return gain_HWC.astype(np.float32), np.float32(look.haze * 200.0) * np.asarray(look.tint, dtype=np.float32)
