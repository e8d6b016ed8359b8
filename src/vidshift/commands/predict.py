"""`vidshift predict`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vidshift.commands.common import Device, Quiet, Workers


def predict(
    run: Annotated[str, Parameter(help="A run folder, a model folder, or a hub id.")],
    /,
    *video: Annotated[Path, Parameter(help="Video files, and folders of them.")],
    window: Annotated[
        float | None,
        Parameter(help="Seconds of a window; 0 takes each video whole. Default: 10 for videos above 20 seconds."),
    ] = None,
    hop: Annotated[float | None, Parameter(help="Seconds from window to window; default: one window.")] = None,
    workers: Workers = None,
    device: Device = "cpu",
    quiet: Quiet = False,
) -> int:
    """Label videos with a trained RUN: one JSON line for each file, or for each window of a long one.

    A video that cannot be read gets a line with the reason; the others are labelled, and the exit status is 1.

    Example: `vidshift predict runs/street clip.mp4 folder/ > labels.jsonl`
    """
    import json
    import os

    from vidshift.engine.console import open_console
    from vidshift.engine.predict import Failure, Predictor, check_windows, videos_in
    from vidshift.errors import UserError

    if not video:
        raise UserError("no video is given; name video files or folders behind the run.", usage=True)
    check_windows(window, hop)
    videos = videos_in(video)
    predictor = Predictor.open(run, device=device)
    seen: set[str] = set()
    failed = False
    with open_console(quiet=quiet).task("labelling", len(set(videos))) as task:
        workers = workers or os.cpu_count() or 1
        for found in predictor.predict_many(videos, window=window, hop=hop, workers=workers):
            print(json.dumps(found.as_dict(), ensure_ascii=False), flush=True)
            failed |= isinstance(found, Failure)
            seen.add(found.path)
            task.update(len(seen))
    return 1 if failed else 0
