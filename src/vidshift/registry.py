"""Methods, reducers, teachers and datasets are found by a decorator: adding one touches one file."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, cast

from vidshift.errors import unknown

T = TypeVar("T")
C = TypeVar("C", bound=type[Any])


class Registry(Generic[T]):
    """Names to classes, filled by importing every module of one package the first time somebody looks."""

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._entries: dict[str, type[T]] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[C], C]:
        """Class decorator: `@reducers.register("motion")`."""

        def add(entry: C) -> C:
            known = self._entries.get(name)
            if known is not None and known.__qualname__ != entry.__qualname__:
                raise ValueError(f"{self.kind} {name!r} is registered twice: {known!r} and {entry!r}")
            self._entries[name] = cast(type[T], entry)
            return entry

        return add

    def _load(self) -> None:
        if self._loaded:
            return
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self.package}.{module.name}")
        self._loaded = True

    def __getitem__(self, name: str) -> type[T]:
        self._load()
        if name not in self._entries:
            raise unknown(self.kind, name, self._entries)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._entries))

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self)})"
