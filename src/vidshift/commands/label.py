"""`vidshift label`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vidshift.commands.common import Cache, Device, Json, Quiet, Workers, say_json


def label(
    target: Annotated[str, Parameter(help="Videos: a folder, a list, a built-in domain; labels are not needed.")] = (
        "street"
    ),
    /,
    *,
    teacher: Annotated[
        str | None,
        Parameter(
            help="Who guesses: stick (built in), clip, clip:FOLDER-or-HUB-ID, source:RUN, or somebody's table. "
            "Default: stick for a built-in domain, else clip."
        ),
    ] = None,
    gamma: Annotated[float, Parameter(help="Guesses at or below this confidence are marked as not kept.")] = 0.8,
    classes: Annotated[
        str | None, Parameter(help="Names joined by commas, or a classes.json; default: those of the target's folders.")
    ] = None,
    source: Annotated[str | None, Parameter(help="Labelled videos whose classes are meant.")] = None,
    prompt: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            help="Sentence with {class} in it, for a text teacher; several are averaged. Default: 'a video of a person "
            "{class}'.",
            show_default=False,
        ),
    ] = (),
    map: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="OLD=NEW: a class name of the data and what it means.", show_default=False),
    ] = (),
    unlabelled: Annotated[bool, Parameter(negative="", help="The target's folders are no classes.")] = False,
    split: Annotated[
        str | None, Parameter(help="Only this part; default: everything, of a built-in domain train.")
    ] = None,
    variant: Annotated[str, Parameter(help="Of a built-in domain.", show_default=False)] = "",
    frames: Annotated[int, Parameter(help="Frames of each video that the teacher looks at.")] = 16,
    out: Annotated[
        Path | None, Parameter(help="The table (.parquet .csv .tsv); default: a new one under runs/.")
    ] = None,
    cache: Cache = None,
    workers: Workers = None,
    device: Device = "cpu",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Let a teacher guess the classes of TARGET's videos, and write the table that `adapt --teacher` reads.

    The table can be read and corrected by hand. Labels that the videos have are never shown to the teacher; where there
    are any, its guesses are scored against them. The same command goes on where it was stopped.

    Example: `vidshift label ~/street --source ~/warehouse --out labels.csv`
    """
    import os

    from vidshift.data.match import parse_map
    from vidshift.engine.console import open_console
    from vidshift.engine.defaults import default_teacher
    from vidshift.engine.label import Asked, label_data
    from vidshift.engine.label_text import lines
    from vidshift.engine.summary import finite
    from vidshift.places import cache_folder

    console = open_console(quiet=quiet)
    asked = Asked(
        target=target,
        teacher=teacher or default_teacher(target),
        gamma=gamma,
        classes=classes,
        source=source,
        mapping=parse_map(map),
        templates=prompt,
        unlabelled=unlabelled,
        split=split,
        variant=variant,
        frames=frames,
    )
    found = label_data(
        asked, out=out, cache=cache_folder(cache), workers=workers or os.cpu_count() or 1, device=device,
        console=console,
    )  # fmt: skip
    print("\n".join(lines(found)))
    if json:
        say_json(finite(found.as_dict()))
