"""From `--teacher` to a teacher."""

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from vidshift.errors import UserError
from vidshift.teachers.base import Teacher, TeacherSpec

if TYPE_CHECKING:
    from vidshift.teachers.prompts import Prompts


def open_teacher(
    spec: TeacherSpec | str,
    *,
    prompts: "Prompts | None" = None,
    raw_mean: bool = False,
    device: torch.device | str = "cpu",
) -> Teacher:
    """`stick`, `clip[:WHERE]` or a table; `source` is made by the engine, from a trained run."""
    spec = TeacherSpec.parse(spec) if isinstance(spec, str) else spec
    if spec.kind == "stick":
        from vidshift.teachers.stick import StickTeacher

        return StickTeacher(prompts=prompts, raw_mean=raw_mean, device=device)
    if spec.kind == "clip":
        from vidshift.teachers.clip import ClipTeacher

        return ClipTeacher(where=spec.where, prompts=prompts, raw_mean=raw_mean, device=device)
    if spec.kind == "table":
        from vidshift.teachers.lookup import TableTeacher

        return TableTeacher(where=Path(str(spec.where)))
    raise UserError(
        "the teacher `source` is a trained run: `vidshift adapt --teacher source` makes it, source:RUN names one."
    )
