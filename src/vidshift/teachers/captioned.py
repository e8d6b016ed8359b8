"""Captions of clips as numbers: drawn once, tokenised once, and looked up by clip while training."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from vidshift.data.keys import key
from vidshift.data.stickworld.captions import caption
from vidshift.data.stickworld.draw import Description
from vidshift.tokens.seeds import uniform


def draw_captions(descriptions: Sequence[Description], *, each: int, seed: int, first: int = 0) -> list[list[str]]:
    """`each` captions of every clip, from the seed and the clip's place (`first`: that of the first one)."""
    from numpy.random import default_rng

    found = []
    for place, description in enumerate(descriptions, first):
        rng = default_rng(key("captions", seed, place) & ((1 << 64) - 1))
        found.append([caption(description, rng) for _ in range(each)])
    return found


def mirrored(description: Description) -> Description:
    return replace(description, facing="left" if description.facing == "right" else "right")


class CaptionTable:
    """Which sentence a clip is shown with follows from its seed; equal sentences have equal numbers."""

    def __init__(
        self,
        plain: Sequence[Sequence[str]],
        mirror: Sequence[Sequence[str]],
        tokenise: Callable[[list[str]], Any],
        device: torch.device,
    ) -> None:
        texts = sorted({text for rows in (plain, mirror) for row in rows for text in row})
        number = {text: place for place, text in enumerate(texts)}
        self.texts = texts
        # [2, clips, captions of each]: as filmed, and in the mirror.
        self._which_2NK = torch.tensor([[[number[text] for text in row] for row in rows] for rows in (plain, mirror)])
        tokens = tokenise(texts)
        self._ids_UL = tokens["input_ids"].to(device)
        self._mask_UL = tokens["attention_mask"].to(device)

    def at(self, clip_B: Sequence[int], seeds_B: Tensor, mirrored_B: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """`caption_B` (its number), `ids_BL` and `mask_BL`."""
        each = self._which_2NK.shape[-1]
        choice_B = (uniform(seeds_B, 1, stream="caption")[:, 0] * each).long()
        caption_B = self._which_2NK[mirrored_B.long(), torch.tensor(list(clip_B)), choice_B]
        caption_B = caption_B.to(self._ids_UL.device)
        return caption_B, self._ids_UL[caption_B], self._mask_UL[caption_B]
