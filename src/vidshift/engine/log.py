"""`metrics.jsonl`: one line an event, never doubled and never half, and its optional TensorBoard twin."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from vidshift.errors import UserError

# Everything under these keys is a measurement of time and differs from run to run.
TIMING_KEYS = ("seconds", "clips_per_second")


class MetricsLog:
    """Appends to a file that is cut back, on resume, to what the saved state has seen."""

    def __init__(self, path: Path, *, keep_bytes: int = 0, tensorboard: bool = False) -> None:
        self.path = path
        path.touch()
        os.truncate(path, min(keep_bytes, path.stat().st_size))
        self._file = path.open("a")
        self._board = _open_board(path.parent / "tensorboard") if tensorboard else None

    def write(self, kind: str, values: Mapping[str, Any]) -> None:
        self._file.write(json.dumps({"kind": kind, **values}, allow_nan=False) + "\n")
        self._file.flush()
        if self._board is not None and "total_step" in values:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._board.add_scalar(f"{kind}/{name}", value, values["total_step"])

    def sync(self) -> int:
        """On the disk; returns how many bytes there are."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        if self._board is not None:
            self._board.close()


def _open_board(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError(
            "--tensorboard needs the package tensorboard, which is not installed: pip install 'vidshift[tensorboard]'."
        ) from None
    return SummaryWriter(folder)


Item = TypeVar("Item")


def equal_spans(items: Sequence[Item], *, at_most: int) -> Iterator[Sequence[Item]]:
    """So many runs of neighbours at most, all equally long but the last: what a curve is thinned by."""
    span = max(1, -(-len(items) // at_most))
    return (items[first : first + span] for first in range(0, len(items), span))


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics file; a last line cut short by a kill is left out."""
    lines = []
    for line in path.read_text().splitlines():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return lines
