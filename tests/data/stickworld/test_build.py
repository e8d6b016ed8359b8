import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from vidshift.data.decode import decode_clip
from vidshift.data.stickworld.build import SIZES, build, folder_of
from vidshift.data.stickworld.numbered import Series
from vidshift.data.stickworld.variant import ACTIONS, DOMAINS, Variant
from vidshift.errors import UserError


def frames(path: Path) -> np.ndarray:
    return decode_clip(path, frames=32, size=(96, 96))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


BUILD = """
import sys
from pathlib import Path
from vidshift.data.stickworld.build import build
build(Path(sys.argv[1]), "street", "train", int(sys.argv[2]), workers=int(sys.argv[3]),
      progress=lambda done, total: print(done, flush=True))
"""


def start(cache: Path, count: int, workers: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, str(cache), str(count), str(workers)], stdout=subprocess.PIPE, text=True
    )


def test_files_decode_to_what_was_drawn(tmp_path):
    manifest = build(tmp_path, "street", "val", 3, workers=1)
    series = Series(domain="street", split="val")
    for number, row in enumerate(manifest.rows):
        drawn = series.draw(number)
        decoded = frames(row.path)
        assert decoded.shape == drawn.clip_THWC.shape
        # Only what the codec takes away lies between them; another clip differs by tens of grey levels.
        assert np.abs(decoded.astype(int) - drawn.clip_THWC).mean() < 8
        assert (row.label, row.domain, row.split) == (drawn.description.action, "street", "val")
        assert (row.num_frames, row.width, row.height) == (32, 96, 96)


def test_the_same_clips_from_other_processes(tmp_path):
    helped = build(tmp_path / "two", "studio", "train", 64, workers=2)
    alone = build(tmp_path / "one", "studio", "train", 8, workers=1)
    for one, two in zip(alone.rows, helped.rows):
        assert (one.id, one.label) == (two.id, two.label)
        np.testing.assert_array_equal(frames(one.path), frames(two.path))


@pytest.mark.parametrize("count", [8, 9, 15])
def test_every_class_equally_often_up_to_the_remainder(count):
    for domain in DOMAINS:
        for split in SIZES:
            series = Series(domain=domain, split=split)
            times = Counter(series.action(number) for number in range(count))
            assert max(times.values()) - min(times.get(action, 0) for action in range(len(ACTIONS))) <= 1


def test_the_order_of_classes_differs_between_blocks():
    series = Series(domain="web", split="train")
    orders = {tuple(series.action(8 * block + place) for place in range(8)) for block in range(10)}
    assert len(orders) == 10


def test_a_larger_count_extends_a_smaller_one(tmp_path):
    small = build(tmp_path, "web", "train", 3, workers=1)
    before = contents(small.rows[0].path.parent)
    large = build(tmp_path, "web", "train", 6, workers=1)
    assert large.rows[:3] == small.rows
    after = contents(small.rows[0].path.parent)
    assert len(after) == 6
    assert {name: after[name] for name in before} == before


def test_ids_are_unique_over_everything(tmp_path):
    series = [
        Series(domain=domain, split=split, seed=seed) for domain in DOMAINS for split in SIZES for seed in range(3)
    ]
    ids = [one.id(number) for one in series for number in range(20)]
    assert len(set(ids)) == len(ids)
    assert Series(domain="street", split="test").id(7) == "street-test-0-000007"


def test_no_two_clips_are_the_same():
    seen = set()
    for split in SIZES:
        for seed in range(2):
            for number in range(3):
                seen.add(Series(domain="street", split=split, seed=seed).draw(number).clip_THWC.tobytes())
    assert len(seen) == 18


def test_a_domain_shares_files_between_variants_it_cannot_tell_apart(tmp_path):
    weak, strong = Variant(bias=0.0), Variant(bias=0.9)
    place = {
        (domain, variant.key): folder_of(tmp_path, Series(domain=domain, split="test", variant=variant))
        for domain in DOMAINS
        for variant in (weak, strong, Variant(handheld=True))
    }
    assert place["street", weak.key] == place["street", strong.key]
    assert place["studio", weak.key] != place["studio", strong.key]
    assert place["street", weak.key] != place["street", Variant(handheld=True).key]


