"""Trees of empty files for the tests of layouts."""

import os
from collections.abc import Iterable
from pathlib import Path

from hypothesis import strategies as st


def touch(root: Path, names: Iterable[str]) -> Path:
    """Empty files of the given relative names; `x/` is a frame folder with one picture."""
    root.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = root / (name + "img_00001.jpg" if name.endswith("/") else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return root


def file_names(*, unicode: bool = True) -> st.SearchStrategy[str]:
    """Any name that a file may have on this system; without `unicode` also bytes that are no text."""
    text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
    raw = st.binary(min_size=1, max_size=12).map(os.fsdecode)
    nasty = st.sampled_from(
        [
            "-x",
            "a b",
            "  ",
            "ü",
            "e\u0301",
            "(1)",
            "[x]",
            "#",
            "a,b",
            'say "hi"',
            "a\tb",
            "a\nb",
            "a\r",
            "=1",
            "x 5",
            "'",
        ]
    )
    return st.one_of(nasty, text, *(() if unicode else (raw,))).filter(
        lambda name: name not in (".", "..") and not {"/", "\0"} & set(name) and len(os.fsencode(name)) < 100
    )
