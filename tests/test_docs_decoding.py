"""The table of statuses in docs/decoding.md is that of the code."""

from pathlib import Path

from vidshift.data.status import STATUSES

PAGE = (Path(__file__).parents[1] / "docs" / "decoding.md").read_text(encoding="utf-8")


def test_the_page_explains_every_status_in_the_words_of_the_code():
    printed = {
        cells[0].strip("`"): (cells[1], cells[2])
        for line in PAGE.splitlines()
        if line.startswith("| `") and len(cells := [cell.strip() for cell in line.strip("| ").split("|")]) == 3
    }
    known = {name: ("yes" if status.usable else "no", status.meaning) for name, status in STATUSES.items()}
    assert {name: printed.get(name) for name in known} == known
