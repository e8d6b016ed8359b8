"""From what was asked on the command line to cells, finished runs and files."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from vidshift.bench.cells import Cell, check, load_plan, parse_row, parse_value, plan_cells, spread, sweep
from vidshift.engine.config import RunConfig
from vidshift.errors import UserError, unknown

# What every run of a comparison has of its own, and the option that says it.
_OF_A_CELL = {
    "source": "--directions",
    "target": "--directions",
    "method": "--row or --methods",
    "reducer": "--row or --reducers",
    "variant": "--variants",
    "seed": "--seeds and --first-seed",
    "data_seed": "--seeds and --first-seed",
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What to compare: a plan's blocks, or rows, or methods x reducers, with sweeps."""

    plan: str | None = None
    blocks: Sequence[str] = ()
    rows: Sequence[str] = ()
    methods: str = ""
    reducers: str = ""
    sweeps: Sequence[str] = ()
    directions: str = "studio:street"
    variants: str = ""
    seeds: int | None = None
    first_seed: int = 0
    settings: Sequence[str] = ()
    against: str = ""
    rounds: int = 0

    def cells(self) -> dict[str, list[Cell]]:
        """Block name -> its cells."""
        if self.seeds is not None and self.seeds < 1:
            raise UserError(f"--seeds {self.seeds} is no number of runs; give 1 or more.", usage=True)
        if self.plan is not None:
            if self.rows or self.methods or self.reducers or self.sweeps:
                raise UserError(
                    "--plan brings its own rows: leave out --row, --methods, --reducers, --sweep.", usage=True
                )
            seeds = None if self.seeds is None else self._seeds()
            found = plan_cells(open_plan(self.plan), seeds=seeds)
            for name in self.blocks:
                if name not in found:
                    raise unknown("block of the plan", name, found)
            return {name: cells for name, cells in found.items() if not self.blocks or name in self.blocks}
        rows = [parse_row(text) for text in self.rows]
        if self.methods or self.reducers:
            rows += self._product()
        for text in self.sweeps:
            name, sign, values = text.partition("=")
            if not sign or not values:
                raise UserError(f"cannot read --sweep {text!r}; accepted: NAME=VALUE,VALUE.", usage=True)
            rows = sweep(rows, name.strip(), [parse_value(value.strip()) for value in values.split(",")])
        cells = spread(
            [check(row) for row in rows],
            directions=[text.strip() for text in self.directions.split(",")],
            variants=self.variants.split() or [""],
            seeds=self._seeds(),
        )
        return {"comparison": cells}

    def _seeds(self) -> list[int]:
        return list(range(self.first_seed, self.first_seed + (self.seeds or 3)))

    def _product(self) -> list[Cell]:
        """Every method with every reducer; one that does not train has no use for a reducer."""
        from vidshift.methods.base import methods

        reducers = self.reducers.split() if ":" in self.reducers else self.reducers.replace(",", " ").split()
        found: dict[Cell, None] = {}
        for method in (self.methods or "joint").replace(",", " ").split():
            trains = bool(methods[method.partition(":")[0]]().stages())
            for reducer in (reducers or ["none"]) if trains else ["none"]:
                found[parse_row(f"{method} {reducer}")] = None
        return list(found)

    def base(self) -> RunConfig:
        """The settings that all runs share."""
        from vidshift.engine.options import split_pairs
        from vidshift.engine.start import set_values

        given, base = split_pairs("--set", self.settings), RunConfig()
        for name, instead in _OF_A_CELL.items():
            if name in given:
                raise UserError(
                    f"--set {name}={given[name]} would be one for all runs; say it by {instead}.", usage=True
                )
        return replace(base, **set_values(given, base))


def open_plan(name: str) -> Mapping[str, Any]:
    """`study` is the plan that ships with the package; anything else is a file."""
    if name == "study":
        with as_file(files("vidshift").joinpath("bench", "study.yaml")) as path:
            return load_plan(path)
    return load_plan(Path(name))


def run(
    asked: Asked,
    *,
    out: Path,
    cache: Path | None = None,
    processes: int | None = None,
    threads: int = 1,
    device: str = "cpu",
    keep_clips: bool = False,
    any_code: bool = False,
    dry_run: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """The whole comparison; returns what `--json` prints."""
    from vidshift.bench.compare import Study, finished, run_study
    from vidshift.engine.console import open_console
    from vidshift.places import cache_folder

    blocks, base = asked.cells(), asked.base()
    cells = list(dict.fromkeys(cell for mine in blocks.values() for cell in mine))
    study = Study(
        folder=out,
        cache=cache_folder(cache),
        base=base,
        processes=processes or os.cpu_count() or 1,
        threads=threads,
        device=device,
        keep_clips=keep_clips or asked.rounds > 0,
        any_code=any_code,
    )
    console = open_console(quiet=quiet)
    if dry_run:
        done, _ = finished(study, cells)
        for cell in cells:
            mark = "done " if cell in done else "to do"
            print(f"{mark}  {cell.direction}  {cell.variant or 'default'}  seed {cell.seed}  {cell.row}")
        return {"cells": len(cells), "finished": len(done)}
    done = run_study(study, cells, console)
    return _finish(study, asked, blocks, {cell: done[cell] for cell in cells}, console)


def _finish(study: Any, asked: Asked, blocks: Mapping[str, Sequence[Cell]], done: Mapping[Cell, Any], console: Any):
    import json
    import shutil

    import torch

    from vidshift.bench.host import Host
    from vidshift.bench.tables import markdown, rows_of
    from vidshift.bench.timed import StepTime, time_rows
    from vidshift.bench.write_up import write_up
    from vidshift.engine.files import write_json

    kept, times, host = study.folder / "timing.json", [], ""
    if asked.rounds:
        torch.set_num_threads(study.threads)
        times = time_rows(study, done, rounds=asked.rounds, console=console)
        host = str(Host.here(torch.device(study.device)))
        write_json(kept, {"host": host, "steps": [asdict(entry) for entry in times]})
        shutil.rmtree(study.folder / "clips", ignore_errors=True)
    elif kept.exists():
        stored = json.loads(kept.read_text(encoding="utf-8"))
        host, times = stored["host"], [StepTime(**entry) for entry in stored["steps"]]
    written = write_up(study.folder, blocks, done, against=asked.against, times=times, host=host)
    for name, cells in blocks.items():
        print(f"## {name}\n\n{markdown(rows_of({cell: done[cell] for cell in cells}), against=asked.against)}\n")
    console.say("written: " + ", ".join(str(path) for path in written))
    return {"runs": len(done), "out": str(study.folder), "files": [path.name for path in written]}
