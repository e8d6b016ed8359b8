"""One decoded frame -> upright RGB pixels of the wanted size, in one pass of swscale."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vidshift.errors import unknown

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

RESIZES = ("squash", "crop")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What swscale is asked for (before turning upright) and the part of it that is kept (after)."""

    width: int
    height: int
    turns: int
    top: int
    left: int
    out_height: int
    out_width: int


def plan(width: int, height: int, *, aspect: float, rotation: int, size: tuple[int, int] | None, resize: str) -> Shape:
    """The sizes for a stored frame of `width` x `height` with pixels `aspect` times as wide as high."""
    turns = round(rotation / 90) % 4
    shown_w, shown_h = max(1, round(width * aspect)), height
    if turns % 2:
        shown_w, shown_h = shown_h, shown_w
    out_h, out_w = size or (shown_h, shown_w)
    scaled_h, scaled_w = out_h, out_w
    if size is not None and resize == "crop":
        scale = max(out_h / shown_h, out_w / shown_w)
        scaled_h, scaled_w = max(out_h, round(shown_h * scale)), max(out_w, round(shown_w * scale))
    top, left = (scaled_h - out_h) // 2, (scaled_w - out_w) // 2
    stored_w, stored_h = (scaled_h, scaled_w) if turns % 2 else (scaled_w, scaled_h)
    return Shape(width=stored_w, height=stored_h, turns=turns, top=top, left=left, out_height=out_h, out_width=out_w)


class Painter:
    """Turns frames into arrays; one per clip, so that the scaler's tables are built once."""

    def __init__(self, *, size: tuple[int, int] | None, resize: str, aspect: float = 1.0) -> None:
        from av.video.reformatter import VideoReformatter

        if resize not in RESIZES:
            raise unknown("resize", resize, RESIZES)
        self._reformatter = VideoReformatter()
        self._size, self._resize, self._aspect = size, resize, aspect
        self._shapes: dict[tuple[int, int, int], Shape] = {}

    def paint(self, frame: "VideoFrame") -> np.ndarray:
        """A view `(height, width, 3)` uint8, to be copied by the caller."""
        shape = self._shape(frame.width, frame.height, int(frame.rotation))
        # Bilinear in swscale widens its filter when it shrinks, so nothing aliases.
        rgb = self._reformatter.reformat(
            frame, width=shape.width, height=shape.height, format="rgb24", interpolation="BILINEAR", threads=1
        )
        plane: Any = rgb.planes[0]
        rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)  # rows are padded
        rgb = rows[: shape.height, : shape.width * 3].reshape(shape.height, shape.width, 3)
        if shape.turns:
            rgb = np.rot90(rgb, shape.turns)
        return rgb[shape.top : shape.top + shape.out_height, shape.left : shape.left + shape.out_width]

    def _shape(self, width: int, height: int, rotation: int) -> Shape:
        """The plan for a stored frame; the size of the first holds for all where none was asked for."""
        known = self._shapes.get((width, height, rotation))
        if known is None:
            known = plan(width, height, aspect=self._aspect, rotation=rotation, size=self._size, resize=self._resize)
            self._size = (known.out_height, known.out_width)
            self._shapes[width, height, rotation] = known
        return known

    def paint_clip(self, frames: "Iterable[tuple[int, VideoFrame]]", index_T: np.ndarray) -> np.ndarray:
        """`clip_THWC` of the numbers `index_T` from (number, frame) pairs that come in ascending order, once each."""
        places: dict[int, list[int]] = {}
        for place, number in enumerate(index_T.tolist()):
            places.setdefault(number, []).append(place)
        clip_THWC: np.ndarray | None = None
        for number, frame in frames:
            picture = self.paint(frame)
            if clip_THWC is None:
                clip_THWC = np.empty((len(index_T), *picture.shape), np.uint8)
            for place in places[number]:
                clip_THWC[place] = picture
        if clip_THWC is None:
            raise ValueError("a clip needs at least one frame")
        return clip_THWC
