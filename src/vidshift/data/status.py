"""The words that a check writes for a video, what each means, and whether training uses such a video."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Status:
    """One word of the table; `usable` videos are trained on, the others are skipped and counted."""

    name: str
    usable: bool
    meaning: str


_TABLE = (
    Status("ok", True, "every frame that training samples came out"),
    Status("static", True, "it decodes, but nothing moves in the sampled frames"),
    Status("few-frames", True, "it has fewer frames than are sampled, so some repeat"),
    Status("duplicate", True, "byte for byte the same file as another one"),
    Status("empty", False, "0 bytes"),
    Status("missing", False, "there is no such file, or it is a link to nothing"),
    Status("no-permission", False, "reading it is not permitted"),
    Status("not-a-file", False, "a folder, pipe, socket or device with the name of a video"),
    Status("not-a-video", False, "something else: a web page, text, an archive, a picture"),
    Status("no-video-stream", False, "a media file without pictures, such as sound only"),
    Status("unreadable-codec", False, "a codec that cannot be decoded here"),
    Status("too-large", False, "its header claims more pixels than any camera has"),
    Status("too-short", False, "a single frame, or a trim that lies outside the video"),
    Status("truncated", False, "cut off: it ends long before its header says"),
    Status("corrupt", False, "its pictures or its structure are damaged"),
    Status("unreadable", False, "the operating system could not read it"),
    Status("timeout", False, "decoding did not finish in the time allowed for a file"),
    Status("crashed", False, "the decoding process died on it"),
)

STATUSES: Final = {status.name: status for status in _TABLE}


def is_usable(name: str | None) -> bool:
    """Whether training uses a video of this status; one that was never checked is used."""
    return name is None or (name in STATUSES and STATUSES[name].usable)
