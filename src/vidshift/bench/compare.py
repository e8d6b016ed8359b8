"""Cells -> finished runs: several single-thread processes, one JSON line a run, resumable at any moment.

Cells that share their clips (a group: one variant, one seed) are prepared once: drawn, decoded and labelled by the
teacher. The results file is only appended to, and a run that was killed goes on from its own saved state.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from vidshift.bench.cells import Cell, code_version
from vidshift.bench.host import Host
from vidshift.engine.config import RunConfig
from vidshift.engine.console import Console
from vidshift.engine.log import equal_spans, read_metrics
from vidshift.errors import UserError

RESULTS = "results.jsonl"
# What of a run's summary goes into its line; the rest follows from the configuration.
_KEPT = ("steps", "threshold", "kept_ratio", "target", "source_validation", "teacher", "flops_per_clip", "warnings")
_CURVE_POINTS = 40


@dataclass(frozen=True, kw_only=True)
class Study:
    """Where a comparison happens and on what terms."""

    folder: Path
    cache: Path
    base: RunConfig = field(default_factory=RunConfig)
    processes: int = 2
    threads: int = 1
    device: str = "cpu"
    keep_clips: bool = False
    any_code: bool = False

    def key(self, cell: Cell) -> str:
        return cell.key(base=self.base, code="" if self.device == "cpu" else self.device)

    @property
    def results(self) -> Path:
        return self.folder / RESULTS

    def clips_of(self, group: tuple[str, int]) -> Path:
        variant, seed = group
        return self.folder / "clips" / f"{variant.replace(',', '+') or 'default'}-{seed}"


@dataclass(frozen=True)
class Line:
    """One finished run: what was asked, and what came of it."""

    cell: Cell
    values: Mapping[str, Any]

    @property
    def accuracy(self) -> float | None:
        return self.values["target"]["accuracy"]

    def as_json(self) -> str:
        return json.dumps({"cell": asdict(self.cell), **self.values}, allow_nan=False)

    @staticmethod
    def parse(text: str) -> "Line":
        values = json.loads(text)
        cell = values.pop("cell")
        for name in ("method_options", "reducer_options", "settings"):
            cell[name] = tuple((key, value) for key, value in cell[name])
        return Line(Cell(**cell), values)


def read_lines(path: Path) -> list[Line]:
    """The finished runs of a results file; a last line cut short by a kill is left out."""
    if not path.exists():
        return []
    found = []
    for text in path.read_text(encoding="utf-8").split("\n")[:-1]:
        try:
            found.append(Line.parse(text))
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise UserError(
                f"{path} holds a line that is no finished run ({type(error).__name__}); take it out."
            ) from None
    return found


class _Results:
    """Appends lines so that each is whole: the file is first cut back to its last newline."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(path, whole)

    def add(self, line: Line) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line.as_json() + "\n")
            file.flush()
            os.fsync(file.fileno())


def finished(study: Study, cells: Iterable[Cell]) -> tuple[dict[Cell, Line], int]:
    """The cells that need not run again, and how many lines were made by another version of the code."""
    by_key: dict[tuple[str, str], Line] = {}
    latest: dict[str, Line] = {}
    for line in read_lines(study.results):
        by_key[line.values["key"], line.values["code"]] = line
        latest[line.values["key"]] = line
    code, done, stale = code_version(), {}, 0
    for cell in cells:
        key = study.key(cell)
        line = by_key.get((key, code))
        if line is None and key in latest:
            stale += 1
            line = latest[key] if study.any_code else None
        if line is not None:
            done[cell] = line
    return done, stale


