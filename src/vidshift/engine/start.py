"""From what a person asked for to a run: settings read, checked and compared before anything is written."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import torch

from vidshift.data.layouts import absolute_spec
from vidshift.data.match import parse_map
from vidshift.engine.adapt import Adapt, Finished
from vidshift.engine.backbone import BUILT_IN
from vidshift.engine.config import RunConfig, load_config
from vidshift.engine.console import open_console
from vidshift.engine.defaults import default_backbone, with_defaults
from vidshift.engine.domains import is_built_in
from vidshift.engine.files import is_leftover
from vidshift.engine.limit import Limit
from vidshift.engine.options import read_options, read_value, split_pairs
from vidshift.engine.prepare import Place
from vidshift.engine.teach import prompts_of
from vidshift.errors import UserError, did_you_mean
from vidshift.methods.base import methods
from vidshift.models.config import PRESETS
from vidshift.models.weights import WeightsOptions
from vidshift.places import cache_folder
from vidshift.teachers.base import TeacherSpec
from vidshift.tokens.base import reducers

# What has a flag of its own or is written by us is not for `--set`.
NESTED = ("sizes", "class_map", "method_options", "reducer_options", "teacher_options", "backbone_options")


def start(
    given: Mapping[str, Any],
    *,
    pairs: Mapping[str, Iterable[str]],
    out: Path | None = None,
    resume: Path | None = None,
    cache: Path | None = None,
    workers: int | None = None,
    device: str = "cpu",
    threads: int | None = None,
    tensorboard: bool = False,
    quiet: bool = False,
    yes: bool = False,
    time_limit: float = 60.0,
) -> Finished:
    """Run or go on with a run. `given` holds only the settings that were asked for; `pairs` the NAME=VALUE ones.

    A new run that would take longer than `time_limit` minutes needs `yes`, from here or from a person.
    """
    if out is not None and resume is not None:
        raise UserError("--out and --resume name two folders; give --resume alone to go on with a run.", usage=True)
    for name, count in (("threads", threads), ("workers", workers)):
        if count is not None and count < 1:
            raise UserError(f"--{name} cannot be {count}; accepted: 1 or more.", usage=True)
    if threads is not None:
        torch.set_num_threads(threads)
    if resume is not None:
        config, folder = _resumed(resume.expanduser(), given, pairs), resume.expanduser()
    else:
        config = read_settings(given, pairs)
        folder = free_folder(config) if out is None else out.expanduser()
        refuse_used(folder)
    place = Place(
        folder=folder,
        cache=cache_folder(cache),
        workers=workers or os.cpu_count() or 1,
        device=device,
        tensorboard=tensorboard,
    )
    console = open_console(quiet=quiet)
    return Adapt(config, place, console, agree=Limit(time_limit, yes=yes, console=console)).run()


def read_settings(
    given: Mapping[str, Any], pairs: Mapping[str, Iterable[str]], base: RunConfig | None = None
) -> RunConfig:
    """The settings of a run: `base` (by default the defaults) with everything that was asked for."""
    base = base or RunConfig()
    changes = {**given, **set_values(split_pairs("--set", pairs.get("set", ())), base)}
    method = changes.get("method", base.method)
    reducer = changes.get("reducer", base.reducer)
    of_backbone = split_pairs("--backbone-option", pairs.get("backbone", ()))
    of_method = split_pairs("--method-option", pairs.get("method", ()))
    of_reducer = split_pairs("--reducer-option", pairs.get("reducer", ()))
    ends = changes.get("source", base.source), changes.get("target", base.target)
    backbone = changes.get("backbone", base.backbone) or default_backbone(*ends)
    kept = base.backbone_options if backbone == base.backbone else {}
    changes["backbone_options"] = {**kept, **read_options("backbone", backbone, WeightsOptions, of_backbone)}
    kept = base.method_options if method == base.method else {}
    changes["method_options"] = {**kept, **read_options("method", method, methods[method], of_method)}
    kept = base.reducer_options if reducer == base.reducer else {}
    changes["reducer_options"] = {**kept, **read_options("reducer", reducer, reducers[reducer], of_reducer)}
    if templates := tuple(pairs.get("prompt", ())):
        changes["teacher_options"] = {"templates": list(prompts_of(templates).templates)}
    if of_map := tuple(pairs.get("map", ())):
        changes["class_map"] = parse_map(of_map)
    return settled(replace(base, **changes))


def settled(config: RunConfig) -> RunConfig:
    """Everything by name, and paths made absolute, so that a run can be resumed from anywhere."""
    config = with_defaults(config)
    ends = {"source": config.source, "target": config.target}
    changes = {name: absolute_spec(spec) for name, spec in ends.items() if not is_built_in(spec)}
    if config.backbone != BUILT_IN and config.backbone not in PRESETS:
        changes["backbone"] = _absolute(config.backbone)
    teacher = TeacherSpec.parse(config.teacher)
    if teacher.where is not None:
        changes["teacher"] = str(TeacherSpec(teacher.kind, _absolute(teacher.where)))
    return replace(config, **changes)


def _absolute(text: str) -> str:
    path = Path(text).expanduser()
    return str(path.absolute()) if text and path.exists() else text


def set_values(texts: Mapping[str, str], base: RunConfig) -> dict[str, Any]:
    """`--set weight_decay=0.1 --set sizes.train=64`."""
    hints = get_type_hints(RunConfig)
    plain = [entry.name for entry in fields(RunConfig) if entry.name not in NESTED]
    accepted = [*plain, "sizes.train", "sizes.val", "sizes.test"]
    changes: dict[str, Any] = {}
    for name, text in texts.items():
        if name not in accepted:
            raise UserError(
                f"--set knows no setting {name!r}{did_you_mean(name, accepted)}; accepted: {', '.join(accepted)}.",
                usage=True,
            )
        if name.startswith("sizes."):
            sizes = changes.setdefault("sizes", dict(base.sizes))
            sizes[name.removeprefix("sizes.")] = read_value(name, text, int)
        else:
            changes[name] = read_value(name, text, hints[name])
    return changes


def _resumed(folder: Path, given: Mapping[str, Any], pairs: Mapping[str, Iterable[str]]) -> RunConfig:
    """The run's own settings; asking for others is refused, since half a run with each is neither."""
    if not folder.is_dir():
        raise UserError(f"there is no run folder '{folder}' to resume; start one with --out {folder}.", usage=True)
    saved = load_config(folder / "config.yaml")
    refuse_changes(folder, asdict(saved), asdict(read_settings(given, pairs, saved)))
    return saved


