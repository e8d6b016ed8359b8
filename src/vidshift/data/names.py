"""Names of files as ids and labels: always text that can be written anywhere, and unique."""

import os
from collections import Counter
from collections.abc import Sequence

from vidshift.data.tree import split_suffix


def readable(name: str) -> str:
    """A file's name as text; bytes that are no UTF-8 are shown as `\\xe9`, since no table or page could hold them."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return os.fsencode(name).decode("utf-8", errors="backslashreplace")
    return name


def unique_ids(names: Sequence[str]) -> list[str]:
    """Relative paths without their suffix; with it, where two files differ in nothing else."""
    stems = [split_suffix(name)[0] for name in names]
    times = Counter(stems)
    return [readable(stem if times[stem] == 1 else name) for stem, name in zip(stems, names)]
