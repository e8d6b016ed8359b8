"""Which videos are byte for byte the same file under two names."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from vidshift.data.check.findings import Finding
from vidshift.data.manifest import Row
from vidshift.data.status import is_usable


def find_duplicates(rows: Sequence[Row], findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Marks all but the first of equal files. Only files of equal size are read."""
    result = list(findings)
    by_size: dict[int, list[int]] = defaultdict(list)
    for place, finding in enumerate(findings):
        if is_usable(finding.status) and finding.bytes:
            by_size[finding.bytes].append(place)
    for places in by_size.values():
        for first, *others in _equal(rows, places):
            for place in others:
                reason = f"the same file as '{rows[first].path}'"
                if rows[place].label != rows[first].label:
                    reason += f", which is labelled {rows[first].label!r}"
                result[place] = replace(findings[place], status="duplicate", reason=reason)
    return tuple(result)


def _equal(rows: Sequence[Row], places: Iterable[int]) -> list[list[int]]:
    """Groups of places whose files (with their trims) are equal."""
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for place in places:
        row = rows[place]
        groups[(row.start, row.end)].append(place)
    found = []
    for together in groups.values():
        if len(together) < 2:
            continue
        by_content: dict[str, list[int]] = defaultdict(list)
        for place in together:
            digest = content(rows[place].path)
            if digest is not None:
                by_content[digest].append(place)
        found.extend(group for group in by_content.values() if len(group) > 1)
    return found


def content(path: Path) -> str | None:
    """A digest of a file; None where it can no longer be read."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open(path, "rb", opener=_no_waiting) as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError:
        return None
    return digest.hexdigest()


def _no_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # should a pipe have taken its place
