"""A clip as a real video file: H.264 in MP4."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The codec's noise is part of stickworld's definition: it decides what a small threshold keeps.
CODEC = "libx264"
# Left to itself x264 rounds differently in its vector code, so that one clip in ten becomes other bits from run to run.
OPTIONS = {"preset": "veryfast", "crf": "23", "threads": "1", "x264-params": "cpu-independent=1"}


def encode(path: Path, clip_THWC: NDArray[np.uint8], *, fps: int) -> None:
    """Writes the frames to `path`, whose folder exists."""
    import av

    # The type stubs of PyAV give streams no codec options.
    with av.open(str(path), "w", format="mp4") as opened:
        container: Any = opened
        stream = container.add_stream(CODEC, rate=fps, options=dict(OPTIONS))
        stream.height, stream.width = clip_THWC.shape[1:3]
        stream.pix_fmt = "yuv420p"
        stream.codec_context.thread_count = 1
        for number, pixels in enumerate(clip_THWC):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
