"""`vidshift predict`."""

from pathlib import Path

from vidshift.commands.common import Device, Quiet, Workers


def predict(run: str, /, *video: Path, workers: Workers = None, device: Device = "cpu", quiet: Quiet = False) -> int:
    """Label videos with a trained RUN: one JSON line for each file, or for each window of a long one.

    Example: `vidshift predict runs/street clip.mp4 folder/ > labels.jsonl`
    """
    import json
    import os

    from vidshift.engine.predict import Predictor, videos_in

    failed = False
    predictor = Predictor.open(run, device=device)
    for found in predictor.predict_many(videos_in(video), workers=workers or os.cpu_count() or 1):
        print(json.dumps(found.as_dict(), ensure_ascii=False), flush=True)
        failed |= not hasattr(found, "label")
    return 1 if failed else 0
