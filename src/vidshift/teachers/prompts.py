"""From class names to sentences: templates and wordings, both data."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vidshift.data.wordings import TEMPLATE, WORDINGS
from vidshift.errors import UserError


def plain(name: str) -> str:
    """`Ride_Bike`, `ride-bike` and `RideBike` as words in lower case: `ride bike`."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return " ".join(re.sub(r"[_\-\s]+", " ", apart).split()).lower()


@dataclass(frozen=True)
class Prompts:
    """Several templates are averaged as embeddings; `wordings` (class name -> words) go before the built-in ones."""

    templates: tuple[str, ...] = (TEMPLATE,)
    wordings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.templates:
            raise UserError(f"no prompt template is left; give at least one, such as {TEMPLATE!r}.", usage=True)
        for template in self.templates:
            if template.count("{class}") != 1:
                raise UserError(
                    f"the prompt template {template!r} must hold {{class}} exactly once, such as {TEMPLATE!r}.",
                    usage=True,
                )

    def wording(self, name: str) -> str:
        own = self.wordings.get(name, self.wordings.get(plain(name)))
        return own if own is not None else WORDINGS.get(plain(name), plain(name))

    def sentences(self, classes: Sequence[str]) -> list[list[str]]:
        """For each class its sentence under each template."""
        return [[t.replace("{class}", self.wording(name)) for t in self.templates] for name in classes]

    @property
    def text(self) -> str:
        """The templates as one line, for the table."""
        return " | ".join(self.templates)
