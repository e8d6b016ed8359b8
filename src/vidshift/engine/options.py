"""NAME=VALUE from the command line -> keyword arguments, checked against what a class or a config really takes."""

import inspect
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Union, get_args, get_origin

from vidshift.errors import UserError, did_you_mean


def split_pairs(flag: str, pairs: Iterable[str]) -> dict[str, str]:
    """`keep=0.3` -> {"keep": "0.3"}; dashes in a name count as underscores."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not sign or not name:
            raise UserError(f"{flag} {pair!r} is not NAME=VALUE, such as keep=0.3.", usage=True)
        if name in found:
            raise UserError(f"{flag} sets {name!r} twice, to {found[name]!r} and {value!r}; give it once.", usage=True)
        found[name] = value.strip()
    return found


def read_options(kind: str, name: str, made: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a method or reducer: its constructor's keyword arguments, with text read as their types."""
    accepted = options_of(made)
    found: dict[str, Any] = {}
    for option, value in given.items():
        if option not in accepted:
            listed = ", ".join(f"{key} ({_words(kept)})" for key, kept in sorted(accepted.items())) or "none"
            raise UserError(
                f"{kind} {name!r} has no option {option!r}{did_you_mean(option, accepted)}; accepted: {listed}.",
                usage=True,
            )
        found[option] = read_value(f"{option} of {kind} {name!r}", value, accepted[option])
    return found


def options_of(made: type) -> dict[str, Any]:
    """Name -> type of what a class can be made with."""
    hints = typing.get_type_hints(made.__init__)
    parameters = inspect.signature(made.__init__).parameters.values()
    return {p.name: hints.get(p.name, str) for p in parameters if p.kind is p.KEYWORD_ONLY}


def read_value(what: str, value: Any, wanted: Any) -> Any:
    """Text as a number, a flag, a choice or itself; a value that already has the type stays."""
    for kind in _kinds(wanted):
        if get_origin(kind) is Literal:
            if value in get_args(kind):
                return value
        elif kind is type(None):
            if value is None or value == "none":
                return None
        elif kind is bool:
            if isinstance(value, bool) or value in _FLAGS:
                return value if isinstance(value, bool) else _FLAGS[value]
        elif kind in (int, float):
            number = _number(value, kind)
            if number is not None:
                return number
        elif isinstance(value, kind):
            return value
    raise UserError(f"{what} cannot be {value!r}; accepted: {_words(wanted)}.", usage=True)


_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _number(value: Any, kind: type) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = kind(value)
    except (ValueError, OverflowError):
        return None
    return number if isinstance(value, str) or number == value else None


def _kinds(wanted: Any) -> tuple[Any, ...]:
    return get_args(wanted) if get_origin(wanted) in (Union, types.UnionType) else (wanted,)


def _words(wanted: Any) -> str:
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "none"}
    shown = []
    for kind in _kinds(wanted):
        choices = [str(choice) for choice in get_args(kind)] if get_origin(kind) is Literal else []
        shown.append(names.get(kind) or " or ".join(choices) or getattr(kind, "__name__", str(kind)))
    return " or ".join(shown)
