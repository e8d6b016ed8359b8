from collections.abc import Mapping
from pathlib import Path

import pytest
from trees import touch

from vidshift.data.benchmarks import BENCHMARKS, check_benchmark, daily_da, find_benchmark, ucf_hmdb
from vidshift.data.layouts import read
from vidshift.engine.config import RunConfig
from vidshift.engine.folders import open_folders
from vidshift.errors import UserError

TWICE = "yt-tE24AbeRXsk_229.mp4"  # Moments in Time has it under two classes
NAMES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("hmdb", "train"): ("0\tdrink/a_drink_1.avi", "7\twave/b_wave_1.avi"),
    ("hmdb", "test"): ("0\tdrink/c_drink_2.avi",),
    ("mit", "train"): (f"6\ttraining/walking/{TWICE}", f"5\ttraining/running/{TWICE}"),
    ("mit", "test"): ("6\tvalidation/walking/giphy-x_0.mp4",),
    ("kinetics", "train"): (
        "3\ttrain/pouring_beer/--O2qCO6zBI_000025_000035.mp4",
        "1\ttrain/jumping_jacks/-0pMQbEe8Po_000004_000014.mp4",
    ),
    ("kinetics", "test"): ("4\ttest/-18N3scYPX8_000034_000044.mp4",),
    ("arid", "train"): ("0\tDrink/Drink_10_1.mp4",),
    ("arid", "test"): ("7\tWave/Wave_11_1.mp4",),
}


