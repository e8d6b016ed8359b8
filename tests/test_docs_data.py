"""Every layout of docs/data.md, built as it is printed and read: the words are those that VidShift says."""

import re
from pathlib import Path

import pytest
from trees import touch

from vidshift.data.layouts import read

DOC = Path(__file__).parents[1] / "docs" / "data.md"
BLOCK = re.compile(
    r"```(?P<kind>tree|file [^\n]+)\n(?P<body>.*?)```|^Point at `(?P<spec>[^`]+)`\s+> (?P<words>[^\n]+)",
    re.DOTALL | re.M,
)


def examples() -> list[tuple[list[str], dict[str, str], str, str]]:
    """(empty files, files with content, what is pointed at, the words for it); a new tree begins a new example."""
    found: list[tuple[list[str], dict[str, str], str, str]] = []
    tree: list[str] = []
    files: dict[str, str] = {}
    for match in BLOCK.finditer(DOC.read_text(encoding="utf-8")):
        if match["kind"] == "tree":
            tree, files = match["body"].splitlines(), {}
        elif match["kind"]:
            files[match["kind"].removeprefix("file ")] = match["body"]
        else:
            found.append((tree, files, match["spec"], match["words"]))
    return found


def test_the_page_has_an_example_of_each_layout():
    assert len(examples()) == 9


@pytest.mark.parametrize(("tree", "files", "spec", "words"), examples(), ids=lambda value: str(value)[:40])
def test_what_is_printed_is_what_is_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tree: list[str],
    files: dict[str, str],
    spec: str,
    words: str,
):
    touch(tmp_path, tree)
    for name, text in files.items():
        touch(tmp_path, [name])
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    manifest = read(spec)
    assert manifest.origin == words
    assert all(row.usable and row.path.exists() for row in manifest.rows)
