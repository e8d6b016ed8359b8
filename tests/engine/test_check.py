from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from clipmaker import number_frame, write_numbers, write_video

from vidshift.data.augment import to_tchw
from vidshift.data.check.findings import Finding
from vidshift.data.clips import ClipShape, decode_grid
from vidshift.data.layouts import read
from vidshift.data.loader import pick_frames
from vidshift.data.manifest import Row
from vidshift.engine.check import THRESHOLDS, check_data, duplicates_between, energies
from vidshift.engine.check_text import lines
from vidshift.engine.console import Quiet
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.motion import energy

GEOMETRY = Geometry(frames=4, height=32, width=32)


@pytest.fixture
def domains(tmp_path: Path) -> dict[str, Path]:
    one, two = tmp_path / "one", tmp_path / "two"
    for label in ("walk", "wave"):
        for number in range(2):
            write_numbers(one / label / f"{number}.mp4", 20 + number)
    write_numbers(two / "Walk" / "a.avi", 30, codec="mpeg4", width=64)
    (two / "Walk" / "same.mp4").write_bytes((one / "walk" / "0.mp4").read_bytes())
    write_video(two / "jump" / "still.mp4", [number_frame(3)] * 20)
    (two / "jump" / "page.mp4").write_text("<html>")
    return {"one": one, "two": two}


def check(domains: dict[str, Path], cache: Path):
    manifests = {str(path): read(path) for path in domains.values()}
    return check_data(manifests, cache=cache, workers=2, console=Quiet(), frames=4, size=32)


def test_two_domains(domains: dict[str, Path], tmp_path: Path):
    report = check(domains, tmp_path / "cache")
    one, two = report.data
    assert (one.usable, two.usable) == (4, 3)
    assert two.classes == {"Walk": (2, 2), "jump": (1, 2)}
    assert report.distance["codec"] == pytest.approx(1 / 3, abs=1e-4)
    assert 0 < report.distance["energy"] <= 1
    assert report.classes_note is not None
    assert "jump" in report.classes_note
    (twice,) = duplicates_between(report.data)
    assert "same.mp4" in twice
    assert "labelled 'walk'" in twice
    text = "\n".join(lines(report))
    assert "4 of 4 videos usable" in text
    assert "not-a-video" in text
    assert "kept tokens to expect at a threshold" in text
    shown = two.as_dict()
    assert [Path(bad["path"]).name for bad in shown["not_usable"]] == ["page.mp4"]
    assert sum(shown["energy_histogram"]["shares"]) == pytest.approx(1, abs=1e-3)
    # The same again from memory, without a worker.
    assert check(domains, tmp_path / "cache").as_dict() == report.as_dict()


def test_the_kept_ratio_is_that_of_the_clip_that_training_makes(domains: dict[str, Path], tmp_path: Path):
    report = check(domains, tmp_path / "cache")
    row: Row = report.data[0].manifest.rows[0]
    grid = decode_grid(row, ClipShape(frames=4, height=32, width=32))
    energy_BN, _ = energy(to_tchw(grid[pick_frames(4, None)])[None], GEOMETRY)
    expected = [float((energy_BN > threshold).float().mean()) for threshold in THRESHOLDS]
    assert report.data[0].findings[0].kept == pytest.approx(expected, abs=1e-5)


def test_kept_falls_with_the_threshold():
    clip_THWC = np.random.default_rng(0).integers(0, 255, (4, 32, 32, 3)).astype(np.uint8)
    kept = energies(GEOMETRY)(Finding(status="ok"), clip_THWC).kept
    assert kept is not None
    assert all(a >= b for a, b in pairwise(kept))
    assert kept[-1] >= 1 / GEOMETRY.segments
    assert torch.tensor(kept).max() <= 1
