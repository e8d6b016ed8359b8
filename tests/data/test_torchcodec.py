"""The second decoder gives the frames of the first. Skipped where torchcodec or its FFmpeg libraries are not there."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from clipmaker import read_number, write_numbers

from vidshift.data import torchcodec
from vidshift.data.decode import Backend, DecodeError, decode
from vidshift.errors import UserError

needs_torchcodec = pytest.mark.skipif(not torchcodec.available(), reason="torchcodec does not import here")

KINDS = {
    "h264.mp4": {},
    "bframes.mp4": {"options": {"bf": "3", "g": "15"}},
    "open-gop.mp4": {"options": {"x264-params": "open-gop=1:keyint=12:bframes=3"}},
    "h264.mkv": {},
    "mpeg4.avi": {"codec": "mpeg4", "options": {"bf": "2"}},
    "vp9.webm": {"codec": "libvpx-vp9", "options": {"cpu-used": "8", "deadline": "realtime"}},
    "ten-bit.mp4": {"pix_fmt": "yuv420p10le"},
    "vfr.mp4": {"times": [40 * i for i in range(25)] + [1000 + 200 * i for i in range(25)]},
    "rotated.mp4": {"rotation": -90},
    "half-turned.mp4": {"rotation": 180},
    "wide.mp4": {"aspect": Fraction(2, 1)},
}


@needs_torchcodec
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("how", [{}, {"sampling": "dense:2"}, {"size": (48, 80)}, {"size": (40, 40), "resize": "crop"}])
def test_both_decoders_give_the_same_frames(tmp_path: Path, name: str, how: dict):
    path = write_numbers(tmp_path / name, 50, **KINDS[name])
    both: list[np.ndarray] = []
    backends: tuple[Backend, ...] = ("pyav", "torchcodec")
    for backend in backends:
        clip = decode(path, frames=16, backend=backend, **how)
        both.append(clip.frames_THWC)
    one, two = both
    assert one.shape == two.shape
    if "rotat" not in name and "turned" not in name and "resize" not in how:
        assert [read_number(frame) for frame in one] == [read_number(frame) for frame in two]
    # They turn YUV into RGB before or after scaling, so edges differ a little; a wrong frame differs by dozens.
    assert np.abs(one.astype(int) - two).mean() < 4


@needs_torchcodec
def test_a_damaged_file_is_named_by_both(tmp_path: Path):
    data = write_numbers(tmp_path / "a.mkv", 100, gop=10).read_bytes()
    (tmp_path / "cut.mkv").write_bytes(data[: len(data) // 2])
    backends: tuple[Backend, ...] = ("pyav", "torchcodec")
    for backend in backends:
        with pytest.raises(DecodeError) as refused:
            decode(tmp_path / "cut.mkv", frames=8, backend=backend)
        assert refused.value.status == "truncated"


def test_where_it_does_not_import_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torchcodec, "available", lambda: False)
    path = write_numbers(tmp_path / "a.mp4", 5)
    with pytest.raises(UserError, match="accepted: 'pyav'"):
        decode(path, frames=2, backend="torchcodec")
