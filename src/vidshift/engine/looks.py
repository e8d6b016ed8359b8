"""Augmented looks at clips for pretraining: drawn for a whole batch at once, on the device that trains.

What a step sees follows from (seed, step) alone, as in `data/loader.py`, and so does a resumed run.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import grid_sample

from vidshift.data.keys import key
from vidshift.data.loader import Clips, draws
from vidshift.data.view import View
from vidshift.tokens.seeds import uniform


class FrameStore(Protocol):
    """Decoded clips, asked for by frame."""

    ids: Sequence[str]

    def __len__(self) -> int: ...

    def frames_BTHWC(self, clip_B: Sequence[int], frame_BT: Tensor) -> Tensor:
        """uint8, of clips by their places."""
        ...


class LoadedFrames:
    """Read from a memory map, or decoded by several threads."""

    def __init__(self, clips: Clips, device: torch.device, *, workers: int = 1) -> None:
        self._clips, self._device = clips, device
        self.ids = clips.ids
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="decode")

    def __len__(self) -> int:
        return len(self._clips)

    def frames_BTHWC(self, clip_B: Sequence[int], frame_BT: Tensor) -> Tensor:
        parts = self._pool.map(self._one, clip_B, frame_BT)
        return torch.from_numpy(np.stack(list(parts))).to(self._device)

    def _one(self, clip: int, frame_T: Tensor) -> np.ndarray:
        return self._clips.grid_THWC(clip)[frame_T.numpy()]


class ResidentFrames:
    """All clips in the device's memory."""

    def __init__(self, clips: Clips, device: torch.device) -> None:
        self.ids = clips.ids
        first = clips.grid_THWC(0)
        self._per_clip = len(first)
        self._all_NHWC = torch.empty(len(clips) * len(first), *first.shape[1:], dtype=torch.uint8, device=device)
        for place in range(len(clips)):
            rows = torch.from_numpy(np.array(clips.grid_THWC(place)))
            self._all_NHWC[place * self._per_clip : (place + 1) * self._per_clip].copy_(rows)

    def __len__(self) -> int:
        return len(self.ids)

    def frames_BTHWC(self, clip_B: Sequence[int], frame_BT: Tensor) -> Tensor:
        row_BT = torch.tensor(list(clip_B))[:, None] * self._per_clip + frame_BT
        rows = self._all_NHWC.index_select(0, row_BT.flatten().to(self._all_NHWC.device))
        return rows.unflatten(0, tuple(row_BT.shape))


def open_frames(clips: Clips, device: torch.device, *, workers: int = 1) -> FrameStore:
    """In the memory of a GPU where they fit into half of what is free there, else loaded as they are needed."""
    if device.type == "cuda" and len(clips):
        free, _ = torch.cuda.mem_get_info(device)
        if clips.grid_THWC(0).nbytes * len(clips) < free // 2:
            return ResidentFrames(clips, device)
    return LoadedFrames(clips, device, workers=workers)


@dataclass(frozen=True, kw_only=True)
class Crop:
    """A random box of a share of the frame at its own aspect, and a mirror: `data/augment.py` for a whole batch."""

    area: tuple[float, float] = (0.5, 1.0)
    aspect: tuple[float, float] = (3 / 4, 4 / 3)
    flip: float = 0.5

    def __call__(self, pixels_BTCHW: Tensor, seeds_B: Tensor) -> Tensor:
        """uint8 -> float32 in [0, 1]; one box for all frames of a clip, from the clip's seed."""
        batch, frames, channels, height, width = pixels_BTCHW.shape
        box = self.boxes(seeds_B).to(pixels_BTCHW.device)
        scale_x, scale_y, centre_x, centre_y = box.unbind(1)
        zero = torch.zeros_like(scale_x)
        theta = torch.stack([scale_x, zero, centre_x, zero, scale_y, centre_y], dim=1).view(batch, 2, 3)
        grid = torch.nn.functional.affine_grid(theta, [batch, 1, height, width], align_corners=False)
        flat = pixels_BTCHW.reshape(batch, frames * channels, height, width).float() / 255
        out = grid_sample(flat, grid, mode="bilinear", padding_mode="border", align_corners=False)
        return out.view(pixels_BTCHW.shape).clamp_(0, 1)

    def boxes(self, seeds_B: Tensor) -> Tensor:
        """[B, 4]: half width and half height of the box (a negative width mirrors) and its centre, in [-1, 1]."""
        share, ratio, left, top, mirror = uniform(seeds_B, 5, stream="crop").unbind(1)
        share = self.area[0] + share * (self.area[1] - self.area[0])
        low, high = np.log(self.aspect[0]), np.log(self.aspect[1])
        ratio = torch.exp(low + ratio * (high - low))
        wide, tall = (share * ratio).sqrt().clamp(max=1.0), (share / ratio).sqrt().clamp(max=1.0)
        centre_x, centre_y = (2 * left - 1) * (1 - wide), (2 * top - 1) * (1 - tall)
        return torch.stack([torch.where(mirror < self.flip, -wide, wide), tall, centre_x, centre_y], dim=1)


@dataclass(frozen=True, kw_only=True)
class Look:
    """A step's clips as they are trained on."""

    view: View
    clip_B: tuple[int, ...]
    seeds_B: Tensor
    mirrored_B: Tensor
    frame_BT: Tensor
    box_B4: Tensor
    """Which part of the picture is seen, as `Crop.boxes` says."""


class Looks:
    """`at(step)`: `frames` random frames, one from each equal part of the clip, under one crop."""

    def __init__(self, store: FrameStore, *, frames: int, per_clip: int, batch: int, seed: int, crop: Crop) -> None:
        if per_clip % frames:
            raise ValueError(f"{per_clip} frames do not divide into {frames} parts")
        self.store, self.frames, self.per_clip = store, frames, per_clip
        self.batch, self.seed, self.crop = batch, seed, crop

    def at(self, step: int) -> Look:
        found = draws(step, batch=self.batch, total=len(self.store), seed=self.seed, domain="pretrain")
        clip_B = tuple(draw.index for draw in found)
        names = [(draw.epoch, self.store.ids[draw.index]) for draw in found]
        seeds_B = torch.tensor([key(self.seed, epoch, name) for epoch, name in names])
        part = self.per_clip // self.frames
        offset_BT = (uniform(seeds_B, self.frames, stream="frames") * part).long()
        frame_BT = torch.arange(self.frames) * part + offset_BT
        pixels = self.store.frames_BTHWC(clip_B, frame_BT).permute(0, 1, 4, 2, 3)
        view = View(self.crop(pixels, seeds_B), tuple(name for _, name in names))
        box_B4 = self.crop.boxes(seeds_B)
        return Look(
            view=view, clip_B=clip_B, seeds_B=seeds_B, mirrored_B=box_B4[:, 0] < 0, frame_BT=frame_BT, box_B4=box_B4
        )


class Ahead:
    """The look of the next step is prepared while this one is used."""

    def __init__(self, looks: Looks) -> None:
        self._looks = looks
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="looks")
        self._next: tuple[int, Future[Look]] | None = None

    def at(self, step: int) -> Look:
        if self._next is not None and self._next[0] == step:
            found = self._next[1].result()
        else:
            found = self._looks.at(step)
        self._next = step + 1, self._pool.submit(self._looks.at, step + 1)
        return found
