"""Test files may share names across folders (`--import-mode=importlib`); what several of them share is imported by its
own name from wherever it lies under `tests/`, so helper modules need names that differ."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path[:0] = [str(folder) for folder in sorted(Path(__file__).parent.rglob("*")) if folder.is_dir()]

# No deadline: how long an example takes is the machine's affair, and speed is never asserted here.
settings.register_profile("vidshift", deadline=None)
settings.load_profile("vidshift")
