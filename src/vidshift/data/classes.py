"""The class list: ordered names, with the other names that a class goes by (`classes.json`)."""

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from vidshift.errors import UserError


def fold(name: str) -> str:
    """A class name without what differs between copies: case, underscores, dashes, spaces, brackets, camel case.

    `WalkingWithDog`, `walking_with_dog` and `Walking with dog` are one name.
    """
    text = unicodedata.normalize("NFKC", name)
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return re.sub(r"[\s_\-()\[\].,'’/]+", " ", text).strip().casefold()


@dataclass(frozen=True)
class ClassList:
    """Ordered class names, aliases (other name -> class), and the words that a text teacher uses for a class."""

    names: tuple[str, ...]
    aliases: dict[str, str] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> str | None:
        """The class that a name means: itself, up to `fold`, or an alias."""
        by_fold = {fold(alias): real for alias, real in self.aliases.items()} | {fold(n): n for n in self.names}
        return name if name in self.names else by_fold.get(fold(name))


def read_classes(path: Path) -> ClassList:
    """`classes.json`: a list of names or of objects {"name", "aliases": [...], "prompt"}, or {"classes": that list}."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the class list '{path}': {error}; it should be JSON.") from error
    items = data.get("classes") if isinstance(data, dict) else data
    if not isinstance(items, list) or not items:
        raise UserError(
            f"'{path}' holds no class list; accepted: a JSON list of names, or of objects with name, aliases, prompt."
        )
    names: list[str] = []
    aliases: dict[str, str] = {}
    prompts: dict[str, str] = {}
    for item in items:
        entry = {"name": item} if isinstance(item, str) else item
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise UserError(
                f"'{path}' has the entry {item!r}; accepted: a name, or an object with name, aliases, prompt."
            )
        names.append(entry["name"])
        aliases |= {str(alias): entry["name"] for alias in entry.get("aliases", ())}
        if entry.get("prompt"):
            prompts[entry["name"]] = str(entry["prompt"])
    _refuse_twice(path, names)
    return ClassList(tuple(names), aliases, prompts)


def _refuse_twice(path: Path, names: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(fold(name), name)
        if other is not name:
            raise UserError(f"'{path}' names one class twice, {other!r} and {name!r}; make one an alias of the other.")
