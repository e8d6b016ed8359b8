"""Puts what the study found for the default setting into the package.

    python scripts/publish_study.py docs/study/results.jsonl

`vidshift adapt` shows it beside its own numbers, so that one run is not taken for more than it is.
"""

import argparse
import json
from pathlib import Path

from vidshift.bench.compare import read_lines
from vidshift.bench.tables import Row, rows_of

OUT = Path(__file__).parent.parent / "src" / "vidshift" / "assets" / "study.json"
VARIANT = "bias=0.6"
AGAINST = ("joint + none", "source-only")


def numbers(row: Row, others: list[Row]) -> dict[str, object]:
    assert row.accuracy is not None
    against = {}
    for other in others:
        pair = row.minus(other) if other.name != row.name else None
        if pair is not None:
            against[other.name] = {name: round(getattr(pair[0], name), 5) for name in ("mean", "low", "high")}
    return {
        "seeds": len(row.runs),
        "accuracy": round(row.accuracy.mean, 5),
        "spread": round(row.spread, 5),
        "against": against,
    }


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("results", type=Path)
    rows = rows_of({line.cell: line for line in read_lines(made.parse_args().results)})
    rows = [row for row in rows if row.variant == VARIANT and "(" not in row.name and "," not in row.name and row.hits]
    found: dict[str, dict[str, object]] = {}
    for row in rows:
        others = [other for other in rows if other.direction == row.direction and other.name in AGAINST]
        found.setdefault(row.direction, {})[row.name] = numbers(row, others)
    OUT.write_text(json.dumps({"variant": VARIANT, "directions": found}, indent=1) + "\n", encoding="utf-8")
    print(OUT)


if __name__ == "__main__":
    main()
