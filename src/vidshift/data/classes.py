"""The class list: ordered names, with the other names that a class goes by (`classes.json`)."""

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from vidshift.errors import UserError, did_you_mean

CLASS_LIST = "classes.json"


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


def read_classes(path: Path, *, distinct: bool = True) -> ClassList:
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
    if distinct:
        _refuse_twice(path, names)
    return ClassList(tuple(names), aliases, prompts)


def _refuse_twice(path: Path, names: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(fold(name), name)
        if other is not name:
            raise UserError(f"'{path}' names one class twice, {other!r} and {name!r}; make one an alias of the other.")


def classes_beside(path: Path) -> ClassList | None:
    """The class list of some data: `classes.json` in its folder, or for a file FILE.classes.json or the folder's."""
    if not path.is_dir() and (own := own_class_list(path)).is_file():
        return read_classes(own, distinct=False)  # written by us: it must come back whatever the names are
    general = (path if path.is_dir() else path.parent) / CLASS_LIST
    return read_classes(general) if general.is_file() else None


def own_class_list(path: Path) -> Path:
    """Where the class list of one list or manifest lies, since most formats have no place for it."""
    return path.with_name(f"{path.name}.{CLASS_LIST}")


def name_labels(labels: Iterable[str], known: ClassList | None, where: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """Labels as they stand in a file -> class names, and all the names in their order.

    Without a class list a label is its own name, in the order of numbers or letters. With one it is a name, an alias,
    or an index: from 1 where the labels run from 1 to the number of classes, else from 0.
    """
    used = sorted(set(labels), key=_by_number)
    if known is None:
        return {label: label for label in used}, tuple(used)
    numbers = [int(label) for label in used if label.isascii() and label.isdigit()]
    first = 1 if numbers and min(numbers) == 1 and max(numbers) == len(known.names) else 0
    named: dict[str, str] = {}
    for label in used:
        name = known.find(label)
        if name is None and label.isascii() and label.isdigit() and first <= int(label) < first + len(known.names):
            name = known.names[int(label) - first]
        if name is None:
            raise UserError(
                f"'{where}' has the label {label!r}, which is not in its class list{did_you_mean(label, known.names)}; "
                f"add it to {CLASS_LIST} beside it; listed are {', '.join(known.names)}."
            )
        named[label] = name
    return named, known.names


def _by_number(label: str) -> tuple[int, int, str]:
    number = label.isascii() and label.isdigit()
    return (0, int(label), label) if number else (1, 0, label)
