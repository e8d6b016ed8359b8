"""Which classes a teacher is asked about: of the target's own folders, a class list, or the source's."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vidshift.data.classes import ClassList, read_classes
from vidshift.data.layouts import class_list, read
from vidshift.data.manifest import Manifest
from vidshift.data.match import match, rename
from vidshift.engine.domains import is_built_in
from vidshift.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from vidshift.engine.label import Asked


def in_classes(manifest: Manifest, asked: "Asked", *, cache: Path) -> tuple[Manifest, ClassList]:
    """The target in the classes that are meant, by name; what labels it has are for scoring alone."""
    if asked.source is not None and not is_built_in(asked.source):
        known = class_list(asked.source)
        matched = match(read(asked.source, cache=cache), manifest, mapping=dict(asked.mapping), aliases=known)
        names = matched.source.classes
        notes = (*matched.target.notes, *matched.notes())
        return replace(matched.target, notes=notes), _listed(names, known)
    known = _named(asked)
    if known is None:
        known = ClassList(manifest.classes) if manifest.classes else None
    if known is None or len(known.names) < 2:
        what = "says no class names" if known is None else f"has one class only, {', '.join(known.names)}"
        raise UserError(
            f"{asked.target!r} {what}: name them by --classes walk,run,wave, by --classes classes.json, or by --source "
            "FOLDER with the labelled videos.",
            usage=True,
        )
    renamed, _, lost = rename(manifest, classes=known.names, aliases=known, mapping=asked.mapping)
    if lost:
        shown = "; ".join(f"{name!r}{did_you_mean(name, known.names)}" for name in lost[:8])
        raise UserError(
            f"{asked.target!r} has labels that are none of the classes: {shown}; the classes are "
            f"{', '.join(known.names)}; pass --map '{lost[0]}=CLASS', or --unlabelled if its folders are no classes."
        )
    return renamed, known


def _listed(names: tuple[str, ...], known: ClassList | None) -> ClassList:
    return ClassList(names, known.aliases, known.prompts) if known else ClassList(names)


def _named(asked: "Asked") -> ClassList | None:
    """Classes that were named: by --classes, by a built-in --source, or by a `classes.json` in the target."""
    if asked.source is not None:
        from vidshift.data.stickworld.variant import ACTIONS

        return ClassList(tuple(ACTIONS))
    if asked.classes is None:
        return None if is_built_in(asked.target) else class_list(asked.target)
    path = Path(asked.classes).expanduser()
    if path.is_file():
        return read_classes(path)
    names = tuple(dict.fromkeys(name.strip() for name in asked.classes.split(",") if name.strip()))
    if len(names) < 2:
        raise UserError(
            f"--classes {asked.classes!r} is no class list; accepted: a classes.json, or two names or more joined by "
            "commas, such as walk,run.",
            usage=True,
        )
    return ClassList(names)
