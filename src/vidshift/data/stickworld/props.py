"""Things that stand about in a scene. They never move."""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from vidshift.data.stickworld import raster
from vidshift.data.stickworld.raster import Array, Colour

# A prop is drawn with its foot at (x, y), `s` pixels high, in a colour.
Prop = Callable[[Array, float, float, float, Colour], None]


def _dark(colour: Colour, by: float = 0.6) -> Colour:
    return (colour[0] * by, colour[1] * by, colour[2] * by)


def _window(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.box(c, (x, y - s * 0.5), (s * 0.4, s * 0.5), k)
    raster.box(c, (x, y - s * 0.5), (s * 0.34, s * 0.44), (205, 225, 240))
    raster.box(c, (x, y - s * 0.5), (s * 0.02 + 0.5, s * 0.5), k)
    raster.box(c, (x, y - s * 0.5), (s * 0.4, s * 0.02 + 0.5), k)


def _door(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.box(c, (x, y - s * 0.5), (s * 0.24, s * 0.5), _dark(k))
    raster.box(c, (x, y - s * 0.48), (s * 0.2, s * 0.46), k)
    raster.ellipse(c, (x + s * 0.14, y - s * 0.45), (1.5, 1.5), (230, 210, 120))


def _shelf(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.box(c, (x, y - s * 0.5), (s * 0.35, s * 0.5), _dark(k, 0.5))
    for row in range(3):
        raster.box(c, (x, y - s * (0.2 + 0.3 * row)), (s * 0.31, s * 0.1), k)


def _lamp(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.capsule(c, (x, y), (x, y - s * 0.8), s * 0.02 + 0.4, (60, 60, 60))
    raster.box(c, (x, y - s * 0.88), (s * 0.14, s * 0.1), k)


def _plant(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.box(c, (x, y - s * 0.15), (s * 0.16, s * 0.15), k)
    for dx, dy in ((-0.2, 0.6), (0.2, 0.65), (0.0, 0.85)):
        raster.capsule(c, (x, y - s * 0.3), (x + s * dx, y - s * dy), s * 0.06, (60, 125, 60))


def _tree(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.capsule(c, (x, y), (x, y - s * 0.5), s * 0.05, (95, 70, 50))
    for dx, dy, r in ((-0.14, 0.55, 0.19), (0.15, 0.6, 0.18), (0.0, 0.78, 0.21)):
        raster.ellipse(c, (x + s * dx, y - s * dy), (s * r, s * r), k)


def _pine(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.capsule(c, (x, y), (x, y - s * 0.3), s * 0.04, (85, 62, 45))
    for row in range(4):
        raster.ellipse(c, (x, y - s * (0.3 + 0.18 * row)), (s * (0.24 - 0.05 * row), s * 0.14), k)


def _car(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.box(c, (x, y - s * 0.55), (s * 0.45, s * 0.25), (170, 195, 210), corner=2.0)
    raster.box(c, (x, y - s * 0.3), (s * 0.8, s * 0.2), k, corner=2.0)
    for dx in (-0.45, 0.45):
        raster.ellipse(c, (x + s * dx, y - s * 0.12), (s * 0.14, s * 0.14), (30, 30, 30))


def _tower(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.box(c, (x, y - s * 0.5), (s * 0.28, s * 0.5), k)
    for row in range(4):
        for dx in (-0.14, 0.0, 0.14):
            raster.box(c, (x + s * dx, y - s * (0.2 + 0.2 * row)), (s * 0.04, s * 0.06), _dark(k, 1.35))


def _pole(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.capsule(c, (x, y), (x, y - s), 1.2, k)
    raster.ellipse(c, (x, y - s), (s * 0.07 + 1, s * 0.07 + 1), (240, 225, 170))


def _cloud(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    for dx, r in ((-0.3, 0.2), (0.0, 0.28), (0.32, 0.18)):
        raster.ellipse(c, (x + s * dx, y - s), (s * r * 1.3, s * r * 0.7), (240, 242, 245), alpha=0.8)


def _fence(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    for step in range(-3, 4):
        raster.box(c, (x + s * 0.22 * step, y - s * 0.25), (s * 0.035 + 0.4, s * 0.25), k)
    for rail in (0.18, 0.38):
        raster.box(c, (x, y - s * rail), (s * 0.75, s * 0.025 + 0.4), k)


def _seat(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.box(c, (x, y - s * 0.3), (s * 0.5, s * 0.05 + 0.5), k)
    raster.box(c, (x, y - s * 0.52), (s * 0.5, s * 0.08), k)
    for dx in (-0.4, 0.4):
        raster.box(c, (x + s * dx, y - s * 0.15), (s * 0.04 + 0.4, s * 0.15), _dark(k))


def _table(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    for dx in (-0.45, 0.45):
        raster.box(c, (x + s * dx, y - s * 0.25), (s * 0.04 + 0.4, s * 0.25), _dark(k))
    raster.box(c, (x, y - s * 0.52), (s * 0.6, s * 0.06), k)


def _poster(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.box(c, (x, y - s * 0.6), (s * 0.28, s * 0.36), (235, 232, 225))
    raster.box(c, (x, y - s * 0.68), (s * 0.2, s * 0.16), k)
    raster.box(c, (x, y - s * 0.38), (s * 0.2, s * 0.04), _dark(k))


def _barrel(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.box(c, (x, y - s * 0.4), (s * 0.25, s * 0.4), k, corner=s * 0.1)
    for rise in (0.2, 0.6):
        raster.box(c, (x, y - s * rise), (s * 0.26, s * 0.03), _dark(k))


def _hill(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    above = c[:, : max(round(y), 0)]
    raster.ellipse(above, (x, y), (s * 1.4, s * 0.5), k)


PROPS: dict[str, Prop] = {
    "window": _window,
    "door": _door,
    "shelf": _shelf,
    "lamp": _lamp,
    "plant": _plant,
    "tree": _tree,
    "pine": _pine,
    "car": _car,
    "tower": _tower,
    "pole": _pole,
    "cloud": _cloud,
    "fence": _fence,
    "seat": _seat,
    "table": _table,
    "poster": _poster,
    "barrel": _barrel,
    "hill": _hill,
}


def _sign(c: Array, x: float, y: float, s: float, board: Colour) -> tuple[float, float]:
    """A board on a post; returns the middle of the board."""
    raster.capsule(c, (x, y), (x, y - s * 0.6), 1.0, (70, 70, 75))
    raster.box(c, (x, y - s * 0.7), (s * 0.36, s * 0.32), (245, 245, 240), corner=2.0)
    raster.box(c, (x, y - s * 0.7), (s * 0.31, s * 0.27), board, corner=1.5)
    return x, y - s * 0.7


def _cooler(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.box(c, (x, y - s * 0.3), (s * 0.2, s * 0.3), (235, 235, 235))
    raster.box(c, (x, y - s * 0.76), (s * 0.16, s * 0.2), (70, 150, 235), corner=2.0)


def _hurdle(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    for dx in (-0.4, 0.4):
        raster.box(c, (x + s * dx, y - s * 0.3), (1.1, s * 0.3), (60, 60, 60))
    raster.box(c, (x, y - s * 0.6), (s * 0.48, s * 0.09), (235, 60, 50))
    for dx in (-0.24, 0.24):
        raster.box(c, (x + s * dx, y - s * 0.6), (s * 0.1, s * 0.09), (245, 245, 245))


def _basket(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    for dx in (-0.2, 0.0, 0.2):
        raster.ellipse(c, (x + s * dx, y - s * 0.45), (s * 0.14, s * 0.14), (215, 45, 40))
    raster.box(c, (x, y - s * 0.2), (s * 0.4, s * 0.2), (190, 140, 70), corner=2.0)


def _jug(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.capsule(c, (x + s * 0.3, y - s * 0.55), (x + s * 0.3, y - s * 0.3), s * 0.13, (150, 70, 190))
    raster.ellipse(c, (x, y - s * 0.35), (s * 0.32, s * 0.35), (175, 95, 215))
    raster.box(c, (x, y - s * 0.72), (s * 0.16, s * 0.18), (175, 95, 215))


def _cart(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.capsule(c, (x - s * 0.42, y - s * 0.9), (x - s * 0.3, y - s * 0.25), 1.2, (60, 60, 65))
    raster.box(c, (x + s * 0.05, y - s * 0.45), (s * 0.4, s * 0.24), (245, 190, 40))
    for dx in (-0.22, 0.32):
        raster.ellipse(c, (x + s * dx, y - s * 0.1), (s * 0.1, s * 0.1), (30, 30, 30))


def _clock(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    x, y = _sign(c, x, y, s, (25, 130, 70))
    raster.ellipse(c, (x, y), (s * 0.2, s * 0.2), (250, 250, 250))
    raster.capsule(c, (x, y), (x, y - s * 0.15), 0.8, (20, 20, 20))
    raster.capsule(c, (x, y), (x + s * 0.12, y), 0.8, (20, 20, 20))


def _crossing(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    x, y = _sign(c, x, y, s, (30, 70, 190))
    for step in (-1, 0, 1):
        raster.box(c, (x + s * 0.17 * step, y), (s * 0.05, s * 0.2), (250, 250, 250))


def _flag(c: Array, x: float, y: float, s: float, k: Colour) -> None:
    raster.capsule(c, (x - s * 0.3, y), (x - s * 0.3, y - s), 1.1, (120, 100, 80))
    for row, colour in enumerate(((245, 130, 30), (250, 245, 235), (40, 165, 150))):
        raster.box(c, (x, y - s * (0.92 - 0.16 * row)), (s * 0.3, s * 0.08), colour)


# The object that tells the action in the static-cue variant, in the order of `ACTIONS`, with its words for captions.
CUES: tuple[tuple[str, Prop], ...] = (
    ("a water cooler", _cooler),
    ("a hurdle", _hurdle),
    ("a basket of apples", _basket),
    ("a purple jug", _jug),
    ("a yellow cart", _cart),
    ("a big clock", _clock),
    ("a blue sign", _crossing),
    ("a flag", _flag),
)


def draw_prop(canvas_HWC: Array, name: str, x: float, y: float, size: float, colour: Colour) -> None:
    """Draws a prop of `PROPS` with its foot at (x, y)."""
    PROPS[name](canvas_HWC[None], x, y, size, colour)


def draw_cue(canvas_HWC: Array, cue: int, x: float, y: float, size: float) -> None:
    """Draws the object of `CUES` with its foot at (x, y)."""
    CUES[cue][1](canvas_HWC[None], x, y, size, (0, 0, 0))


def vary(rng: Generator, colour: Colour, by: float) -> Colour:
    """The colour, a little lighter or darker and a little off its hue."""
    shifted = np.asarray(colour) * rng.uniform(1 - 0.5 * by / 64, 1 + 0.5 * by / 64) + rng.normal(0, by * 0.4, 3)
    red, green, blue = np.clip(shifted, 4, 251)
    return (float(red), float(green), float(blue))
