"""The published tables in full, with empty files of the listed names. The original lists are read from
`../shared/splits` beside the repository; where they are absent these tests are skipped."""

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vidshift.data.benchmarks import check_benchmark, find_benchmark, open_benchmark
from vidshift.data.benchmarks.daily_da import COUNTS as DAILY
from vidshift.data.benchmarks.daily_da import FOLDERS
from vidshift.data.benchmarks.report import BenchmarkReport
from vidshift.data.benchmarks.ucf_hmdb import COUNTS as UCF_HMDB

SPLITS = Path(__file__).parents[3].parent / "shared" / "splits"
pytestmark = pytest.mark.skipif(not SPLITS.is_dir(), reason=f"the original list files are not in {SPLITS}")

LISTS = {"arid": "arid_msda", "hmdb": "hmdb51_msda", "mit": "mit_msda", "kinetics": "kinetics_daily_msda"}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: tens of thousands of files are made here."""
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        yield Path(name)


def listed(domain: str) -> list[str]:
    """The names in the original lists, parsed here on purpose by other means."""
    files = [SPLITS / "daily-da" / f"{LISTS[domain]}_{split}.txt" for split in ("train", "test")]
    return [line.split("\t")[2] for file in files for line in file.read_text().splitlines()]


def bare(domain: str, name: str) -> str:
    return name.rsplit(".", 1)[0]


def frames(domain: str, name: str) -> str:
    return f"{bare(domain, name)}/img_00001.jpg"


def flat(domain: str, name: str) -> str:
    if domain == "kinetics":
        stem = bare(domain, name).split("/")[-1]
        # As some downloaders name them: without the times, or with plain numbers.
        return f"{stem[:11]}.mp4" if hash_of(stem) else f"{stem}.mp4"
    return name.split("/")[-1] if domain in ("arid", "hmdb") else name


def hash_of(stem: str) -> bool:
    return sum(map(ord, stem)) % 2 == 0


def other(domain: str, name: str) -> str:
    folders, _, base = bare(domain, name).rpartition("/")
    return f"unpacked/{folders.replace('_', ' ').title()}/{base}.{'webm' if domain != 'hmdb' else 'MKV'}"


TREES: dict[str, Callable[[str, str], str]] = {
    "original": lambda _, name: name,
    "without extensions": bare,
    "frame folders": frames,
    "flat": flat,
    "other extensions, another case, one level deeper": other,
}


def make(root: Path, rename: Callable[[str, str], str]) -> dict[str, Path]:
    for domain in FOLDERS:
        made: set[Path] = set()
        for name in listed(domain):
            path = root / domain / rename(domain, name)
            if path.parent not in made:
                path.parent.mkdir(parents=True, exist_ok=True)
                made.add(path.parent)
            path.touch()
    return {domain: root / domain for domain in FOLDERS}


def by_class(report: BenchmarkReport, domain: str, split: str) -> tuple[int, ...]:
    return tuple(cell.found for cell in report.cells if (cell.domain, cell.split) == (domain, split))


@pytest.mark.parametrize("tree", TREES)
def test_daily_da_is_found_in_full_however_it_was_unpacked(folder: Path, tree: str):
    roots = make(folder / "data", TREES[tree])
    report = find_benchmark("daily-da", roots, SPLITS / "daily-da")
    assert report.found == report.expected == 18_949
    assert {key: by_class(report, *key) for key in DAILY} == DAILY
    assert not report.missing
    totals = {domain: len(manifest) for domain, manifest in report.manifests.items()}
    assert totals == {"arid": 4_065, "hmdb": 800, "mit": 4_400, "kinetics": 9_684}
    for domain, manifest in report.manifests.items():
        paths = [row.path for row in manifest.rows]
        assert len(set(paths)) == len(paths)
        expected = [TREES[tree](domain, name).removesuffix("/img_00001.jpg") for name in listed(domain)]
        assert paths == [roots[domain] / name for name in expected]


def test_labels_are_those_of_the_original_lists():
    report = find_benchmark("daily-da", {}, SPLITS / "daily-da")
    for domain, manifest in report.manifests.items():
        lines = [
            line.split("\t")
            for split in ("train", "test")
            for line in (SPLITS / "daily-da" / f"{LISTS[domain]}_{split}.txt").read_text().splitlines()
        ]
        assert [row.label for row in manifest.rows] == [manifest.classes[int(label)] for _, label, _ in lines]
    assert report.found == 0
    assert sum(map(len, report.missing.values())) == 18_949


def test_ucf_hmdb_comes_from_the_official_split_files_alone(folder: Path):
    report = find_benchmark("ucf-hmdb", {}, SPLITS)
    assert report.expected == 3_209
    roots: dict[str, Path] = {}
    for domain, names in report.missing.items():
        roots[domain] = folder / domain
        for name in names:
            path = roots[domain] / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    report, written = check_benchmark("ucf-hmdb", roots, SPLITS, cache=folder / "cache")
    assert report.found == 3_209
    assert {key: by_class(report, *key) for key in UCF_HMDB} == UCF_HMDB
    assert [path.name for path in written] == ["ucf-hmdb-ucf.parquet", "ucf-hmdb-hmdb.parquet"]
    again = open_benchmark("ucf-hmdb:ucf", cache=folder / "cache")
    assert again.rows == report.manifests["ucf"].rows
    assert Counter(row.split for row in again.rows) == {"train": 1_438, "test": 571}


def test_ucf_hmdb_has_the_rows_and_labels_of_the_list_files_of_others():
    report = find_benchmark("ucf-hmdb", {}, SPLITS)
    files = {
        ("ucf", "train"): "ucf101_hmdb51_train_da.txt",
        ("ucf", "test"): "ucf101_hmdb51_val_da.txt",
        ("hmdb", "train"): "hmdb51_ucf101_train_da.txt",
        ("hmdb", "test"): "hmdb51_ucf101_val_da.txt",
    }
    for (domain, split), file in files.items():
        lines = [line.split("\t") for line in (SPLITS / "ucf-hmdb" / file).read_text().splitlines()]
        manifest = report.manifests[domain].where(split=split)
        ours = {(f"{row.id}.avi", manifest.classes.index(row.label or "")) for row in manifest.rows}
        assert ours == {(name, int(label)) for _, label, name in lines}
