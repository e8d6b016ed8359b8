import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from clipmaker import number_frame, write_video

from vidshift.data import clips as module
from vidshift.data.clips import CachedClips, ClipShape, LiveClips, cache_key, open_clips
from vidshift.data.container import DecodeError
from vidshift.data.manifest import Manifest, Row
from vidshift.errors import UserError

SHAPE = ClipShape(frames=4, height=16, width=24)
BIG = 2**30


@pytest.fixture(scope="module")
def videos(tmp_path_factory) -> Manifest:
    folder = tmp_path_factory.mktemp("videos")
    rows = []
    for number in range(5):
        path = folder / f"{number}.mp4"
        write_video(path, [number_frame(7 * number + frame) for frame in range(20)])
        rows.append(Row(id=f"v{number}", path=path))
    return Manifest(tuple(rows), ())


def maps(cache: Path) -> list[Path]:
    return sorted((cache / "clips").iterdir())


def test_cached_and_live_clips_are_the_same_frames(videos, tmp_path):
    live = open_clips(videos, SHAPE, cache=None, limit_bytes=BIG)
    assert isinstance(live, LiveClips)
    for workers in (1, 3):
        cached = open_clips(videos, SHAPE, cache=tmp_path / str(workers), limit_bytes=BIG, workers=workers)
        assert isinstance(cached, CachedClips)
        assert list(cached.ids) == list(live.ids) == ["v0", "v1", "v2", "v3", "v4"]
        assert len(cached) == len(live) == 5
        assert cached.frames == live.frames == 4
        for index in range(5):
            assert cached.grid_THWC(index).shape == (8, 16, 24, 3)
            np.testing.assert_array_equal(cached.grid_THWC(index), live.grid_THWC(index))


def test_beyond_the_limit_nothing_is_stored(videos, tmp_path):
    needed = SHAPE.bytes * 5
    assert isinstance(open_clips(videos, SHAPE, cache=tmp_path, limit_bytes=needed - 1), LiveClips)
    assert not (tmp_path / "clips").exists()
    assert isinstance(open_clips(videos, SHAPE, cache=tmp_path, limit_bytes=needed), CachedClips)


def test_decoded_once(videos, tmp_path, monkeypatch):
    seen: list[tuple[int, int]] = []
    open_clips(videos, SHAPE, cache=tmp_path, limit_bytes=BIG, progress=lambda *at: seen.append(at))
    assert seen[-1] == (5, 5)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    monkeypatch.setattr(module, "decode_grid", lambda row, shape: pytest.fail("decoded again"))
    seen.clear()
    open_clips(videos, SHAPE, cache=tmp_path, limit_bytes=BIG, progress=lambda *at: seen.append(at))
    assert seen == [(5, 5)]


def test_the_key_changes_with_whatever_changes_the_frames(videos, tmp_path):
    row = videos.rows[0]
    moved = tmp_path / "0.mp4"
    moved.write_bytes(row.path.read_bytes())
    shapes = [SHAPE, replace(SHAPE, frames=5), replace(SHAPE, height=17), replace(SHAPE, resize="crop")]
    keys = [cache_key(videos, shape) for shape in shapes]
    keys += [
        cache_key(Manifest(rows, ()), SHAPE)
        for rows in (
            videos.rows[:4],
            videos.rows[::-1],
            (replace(row, path=moved), *videos.rows[1:]),
            (replace(row, start=0.1), *videos.rows[1:]),
            (replace(row, end=0.3), *videos.rows[1:]),
        )
    ]
    before = cache_key(Manifest((replace(row, path=moved),), ()), SHAPE)
    os.utime(moved, (1, 1))
    keys += [before, cache_key(Manifest((replace(row, path=moved),), ()), SHAPE)]
    assert len(set(keys)) == len(keys)
    # Labels and splits change no frame: the firewall's copy of a domain shares its map.
    labelled = Manifest(tuple(replace(row, label="walk", split="train") for row in videos.rows), ("walk",))
    assert cache_key(labelled, SHAPE) == keys[0]


def test_a_failure_leaves_no_map(videos, tmp_path):
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"no video")
    broken = Manifest((*videos.rows, Row(id="bad", path=bad)), ())
    for workers in (1, 2):
        with pytest.raises(DecodeError, match="bad"):
            open_clips(broken, SHAPE, cache=tmp_path, limit_bytes=BIG, workers=workers)
        assert maps(tmp_path) == []