def refuse_changes(folder: Path, saved: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Half a run with one setting and half with another is neither."""
    for name, value in saved.items():
        if asked[name] != value:
            raise UserError(
                f"'{folder}' was started with {name} {value!r}, not {asked[name]!r}: leave that out to go on with it, "
                "or start another run with --out.",
                usage=True,
            )


def refuse_used(folder: Path) -> None:
    """A folder that holds anything is never written over. What a run killed at its first breath has left is nothing."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"'{folder}' is a file; give --out another folder.", usage=True)
    if not folder.is_dir() or all(is_leftover(path) for path in folder.iterdir()):
        return
    go_on = f"go on with it by --resume {folder}, or " if (folder / "config.yaml").exists() else ""
    raise UserError(f"the folder '{folder}' is not empty: {go_on}give --out another folder.", usage=True)


def free_folder(config: RunConfig) -> Path:
    """`runs/studio-street-joint-lmft`, with a number behind it where that is taken."""
    ends = [Path(spec).name or "data" for spec in (config.source, config.target)]
    name = "-".join([*ends, config.method, config.reducer]).replace(" ", "_")
    for number in range(1, 10_000):
        folder = Path("runs") / (name if number == 1 else f"{name}-{number}")
        if not folder.exists():
            return folder
    raise UserError(f"there are too many runs named {name!r} under runs/; give --out a folder.")
