"""Tiny whole runs, shared by the tests of the engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from nursery import Nursery
from tinyruns import draw_tiny


@pytest.fixture(scope="session")
def tiny_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def tiny_table(tiny_cache: Path) -> Path:
    return draw_tiny(tiny_cache)


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    found = Nursery(tmp_path_factory.mktemp("nursery"))
    yield found
    found.close()
