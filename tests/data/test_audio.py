from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from clipmaker import number_frame, write_frames, write_numbers

from vidshift.data.audio import RATE, clip_audio, read_audio
from vidshift.data.container import DecodeError
from vidshift.data.decode import decode


def write_sounding(
    path: Path,
    wave_CN: np.ndarray,
    *,
    rate: int = 44100,
    codec: str = "pcm_s16le",
    pictures: int = 75,
    late: float = 0.0,
) -> Path:
    """Pictures at 25 per second from 0 s, and sound that begins `late` seconds after them."""
    with av.open(str(path), "w") as opened:
        container: Any = opened
        video = container.add_stream("mpeg4", rate=25)
        video.width, video.height, video.pix_fmt = 96, 64, "yuv420p"
        layout = "stereo" if len(wave_CN) == 2 else "mono"
        sound = container.add_stream(codec, rate=rate, layout=layout)
        for number in range(pictures):
            frame = av.VideoFrame.from_ndarray(number_frame(number))
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(video.encode(frame))
        container.mux(video.encode())
        wave = (wave_CN.T.reshape(1, -1) * 32767).astype(np.int16)
        sample = av.AudioFrame.from_ndarray(wave, format="s16", layout=layout)
        sample.sample_rate, sample.time_base, sample.pts = rate, Fraction(1, rate), round(late * rate)
        for part in av.AudioResampler(format=sound.format.name, layout=layout, rate=rate).resample(sample):
            container.mux(sound.encode(part))
        container.mux(sound.encode())
    return path


def click(at: float, *, seconds: float = 3.0, rate: int = 44100, channels: int = 1) -> np.ndarray:
    """Silence with a loud millisecond."""
    wave_CN = np.zeros((channels, round(seconds * rate)))
    wave_CN[:, round(at * rate) : round((at + 0.001) * rate)] = 0.9
    return wave_CN


def heard_at(samples_N: np.ndarray) -> float:
    """The second at which a click's middle is heard."""
    weight_N = samples_N.astype(float) ** 2
    return float((weight_N * np.arange(len(weight_N))).sum() / weight_N.sum() / RATE)


@pytest.mark.parametrize(("name", "codec"), [("a.mkv", "pcm_s16le"), ("a.mp4", "aac"), ("a.avi", "pcm_s16le")])
def test_a_click_is_heard_where_it_was_made(tmp_path: Path, name: str, codec: str):
    path = write_sounding(tmp_path / name, click(1.3), codec=codec)
    whole = read_audio(path)
    assert whole is not None
    assert (whole.rate, whole.samples_CN.shape[0]) == (16_000, 1)
    assert whole.samples_CN.dtype == np.float32
    assert whole.seconds == pytest.approx(3.0, abs=0.08)
    assert heard_at(whole.samples_CN[0]) == pytest.approx(1.3005, abs=0.002)
    part = read_audio(path, start=1.2, end=2.2)
    assert part is not None
    assert part.samples_CN.shape == (1, 16_000)
    assert heard_at(part.samples_CN[0]) == pytest.approx(0.1005, abs=0.002)


def test_it_is_aligned_to_the_sampled_clip(tmp_path: Path):
    path = write_sounding(tmp_path / "a.mkv", click(1.5))
    clip = decode(path, frames=8, sampling="dense:2")
    sound = clip_audio(path, clip)
    assert sound is not None
    assert sound.start == clip.time_T[0]
    assert sound.seconds == pytest.approx(clip.time_T[-1] + 0.04 - clip.time_T[0], abs=1 / RATE)
    assert sound.start + heard_at(sound.samples_CN[0]) == pytest.approx(1.5005, abs=0.002)


def test_sound_that_begins_late_or_ends_early_leaves_silence(tmp_path: Path):
    path = write_sounding(tmp_path / "a.mkv", click(0.2, seconds=1.0), late=1.0)
    whole = read_audio(path, end=3.0)
    assert whole is not None
    assert whole.samples_CN.shape == (1, 48_000)
    assert heard_at(whole.samples_CN[0]) == pytest.approx(1.2005, abs=0.002)
    assert not whole.samples_CN[:, :15_900].any()
    assert not whole.samples_CN[:, 32_100:].any()
    after = read_audio(path, start=2.5, end=3.5)
    assert after is not None
    assert after.samples_CN.shape == (1, 16_000)
    assert not after.samples_CN.any()


def test_channels_and_rate_may_be_kept(tmp_path: Path):
    path = write_sounding(tmp_path / "a.mkv", np.concatenate([click(0.5), click(1.5)]))
    both = read_audio(path, rate=44_100, mono=False)
    assert both is not None
    assert both.samples_CN.shape == (2, 3 * 44_100)
    assert [int(channel.argmax() / 44_100 * 10) for channel in both.samples_CN] == [5, 15]


def test_a_late_part_of_a_long_file_is_sought(tmp_path: Path):
    wave = click(55.0, seconds=60.0, rate=8000)
    path = write_sounding(tmp_path / "a.mkv", wave, rate=8000, pictures=1500)
    part = read_audio(path, start=54.5, end=55.5)
    assert part is not None
    assert heard_at(part.samples_CN[0]) == pytest.approx(0.5005, abs=0.002)


def test_no_sound_is_none(tmp_path: Path):
    assert read_audio(write_numbers(tmp_path / "a.mp4", 5)) is None
    assert read_audio(write_frames(tmp_path / "frames", 3)) is None


def test_a_file_that_is_none_is_refused(tmp_path: Path):
    with pytest.raises(DecodeError) as refused:
        read_audio(tmp_path / "none.mp4")
    assert refused.value.status == "missing"
