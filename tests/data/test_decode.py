import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from clipmaker import number_frame, read_number, write_frames, write_numbers, write_video

from vidshift.data.decode import DecodeError, decode, decode_clip, probe
from vidshift.data.sampling import to_indices, uniform
from vidshift.errors import UserError

KINDS = {
    "h264.mp4": {},
    "bframes.mp4": {"options": {"bf": "3", "g": "15"}},
    "open-gop.mp4": {"options": {"x264-params": "open-gop=1:keyint=12:bframes=3"}},
    "h264.mkv": {},
    "h264.mov": {"container_options": {"movflags": "faststart"}},
    "h264.ts": {},
    "mpeg4.avi": {"codec": "mpeg4"},
    "mjpeg.avi": {"codec": "mjpeg", "pix_fmt": "yuvj420p"},
    "vp9.webm": {"codec": "libvpx-vp9", "options": {"cpu-used": "8", "deadline": "realtime"}},
    "vp8.webm": {"codec": "libvpx", "options": {"auto-alt-ref": "0"}},
    "ten-bit.mp4": {"pix_fmt": "yuv420p10le"},
    "444.mp4": {"pix_fmt": "yuv444p"},
    "mpeg2.mpg": {"codec": "mpeg2video"},
}


def numbers(clip: np.ndarray) -> list[int]:
    return [read_number(frame) for frame in clip]


@pytest.mark.parametrize("name", KINDS)
def test_the_frames_asked_for_come_out(tmp_path: Path, name: str):
    path = write_numbers(tmp_path / name, 50, **KINDS[name])
    clip = decode(path, frames=16, size=(48, 80))
    assert clip.frames_THWC.shape == (16, 48, 80, 3)
    assert clip.frames_THWC.dtype == np.uint8
    assert clip.total == 50
    assert numbers(clip.frames_THWC) == to_indices(uniform(16), 50).tolist()
    assert clip.seconds == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("name", ["bframes.mp4", "open-gop.mp4", "h264.mkv", "mpeg4.avi", "h264.ts"])
def test_dense_and_trimmed(tmp_path: Path, name: str):
    path = write_numbers(tmp_path / name, 100, **KINDS[name])
    assert numbers(decode_clip(path, frames=8, sampling="dense:2")) == list(range(42, 58, 2))
    got = numbers(decode_clip(path, frames=4, start=2.0, end=3.0))
    assert got == [50 + i for i in to_indices(uniform(4), 25)]


def test_jumping_to_key_frames_gives_the_frames_of_sequential_decoding(tmp_path: Path):
    path = write_numbers(tmp_path / "a.mp4", 200, options={"x264-params": "open-gop=1:keyint=20:bframes=3"})
    whole = decode_clip(path, frames=200)
    some = decode_clip(path, frames=4)
    assert (some == whole[to_indices(uniform(4), 200)]).all()


def test_variable_frame_rate_is_sampled_by_time(tmp_path: Path):
    # 25 frames in the first second, then one every 200 ms: half of the frames are not half of the time.
    times = [40 * i for i in range(25)] + [1000 + 200 * i for i in range(25)]
    path = write_numbers(tmp_path / "vfr.mp4", 50, times=times, options={"bf": "2"})
    clip = decode(path, frames=12)
    # The last frame is shown as long as the one before it.
    expected = [int(np.searchsorted(times, t * 1000 + 1, side="right")) - 1 for t in clip.time_T]
    assert numbers(clip.frames_THWC) == expected
    assert clip.time_T[6] == pytest.approx(3.2, abs=0.21)


def test_rotation_turns_the_picture_upright(tmp_path: Path):
    path = write_numbers(tmp_path / "r.mp4", 10, rotation=-90)
    upright = decode_clip(path, frames=2)
    assert upright.shape == (2, 96, 64, 3)
    assert numbers(np.rot90(upright, 1, axes=(1, 2))) == [2, 7]
    squashed = decode_clip(path, frames=2, size=(90, 30))
    assert numbers(np.rot90(squashed, 1, axes=(1, 2))) == [2, 7]
    assert (probe(path).width, probe(path).height) == (64, 96)


def test_sample_aspect_is_honoured(tmp_path: Path):
    path = write_numbers(tmp_path / "a.mp4", 5, aspect=Fraction(2, 1))
    assert decode_clip(path, frames=1).shape == (1, 64, 192, 3)
    assert probe(path).width == 192
    # Short side and centre crop see the wide picture: the middle third of it.
    crop = decode_clip(path, frames=1, size=(64, 64), resize="crop")
    assert crop.shape == (1, 64, 64, 3)


def test_crop_keeps_the_middle(tmp_path: Path):
    frame = np.zeros((40, 120, 3), np.uint8)
    frame[:, 40:80] = 255
    path = write_video(tmp_path / "a.mp4", [frame] * 5)
    assert decode_clip(path, frames=1, size=(40, 40), resize="crop").mean() > 240
    assert 70 < decode_clip(path, frames=1, size=(40, 40)).mean() < 100


@pytest.mark.parametrize(("width", "height"), [(97, 63), (1, 1), (3, 201)])
def test_odd_sizes(tmp_path: Path, width: int, height: int):
    path = write_numbers(tmp_path / "odd.mkv", 3, width=width, height=height, codec="ffv1", pix_fmt="yuv444p")
    assert decode_clip(path, frames=2).shape == (2, height, width, 3)
    assert decode_clip(path, frames=2, size=(32, 32)).shape == (2, 32, 32, 3)


