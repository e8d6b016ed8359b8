"""`vidshift evaluate`."""

from pathlib import Path

from vidshift.commands.common import Cache, Device, Json, Quiet, Workers


def evaluate(
    run: Path,
    data: str,
    /,
    *,
    strict: bool = False,
    cache: Cache = None,
    workers: Workers = None,
    device: Device = "cpu",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Score a trained RUN on labelled DATA: a built-in domain or a folder.

    Example: `vidshift evaluate runs/street ~/labelled-street`
    """
    from vidshift.errors import UserError

    raise UserError("`vidshift evaluate` is not there yet.")
