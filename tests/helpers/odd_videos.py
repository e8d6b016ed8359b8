"""One file of each kind that folders of videos hold in the wild, with the status that each deserves."""

import os
import random
import socket
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from clipmaker import number_frame, write_frames, write_numbers, write_video

Make = Callable[[Path], object]


@dataclass(frozen=True)
class Kind:
    """`make` writes it under the given path; `name` is its name, `status` what a check must say."""

    name: str
    status: str
    make: Make


def _numbers(count: int = 60, **options: object) -> Make:
    return lambda path: write_numbers(path, count, **options)  # pyright: ignore[reportArgumentType]


def _bytes(data: bytes) -> Make:
    return lambda path: path.write_bytes(data)


def _cut(share: float, *, suffix: str = ".mp4", **options: object) -> Make:
    """The first part of a good file of the same kind."""

    def make(path: Path) -> None:
        whole = path.with_name(f".whole{suffix}")
        write_numbers(whole, 120, gop=12, **options)  # pyright: ignore[reportArgumentType]
        data = whole.read_bytes()
        path.write_bytes(data[: int(share * len(data))])
        whole.unlink()

    return make


def _sound_only(path: Path) -> None:
    with av.open(str(path), "w") as container:
        _tone(container)


def _tone(container: Any) -> None:
    stream = container.add_stream("aac", rate=16000)
    wave = np.sin(np.arange(16000) * 2 * np.pi * 440 / 16000).astype(np.float32)[None]
    sample = av.AudioFrame.from_ndarray(wave, format="fltp", layout="mono")
    sample.sample_rate, sample.pts = 16000, 0
    container.mux(stream.encode(sample))
    container.mux(stream.encode())


