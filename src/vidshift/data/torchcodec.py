"""The optional second decoder: used by name where torchcodec and its FFmpeg libraries truly import.

It serves files whose frame times can be trusted; for AVI its frame numbers slip by one (datasets.md section 8), so
those stay with PyAV. Frame numbers always come from our own table, so both decoders are asked for the same frames.
"""

import functools
from pathlib import Path

import numpy as np

from vidshift.data.container import DecodeError
from vidshift.data.picture import Painter
from vidshift.errors import UserError


@functools.cache
def available() -> bool:
    """Whether it really imports (it fails where FFmpeg libraries are missing or torch does not match)."""
    try:
        import torchcodec.decoders  # pyright: ignore[reportMissingImports]  # noqa: F401
    except (ImportError, RuntimeError, OSError):
        return False
    return True


def read_indices(path: Path, index_T: np.ndarray, painter: Painter) -> np.ndarray:
    """The frames of the given numbers as `clip_THWC`, scaled by the same swscale pass as PyAV's."""
    if not available():
        raise UserError(
            "the decoder 'torchcodec' does not import here; accepted: 'pyav' (always there), or install torchcodec "
            "with matching FFmpeg libraries.",
            usage=True,
        )
    from av import VideoFrame
    from torchcodec.decoders import VideoDecoder  # pyright: ignore[reportMissingImports]

    wanted = sorted(set(index_T.tolist()))
    try:
        decoder = VideoDecoder(str(path), dimension_order="NHWC", num_ffmpeg_threads=1, seek_mode="exact")
        frames_THWC = decoder.get_frames_at(wanted).data.numpy()
    except (RuntimeError, ValueError, IndexError) as error:
        raise DecodeError(path, stage="decode", status="corrupt", reason=f"torchcodec stops ({error})") from error
    return painter.paint_clip(((n, VideoFrame.from_ndarray(f)) for n, f in zip(wanted, frames_THWC)), index_T)
