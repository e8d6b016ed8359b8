"""Small real video files for the tests, written by PyAV."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np


def number_frame(number: int, *, width: int = 96, height: int = 64) -> np.ndarray:
    """A frame that says its number in ten black or white bars (so that decoders can be asked which frame they gave)
    over a block that moves with it."""
    frame = np.full((height, width, 3), 128, np.uint8)
    for bit in range(10):
        left = bit * width // 10
        frame[: height // 2, left : left + width // 10] = 235 if number >> bit & 1 else 20
    x = (3 * number) % max(width - 16, 1)
    frame[height // 2 + 4 :, x : x + 16] = (200, 40, 40)
    return frame


def read_number(frame: np.ndarray) -> int:
    """The number that `number_frame` wrote, from a decoded frame of any size."""
    height, width = frame.shape[:2]
    row = frame[height // 8 : 3 * height // 8].mean(axis=(0, 2))
    return sum(1 << bit for bit in range(10) if row[int((bit + 0.5) * width / 10)] > 128)


def write_video(
    path: Path,
    frames: Iterable[np.ndarray],
    *,
    codec: str = "libx264",
    fps: int = 25,
    pix_fmt: str = "yuv420p",
    options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
    times: Iterable[int] | None = None,
    rotation: float | None = None,
    aspect: Fraction | None = None,
    sound: bool = False,
    source_format: str = "rgb24",
    gop: int | None = None,
) -> Path:
    """Writes frames; `times` (in 1/1000 s) makes a variable frame rate, `sound` adds a tone as long as the pictures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stamps = iter(times) if times is not None else None
    with av.open(str(path), "w", options=container_options or {}) as opened:
        container: Any = opened
        stream = None
        audio = container.add_stream("aac", rate=16000) if sound else None
        count = 0
        for number, pixels in enumerate(frames):
            if stream is None:
                stream = container.add_stream(codec, rate=fps, options=options or {})
                stream.height, stream.width = pixels.shape[:2]
                stream.pix_fmt = pix_fmt
                if gop is not None:
                    stream.codec_context.gop_size = gop
                if aspect is not None:
                    stream.codec_context.sample_aspect_ratio = aspect
                if rotation is not None:
                    stream.set_display_rotation(rotation)
                if stamps is not None:
                    stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
            frame = av.VideoFrame.from_ndarray(pixels, format=source_format)
            if stamps is not None:
                frame.pts, frame.time_base = next(stamps), Fraction(1, 1000)
            else:
                frame.pts, frame.time_base = number, Fraction(1, fps)
            container.mux(stream.encode(frame))
            count += 1
        if stream is not None:
            container.mux(stream.encode())
        if audio is not None:
            wave = np.sin(np.arange(16000 * count // fps) * 2 * np.pi * 440 / 16000).astype(np.float32)[None]
            sample = av.AudioFrame.from_ndarray(wave, format="fltp", layout="mono")
            sample.sample_rate, sample.pts = 16000, 0
            container.mux(audio.encode(sample))
            container.mux(audio.encode())
    return path


def write_numbers(path: Path, count: int = 50, *, width: int = 96, height: int = 64, **kwargs: object) -> Path:
    """A video whose frames say their numbers."""
    frames = (number_frame(n, width=width, height=height) for n in range(count))
    return write_video(path, frames, **kwargs)  # pyright: ignore[reportArgumentType]


def write_frames(folder: Path, count: int = 20, *, prefix: str = "img_", digits: int = 5, suffix: str = ".jpg") -> Path:
    """A frame folder, written by PyAV's picture encoders."""
    folder.mkdir(parents=True, exist_ok=True)
    for n in range(count):
        codec, pix_fmt = ("png", "rgb24") if suffix == ".png" else ("mjpeg", "yuvj420p")
        context = av.CodecContext.create(codec, "w")
        context.width, context.height, context.pix_fmt = 96, 64, pix_fmt  # pyright: ignore
        context.time_base = Fraction(1, 25)
        frame = av.VideoFrame.from_ndarray(number_frame(n)).reformat(format=pix_fmt)
        frame.pts = n
        data = b"".join(bytes(p) for p in [*context.encode(frame), *context.encode(None)])  # pyright: ignore
        (folder / f"{prefix}{n + 1:0{digits}d}{suffix}").write_bytes(data)
    return folder
