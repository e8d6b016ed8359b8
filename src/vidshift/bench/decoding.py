"""What our decoding costs beside a bare PyAV loop that yields the same frames, and whether its memory stays flat.

    python -m vidshift.bench.decoding                     # on drawn videos of five kinds
    python -m vidshift.bench.decoding ~/videos/*.mp4      # on real ones
    python -m vidshift.bench.decoding --memory            # resident memory from clip 500 to clip 5,000

The bare loop is told the frame numbers, opens the file, decodes from the beginning on one thread, scales the wanted
frames with one reused swscale context, and stops after the last. It does nothing that ours has to: no counting of
frames, no look for damage, no turning upright. Both are timed in turn, each round beginning with the other one.
"""

import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from cyclopts import Parameter, run

from vidshift.bench.host import Host
from vidshift.bench.memory import resident
from vidshift.bench.timing import Clock, interleave
from vidshift.data import sampling as sample
from vidshift.data.container import opened, quiet
from vidshift.data.decode import decode
from vidshift.data.sampling import Sampling
from vidshift.data.table import read_table

FRAMES = 16
MEMORY_FROM, MEMORY_TO = 500, 5000


@dataclass(frozen=True)
class Drawn:
    """A kind of video that data sets are made of."""

    name: str
    width: int
    height: int
    seconds: float
    fps: int
    codec: str
    options: Mapping[str, str]


KINDS = (
    Drawn("hmdb.avi", 320, 240, 3.0, 30, "mpeg4", {"b": "700000", "bf": "2"}),
    Drawn("ucf.avi", 320, 240, 7.0, 25, "mpeg4", {"b": "600000", "bf": "2"}),
    Drawn("kinetics.mp4", 340, 256, 10.0, 30, "libx264", {"crf": "26", "preset": "veryfast"}),
    Drawn("hd.mp4", 1280, 720, 3.0, 30, "libx264", {"crf": "28", "preset": "veryfast"}),
    Drawn("web.webm", 320, 240, 4.0, 25, "libvpx-vp9", {"cpu-used": "8", "deadline": "realtime"}),
    Drawn("built-in.mp4", 96, 96, 2.0, 16, "libx264", {"crf": "23", "preset": "veryfast"}),
)


