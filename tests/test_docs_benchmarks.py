"""The counts printed in docs/benchmarks.md are those that the code checks."""

import re
from pathlib import Path

import pytest

from vidshift.data.benchmarks import actorshift, daily_da, ucf_hmdb

ROWS = {
    re.sub(r"\W+", " ", cells[0]).strip(): tuple(int(cell.replace(",", "")) for cell in cells[1:])
    for line in (Path(__file__).parents[1] / "docs" / "benchmarks.md").read_text(encoding="utf-8").splitlines()
    if (cells := [cell.strip() for cell in line.strip("| ").split("|")]) and cells[-1].replace(",", "").isdigit()
    if all(cells)
}
NAMED = {
    **{
        f"{data} {split}": daily_da.COUNTS[domain, split]
        for domain, data in (("arid", "ARID"), ("mit", "Moments in Time"), ("kinetics", "Kinetics 600"))
        for split in ("train", "test")
    },
    **{f"UCF101 {split}": ucf_hmdb.COUNTS["ucf", split] for split in ("train", "test")},
    **{f"animals {split}": actorshift.COUNTS["animals", split] for split in ("train", "test")},
}


@pytest.mark.parametrize("name", NAMED)
def test_the_page_prints_the_counts_of_the_code(name: str):
    *classes, total = ROWS[name]
    assert tuple(classes) == NAMED[name]
    assert total == sum(NAMED[name])