def test_nothing_is_written_twice(tmp_path):
    first = build(tmp_path, "street", "val", 4, workers=1)
    times = [row.path.stat().st_mtime_ns for row in first.rows]
    seen = []
    again = build(tmp_path, "street", "val", 4, workers=1, progress=lambda done, total: seen.append((done, total)))
    assert again == first
    assert [row.path.stat().st_mtime_ns for row in again.rows] == times
    assert seen == [(4, 4)]


@pytest.mark.parametrize("harm", ["delete", "truncate", "empty", "flip", "append", "seal"])
def test_harm_is_mended(tmp_path, harm):
    manifest = build(tmp_path, "street", "val", 3, workers=1)
    path = manifest.rows[1].path
    good = path.read_bytes()
    if harm == "delete":
        path.unlink()
    elif harm == "flip":
        path.write_bytes(good[:900] + bytes([good[900] ^ 1]) + good[901:])
    else:
        path.write_bytes(
            {"truncate": good[:-200], "empty": b"", "append": good + b"\0", "seal": good[:-1] + b"\0"}[harm]
        )
    others = [row.path.stat().st_mtime_ns for row in (manifest.rows[0], manifest.rows[2])]
    build(tmp_path, "street", "val", 3, workers=1)
    assert path.read_bytes() == good
    assert [row.path.stat().st_mtime_ns for row in (manifest.rows[0], manifest.rows[2])] == others


def test_progress_counts_up_to_the_total(tmp_path):
    seen: list[tuple[int, int]] = []
    build(tmp_path, "studio", "train", 50, workers=2, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 50)
    assert seen[-1] == (50, 50)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_two_builds_at_once(tmp_path):
    children = [start(tmp_path, 56, 2) for _ in range(2)]
    for child in children:
        out, _ = child.communicate(timeout=60)
        assert child.returncode == 0
        assert out.split()[-1] == "56"
    manifest = build(tmp_path, "street", "train", 56, workers=1, progress=lambda done, total: None)
    names = {path.name for path in manifest.rows[0].path.parent.iterdir()}
    assert names == {f"{number:06d}.mp4" for number in range(56)}
    np.testing.assert_array_equal(
        frames(manifest.rows[55].path), frames(build(tmp_path / "own", "street", "train", 56).rows[55].path)
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_a_build_that_was_killed_goes_on(tmp_path, workers):
    child = start(tmp_path, 400, workers)
    assert child.stdout is not None
    while int(child.stdout.readline()) < 8:
        pass
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    folder = folder_of(tmp_path, Series(domain="street", split="train"))
    # Helpers end by themselves after the job in hand.
    for _ in range(100):
        before = len(list(folder.glob("*.mp4")))
        time.sleep(0.1)
        if len(list(folder.glob("*.mp4"))) == before:
            break
    done = len(list(folder.glob("*.mp4")))
    assert 8 <= done < 100
    seen: list[int] = []
    build(tmp_path, "street", "train", done + 2, workers=1, progress=lambda done, total: seen.append(done))
    assert seen[0] == done
    assert seen[-1] == done + 2


def test_old_leftovers_are_swept_and_young_ones_are_not(tmp_path):
    folder = folder_of(tmp_path, Series(domain="web", split="val"))
    folder.mkdir(parents=True)
    old, young = folder / ".000000.1.partial", folder / ".000001.2.partial"
    old.write_bytes(b"x")
    young.write_bytes(b"x")
    os.utime(old, (0, 0))
    build(tmp_path, "web", "val", 1)
    assert not old.exists()
    assert young.exists()


def test_wrong_calls_are_told(tmp_path):
    with pytest.raises(UserError, match=r"unknown domain 'studo' \(did you mean 'studio'\?\)"):
        build(tmp_path, "studo", "train", 1)
    with pytest.raises(UserError, match="unknown split 'dev'"):
        build(tmp_path, "studio", "dev", 1)
    with pytest.raises(UserError, match="0 clips of studio train"):
        build(tmp_path, "studio", "train", 0)
    with pytest.raises(UserError, match="seed -1 is negative"):
        build(tmp_path, "studio", "train", 1, seed=-1)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="choose another cache folder"):
        build(tmp_path / "file", "studio", "train", 1)