def draw(kind: Drawn, path: Path) -> Path:
    """A disc that moves before a textured ground, with the noise of a sensor."""
    import av

    rng = np.random.default_rng(0)
    ground = rng.integers(40, 200, (kind.height // 16 + 1, kind.width // 16 + 1, 3))
    ground = ground.repeat(16, 0).repeat(16, 1)[: kind.height, : kind.width].astype(np.float32)
    y, x = np.mgrid[: kind.height, : kind.width]
    with av.open(str(path), "w") as opened_file:
        container: Any = opened_file
        stream = container.add_stream(kind.codec, rate=kind.fps, options=dict(kind.options))
        stream.width, stream.height, stream.pix_fmt = kind.width, kind.height, "yuv420p"
        for number in range(round(kind.seconds * kind.fps)):
            at = number / kind.fps
            left, top = kind.width * (0.5 + 0.4 * np.sin(at)), kind.height * (0.5 + 0.3 * np.cos(1.7 * at))
            picture = ground + rng.normal(0, 2.5, ground.shape)
            picture[(x - left) ** 2 + (y - top) ** 2 < (kind.height / 6) ** 2] = (220, 60, 40)
            frame = av.VideoFrame.from_ndarray(picture.clip(0, 255).astype(np.uint8))
            frame.pts, frame.time_base = number, Fraction(1, kind.fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def frame_numbers(path: Path, sampling: Sampling) -> np.ndarray:
    """The frames that our path takes from a file."""
    with opened(path) as (container, stream):
        table = read_table(path, container, stream, keep=False)
        return table.indices(sample.positions(sampling, FRAMES, total=table.count()))


def bare_loop(path: Path, numbers: np.ndarray, *, size: int) -> np.ndarray:
    """The same frames as plainly as PyAV gives them."""
    import av
    from av.video.reformatter import VideoReformatter

    wanted, last = set(numbers.tolist()), int(numbers[-1])
    scaler, found = VideoReformatter(), []
    with av.open(str(path), metadata_errors="replace") as container:
        stream = container.streams.video[0]
        stream.thread_type, stream.codec_context.thread_count = "NONE", 1
        for number, frame in enumerate(container.decode(stream)):
            if number in wanted:
                small = scaler.reformat(frame, size, size, "rgb24", interpolation="BILINEAR", threads=1)
                found.append(small.to_ndarray())
                if number == last:
                    break
    return np.stack(found)


@dataclass(frozen=True)
class Ratio:
    """Median seconds of a clip by either way, and the median of the rounds' ratios."""

    name: str
    sampling: str
    ours: float
    bare: float
    same: bool

    @property
    def ratio(self) -> float:
        return self.ours / self.bare


def measure(path: Path, how: str, *, size: int, rounds: int, clock: Clock) -> Ratio:
    """One file, one sampling."""
    numbers = frame_numbers(path, Sampling.parse(how))

    def ours() -> np.ndarray:
        return decode(path, frames=FRAMES, sampling=how, size=(size, size)).frames_THWC

    def bare() -> np.ndarray:
        return bare_loop(path, numbers, size=size)

    same = len(np.unique(numbers)) == FRAMES and bool((ours() == bare()).all())
    times = interleave(
        [lambda: {"s": clock.time(ours)}, lambda: {"s": clock.time(bare)}], rounds=rounds, tick=lambda _: None
    )
    return Ratio(path.name, how, times[0]["s"].median, times[1]["s"].median, same)


def memory_growth(
    paths: Sequence[Path], *, size: int, upto: int = MEMORY_TO, since: int = MEMORY_FROM
) -> tuple[int, int]:
    """Bytes held by this process after clip `since` and after clip `upto`, decoding the files in turn."""
    here = torch.device("cpu")
    at_start = 0
    rng = np.random.default_rng(0)
    for number in range(1, upto + 1):
        decode(paths[number % len(paths)], frames=FRAMES, size=(size, size), rng=rng)
        if number == since:
            at_start = resident(here)
    return at_start, resident(here)


@contextmanager
def _videos(given: Sequence[Path]) -> Iterator[list[Path]]:
    if given:
        yield list(given)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield [draw(kind, Path(folder) / kind.name) for kind in KINDS]


def main(
    *video: Path,
    size: Annotated[int, Parameter(help="Height and width of the frames.")] = 224,
    rounds: Annotated[int, Parameter(help="How often each way is timed.")] = 15,
    clock: Annotated[Literal["cpu", "wall"], Parameter(help="Processor time of one thread, or the wall's.")] = "cpu",
    memory: Annotated[bool, Parameter(negative="", help="Measure memory instead of time.")] = False,
) -> int:
    """Decoding through VidShift beside a bare PyAV loop that yields the same frames."""
    quiet()
    torch.set_num_threads(1)
    print(Host.here(torch.device("cpu")))
    with _videos(video) as paths:
        if memory:
            first, last = memory_growth(paths, size=size)
            grown = (last - first) / 2**20
            print(f"resident after clip {MEMORY_FROM}: {first / 2**20:.1f} MiB, after clip {MEMORY_TO}: ", end="")
            print(f"{last / 2**20:.1f} MiB, growth {grown:+.1f} MiB")
            return 0
        found = [
            measure(path, how, size=size, rounds=rounds, clock=Clock(clock))
            for path in paths
            for how in ("uniform", "dense:4")
        ]
    print(f"{'file':<24}{'sampling':<10}{'ours ms':>9}{'bare ms':>9}{'ratio':>8}  same frames")
    for one in found:
        line = f"{one.name[:22]:<24}{one.sampling:<10}{1e3 * one.ours:>9.2f}{1e3 * one.bare:>9.2f}{one.ratio:>8.3f}"
        print(f"{line}  {'yes' if one.same else 'NO'}")
    whole = sum(one.ours for one in found) / sum(one.bare for one in found)
    print(f"all: ratio of the sums {whole:.3f}, median ratio {statistics.median(one.ratio for one in found):.3f}")
    return 0 if all(one.same for one in found) else 1


if __name__ == "__main__":
    run(main)
