"""The network and the teacher where nobody has named them: built in for the built-in domains, the paper's elsewhere.

What comes from the hub is said, with its size and licence, before it starts; nothing else is ever put in its place.
"""

from dataclasses import replace

from vidshift.engine.config import RunConfig
from vidshift.engine.domains import is_built_in
from vidshift.models.hub import download_needed, is_offline
from vidshift.teachers.base import TeacherSpec

STICK = "stick"
BACKBONE = "MCG-NJU/videomae-base"
TEACHER = "clip"
"""CLIP ViT-B/16: `teachers.hub.DEFAULT`."""


LAYER_DECAY = 0.75
STICK_LAYER_DECAY = 0.5
"""The first of four layers then learns about as slowly as the first of twelve with 0.75 (0.5^5 = .031, 0.75^13 = .024).
Chosen by source validation (docs/standins.md)."""


def default_backbone(*data: str) -> str:
    return STICK if all(map(is_built_in, data)) else BACKBONE


def default_teacher(*data: str) -> str:
    return STICK if all(map(is_built_in, data)) else TEACHER


def with_defaults(config: RunConfig) -> RunConfig:
    """The same run with its network and teacher by name, and what goes with them."""
    data = config.source, config.target
    backbone = config.backbone or default_backbone(*data)
    return replace(
        config,
        backbone=backbone,
        teacher=config.teacher or default_teacher(*data),
        layer_decay=config.layer_decay or (STICK_LAYER_DECAY if backbone == STICK else LAYER_DECAY),
    )


def saying(*, backbone: str | None = None, teacher: str | None = None) -> list[str]:
    """What will be downloaded, in words; nothing where all is here, or where downloads are forbidden."""
    if is_offline():
        return []
    said: list[str] = []
    for what, where in (("backbone", backbone), ("teacher", None if teacher is None else hub_id_of(teacher))):
        needed = None if where is None else download_needed(where)
        if needed is not None:
            said.append(f"The {what} is downloaded from the hub, once: {needed}.")
    return said


def hub_id_of(teacher: str) -> str | None:
    """The model that a teacher's name means; None where it is no image-text model from elsewhere."""
    from vidshift.teachers.hub import DEFAULT

    spec = TeacherSpec.parse(teacher)
    return (spec.where or DEFAULT) if spec.kind == "clip" else None
