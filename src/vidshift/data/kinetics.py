"""Kinetics' own annotation files: `label,youtube_id,time_start,time_end,split`, without a column of paths."""

from collections.abc import Iterable, Mapping
from typing import Any

from vidshift.errors import UserError


def is_kinetics(columns: Iterable[str]) -> bool:
    return {"youtube_id", "time_start", "time_end"} <= {str(name).strip().casefold() for name in columns}


def kinetics_row(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The row of a manifest: the path under which the usual downloaders put the clip. The times cut it from an upload;
    the file is the clip already."""
    values = {str(name).strip().casefold(): value for name, value in row.items()}
    try:
        start, end = (int(float(values[name])) for name in ("time_start", "time_end"))
    except (TypeError, ValueError, OverflowError) as error:
        raise UserError(f"{where} has times that are no numbers ({error}); accepted: seconds.") from error
    label, split = values.get("label") or None, values.get("split") or None
    folders = [str(part).strip().replace(" ", "_") for part in (split, label) if part]
    name = f"{values['youtube_id']}_{start:06d}_{end:06d}.mp4"
    return {"path": "/".join([*folders, name]), "label": label, "split": split}
