"""Opening one video file safely, and what can be known of it before a frame is decoded."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from vidshift.errors import UserError

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

_SUFFIXES = "mp4 m4v mov avi mkv webm mpg mpeg ts m2ts mts flv wmv 3gp ogv vob mxf"
VIDEO_SUFFIXES = frozenset("." + name for name in _SUFFIXES.split())
IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp"})

# 7680 x 4320 fits; a damaged header that claims more would only cost memory.
MAX_PIXELS = 2**25
# Play lists and scripts are left out on purpose: a file may not make us open other files or the network.
FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,live_flv,asf,ogg,h264,hevc,m4v,ivf,obu,mxf,"
    "dv,nut,rm,vob,swf,mjpeg,gif,apng,yuv4mpegpipe,wav,mp3,aac,flac,aiff,au"
)
# Demuxers whose packet times are times of display (AVI has none; raw streams have none).
TIMED = frozenset({"mov", "mp4", "matroska", "webm", "mpegts", "mpeg", "flv", "asf", "ogg", "mxf", "nut"})
# Of those, the ones with an index to seek by.
INDEXED = frozenset({"mov", "mp4", "matroska", "webm"})


class DecodeError(UserError):
    """A video that cannot be decoded as asked: the file, where it stopped, and why in plain words.

    `status` is the word that a check writes into the manifest for it.
    """

    def __init__(self, path: "Path | str", *, stage: str, status: str, reason: str) -> None:
        super().__init__(
            f"cannot read video '{path}' ({stage}): {reason}; leave it out, or run `vidshift check` on its folder to "
            "list every such file."
        )
        self.path, self.stage, self.status, self.reason = Path(path), stage, status, reason

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (str(self.path), self.stage, self.status, self.reason))


def _rebuild(path: str, stage: str, status: str, reason: str) -> DecodeError:
    return DecodeError(path, stage=stage, status=status, reason=reason)


@dataclass(frozen=True, kw_only=True)
class VideoInfo:
    """What a file's header says; width and height as displayed (turned upright, pixels square)."""

    path: Path
    width: int
    height: int
    fps: float | None
    seconds: float | None
    num_frames: int | None
    codec: str
    pix_fmt: str
    format: str
    rotation: int = 0
    audio: bool = False
    bytes: int = 0


def stat_of(path: Path) -> os.stat_result:
    """What the system says of a path, or why it says nothing."""
    try:
        return os.stat(path)
    except OSError as error:
        raise from_os_error(path, error) from error


def require_file(path: Path, found: os.stat_result | None = None) -> None:
    """A pipe, a folder or a broken link is refused before anything is opened (a pipe would block)."""
    found = found or stat_of(path)
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe, socket or device"
        raise DecodeError(path, stage="open", status="not-a-file", reason=f"it is {kind}, not a video file")
    if found.st_size == 0:
        raise DecodeError(path, stage="open", status="empty", reason="the file is empty (0 bytes)")


def from_os_error(path: Path, error: OSError) -> DecodeError:
    """The plain words for what the operating system says of a path."""
    if path.is_symlink() and error.errno in (errno.ENOENT, errno.ELOOP):
        return DecodeError(path, stage="open", status="missing", reason="it is a link to a file that is not there")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return DecodeError(path, stage="open", status="missing", reason="there is no such file")
    if error.errno in (errno.EACCES, errno.EPERM):
        return DecodeError(path, stage="open", status="no-permission", reason="reading it is not permitted")
    return DecodeError(path, stage="open", status="unreadable", reason=os.strerror(error.errno or errno.EIO))


def quiet() -> None:
    """Keeps FFmpeg from writing to the terminal; what matters comes back as an error or a flag."""
    from av import logging

    logging.set_level(None)


@contextmanager
def opened(path: Path, found: os.stat_result | None = None) -> "Iterator[tuple[InputContainer, VideoStream]]":
    """The file's container and its first real video stream, ready to decode on one thread. `found` is its stat, where
    it is known already."""
    require_file(path, found)
    with container_of(path) as container:
        stream = _video_stream(path, container)
        context = stream.codec_context
        if not 0 < context.width * context.height <= MAX_PIXELS:
            raise _impossible_size(path)
        stream.thread_type = "NONE"
        stream.thread_count = 1
        context.options = {"max_pixels": str(MAX_PIXELS)}
        yield container, stream


