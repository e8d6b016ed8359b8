"""Teacher tables of a known quality for the built-in target: what would training gain from other guesses?

    python scripts/teacher_tables.py RUN/teacher.parquet ... --out runs/teachers
    vidshift compare --row "joint none" --row "joint none teacher=runs/teachers/right.csv" ...

Given the tables of finished runs, it writes, about as many clips as each keeps:

- `right.csv`: the very clips that are kept, each with its true action;
- `only-right.csv`: those of them that the teacher is right about, and no others;
- `balanced.csv`: clips of all actions alike, with their true actions;
- `balanced-as-wrong.csv`: the same clips with as many mistakes as the kept guesses have.

They look at the target's labels, so they explain results and choose nothing.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from vidshift.data.stickworld.numbered import Series
from vidshift.data.stickworld.variant import ACTIONS
from vidshift.teachers.base import Card
from vidshift.teachers.table import TeacherTable
from vidshift.teachers.table_file import read_table, write_table


def truth_of(name: str) -> str:
    """The action of a built-in clip, from its id."""
    domain, split, seed, number = name.split("-")
    return ACTIONS[Series(domain=domain, split=split, seed=int(seed)).action(int(number))]


def certain(rows: list[tuple[str, str]], what: str) -> TeacherTable:
    return TeacherTable(
        ids=tuple(name for name, _ in rows),
        labels=tuple(label for _, label in rows),
        confidence_N=np.ones(len(rows), np.float32),
        classes=ACTIONS,
        card=Card(teacher=what),
    )


def joined(tables: list[TeacherTable]) -> TeacherTable:
    return replace(
        tables[0],
        ids=tuple(name for table in tables for name in table.ids),
        labels=tuple(label for table in tables for label in table.labels),
        confidence_N=np.concatenate([table.confidence_N for table in tables]),
    )


def tables_for(path: Path, rng: np.random.Generator) -> dict[str, TeacherTable]:
    """The four tables that go with one teacher's."""
    table = read_table(path)
    truth = {name: truth_of(name) for name in table.ids}
    used_N = np.zeros(len(table), np.bool_) if table.kept_N is None else table.kept_N
    kept = [(name, label) for name, label, used in zip(table.ids, table.labels, used_N, strict=True) if used]
    if not kept:
        raise SystemExit(f"{path} keeps no guess: give the teacher.parquet of a run that trained on some.")
    wrong = sum(label != truth[name] for name, label in kept)
    each = round(len(kept) / len(ACTIONS))
    chosen = [
        (str(name), action)
        for action in ACTIONS
        for name in rng.permutation([name for name in table.ids if truth[name] == action])[:each]
    ]
    mistaken = list(chosen)
    for place in rng.permutation(len(chosen))[: round(wrong * len(chosen) / len(kept))]:
        name, action = chosen[place]
        mistaken[place] = name, str(rng.choice([other for other in ACTIONS if other != action]))
    print(f"{path}: {len(kept)} kept, {wrong} of them wrong; {each} of each action")
    return {
        "right": certain([(name, truth[name]) for name, _ in kept], "the truth about the kept clips"),
        "only-right": certain(
            [(n, label) for n, label in kept if label == truth[n]], "the kept guesses that are right"
        ),
        "balanced": certain(chosen, "the truth about clips of all actions"),
        "balanced-as-wrong": certain(mistaken, "clips of all actions, as often wrong as the teacher"),
    }


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("tables", type=Path, nargs="+", help="teacher.parquet of runs with clips of different seeds")
    made.add_argument("--out", type=Path, default=Path("runs/teachers"))
    options = made.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found = [tables_for(path, np.random.default_rng([0, number])) for number, path in enumerate(options.tables)]
    for name in found[0]:
        write_table(joined([tables[name] for tables in found]), options.out / f"{name}.csv")


if __name__ == "__main__":
    main()
