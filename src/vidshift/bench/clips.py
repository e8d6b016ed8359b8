"""Clips to measure with: real videos, or drawn ones whose motion energies are spread as in filmed ones."""

from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

import torch
from torch import Tensor

from vidshift.data.view import View
from vidshift.tokens import seeds
from vidshift.tokens.geometry import Geometry

NOISE = 2.5  # deviation of the sensor noise of a drawn clip, in levels of 255


def drawn_view(count: int, geometry: Geometry, *, seed: int = 0) -> View:
    """`count` clips of a fixed camera: a smooth background, noise, and a few discs that move at their own speeds.

    Where a disc passes the energy is high, elsewhere it is the noise's: a long tail, and other shares of it in every
    clip, as filmed clips with a person have.
    """
    clips = [_draw(geometry, torch.Generator().manual_seed(1000 * seed + clip)) for clip in range(count)]
    return View(torch.stack(clips), tuple(f"drawn{clip}" for clip in range(count)))


def _draw(geometry: Geometry, generator: torch.Generator) -> Tensor:
    g = geometry
    coarse = 255 * torch.rand(1, g.channels, 6, 6, generator=generator)
    still_CHW = torch.nn.functional.interpolate(coarse, (g.height, g.width), mode="bicubic", align_corners=False)[0]
    frames_TCHW = still_CHW.expand(g.frames, -1, -1, -1).clone()
    y_H1, x_1W = torch.linspace(0, 1, g.height)[:, None], torch.linspace(0, 1, g.width)[None, :]
    for _ in range(int(torch.randint(2, 6, (), generator=generator))):
        start, speed = torch.rand(2, generator=generator), 0.06 * torch.randn(2, generator=generator)
        radius = float(0.04 + 0.1 * torch.rand((), generator=generator))
        colour_C11 = 255 * torch.rand(g.channels, 1, 1, generator=generator)
        for frame in range(g.frames):
            y, x = ((start + frame * speed) % 1).tolist()
            inside_HW = (y_H1 - y) ** 2 + (x_1W - x) ** 2 < radius**2
            frames_TCHW[frame] = torch.where(inside_HW, colour_C11, frames_TCHW[frame])
    frames_TCHW += NOISE * torch.randn(frames_TCHW.shape, generator=generator)
    return frames_TCHW.round_().clamp_(0, 255).to(torch.uint8)


def filmed_view(paths: Sequence[Path], count: int, geometry: Geometry) -> View:
    """The first clips of these videos, taken in turn until there are `count`."""
    from vidshift.data.augment import to_tchw
    from vidshift.data.decode import decode_clip

    size = (geometry.height, geometry.width)
    decoded = [to_tchw(decode_clip(path, frames=geometry.frames, size=size)) for path in paths[:count]]
    ids = tuple(f"{path.name}#{turn}" for turn, path in enumerate(islice(cycle(paths), count)))
    return View(torch.stack(list(islice(cycle(decoded), count))), ids)


def training_seeds(view: View) -> Tensor:
    return seeds.clip_seeds(view.ids, run=0, epoch=1)