def test_grey_alpha_and_one_frame(tmp_path: Path):
    grey = write_numbers(tmp_path / "g.mkv", 5, codec="ffv1", pix_fmt="gray")
    assert numbers(decode_clip(grey, frames=5)) == [0, 1, 2, 3, 4]
    alpha = write_numbers(tmp_path / "a.mov", 5, codec="qtrle", pix_fmt="argb")
    assert numbers(decode_clip(alpha, frames=5)) == [0, 1, 2, 3, 4]
    one = write_numbers(tmp_path / "one.mp4", 1)
    assert numbers(decode_clip(one, frames=16)) == [0] * 16


def test_sound_longer_than_the_pictures_is_no_cut(tmp_path: Path):
    assert decode(write_numbers(tmp_path / "s.mp4", 25, sound=True), frames=4).total == 25


def test_random_sampling_is_keyed(tmp_path: Path):
    path = write_numbers(tmp_path / "a.mp4", 50)
    one, two, other = (decode_clip(path, frames=8, rng=np.random.default_rng(s)) for s in (1, 1, 2))
    assert (one == two).all()
    assert numbers(one) != numbers(other)


@pytest.mark.parametrize("suffix", [".jpg", ".png"])
def test_frame_folders_come_through_the_same_door(tmp_path: Path, suffix: str):
    folder = write_frames(tmp_path / "clip", 12, prefix="img_", digits=1, suffix=suffix)
    write_frames(tmp_path / "clip", 15, prefix="flow_x_", suffix=suffix)
    assert numbers(decode_clip(folder, frames=12, size=(64, 96))) == list(range(12))
    info = probe(folder)
    assert (info.num_frames, info.width, info.height, info.fps) == (12, 96, 64, None)


def test_a_long_file_is_sought_not_read_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import vidshift.data.decode as module

    for name in ("a.mp4", "a.mkv"):
        path = write_numbers(tmp_path / name, 300, options={"g": "30", "bf": "2"})
        short = decode(path, frames=8)
        with monkeypatch.context() as patch:
            patch.setattr(module, "KEEP_BYTES", 0)
            patch.setattr(module, "read_table", None)  # must not be needed
            long = decode(path, frames=8)
            windowed = decode_clip(path, frames=4, start=4.0, end=5.0)
        assert (long.frames_THWC == short.frames_THWC).all()
        assert numbers(windowed) == [100 + i for i in to_indices(uniform(4), 25)]


def test_a_long_file_without_index_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import vidshift.data.decode as module

    path = write_numbers(tmp_path / "a.avi", 100, codec="mpeg4")
    short = decode_clip(path, frames=8)
    monkeypatch.setattr(module, "KEEP_BYTES", 0)
    assert (decode_clip(path, frames=8) == short).all()


def bad_files(tmp: Path) -> dict[str, Path]:
    good = write_numbers(tmp / "good.mp4", 100, container_options={"movflags": "faststart"}).read_bytes()
    files = {}
    for name, data in {
        "empty": b"",
        "html": b"<!DOCTYPE html><html>404</html>",
        "cut": good[: len(good) // 2],
    }.items():
        files[name] = tmp / f"{name}.mp4"
        files[name].write_bytes(data)
    files["missing"] = tmp / "none.mp4"
    return files


@pytest.mark.parametrize(
    ("kind", "status"),
    [("empty", "empty"), ("html", "not-a-video"), ("cut", "truncated"), ("missing", "missing")],
)
def test_a_failure_names_file_stage_and_reason(tmp_path: Path, kind: str, status: str):
    path = bad_files(tmp_path)[kind]
    with pytest.raises(DecodeError) as caught:
        decode_clip(path, frames=8)
    error = caught.value
    assert isinstance(error, UserError)
    assert error.status == status
    assert str(path) in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (again.status, again.stage, again.reason, str(again)) == (status, error.stage, error.reason, str(error))


def test_more_than_one_process_may_ask_at_odd_names(tmp_path: Path):
    for name in ("-dash.mp4", "a b [1] (2) & #.mp4", "ä日本.mp4", "concat:x.mp4", "50%.mp4"):
        assert numbers(decode_clip(write_numbers(tmp_path / name, 4), frames=4)) == [0, 1, 2, 3]


def test_number_frames_can_be_read():
    assert [read_number(number_frame(n)) for n in (0, 5, 1023)] == [0, 5, 1023]


@pytest.mark.long
@pytest.mark.parametrize("name", ["two-hours.mp4", "two-hours.mkv", "two-hours.avi"])
def test_hours_need_no_more_memory_than_seconds(tmp_path: Path, name: str):
    path = write_numbers(tmp_path / name, 2 * 60 * 60, fps=1, codec="mpeg4", gop=60)
    code = (
        "import sys, resource; from vidshift.data.decode import decode\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "decode(sys.argv[1], frames=2, end=20.0, size=(64, 96)); before = peak()\n"
        "assert decode(sys.argv[1], frames=64, size=(64, 96)).seconds > 7000\n"
        "print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20_000  # kilobytes
