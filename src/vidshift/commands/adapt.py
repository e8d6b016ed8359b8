"""`vidshift adapt`."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from vidshift.commands.common import Cache, Device, Json, Quiet, Workers, say_json
from vidshift.engine.config import RunConfig


def _setting(name: str, text: str, **more: Any) -> Parameter:
    """A setting of the run. Its default lives in RunConfig alone; here None means that it was not given, which is what
    `--resume` needs to know."""
    default = next(entry.default for entry in fields(RunConfig) if entry.name == name)
    shown: Callable[[Any], Any] = lambda _: default  # noqa: E731
    return Parameter(help=text, show_default=shown if default != "" else False, **more)


def adapt(
    source: Annotated[str | None, _setting("source", "Labelled videos: a folder, or a built-in domain.")] = None,
    target: Annotated[str | None, _setting("target", "Videos of the new place; labels are not needed.")] = None,
    /,
    *,
    method: Annotated[str | None, _setting("method", "Training scheme.")] = None,
    method_option: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="NAME=VALUE of the method; repeatable.", show_default=False),
    ] = (),
    reducer: Annotated[str | None, _setting("reducer", "Which tokens are kept.")] = None,
    reducer_option: Annotated[
        tuple[str, ...], Parameter(negative="", help="NAME=VALUE of the reducer, such as keep=0.3.", show_default=False)
    ] = (),
    policy: Annotated[
        Literal["paired", "paper"] | None,
        Parameter(
            help="How `lmft` learns its threshold: from pairs (our own), or as printed in the paper.",
            show_default=lambda _: "paired",
        ),
    ] = None,
    teacher: Annotated[
        str | None,
        _setting(
            "teacher",
            "Who guesses the target's labels: stick, clip, clip:FOLDER-or-HUB-ID, a table file, or source (the source "
            "model, a weak teacher). Default: stick for the built-in domains, else clip.",
        ),
    ] = None,
    prompt: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            help="Sentence with {class} in it for a text teacher; several are averaged.",
            show_default=False,
        ),
    ] = (),
    gamma: Annotated[float | None, _setting("gamma", "Guesses at or below this confidence are not used.")] = None,
    backbone: Annotated[
        str | None,
        _setting(
            "backbone",
            "The network and its pretrained weights. Default: stick for the built-in domains, else "
            "MCG-NJU/videomae-base.",
        ),
    ] = None,
    backbone_option: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="NAME=VALUE of pretrained weights, such as tubelet=1.", show_default=False),
    ] = (),
    variant: Annotated[str | None, _setting("variant", "Of the built-in domains: bias=0.3, handheld ...")] = None,
    frames: Annotated[int | None, _setting("frames", "Frames of a clip.")] = None,
    epochs: Annotated[int | None, _setting("epochs", "Passes over the longer domain.")] = None,
    batch: Annotated[int | None, _setting("batch", "Clips of each domain in a step.")] = None,
    lr: Annotated[float | None, _setting("lr", "Highest learning rate.")] = None,
    seed: Annotated[int | None, _setting("seed", "Everything drawn follows from it.")] = None,
    checkpoint: Annotated[
        Literal["last", "oracle"] | None,
        _setting("checkpoint", "Which weights count; `oracle` looks at target labels, and the report says so."),
    ] = None,
    precision: Annotated[
        Literal["float32", "bfloat16"] | None, _setting("precision", "Arithmetic of the network.")
    ] = None,
    transductive: Annotated[
        bool | None, _setting("transductive", "Test on the target's training clips; marked in the report.", negative="")
    ] = None,
    unlabelled: Annotated[
        bool | None, _setting("unlabelled", "The target's folders are no classes.", negative="")
    ] = None,
    set: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="NAME=VALUE of any other setting in config.yaml.", show_default=False),
    ] = (),
    map: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="OLD=NEW: a class name of the data and what it means.", show_default=False),
    ] = (),
    out: Annotated[Path | None, Parameter(help="Folder of the run; default: a new one under runs/.")] = None,
    resume: Annotated[Path | None, Parameter(help="Go on with the run in this folder.")] = None,
    cache: Cache = None,
    workers: Workers = None,
    device: Device = "cpu",
    threads: Annotated[int | None, Parameter(help="Threads of the arithmetic; default: PyTorch's choice.")] = None,
    yes: Annotated[bool, Parameter(name=("--yes", "-y"), negative="", help="Run however long it takes.")] = False,
    time_limit: Annotated[float, Parameter(help="Minutes above which a new run asks for --yes.")] = 60.0,
    tensorboard: Annotated[bool, Parameter(negative="", help="Write TensorBoard files too.")] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Adapt a model from a labelled SOURCE to an unlabelled TARGET: teach, train, evaluate, report.

    Without arguments it runs on the built-in domains `studio` and `street`, which need no download.

    Example: `vidshift adapt ~/warehouse ~/street --out runs/street --epochs 10`

    A run that was stopped goes on with `vidshift adapt --resume FOLDER`, and ends with the same numbers.
    """
    from vidshift.engine.closing import closing
    from vidshift.engine.report import report_of
    from vidshift.engine.start import start

    names = ("source", "target", "method", "reducer", "teacher", "gamma", "backbone", "variant", "frames", "epochs")
    names += ("batch", "lr", "seed", "checkpoint", "precision", "transductive", "unlabelled")
    here = locals()
    of_reducer = reducer_option if policy is None else (*reducer_option, f"policy={policy}")
    finished = start(
        {name: here[name] for name in names if here[name] is not None},
        pairs={
            "backbone": backbone_option,
            "method": method_option,
            "reducer": of_reducer,
            "set": set,
            "map": map,
            "prompt": prompt,
        },
        out=out,
        resume=resume,
        cache=cache,
        workers=workers,
        device=device,
        threads=threads,
        tensorboard=tensorboard,
        quiet=quiet,
        yes=yes,
        time_limit=time_limit,
    )
    print(closing(finished))
    if report := report_of(finished):
        print(f"Its curves and mistakes on one page: {report}")
    if json:
        say_json({"run": str(finished.place.folder), **finished.summary})
