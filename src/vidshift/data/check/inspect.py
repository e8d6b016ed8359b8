"""One video, looked at the way training will: runs in a worker process."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vidshift.data.check.findings import Finding
from vidshift.data.container import DecodeError
from vidshift.data.decode import decode, probe

BLOCK = 8
# In grey levels of a block's mean. A coded still picture hardly changes at all, except where a new key frame draws it
# again: a little everywhere, and seldom. A fingertip changes its block by more, and a moving one changes it often.
STILL, REDRAWN, SELDOM = 1.0, 10.0, 0.25


@dataclass(frozen=True, kw_only=True)
class Task:
    """A file, the part of it that is meant, and what is sampled from it. With `send_every`, each such frame comes back
    for what only the parent can compute."""

    path: Path
    start: float | None
    end: float | None
    frames: int
    size: tuple[int, int]
    resize: str
    send_every: int = 0


@dataclass(frozen=True)
class Seen:
    finding: Finding
    clip_THWC: np.ndarray | None = None


def inspect(task: Task) -> Seen:
    """Decodes the frames that training samples from; every failure becomes a status."""
    finding = Finding(status="ok")
    try:
        info = probe(task.path)
        finding = replace(
            finding,
            width=info.width,
            height=info.height,
            fps=_rounded(info.fps),
            seconds=_rounded(info.seconds),
            num_frames=info.num_frames,
            codec=info.codec,
            pix_fmt=info.pix_fmt,
            format=info.format,
            audio=info.audio,
            bytes=info.bytes or None,
        )
        clip = decode(task.path, frames=task.frames, size=task.size, resize=task.resize, start=task.start, end=task.end)
    except DecodeError as error:
        return Seen(replace(finding, status=error.status, reason=error.reason))
    frames_THWC = clip.frames_THWC
    change_P = changes(frames_THWC)
    finding = replace(
        finding,
        num_frames=clip.total,
        seconds=_rounded(clip.seconds),
        fps=_rounded(clip.fps),
        brightness=round(float(frames_THWC.mean()) / 255, 4),
        contrast=round(float(frames_THWC.std()) / 255, 4),
        motion=round(float(change_P.max(initial=0.0)), 3),
    )
    sent = np.ascontiguousarray(frames_THWC[task.send_every // 2 :: task.send_every]) if task.send_every else None
    shown = len(np.unique(clip.time_T))
    return Seen(_judged(finding, shown=shown, sampled=task.frames, static=is_static(change_P)), sent)


def _judged(finding: Finding, *, shown: int, sampled: int, static: bool) -> Finding:
    """The status of a video that decodes."""
    if shown < 2:
        what = "it holds a single frame" if finding.num_frames == 1 else "only one of its frames is sampled"
        return replace(finding, status="too-short", reason=f"{what}; motion needs at least two")
    if static:
        return replace(finding, status="static", reason="nothing moves in the sampled frames")
    if shown < sampled:
        return replace(finding, status="few-frames", reason=f"it has {shown} frames where {sampled} are sampled")
    return finding


def changes(frames_THWC: np.ndarray) -> np.ndarray:
    """For each pair of neighbouring sampled frames the largest change of a block's mean, in grey levels."""
    rows, cols = (max(1, n // BLOCK) for n in frames_THWC.shape[1:3])
    tall, wide = frames_THWC.shape[1] // rows, frames_THWC.shape[2] // cols
    cut = frames_THWC[:, : rows * tall, : cols * wide].reshape(len(frames_THWC), rows, tall, cols, wide, 3)
    mean_TYX = cut.mean(axis=(2, 4, 5), dtype=np.float32)
    return np.abs(np.diff(mean_TYX, axis=0)).max(axis=(1, 2))


def is_static(change_P: np.ndarray) -> bool:
    """Whether nothing but the codec's redrawing happens."""
    if not len(change_P) or change_P.max() < STILL:
        return True
    return bool(change_P.max() < REDRAWN and (change_P >= STILL / 2).mean() <= SELDOM)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
