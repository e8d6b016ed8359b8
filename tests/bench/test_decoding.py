from pathlib import Path

import pytest

from vidshift.bench.decoding import KINDS, draw, frame_numbers, measure, memory_growth
from vidshift.bench.timing import Clock
from vidshift.data.sampling import Sampling


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.name in ("hmdb.avi", "built-in.mp4")], ids=lambda kind: kind.name
)
def test_the_bare_loop_yields_the_same_frames(kind, tmp_path: Path):
    path = draw(kind, tmp_path / kind.name)
    for how in ("uniform", "dense:2"):
        found = measure(path, how, size=64, rounds=1, clock=Clock("cpu"))
        assert found.same
        assert found.ours > 0 < found.bare
    assert len(frame_numbers(path, Sampling.parse("uniform"))) == 16


@pytest.mark.long
def test_memory_stays_flat(tmp_path: Path):
    """At most 50 MB more from clip 500 to clip 5,000."""
    paths = [draw(kind, tmp_path / kind.name) for kind in KINDS if kind.width < 300 or kind.name == "hmdb.avi"]
    first, last = memory_growth(paths, size=64)
    assert last - first <= 50e6
