"""A trained model on anybody's videos: files, folders, and long videos by windows."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vidshift.data.augment import to_tchw
from vidshift.data.clips import ClipShape, decode_grid
from vidshift.data.container import VIDEO_SUFFIXES, DecodeError
from vidshift.data.frames import is_frame_folder
from vidshift.data.loader import GRID, pick_frames
from vidshift.data.manifest import Row
from vidshift.data.reading import CHUNK, FILE_SECONDS, Part, Wanted, read_clips, read_seconds
from vidshift.data.sampling import windows
from vidshift.data.tree import scan
from vidshift.data.view import View
from vidshift.engine.model import open_model
from vidshift.engine.step import Network
from vidshift.errors import UserError
from vidshift.tokens.seeds import clip_seeds

# A longer video is cut into windows unless its whole length is asked for: one clip of 16 frames says little of it.
LONG_SECONDS = 20.0
WINDOW_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What the model says of one video, or of one window of it."""

    path: str
    label: str
    confidence: float
    probabilities: Mapping[str, float]
    kept_ratio: float | None
    start: float | None = None
    end: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def __repr__(self) -> str:
        part = "" if self.start is None else f" {self.start:g}-{self.end:g} s"
        return f"Guess({self.path}{part}: {self.label} {self.confidence:.2f})"


@dataclass(frozen=True)
class Failure:
    """A video that cannot be read, and why."""

    path: str
    error: str

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


class Predictor:
    """`Predictor.open(run).predict("clip.mp4")`."""

    def __init__(self, network: Network, classes: Sequence[str], shape: ClipShape) -> None:
        self.network = network.eval()
        self.classes = tuple(classes)
        self.shape = shape

    @classmethod
    def open(cls, run: Path | str, *, device: str = "cpu") -> "Predictor":
        """A run folder, a model folder, or a hub id."""
        opened = open_model(run, device=device)
        return cls(opened.network, opened.classes, opened.shape)

    def predict(self, path: Path | str) -> Guess:
        """The label of one whole video."""
        row = Row(id=str(path), path=Path(path))
        return self._guess([row], [self._clip(row)])[0]

    def predict_many(
        self,
        paths: Iterable[Path | str],
        *,
        window: float | None = None,
        hop: float | None = None,
        batch: int = 8,
        workers: int = 1,
        timeout: float = FILE_SECONDS,
    ) -> Iterator[Guess | Failure]:
        """Guesses in order; a video that cannot be read gives a Failure and the rest goes on.

        `window` seconds (every `hop`) cut a video into parts; 0 takes it whole, None decides by its length. Decoding
        is done by `workers` processes, so that a file on which a decoder hangs or dies costs itself alone.
        """
        waiting = iter(paths)
        while chunk := [Path(path) for path in islice(waiting, CHUNK)]:
            entries = self._entries(chunk, window=window, hop=hop, workers=workers, timeout=timeout)
            yield from self._answers(entries, batch=batch, workers=workers, timeout=timeout)

    def _entries(
        self, paths: Sequence[Path], *, window: float | None, hop: float | None, workers: int, timeout: float
    ) -> list[Row | Failure]:
        """The parts of each video to look at, or why it cannot be opened."""
        if window == 0:
            return [Row(id=str(path), path=path) for path in paths]
        entries: list[Row | Failure] = []
        lengths = read_seconds((Part(path) for path in paths), workers=workers, timeout=timeout)
        for path, seconds in zip(paths, lengths, strict=True):
            if isinstance(seconds, DecodeError):
                entries.append(Failure(str(path), str(seconds)))
            else:
                entries.extend(parts_of(path, seconds, window=window, hop=hop))
        return entries

    def _answers(
        self, entries: Sequence[Row | Failure], *, batch: int, workers: int, timeout: float
    ) -> Iterator[Guess | Failure]:
        clips = read_clips(
            (self._wanted(entry) for entry in entries if isinstance(entry, Row)), workers=workers, timeout=timeout
        )
        rows: list[Row] = []
        ready: list[np.ndarray] = []
        failed: set[str] = set()
        for entry in entries:
            found = next(clips) if isinstance(entry, Row) else entry
            if isinstance(found, np.ndarray) and isinstance(entry, Row):
                rows.append(entry)
                ready.append(found)
                if len(rows) < batch:
                    continue
            yield from self._guess(rows, ready)
            rows, ready = [], []
            failure = Failure(str(entry.path), str(found)) if isinstance(found, DecodeError) else found
            if isinstance(failure, Failure) and failure.path not in failed:  # once for all windows of a video
                failed.add(failure.path)
                yield failure
        yield from self._guess(rows, ready)

    def _wanted(self, row: Row) -> Wanted:
        shape = self.shape
        return Wanted(
            path=row.path,
            start=row.start,
            end=row.end,
            frames=GRID * shape.frames,
            size=(shape.height, shape.width),
            resize=shape.resize,
            pick=tuple(pick_frames(shape.frames, None).tolist()),
        )

    def _clip(self, row: Row) -> np.ndarray:
        return decode_grid(row, self.shape)[pick_frames(self.shape.frames, None)]

    def _guess(self, rows: Sequence[Row], clips: Sequence[np.ndarray]) -> list[Guess]:
        if not rows:
            return []
        device = next(self.network.parameters()).device
        view = View(torch.stack([to_tchw(clip) for clip in clips]), tuple(row.id for row in rows)).to(device)
        probs_BK, observed = self.network.predict(view, clip_seeds(view.ids, run=0))
        tokens = self.network.net.geometry.tokens
        guesses = []
        for place, row in enumerate(rows):
            probs_K = probs_BK[place].float().cpu()
            best = int(probs_K.argmax())
            kept = round(observed.lengths[place] / tokens, 4) if observed.lengths else None
            guesses.append(
                Guess(
                    path=str(row.path),
                    label=self.classes[best],
                    confidence=round(float(probs_K[best]), 6),
                    probabilities={name: round(float(p), 6) for name, p in zip(self.classes, probs_K, strict=True)},
                    kept_ratio=kept,
                    start=row.start,
                    end=row.end,
                )
            )
        return guesses

    def __repr__(self) -> str:
        return f"Predictor({len(self.classes)} classes, {self.network.method.name} with {self.network.reducer.name})"


