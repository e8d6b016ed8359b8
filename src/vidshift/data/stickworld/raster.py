"""Anti-aliased shapes, drawn into all frames of a clip at once by their distance functions."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Colour = tuple[float, float, float]

# A shape that crosses the picture has a small bounding box only over a few frames at a time.
_FRAMES_AT_ONCE = 16


def _window(low: Array, high: Array, limit: int) -> slice:
    first = max(int(np.floor(low.min())), 0)
    last = min(int(np.ceil(high.max())) + 1, limit)
    return slice(first, max(first, last))


def _grid(rows: slice, columns: slice) -> tuple[Array, Array]:
    y = np.arange(rows.start, rows.stop, dtype=np.float32) + np.float32(0.5)
    x = np.arange(columns.start, columns.stop, dtype=np.float32) + np.float32(0.5)
    return x[None, None, :], y[None, :, None]


def _unit(x: Array) -> Array:
    """Clipped to [0, 1] in place."""
    np.maximum(x, 0.0, out=x)
    return np.minimum(x, 1.0, out=x)


def _blend(part: Array, cover: Array, colour: Colour, alpha: float) -> None:
    if alpha != 1.0:
        cover = cover * np.float32(alpha)
    for channel in range(3):
        plane = part[..., channel]
        plane += cover * (np.float32(colour[channel]) - plane)


def frames_of(point: tuple[float, float] | Array, frames: int) -> Array:
    """A point that stands still or moves, as one row a frame."""
    return np.broadcast_to(np.asarray(point, dtype=np.float32), (frames, 2))


def capsule(
    canvas_THWC: Array,
    start: tuple[float, float] | Array,
    end: tuple[float, float] | Array,
    radius: float,
    colour: Colour,
    *,
    alpha: float = 1.0,
) -> None:
    """A limb: every point within `radius` pixels of the segment; a disc where both ends are the same."""
    frames, height, width, _ = canvas_THWC.shape
    start_T2, end_T2 = frames_of(start, frames), frames_of(end, frames)
    reach = np.float32(radius + 1.0)
    disc = np.array_equal(start_T2, end_T2)
    for first in range(0, frames, _FRAMES_AT_ONCE):
        a, b = start_T2[first : first + _FRAMES_AT_ONCE], end_T2[first : first + _FRAMES_AT_ONCE]
        low, high = np.minimum(a, b) - reach, np.maximum(a, b) + reach
        columns, rows = _window(low[:, 0], high[:, 0], width), _window(low[:, 1], high[:, 1], height)
        if columns.start >= columns.stop or rows.start >= rows.stop:
            continue
        x, y = _grid(rows, columns)
        dx, dy = x - a[:, 0, None, None], y - a[:, 1, None, None]
        if disc:
            distance = np.sqrt(dx * dx + dy * dy)
        else:
            along = (b - a)[:, None, None, :]
            length2 = np.maximum((along**2).sum(-1), np.float32(1e-6))
            t = _unit((dx * along[..., 0] + dy * along[..., 1]) / length2)
            dx = dx - t * along[..., 0]
            dy = dy - t * along[..., 1]
            dx *= dx
            dy *= dy
            dx += dy
            distance = np.sqrt(dx, out=dx)
        cover = _unit(np.float32(radius + 0.5) - distance)
        _blend(canvas_THWC[first : first + _FRAMES_AT_ONCE, rows, columns], cover, colour, alpha)


def box(
    canvas_THWC: Array,
    centre: tuple[float, float] | Array,
    half: tuple[float, float],
    colour: Colour,
    *,
    angle: float | Array = 0.0,
    corner: float = 0.0,
    alpha: float = 1.0,
) -> None:
    """A rectangle with half sizes `half`, turned by `angle` (radians, one a frame), with rounded corners."""
    frames, height, width, _ = canvas_THWC.shape
    centre_T2 = frames_of(centre, frames)
    angle_T = np.broadcast_to(np.asarray(angle, dtype=np.float32), (frames,))
    reach = np.float32(float(np.hypot(*half)) + 1.0)
    for first in range(0, frames, _FRAMES_AT_ONCE):
        middle = centre_T2[first : first + _FRAMES_AT_ONCE]
        turn = angle_T[first : first + _FRAMES_AT_ONCE, None, None]
        columns = _window(middle[:, 0] - reach, middle[:, 0] + reach, width)
        rows = _window(middle[:, 1] - reach, middle[:, 1] + reach, height)
        if columns.start >= columns.stop or rows.start >= rows.stop:
            continue
        x, y = _grid(rows, columns)
        dx, dy = x - middle[:, 0, None, None], y - middle[:, 1, None, None]
        cos, sin = np.cos(turn), np.sin(turn)
        qx = np.abs(cos * dx + sin * dy) - np.float32(half[0] - corner)
        qy = np.abs(cos * dy - sin * dx) - np.float32(half[1] - corner)
        outside = np.hypot(np.maximum(qx, 0.0), np.maximum(qy, 0.0))
        distance = outside + np.minimum(np.maximum(qx, qy), 0.0)
        cover = _unit(np.float32(corner + 0.5) - distance)
        _blend(canvas_THWC[first : first + _FRAMES_AT_ONCE, rows, columns], cover, colour, alpha)


def ellipse(
    canvas_THWC: Array,
    centre: tuple[float, float] | Array,
    radii: tuple[float, float],
    colour: Colour,
    *,
    alpha: float = 1.0,
) -> None:
    """An upright ellipse; its edge is one pixel soft along the shorter axis."""
    frames, height, width, _ = canvas_THWC.shape
    centre_T2 = frames_of(centre, frames)
    for first in range(0, frames, _FRAMES_AT_ONCE):
        middle = centre_T2[first : first + _FRAMES_AT_ONCE]
        columns = _window(middle[:, 0] - radii[0] - 1, middle[:, 0] + radii[0] + 1, width)
        rows = _window(middle[:, 1] - radii[1] - 1, middle[:, 1] + radii[1] + 1, height)
        if columns.start >= columns.stop or rows.start >= rows.stop:
            continue
        x, y = _grid(rows, columns)
        dx = (x - middle[:, 0, None, None]) / np.float32(radii[0])
        dy = (y - middle[:, 1, None, None]) / np.float32(radii[1])
        cover = np.clip((1.0 - np.hypot(dx, dy)) * np.float32(min(radii)) + np.float32(0.5), 0.0, 1.0)
        _blend(canvas_THWC[first : first + _FRAMES_AT_ONCE, rows, columns], cover, colour, alpha)
