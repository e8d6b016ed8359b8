"""A tiny CLIP folder, shared by the tests of the teachers."""

from pathlib import Path

import pytest
from tinyclip import save_tiny_clip


@pytest.fixture(scope="session")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clip")
    save_tiny_clip(folder)
    return folder
