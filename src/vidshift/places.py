"""Where things that can be made again are kept."""

import os
import sys
from pathlib import Path


def cache_folder(chosen: Path | None = None) -> Path:
    """`chosen`, else `vidshift` in the platform's cache folder (XDG_CACHE_HOME where it is set)."""
    if chosen is not None:
        return chosen.expanduser()
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):  # the XDG rules: a relative path is to be ignored
        return Path(named) / "vidshift"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "vidshift"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "vidshift" / "cache"
    return Path.home() / ".cache" / "vidshift"