def test_a_map_that_was_cut_off_is_made_again(videos, tmp_path):
    good = open_clips(videos, SHAPE, cache=tmp_path, limit_bytes=BIG).grid_THWC(4).copy()
    (path,) = maps(tmp_path)
    for content in (path.read_bytes()[:-100], b"", b"nonsense"):
        path.write_bytes(content)
        again = open_clips(videos, SHAPE, cache=tmp_path, limit_bytes=BIG)
        np.testing.assert_array_equal(again.grid_THWC(4), good)


def test_a_full_disk_is_told_before_anything_is_decoded(videos, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    monkeypatch.setattr(module, "decode_grid", lambda row, shape: pytest.fail("decoded"))
    with pytest.raises(UserError, match="GiB of decoded clips do not fit into"):
        open_clips(videos, SHAPE, cache=tmp_path, limit_bytes=BIG)
    assert maps(tmp_path) == []


def test_the_maps_not_used_for_longest_go_when_there_are_too_many(videos, tmp_path):
    limit = replace(SHAPE, frames=3).bytes * 5  # four times as much may lie there: 12 frames of each clip

    def use(**change) -> Path:
        clips = open_clips(videos, replace(SHAPE, **change), cache=tmp_path, limit_bytes=limit)
        assert isinstance(clips, CachedClips)
        return clips.path

    first, second, third = use(frames=2), use(frames=3), use(frames=3, resize="crop")
    for hours, path in ((12, first), (11, second), (10, third)):
        then = time.time() - 3600 * hours
        os.utime(path, (then, then))
    assert use(frames=2) == first  # now it is the last that was used
    young = use(frames=3, width=22)
    assert all(path.exists() for path in (first, second, third, young))
    use(frames=3, width=23)
    assert [path.exists() for path in (first, second, third, young)] == [True, False, True, True]
    # What was used within the hour stays, whatever the sum: it may belong to a run that goes on.
    os.utime(third)
    use(frames=3, width=21)
    assert all(path.exists() for path in (first, third, young))


def test_leftovers_of_killed_runs_go_and_those_of_living_ones_stay(videos, tmp_path):
    folder = tmp_path / "clips"
    folder.mkdir()
    old, young = folder / "a.1.partial", folder / "b.2.partial"
    old.write_bytes(b"x")
    young.write_bytes(b"x")
    os.utime(old, (1, 1))
    open_clips(videos, SHAPE, cache=tmp_path, limit_bytes=BIG)
    assert not old.exists()
    assert young.exists()


OPEN = """
import sys
from pathlib import Path
from vidshift.data.clips import ClipShape, open_clips
from vidshift.data.manifest import Manifest, Row
rows = tuple(Row(id=Path(path).stem, path=Path(path)) for path in sys.argv[2:])
clips = open_clips(Manifest(rows, ()), ClipShape(frames=4, height=16, width=24), cache=Path(sys.argv[1]),
                   limit_bytes=2**30, workers=2, progress=lambda done, total: print(done, flush=True))
print(sum(int(clips.grid_THWC(i).sum()) for i in range(len(clips))))
"""


def start(videos: Manifest, cache: Path, times: int) -> "subprocess.Popen[str]":
    paths = [str(row.path) for row in videos.rows] * times
    return subprocess.Popen([sys.executable, "-c", OPEN, str(cache), *paths], stdout=subprocess.PIPE, text=True)


def test_runs_side_by_side_see_the_same_clips(videos, tmp_path):
    children = [start(videos, tmp_path, 1) for _ in range(2)]
    sums = {child.communicate(timeout=60)[0].split()[-1] for child in children}
    live = LiveClips(videos, SHAPE)
    assert sums == {str(sum(int(live.grid_THWC(i).sum()) for i in range(5)))}
    assert len(maps(tmp_path)) == 1


def test_a_killed_run_leaves_no_map_that_another_would_take(videos, tmp_path):
    child = start(videos, tmp_path, 60)
    assert child.stdout is not None
    child.stdout.readline()
    child.kill()
    child.wait()
    child.stdout.close()
    assert [path.suffix for path in maps(tmp_path)] in ([".partial"], [])
    clips = open_clips(videos, SHAPE, cache=tmp_path, limit_bytes=BIG)
    np.testing.assert_array_equal(clips.grid_THWC(0), LiveClips(videos, SHAPE).grid_THWC(0))


def test_no_clips_need_no_map(tmp_path):
    assert len(open_clips(Manifest((), ()), SHAPE, cache=tmp_path, limit_bytes=BIG)) == 0