def _impossible_size(path: Path) -> DecodeError:
    """FFmpeg drops a size above our limit, so only opening without a limit tells what the header claims."""
    with container_of(path, limited=False) as container:
        context = _video_stream(path, container).codec_context
        width, height = context.width, context.height
    if width * height > MAX_PIXELS:
        reason = f"its header claims {width} x {height} pixels, above the limit of {MAX_PIXELS // 1_000_000} million"
        return DecodeError(path, stage="open", status="too-large", reason=reason)
    return DecodeError(path, stage="open", status="corrupt", reason="its header gives no picture size that is possible")


def container_of(path: Path, *, limited: bool = True) -> "InputContainer":
    """The opened file, whatever streams it holds; whoever calls has made sure that it is a file."""
    import av
    from av.error import FFmpegError, InvalidDataError, MemoryError

    quiet()
    options = {"protocol_whitelist": "file", "format_whitelist": FORMATS, "threads": "1"}
    if limited:
        options["max_pixels"] = str(MAX_PIXELS)
    try:
        # An absolute path, so that no name can be read as an option or as another protocol.
        return av.open("file:" + os.path.abspath(path), "r", options=options, metadata_errors="replace")
    except InvalidDataError as error:
        status, reason = _what_it_is(path)
        raise DecodeError(path, stage="open", status=status, reason=reason) from error
    except MemoryError as error:
        raise DecodeError(path, stage="open", status="corrupt", reason="its header asks for too much memory") from error
    except (FFmpegError, ValueError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM, errno.ENOENT):
            raise from_os_error(path, error) from error
        status, reason = _what_it_is(path)
        raise DecodeError(path, stage="open", status=status, reason=f"{reason} ({error})") from error


def _what_it_is(path: Path) -> tuple[str, str]:
    """Status and reason for what FFmpeg does not take for a video, guessed from its first bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        refused = from_os_error(path, error)
        return refused.status, refused.reason
    if head[4:8] == b"ftyp":
        return "truncated", "it is an MP4 file without its index: cut off, or never finished"
    return "not-a-video", _pretender(head)


def _pretender(head: bytes) -> str:
    text = head.lstrip().lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<")):
        return "it is a web page or XML text, not a video (a failed download?)"
    if text.startswith((b"{", b"[")):
        return "it is JSON text, not a video (a failed download?)"
    if head.startswith((b"PK\x03\x04", b"Rar!", b"\x1f\x8b")):
        return "it is an archive, not a video; unpack it first"
    if head.startswith((b"\xff\xd8\xff", b"\x89PNG")):
        return "it is a picture, not a video"
    if head.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer, not the video itself; fetch the large files"
    if not head.strip(b"\0"):
        return "it holds only zero bytes, not a video"
    if len(head) and all(byte >= 9 and (byte < 127 or byte >= 160) for byte in head):
        return "it is text, not a video"
    return "its content is not a video format known here"


def _video_stream(path: Path, container: "InputContainer") -> "VideoStream":
    streams = [s for s in container.streams.video if not (int(s.disposition) & 0x400)]  # 0x400: cover picture
    if not streams:
        what = "only sound" if container.streams.audio else "no picture"
        raise DecodeError(path, stage="open", status="no-video-stream", reason=f"it holds {what}, no video stream")
    stream = streams[0]
    if getattr(stream, "codec_context", None) is None:
        raise DecodeError(
            path, stage="open", status="unreadable-codec", reason="there is no decoder here for its codec"
        )
    return stream


def family(container: "InputContainer") -> frozenset[str]:
    return frozenset(container.format.name.split(","))


def is_timed(container: "InputContainer") -> bool:
    return bool(family(container) & TIMED)


def is_indexed(container: "InputContainer") -> bool:
    return bool(family(container) & INDEXED)


def declared_seconds(container: "InputContainer", stream: "VideoStream") -> float | None:
    """The length that the header claims for the pictures (a longer sound track does not count)."""
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    text = stream.metadata.get("DURATION", "")  # Matroska keeps the length of each stream in a tag
    parts = text.split(":")
    if len(parts) == 3:
        try:
            return int(parts[0]) * 3600 + int(parts[1]) * 60 + float(parts[2].strip("\0 "))
        except ValueError:
            return None
    if container.duration and not container.streams.audio:
        return container.duration / 1_000_000
    return None


def frame_rate(stream: "VideoStream") -> float | None:
    rate: Fraction | None = stream.average_rate or stream.guessed_rate
    return float(rate) if rate and 0 < rate < 100_000 else None


def pixel_aspect(stream: "VideoStream") -> float:
    aspect = stream.sample_aspect_ratio
    # Beyond 10:1 it is a damaged header, not a lens.
    return float(aspect) if aspect and 0.1 <= aspect <= 10 else 1.0
