"""`stick`: the built-in image-text teacher, trained on captioned `web` frames (docs/teachers.md)."""

from importlib.resources import as_file, files
from pathlib import Path

import torch

from vidshift.errors import UserError
from vidshift.teachers.base import teachers
from vidshift.teachers.clip import ClipTeacher
from vidshift.teachers.prompts import Prompts


def asset(name: str) -> Path:
    """A folder that ships inside the package."""
    with as_file(files("vidshift").joinpath("assets", name)) as folder:
        if not folder.is_dir():
            raise UserError(f"{name} is missing from this installation of vidshift; install it again.")
        return folder


class StickTeacher(ClipTeacher):
    """A CLIP model like any other, only small; it goes through the very code that CLIP goes through."""

    def __init__(
        self,
        *,
        prompts: Prompts | None = None,
        raw_mean: bool = False,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(
            where=str(asset("stick-teacher")), prompts=prompts, raw_mean=raw_mean, device=device, name="stick"
        )


teachers.register("stick")(StickTeacher)
