from pathlib import Path

import pytest
from trees import touch

from vidshift.data.benchmarks import check_benchmark, find_benchmark
from vidshift.data.benchmarks.actorshift import CLASSES, COLUMNS, COUNTS, KINETICS_700, SOURCE
from vidshift.data.layouts import read
from vidshift.errors import UserError


def animals(split: str) -> list[tuple[str, str]]:
    """(name, class) as in the annotations: YouTube ids with a running number."""
    return [
        (f"{split}{label}{n:04d}abcdef"[:11] + f"-{n:03d}", CLASSES[label])
        for label, count in enumerate(COUNTS["animals", split])
        for n in range(count)
    ]


def humans(count: int = 1305) -> list[tuple[str, str]]:
    return [(f"{n:011d}_{n:06d}_{n + 10:06d}", CLASSES[n % 7]) for n in range(count)]


def annotate(root: Path, train: list[tuple[str, str]], val: list[tuple[str, str]]) -> None:
    (root / "annotations").mkdir(parents=True)
    for name, rows in (("train", train), ("val", val)):
        text = "".join(f"videos/{video}.mp4,{label}\n" for video, label in rows)
        (root / "annotations" / f"{name}.csv").write_text(text)


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    root = tmp_path / "ActorShift"
    annotate(root, [*humans(), *animals("train")], animals("test"))
    touch(root / "videos", [f"{name}.mp4" for name, _ in (*humans(), *animals("train"), *animals("test"))])
    return root


def test_the_zips_folder_gives_all_1505(unpacked: Path, tmp_path: Path):
    report, _ = check_benchmark("actorshift", {"actorshift": unpacked}, cache=tmp_path / "cache")
    assert report.found == report.expected == 1_505
    assert report.totals() == {
        ("kinetics", "train"): (1305, 1305),
        ("animals", "train"): (35, 35),
        ("animals", "test"): (165, 165),
    }
    for (domain, split), wanted in COUNTS.items():
        assert tuple(c.found for c in report.cells if (c.domain, c.split) == (domain, split)) == wanted
    target = read("actorshift:animals", cache=tmp_path / "cache")
    assert target.classes == CLASSES
    assert len(target.where(split="test")) == 165
    assert not any("lists" in note for note in report.notes)


def test_the_tables_columns_are_all_classes():
    assert sorted(COLUMNS) == sorted(CLASSES)
    assert sorted(KINETICS_700) == sorted(CLASSES)
    assert [CLASSES.index(name) for name in COLUMNS] == [5, 3, 4, 2, 0, 6, 1]


def test_other_counts_than_the_published_are_said(tmp_path: Path):
    root = tmp_path / "zip"
    annotate(root, [*humans(1387), *animals("train")], animals("test")[:-1])
    notes = " | ".join(find_benchmark("actorshift", {"actorshift": root}).notes)
    assert "list 1,387 source videos, where the paper has 1,305" in notes
    assert "list 164 animals to test (19 30 41 23 24 18 9), where the benchmark has 165" in notes


def test_without_a_source_list_a_stand_in_is_chosen_and_called_one(tmp_path: Path):
    root = tmp_path / "zip"
    annotate(root, animals("train"), animals("test"))
    report = find_benchmark("actorshift", {"actorshift": root})
    assert "kinetics" not in report.manifests
    names = [
        f"train/{raw.replace(' ', '_')}/{raw[:3]}{n:08d}_000001_000011.mp4"
        for raws in KINETICS_700.values()
        for raw in raws
        for n in range(400 // len(raws))
    ]
    kinetics = touch(tmp_path / "k700", names)
    report = find_benchmark("actorshift", {"actorshift": root, "kinetics": kinetics})
    assert any("NOT the official source list" in note for note in report.notes)
    source = report.manifests["kinetics"]
    assert len(source) == SOURCE
    assert {sum(row.label == name for row in source.rows) for name in CLASSES} == {186, 187}
    assert find_benchmark("actorshift", {"actorshift": root, "kinetics": kinetics}).manifests["kinetics"] == source


def test_a_folder_without_annotations_or_classes_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="no list of 'path,class' lines"):
        find_benchmark("actorshift", {"actorshift": touch(tmp_path / "a", ["videos/x.mp4", "README.txt"])})
    root = tmp_path / "zip"
    annotate(root, animals("train"), animals("test"))
    with pytest.raises(UserError, match="no class folder of Kinetics-700 for 'watching tv'"):
        find_benchmark("actorshift", {"actorshift": root, "kinetics": touch(tmp_path / "k", ["sleeping/a.mp4"])})