def parts_of(path: Path, seconds: float | None, *, window: float | None = None, hop: float | None = None) -> list[Row]:
    """The parts of a video to look at: one for the whole, or several of `window` seconds. None: by its length."""
    if window is None:
        window = WINDOW_SECONDS if seconds is not None and seconds > LONG_SECONDS else 0.0
    if window == 0 or seconds is None:
        return [Row(id=str(path), path=path)]
    parts = windows(seconds, length=window, hop=hop)
    return [Row(id=f"{path}@{start:g}", path=path, start=start, end=end) for start, end in parts]


def check_windows(window: float | None, hop: float | None) -> None:
    """A wrong number is said before anything is decoded."""
    if window is not None and not 0 <= window < math.inf:
        raise UserError(f"--window cannot be {window:g}; accepted: seconds, or 0 for whole videos.", usage=True)
    if hop is not None and not 0 < hop < math.inf:
        raise UserError(f"--hop cannot be {hop:g}; accepted: seconds above 0.", usage=True)
    if hop is not None and window == 0:
        raise UserError(
            "--hop needs windows, and --window 0 takes each video whole; leave one of them out.", usage=True
        )


def videos_in(places: Iterable[Path | str]) -> list[Path]:
    """Files as they are named, and below each folder whatever has the name of a video, sorted."""
    found: list[Path] = []
    for place in map(Path, places):
        if place.is_dir() and not is_frame_folder(place):
            below = scan(place).names
            if not below:
                raise UserError(f"{place} holds no videos; accepted: {', '.join(sorted(VIDEO_SUFFIXES))}.")
            found.extend(place / name for name in below)
        elif place.exists() or place.is_symlink():
            found.append(place)
        else:
            raise UserError(f"{place} does not exist; give video files or folders of them.", usage=True)
    return found


__all__ = ["Failure", "Guess", "Predictor", "check_windows", "parts_of", "videos_in"]
