"""Test files may share names across folders (`--import-mode=importlib`); what several of them share lies
in `tests/helpers`. A helper of one folder is imported by its own name too, so helper modules need names that differ."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path[:0] = [str(folder) for folder in sorted(Path(__file__).parent.rglob("*")) if folder.is_dir()]

# No deadline: how long an example takes is the machine's affair, and speed is never asserted here.
settings.register_profile("vidshift", deadline=None)
settings.load_profile("vidshift")