def _no_frame(path: Path) -> None:
    """A picture stream that was announced and never came, beside sound."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"  # pyright: ignore
        _tone(container)


def _flipped(path: Path) -> None:
    data = bytearray(write_numbers(path, 60, codec="mpeg4", gop=12).read_bytes())
    rng = random.Random(0)
    for _ in range(len(data) // 20):
        data[rng.randrange(len(data) // 10, len(data) * 8 // 10)] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def _avi_header(**values: int) -> Make:
    """An AVI whose BITMAPINFOHEADER says something else (width, height at 4 and 8; the codec at 16)."""
    places = {"width": 4, "height": 8, "codec": 16}

    def make(path: Path) -> None:
        data = bytearray(write_numbers(path, 30, codec="rawvideo", pix_fmt="bgr24").read_bytes())
        header = data.index(b"strf") + 8
        for name, value in values.items():
            struct.pack_into("<I", data, header + places[name], value)
        if "codec" in values:
            handler = data.index(b"vids") + 4
            struct.pack_into("<I", data, handler, values["codec"])
        path.write_bytes(data)

    return make


def _archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("clip.txt", "inside")


def _picture(path: Path) -> None:
    folder = write_frames(path.with_name("picture"), 1)
    (folder / "img_00001.jpg").rename(path)
    folder.rmdir()


def _socket(path: Path) -> None:
    # A socket's address is limited to about 100 bytes, a test's folder is not.
    here = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)


def _damaged_picture(path: Path) -> None:
    write_frames(path, 12)
    broken = path / "img_00006.jpg"
    broken.write_bytes(broken.read_bytes()[:200])


def _locked(path: Path) -> None:
    write_numbers(path, 40)
    path.chmod(0)


VFR = [40 * i for i in range(30)] + [1200 + 200 * i for i in range(30)]
CODEC = int.from_bytes(b"ZZZZ", "little")
WEBM = {"codec": "libvpx-vp9", "options": {"cpu-used": "8", "deadline": "realtime"}}

KINDS = (
    Kind("good.mp4", "ok", _numbers()),
    Kind("matroska.mkv", "ok", _numbers()),
    Kind("xvid.avi", "ok", _numbers(codec="mpeg4", options={"bf": "2"})),
    Kind("vp9.webm", "ok", _numbers(30 + 10, **WEBM)),
    Kind("transport.ts", "ok", _numbers()),
    Kind("vfr.mp4", "ok", _numbers(times=VFR, options={"bf": "2"})),
    Kind("rotated.mp4", "ok", _numbers(rotation=-90)),
    Kind("wide pixels.mp4", "ok", _numbers(aspect=Fraction(4, 3))),
    Kind("ten-bit.mp4", "ok", _numbers(pix_fmt="yuv420p10le")),
    Kind("odd.mkv", "ok", _numbers(40, width=97, height=63, codec="ffv1", pix_fmt="yuv444p")),
    Kind("grey.mkv", "ok", _numbers(40, codec="ffv1", pix_fmt="gray")),
    Kind("alpha.mov", "ok", _numbers(40, codec="qtrle", pix_fmt="argb")),
    Kind("interlaced.mpg", "ok", _numbers(codec="mpeg2video", options={"flags": "+ildct+ilme"})),
    Kind("with sound.mp4", "ok", _numbers(sound=True)),
    Kind("two-hours.mp4", "ok", _numbers(7200, width=48, height=32, fps=1, codec="mpeg4", gop=60)),
    Kind("-dash [x] (2) é日.mp4", "ok", _numbers(40)),
    Kind("frames", "ok", lambda path: write_frames(path, 40)),
    Kind("same.mp4", "duplicate", lambda path: path.write_bytes(path.with_name("good.mp4").read_bytes())),
    Kind("few.mp4", "few-frames", _numbers(9)),
    Kind("still.mp4", "static", lambda path: write_video(path, [number_frame(7)] * 40)),
    Kind("one.mp4", "too-short", _numbers(1)),
    Kind("empty.mp4", "empty", _bytes(b"")),
    Kind("page.mp4", "not-a-video", _bytes(b"\n<!DOCTYPE html><html><body>404 Not Found</body></html>")),
    Kind("answer.mp4", "not-a-video", _bytes(b'{"error": "quota exceeded"}')),
    Kind("note.mp4", "not-a-video", _bytes(b"removed by the uploader\n" * 40)),
    Kind("pointer.mp4", "not-a-video", _bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")),
    Kind("zeros.mp4", "not-a-video", _bytes(bytes(50_000))),
    Kind("noise.mp4", "not-a-video", _bytes(random.Random(1).randbytes(50_000))),
    Kind("archive.mp4", "not-a-video", _archive),
    Kind("picture.mp4", "not-a-video", _picture),
    Kind("playlist.mp4", "not-a-video", _bytes(b"#EXTM3U\n#EXTINF:10,\n/etc/passwd\n#EXT-X-ENDLIST\n")),
    Kind("sound.mp4", "no-video-stream", _sound_only),
    Kind("no-frame.mkv", "no-video-stream", _no_frame),
    Kind("cut-index-behind.mp4", "truncated", _cut(0.5)),
    Kind("cut-index-in-front.mp4", "truncated", _cut(0.5, container_options={"movflags": "faststart"})),
    Kind("cut.avi", "truncated", _cut(0.5, suffix=".avi", codec="mpeg4")),
    Kind("cut.mkv", "truncated", _cut(0.5, suffix=".mkv")),
    Kind("cut.webm", "truncated", _cut(0.5, suffix=".webm", **WEBM)),
    Kind("flipped.mp4", "corrupt", _flipped),
    Kind("damaged-picture", "corrupt", _damaged_picture),
    Kind("huge.avi", "too-large", _avi_header(width=12_000, height=9_000)),
    Kind("absurd.avi", "corrupt", _avi_header(width=60_000, height=60_000)),
    Kind("codec.avi", "unreadable-codec", _avi_header(codec=CODEC)),
    Kind("pipe.mp4", "not-a-file", lambda path: os.mkfifo(path)),
    Kind("socket.mp4", "not-a-file", _socket),
    Kind("folder.mp4", "not-a-file", lambda path: path.mkdir()),
    Kind("link.mp4", "missing", lambda path: path.symlink_to(path.with_name("nowhere.mp4"))),
    Kind("loop.mp4", "missing", lambda path: path.symlink_to(path.name)),
    # Root may read everything.
    Kind("locked.mp4", "no-permission" if os.geteuid() else "ok", _locked),
)


def make_all(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        kind.make(folder / kind.name)
    return folder
