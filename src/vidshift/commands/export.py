"""`vidshift export`."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from vidshift.commands.common import Json, say_json


def export(
    run: str,
    /,
    *,
    format: Annotated[Literal["torch", "onnx"], Parameter(help="`torch` is an archive of torch.export.")] = "torch",
    out: Annotated[Path | None, Parameter(help="The file to write; default: model.pt2 or model.onnx in RUN.")] = None,
    json: Json = False,
) -> None:
    """Write the model of RUN as one file for programs without VidShift.

    Example: `vidshift export runs/street --format onnx --out street.onnx`

    The file chooses its tokens itself, from the pixels; a threshold is one of its inputs. Before it is kept it is
    loaded again and compared with the model on clips that keep different counts of tokens.
    """
    from vidshift.engine.export import export_run

    written = export_run(run, form=format, out=out)
    print(written)
    if written.threshold is not None:
        print(f"the trained threshold, an input of the file, is {written.threshold:.6g}")
    if json:
        say_json(written.as_dict())