def run_study(study: Study, cells: Sequence[Cell], console: Console) -> dict[Cell, Line]:
    """Runs what is left of the cells; every finished run is on the disk before the next one is looked at."""
    _check_matches(cells)
    done, stale = finished(study, cells)
    if stale:
        used = "are used as they are" if study.any_code else "are run again (--any-code uses them)"
        console.say(f"{stale} finished runs were made by another version of the code and {used}.")
    left = [cell for cell in cells if cell not in done]
    if done:
        console.say(f"{len(done)} of {len(cells)} runs are finished already in {study.results}.")
    if not left:
        return done
    results = _Results(study.results)
    with console.task("comparing", len(cells)) as task:
        task.update(len(done))
        scheduler = _Scheduler(study, left, done)
        for line in scheduler.run():
            results.add(line)
            done[line.cell] = line
            accuracy = "no labels" if line.accuracy is None else f"{line.accuracy:.1%}"
            task.update(len(done), f"{line.cell.direction} {line.cell.row} seed {line.cell.seed}: {accuracy}")
    if scheduler.failures:
        raise UserError(
            f"{len(scheduler.failures)} of {len(cells)} runs failed (the others are kept): {scheduler.failures[0]}"
        )
    shutil.rmtree(study.folder / "runs", ignore_errors=True)
    return done


@dataclass
class _Group:
    """Cells that share clips, by what has become of them."""

    waiting: list[Cell]
    running: int = 0
    prepared: bool = False

    @property
    def finished(self) -> bool:
        return self.prepared and not self.waiting and not self.running


class _Scheduler:
    """Keeps every process busy: group after group, several at once where one has too few cells."""

    def __init__(self, study: Study, left: Sequence[Cell], done: Mapping[Cell, Line]) -> None:
        self.study, self.done = study, done
        self.closed: dict[tuple[str, int], list[Cell]] = {}
        for cell in left:
            self.closed.setdefault(cell.group, []).append(cell)
        self.open: dict[tuple[str, int], _Group] = {}
        self.futures: dict[Future[Any], tuple[tuple[str, int], Cell | None]] = {}
        self.failures: list[str] = []

    def run(self) -> Iterator[Line]:
        context = get_context("spawn")
        pool = ProcessPoolExecutor(
            self.study.processes, mp_context=context, initializer=_start, initargs=(self.study.threads,)
        )
        try:
            while self._submit(pool):
                ready, _ = wait(self.futures, return_when=FIRST_COMPLETED)
                for future in ready:
                    yield from self._collect(future)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list((pool._processes or {}).values()):  # the pool itself would wait for running calls
                process.terminate()
            raise
        pool.shutdown()

    def _submit(self, pool: ProcessPoolExecutor) -> bool:
        """Hands out what can start; False once nothing runs and nothing is left."""
        busy = sum(len(group.waiting) + group.running for group in self.open.values())
        while self.closed and (not self.open or busy < 2 * self.study.processes):
            name, cells = next(iter(self.closed.items()))
            del self.closed[name]
            self.open[name] = _Group(list(cells))
            self.futures[pool.submit(_prepare, self.study, cells)] = name, None
            busy += len(cells)
        for name, group in self.open.items():
            if not group.prepared:
                continue
            for cell in [cell for cell in group.waiting if not cell.match or _matched(cell, self.done)]:
                group.waiting.remove(cell)
                group.running += 1
                keep = matched_keep(self.study, cell, self.done) if cell.match else None
                self.futures[pool.submit(_run_cell, self.study, cell, keep)] = name, cell
            if group.waiting and not group.running:
                self._fail(group.waiting, "the row that it is matched to did not finish")
                group.waiting.clear()
        for name in [name for name, group in self.open.items() if group.finished]:
            del self.open[name]
            if not self.study.keep_clips:
                shutil.rmtree(self.study.clips_of(name), ignore_errors=True)
        return bool(self.futures) or bool(self.closed)

    def _collect(self, future: Future[Any]) -> Iterator[Line]:
        name, cell = self.futures.pop(future)
        group = self.open[name]
        try:
            result = future.result()
        except UserError as error:
            if cell is None:
                self._fail(group.waiting, str(error))
                group.waiting.clear()
                group.prepared = True
            else:
                group.running -= 1
                self._fail([cell], str(error))
            return
        if cell is None:
            group.prepared = True
        else:
            group.running -= 1
            yield result

    def _fail(self, cells: Iterable[Cell], reason: str) -> None:
        self.failures += [f"{cell.direction} {cell.row} seed {cell.seed}: {reason}" for cell in cells]