def counts(labels: list[int], classes: int) -> tuple[int, ...]:
    return tuple(labels.count(k) for k in range(classes))


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small Daily-DA of its own, whose lists stand in for the published ones."""
    folder = tmp_path / "lists"
    folder.mkdir()
    for (domain, split), lines in NAMES.items():
        text = "".join(f"{n}\t{line}\n" for n, line in enumerate(lines))
        (folder / f"{daily_da.LISTS[domain]}_{split}.txt").write_text(text)
    small = {key: counts([int(line[0]) for line in lines], 8) for key, lines in NAMES.items()}
    monkeypatch.setattr(daily_da, "COUNTS", small)
    return folder


def paths(domain: str) -> list[str]:
    return [line.split("\t")[1] for split in ("train", "test") for line in NAMES[domain, split]]


def test_expected_against_found_and_the_missing_names(lists: Path, tmp_path: Path):
    root = touch(tmp_path / "hmdb", paths("hmdb")[:2])
    report, written = check_benchmark("daily-da", {"hmdb": root}, lists, cache=tmp_path / "cache")
    assert (report.found, report.expected) == (2, 3)
    assert [(c.split, c.name, c.found, c.expected) for c in report.cells] == [
        ("train", "drink", 1, 1),
        ("train", "wave", 1, 1),
        ("test", "drink", 0, 1),
    ]
    assert [path.name for path in written] == ["daily-da-hmdb.parquet", "daily-da-hmdb-missing.txt"]
    assert written[1].read_text() == "drink/c_drink_2.avi\n"
    text = str(report)
    assert "2 of 3 videos found" in text
    assert "0/1" in text
    assert "official split 1" in text
    touch(root, paths("hmdb"))
    report, written = check_benchmark("daily-da", {"hmdb": root}, lists, cache=tmp_path / "cache")
    assert report.found == 3
    assert [path.name for path in written] == ["daily-da-hmdb.parquet"]
    assert not (tmp_path / "cache" / "benchmarks" / "daily-da-hmdb-missing.txt").exists()


def test_without_folders_everything_is_wanted(lists: Path, tmp_path: Path):
    report, written = check_benchmark("daily-da", {}, lists, cache=tmp_path)
    assert report.found == 0
    assert {path.name for path in written} == {f"daily-da-{domain}-missing.txt" for domain in BENCHMARKS["daily-da"]}


def test_a_domain_is_opened_by_its_name_and_used_by_a_run(lists: Path, tmp_path: Path):
    cache = tmp_path / "cache"
    roots = {domain: touch(tmp_path / domain, paths(domain)) for domain in ("hmdb", "arid")}
    with pytest.raises(UserError, match=r"run `vidshift check daily-da --hmdb FOLDER --lists FOLDER` once"):
        read("daily-da:hmdb", cache=cache)
    report, _ = check_benchmark("daily-da", roots, lists, cache=cache)
    manifest = read("daily-da:hmdb", cache=cache)
    assert manifest.rows == report.manifests["hmdb"].rows
    assert manifest.classes == daily_da.CLASSES
    domains = open_folders(RunConfig(source="daily-da:hmdb", target="daily-da:arid"), cache=cache)
    assert domains.classes == ("drink", "wave")
    assert [len(part) for part in (domains.source_train, domains.target_train, domains.target_test)] == [2, 1, 1]
    with pytest.raises(UserError, match=r"'daily-da:hmbd' \(did you mean 'daily-da:hmdb'\?\)"):
        read("daily-da:hmbd", cache=cache)


def test_moments_in_time_is_never_matched_by_base_name_alone(lists: Path, tmp_path: Path):
    flat = touch(tmp_path / "flat", [TWICE, "giphy-x_0.mp4"])
    assert find_benchmark("daily-da", {"mit": flat}, lists).found == 0
    one = touch(tmp_path / "one", [f"training/running/{TWICE}"])
    report = find_benchmark("daily-da", {"mit": one}, lists)
    assert [row.label for row in report.manifests["mit"].rows if row.usable] == ["run"]


def test_kinetics_is_matched_by_youtube_id(lists: Path, tmp_path: Path):
    root = touch(
        tmp_path / "k", ["--O2qCO6zBI.mkv", "jumping jacks/-0pMQbEe8Po_4_14.webm", "-18N3scYPX8_000034_000044.mp4"]
    )
    report = find_benchmark("daily-da", {"kinetics": root}, lists)
    assert report.found == report.expected == 3
    assert any("by YouTube id" in note for note in report.notes)
    touch(other := tmp_path / "val", ["val/pouring_beer/--O2qCO6zBI_000026_000036.mp4"])
    report = find_benchmark("daily-da", {"kinetics": other}, lists)
    assert report.found == 0
    assert any("official test set (not val)" in note for note in report.notes)


def test_lists_without_extensions_and_with_a_prefix_are_the_same(lists: Path, tmp_path: Path):
    roots = {domain: touch(tmp_path / domain, paths(domain)) for domain in ("arid", "mit")}
    before = find_benchmark("daily-da", roots, lists)
    for prefix, name in (("ARID/frames/", "arid_msda"), ("mit/", "mit_msda")):
        for split in ("train", "test"):
            path = lists / f"{name}_{split}.txt"
            rows = [line.split("\t") for line in path.read_text().splitlines()]
            path.write_text("".join(f"{n}\t{k}\t{prefix}{video[:-4]}\n" for n, k, video in rows))
    after = find_benchmark("daily-da", roots, lists)
    assert after.cells == before.cells
    assert {d: m.rows for d, m in after.manifests.items()} == {d: m.rows for d, m in before.manifests.items()}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0\t0\twave/x.avi\n1\t0\tdrink/a_drink_1.avi\n", r"'wave/x.avi' the label '0', where daily-da has 7 \(wave\)"),
        ("0\t8\tdrink/a_drink_1.avi\n", r"the label '8', where daily-da has 0 \(drink\)"),
        ("0\t8\tdrinking/a.avi\n", "the label '8', where daily-da has 0 to 7"),
        ("0\t0\tdrink/a.avi\n1\t0\tdrink/b.avi\n", r"lists 2 videos \(2 0 .* has 2 \(1 0"),
        ("drink/a_drink_1.avi 1\n", "the label '1', where daily-da has 0"),
    ],
)
def test_another_list_under_the_name_of_the_benchmarks_is_refused(lists: Path, content: str, message: str):
    (lists / "hmdb51_msda_train.txt").write_text(content)
    with pytest.raises(UserError, match=message):
        find_benchmark("daily-da", {}, lists)


def test_of_two_lists_of_one_name_the_right_one_is_read(lists: Path):
    touch(lists, ["a/x"])
    (lists / "a" / "hmdb51_msda_train.txt").write_text("0\t0\tdrink/other.avi\n")
    (lists / "hmdb51_msda_train.txt").rename(lists / "x")
    (touch(lists, ["b/x"]) / "x").rename(lists / "b" / "hmdb51_msda_train.txt")
    assert find_benchmark("daily-da", {}, lists).expected == sum(map(len, NAMES.values()))


def test_the_kinetics_val_list_is_left_alone(lists: Path):
    (lists / "kinetics_daily_msda_val.txt").write_text("0\t6\tval/walking_the_dog/-1RxG3SJZfY_000103_000113.mp4\n")
    report = find_benchmark("daily-da", {}, lists)
    assert report.expected == sum(map(len, NAMES.values()))
    assert any("kinetics_daily_msda_val.txt (325 videos) is no part of the benchmark" in note for note in report.notes)


@pytest.mark.parametrize(
    ("name", "roots", "message"),
    [
        ("daily-ad", {}, r"unknown benchmark 'daily-ad' \(did you mean 'daily-da'\?\)"),
        ("daily-da", {"hmdb": "nowhere"}, "--hmdb names 'nowhere', which is no folder"),
        ("daily-da", {"ucf": "."}, "daily-da has no --ucf"),
        ("ucf-hmdb", {"arid": "."}, "ucf-hmdb has no --arid"),
        ("actorshift", {}, "needs --actorshift FOLDER"),
    ],
)
def test_wrong_calls(lists: Path, name: str, roots: dict[str, str], message: str):
    with pytest.raises(UserError, match=message) as caught:
        find_benchmark(name, {flag: Path(folder) for flag, folder in roots.items()}, lists)
    assert caught.value.exit_code == 2


def test_lists_are_asked_for(tmp_path: Path, lists: Path):
    with pytest.raises(UserError, match="give --lists FOLDER"):
        find_benchmark("daily-da", {})
    with pytest.raises(UserError, match=r"there is no arid_msda_train\.txt"):
        find_benchmark("daily-da", {}, touch(tmp_path / "empty", []))
    with pytest.raises(UserError, match="official split files; give --lists"):
        find_benchmark("ucf-hmdb", {})


def test_ucf_hmdb_joins_folders_and_reads_part_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lists = touch(tmp_path / "lists", [])
    (lists / "classInd.txt").write_text("1 Archery\n2 BoxingSpeedBag\n3 YoYo\n")
    (lists / "trainlist01.txt").write_text("Archery/a.avi 1\nBoxingSpeedBag/b.avi 2\nPunch/c.avi 4\nYoYo/d.avi 3\n")
    (lists / "testlist01.txt").write_text("Archery/e.avi\nYoYo/f.avi\n")
    (lists / "punch_test_split1.txt").write_text("p_punch_1.avi 1 \nq_punch_2.avi 2 \nr_punch_3.avi 0 \n")
    (lists / "smoke_test_split1.txt").write_text("s_smoke_1.avi 1 \n")
    small = {
        ("ucf", "train"): counts([10, 5, 5], 12),
        ("ucf", "test"): counts([10], 12),
        ("hmdb", "train"): counts([5], 12),
        ("hmdb", "test"): counts([5], 12),
    }
    monkeypatch.setattr(ucf_hmdb, "COUNTS", small)
    report = find_benchmark("ucf-hmdb", {}, lists)
    rows = {row.id: (row.label, row.split) for manifest in report.manifests.values() for row in manifest.rows}
    assert rows == {
        "Archery/a": ("shoot_bow", "train"),
        "BoxingSpeedBag/b": ("punch", "train"),
        "Punch/c": ("punch", "train"),
        "Archery/e": ("shoot_bow", "test"),
        "punch/p_punch_1": ("punch", "train"),
        "punch/q_punch_2": ("punch", "test"),
    }
    beside = touch(tmp_path / "UCF-101", ["Archery/a.avi", "Archery/e.avi", "BoxingSpeedBag/b.avi", "Punch/c.avi"])
    (lists / "trainlist01.txt").rename(beside / "trainlist01.txt")
    (lists / "testlist01.txt").rename(beside / "testlist01.txt")
    assert find_benchmark("ucf-hmdb", {"ucf": beside}).found == 4
    (beside / "testlist01.txt").write_text("Archery/e.avi\nArchery/g.avi\n")
    with pytest.raises(UserError, match="give 2 test videos of these classes, where ucf-hmdb has 1"):
        find_benchmark("ucf-hmdb", {"ucf": beside})
