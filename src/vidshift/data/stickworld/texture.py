"""Textures: colour as a function of place. None is quite flat, so that a moving camera moves every patch."""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from vidshift.data.stickworld.raster import Array, Colour


def value_noise(rng: Generator, x_HW: Array, y_HW: Array, cell: float) -> Array:
    """Smooth noise in [-1, 1]: random values on a grid of `cell` pixels with a smooth way between them."""
    u, v = x_HW / cell, y_HW / cell
    u, v = u - np.floor(u.min()), v - np.floor(v.min())
    columns, rows = int(u.max()) + 2, int(v.max()) + 2
    grid = rng.uniform(-1.0, 1.0, (rows, columns)).astype(np.float32)
    i, j = v.astype(np.intp), u.astype(np.intp)
    fy, fx = v - i, u - j
    fy, fx = fy * fy * (3 - 2 * fy), fx * fx * (3 - 2 * fx)
    top = grid[i, j] * (1 - fx) + grid[i, j + 1] * fx
    bottom = grid[i + 1, j] * (1 - fx) + grid[i + 1, j + 1] * fx
    return (top * (1 - fy) + bottom * fy).astype(np.float32)


def _lines(x_HW: Array, period: float, width: float) -> Array:
    """1 on lines of `width` pixels every `period` pixels, soft over one pixel."""
    from_line = np.abs((x_HW + 0.5 * period) % period - 0.5 * period)
    return np.clip(0.5 * width + 0.5 - from_line, 0.0, 1.0)


def _plain(rng: Generator, x: Array, y: Array) -> Array:
    return 0.5 + 0.25 * value_noise(rng, x, y, rng.uniform(14, 40))


def _stripes(rng: Generator, x: Array, y: Array) -> Array:
    period = rng.uniform(7, 18)
    return _lines(x + rng.uniform(0, period), period, period * rng.uniform(0.3, 0.6))


def _planks(rng: Generator, x: Array, y: Array) -> Array:
    period = rng.uniform(5, 11)
    grain = value_noise(rng, x * 0.25, y * 1.5, 3.0)
    return np.clip(0.35 + 0.25 * grain + _lines(y + rng.uniform(0, period), period, 1.0), 0.0, 1.0)


def _bricks(rng: Generator, x: Array, y: Array) -> Array:
    high = rng.uniform(5, 9)
    wide = high * rng.uniform(1.8, 2.6)
    row = np.floor(y / high)
    joints = np.maximum(_lines(y, high, 1.0), _lines(x + 0.5 * wide * (row % 2), wide, 1.0))
    return np.clip(0.25 + 0.2 * value_noise(rng, x, y, 9.0) + joints, 0.0, 1.0)


def _tiles(rng: Generator, x: Array, y: Array) -> Array:
    cell = rng.uniform(8, 15)
    joints = np.maximum(_lines(x + rng.uniform(0, cell), cell, 1.2), _lines(y + rng.uniform(0, cell), cell, 1.2))
    return np.clip(0.2 + 0.15 * value_noise(rng, x, y, 20.0) + joints, 0.0, 1.0)


def _checks(rng: Generator, x: Array, y: Array) -> Array:
    cell = rng.uniform(7, 13)
    shift_x, shift_y = rng.uniform(0, cell, 2)
    wave = np.sin(np.pi * (x + shift_x) / cell) * np.sin(np.pi * (y + shift_y) / cell)
    return np.clip(0.5 + wave * cell * 0.5, 0.0, 1.0)


def _speckle(rng: Generator, x: Array, y: Array) -> Array:
    fine, coarse = value_noise(rng, x, y, rng.uniform(2.0, 3.5)), value_noise(rng, x, y, 12.0)
    return np.clip(0.5 + 0.38 * fine + 0.2 * coarse, 0.0, 1.0)


def _leaves(rng: Generator, x: Array, y: Array) -> Array:
    clumps = value_noise(rng, x, y, rng.uniform(6, 11)) + 0.5 * value_noise(rng, x, y, 3.5)
    return np.clip(0.5 + 1.2 * clumps, 0.0, 1.0)


def _ripples(rng: Generator, x: Array, y: Array) -> Array:
    bend = 2.5 * value_noise(rng, x, y, 16.0)
    return 0.5 + 0.4 * np.sin((y + bend) * rng.uniform(0.6, 1.1)).astype(np.float32)


def _fade(rng: Generator, x: Array, y: Array) -> Array:
    rise = (y - y.min()) / max(float(y.max() - y.min()), 1.0)
    return np.clip(rise + 0.16 * value_noise(rng, x, y, rng.uniform(10, 24)), 0.0, 1.0)


def _diamonds(rng: Generator, x: Array, y: Array) -> Array:
    period = rng.uniform(9, 16)
    return np.maximum(_lines(x + y, period, 1.3), _lines(x - y, period, 1.3)) * 0.8 + 0.1 * value_noise(rng, x, y, 9.0)


TEXTURES: dict[str, Callable[[Generator, Array, Array], Array]] = {
    "plain": _plain,
    "stripes": _stripes,
    "planks": _planks,
    "bricks": _bricks,
    "tiles": _tiles,
    "checks": _checks,
    "speckle": _speckle,
    "leaves": _leaves,
    "ripples": _ripples,
    "fade": _fade,
    "diamonds": _diamonds,
}


def paint(rng: Generator, name: str, x_HW: Array, y_HW: Array, low: Colour, high: Colour) -> Array:
    """The texture `name` between two colours, with a little unevenness on top."""
    amount = TEXTURES[name](rng, x_HW, y_HW)
    uneven = 4.0 * value_noise(rng, x_HW, y_HW, 7.0)
    first, last = np.asarray(low, dtype=np.float32), np.asarray(high, dtype=np.float32)
    return (first + amount[..., None] * (last - first) + uneven[..., None]).astype(np.float32)
