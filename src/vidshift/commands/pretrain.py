"""`vidshift pretrain`."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from vidshift.commands.common import Cache, Device, Json, Quiet, Workers, say_json


def pretrain(
    *data: Annotated[str, Parameter(help="Unlabelled videos: folders, lists or videos; default: the built-in web.")],
    out: Annotated[Path | None, Parameter(help="New folder for the backbone.")] = None,
    resume: Annotated[Path | None, Parameter(help="Go on in this folder.")] = None,
    backbone: Annotated[
        str | None, Parameter(help="What it begins with: a size such as small or vit-b, or weights. Default: small.")
    ] = None,
    frames: Annotated[int | None, Parameter(help="Frames of a clip; default: 16.")] = None,
    mask: Annotated[float | None, Parameter(help="Share of the patches that is hidden; default: 0.9.")] = None,
    target: Annotated[
        Literal["pixels", "motion"] | None,
        Parameter(help="What is told of the hidden part: its pixels, or how the clip moves. Default: pixels."),
    ] = None,
    epochs: Annotated[int | None, Parameter(help="Passes over the videos; default: 100.")] = None,
    batch: Annotated[int | None, Parameter(help="Clips in a step; default: 32.")] = None,
    lr: Annotated[float | None, Parameter(help="Highest learning rate; default: 0.001.")] = None,
    seed: Annotated[int | None, Parameter(help="Everything drawn follows from it; default: 0.")] = None,
    cache: Cache = None,
    workers: Workers = None,
    device: Device = "cpu",
    threads: Annotated[int | None, Parameter(help="Threads of the arithmetic; default: PyTorch's choice.")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Pretrain a backbone on unlabelled DATA by masked video modelling: most of a clip is hidden, and painted again.

    Any videos will do, and the more the better; labels are never read.

    Example: `vidshift pretrain ~/videos --out runs/mine`, then `vidshift adapt SOURCE TARGET --backbone runs/mine`

    A pretraining that was stopped goes on with `vidshift pretrain --resume FOLDER`, and ends with the same numbers.
    """
    from vidshift.engine.pretrain import pretrain_videos

    asked = {
        "data": data or None,
        "backbone": backbone,
        "frames": frames,
        "mask": mask,
        "target": target,
        "epochs": epochs,
        "batch": batch,
        "lr": lr,
        "seed": seed,
    }
    finished = pretrain_videos(
        {name: value for name, value in asked.items() if value is not None},
        out=out,
        resume=resume,
        cache=cache,
        workers=workers,
        device=device,
        threads=threads,
        quiet=quiet,
    )
    summary = finished.summary
    print(
        f"Pretrained on {summary['clips']} clips in {summary['steps']} steps; the loss fell from "
        f"{summary['loss_first']:.3f} to {summary['loss_last']:.3f} (1 is saying nothing)."
    )
    print(f"The backbone lies in {finished.folder}: use it by")
    print(f"  vidshift adapt SOURCE TARGET --backbone {finished.folder}")
    if json:
        say_json({"backbone": str(finished.folder), **summary})
