"""A view: one augmented look at a batch of clips."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class View:
    """`pixels_BTCHW` is what the network reads: uint8, or floating point in [0, 1].

    `clean_BTCHW` holds the geometric pixels that energies are computed from: cropped and flipped as the network's,
    but before erasing, noise or mixing. Where nothing of that kind was done the two are the same tensor. Normalising
    with mean and standard deviation belongs to the network, after unneeded patches are gone.
    """

    pixels_BTCHW: Tensor
    ids: tuple[str, ...]
    clean: Tensor | None = None
    info: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.pixels_BTCHW.dim() != 5:
            raise ValueError(f"a view holds [B, T, C, H, W], not {tuple(self.pixels_BTCHW.shape)}")
        if len(self.ids) != self.pixels_BTCHW.shape[0]:
            raise ValueError(f"{len(self.ids)} clip ids for {self.pixels_BTCHW.shape[0]} clips")
        if self.clean is not None and self.clean.shape != self.pixels_BTCHW.shape:
            raise ValueError(f"clean pixels {tuple(self.clean.shape)} beside {tuple(self.pixels_BTCHW.shape)}")

    @property
    def clean_BTCHW(self) -> Tensor:
        return self.pixels_BTCHW if self.clean is None else self.clean

    @cached_property
    def clean_float_BTCHW(self) -> Tensor:
        """The clean pixels in [0, 1], float32."""
        clean = self.clean_BTCHW
        return clean.float() / 255 if clean.dtype == torch.uint8 else clean.float()

    def __len__(self) -> int:
        return self.pixels_BTCHW.shape[0]

    def to(self, device: torch.device | str) -> "View":
        clean = None if self.clean is None else self.clean.to(device, non_blocking=True)
        return replace(self, pixels_BTCHW=self.pixels_BTCHW.to(device, non_blocking=True), clean=clean)

    def take(self, rows: "list[int] | Tensor") -> "View":
        """The same view of some of its clips, in the order given."""
        index = torch.as_tensor(rows, device=self.pixels_BTCHW.device)
        clean = None if self.clean is None else self.clean[index]
        ids = tuple(self.ids[i] for i in index.tolist())
        return View(self.pixels_BTCHW[index], ids, clean, self.info)

    def __repr__(self) -> str:
        shape = "x".join(str(n) for n in self.pixels_BTCHW.shape)
        return f"View({shape} {self.pixels_BTCHW.dtype}, {'clean apart' if self.clean is not None else 'clean'})"