def _matched(cell: Cell, done: Mapping[Cell, Line]) -> Line | None:
    place = (cell.source, cell.target, cell.variant, cell.seed)
    for other, line in done.items():
        if (other.source, other.target, other.variant, other.seed) == place and _same_row(other.row, cell.match):
            return line
    return None


def _check_matches(cells: Sequence[Cell]) -> None:
    rows = {cell.row for cell in cells}
    for cell in cells:
        if cell.match and not any(_same_row(row, cell.match) for row in rows):
            raise UserError(
                f"{cell.row!r} is matched to {cell.match!r}, which is not compared; add that row.", usage=True
            )


def _same_row(row: str, named: str) -> bool:
    return row.replace(" ", "") == named.replace(" ", "")


def matched_keep(study: Study, cell: Cell, done: Mapping[Cell, Line]) -> float:
    """The fixed share of tokens whose true FLOPs equal the matched run's mean over the target's test clips."""
    from vidshift.engine.backbone import open_backbone
    from vidshift.engine.defaults import with_defaults
    from vidshift.models.flops import clip_flops

    line = _matched(cell, done)
    assert line is not None, "a matched cell starts after the row that it is matched to"
    wanted = line.values["flops_per_clip"]["true"]
    backbone = with_defaults(cell.config(base=study.base)).backbone
    vit = open_backbone(backbone, frames=dict(cell.settings).get("frames", study.base.frames)).config
    tokens = vit.geometry.tokens
    count = min(range(1, tokens + 1), key=lambda n: abs(clip_flops(vit, [n]).true - wanted))
    return count / tokens


def _start(threads: int) -> None:
    import signal

    import torch

    # Ctrl-C goes to the whole process group; the parent decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(threads)


def _place(study: Study, cell: Cell) -> Any:
    from vidshift.engine.prepare import Place

    return Place(
        folder=study.folder / "runs" / study.key(cell),
        cache=study.cache,
        clip_cache=study.clips_of(cell.group),
        workers=1,
        device=study.device,
        cache_limit_bytes=64 * 2**30,
    )


def _prepare(study: Study, cells: Sequence[Cell]) -> None:
    """Draws, decodes and teaches what the cells of a group share."""
    from vidshift.engine.adapt import Adapt
    from vidshift.engine.console import Quiet

    seen = set()
    for cell in cells:
        config = cell.config(base=study.base)
        needs = (config.source, config.target, config.frames, config.backbone, config.teacher)
        if needs not in seen:
            seen.add(needs)
            Adapt(config, _place(study, cell), Quiet()).prepare()


def _run_cell(study: Study, cell: Cell, keep: float | None) -> Line:
    import torch

    from vidshift.bench.statistics import pack_hits
    from vidshift.engine.adapt import Adapt
    from vidshift.engine.console import Quiet

    config = cell.config(base=study.base)
    if keep is not None:
        config = replace(config, reducer_options={**config.reducer_options, "keep": keep})
    place = _place(study, cell)
    result = Adapt(config, place, Quiet()).run()
    values: dict[str, Any] = {
        "key": study.key(cell),
        "code": code_version(),
        "row": cell.row,
        **({"keep": keep} if keep is not None else {}),
        **{name: result.summary[name] for name in _KEPT},
        "hits": None if result.hits_N is None else pack_hits(result.hits_N.numpy()),
        "curve": _curve(read_metrics(place.folder / "metrics.jsonl")),
        "seconds": result.summary["seconds"],
        "host": str(Host.here(torch.device(study.device))),
    }
    shutil.rmtree(place.folder)
    return Line(cell, values)


def _curve(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Threshold, kept ratio, loss and reward over training, thinned: means over equal spans of steps."""
    steps = [line for line in lines if line["kind"] == "step"]
    points = []
    for part in equal_spans(steps, at_most=_CURVE_POINTS):
        point: dict[str, float] = {"step": part[-1]["total_step"]}
        for name in ("loss", "threshold", "kept_source", "kept_target", "loss_term", "kept_term", "mu", "log_sigma"):
            found = [line[name] for line in part if name in line]
            if found:
                point[name] = round(sum(found) / len(found), 5)
        points.append(point)
    return points
