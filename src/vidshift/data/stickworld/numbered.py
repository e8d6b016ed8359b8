"""Clip number k of a split: what it shows and its pixels, from the seed alone, however many clips there are."""

from dataclasses import dataclass, field

import numpy as np

from vidshift.data.keys import key
from vidshift.data.stickworld.draw import FRAMES, SIZE, Description, Drawn, draw_clip
from vidshift.data.stickworld.variant import ACTIONS, DOMAINS, SPLITS, Variant
from vidshift.errors import UserError, unknown


@dataclass(frozen=True, kw_only=True)
class Series:
    """An endless row of clips; a split of `n` clips is its first `n`."""

    domain: str
    split: str
    seed: int = 0
    variant: Variant = field(default_factory=Variant)

    def __post_init__(self) -> None:
        if self.domain not in DOMAINS:
            raise unknown("domain", self.domain, DOMAINS)
        if self.split not in SPLITS:
            raise unknown("split", self.split, SPLITS)
        if self.seed < 0:
            raise UserError(f"the data seed {self.seed} is negative; choose 0 or more.", usage=True)
        # Two variants that a domain cannot tell apart are one series, and share their files.
        object.__setattr__(self, "variant", self.variant.seen_by(self.domain))

    def id(self, number: int) -> str:
        """The name of a clip, which tells nothing about its action."""
        return f"{self.domain}-{self.split}-{self.seed}-{number:06d}"

    def action(self, number: int) -> int:
        """Every eight clips in a row hold each action once, in an order of their own."""
        block, place = divmod(number, len(ACTIONS))
        return int(np.random.default_rng(self._key("order", block)).permutation(len(ACTIONS))[place])

    def draw(self, number: int, *, size: int = SIZE, frames: int = FRAMES) -> Drawn:
        """The clip before it is a file. Variants draw it from the same seed, and differ only in what they name."""
        seed = self._key("clip", number)
        return draw_clip(self.domain, self.action(number), seed, self.variant, size=size, frames=frames)

    def describe(self, number: int) -> Description:
        """What is in the clip, at a fraction of the time."""
        return self.draw(number, size=12, frames=2).description

    def _key(self, what: str, number: int) -> int:
        return key("stickworld", what, self.domain, self.split, self.seed, number) & ((1 << 64) - 1)
