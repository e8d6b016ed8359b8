from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import file_names, touch

from vidshift.data.resolve import BY_ID, ELSEWHERE, EXACT, FLAT, FOLDED, SAME, Finder, Found, locate
from vidshift.data.tree import scan

CLASSES = ("Drink", "RockClimbingIndoor", "walking_the_dog", "pouring_beer")


def find(tmp_path: Path, there: list[str], name: str, **options) -> Found:
    return Finder(scan(touch(tmp_path, there), others=True), classes=CLASSES, **options).find(name)


@pytest.mark.parametrize(
    ("there", "wanted", "how"),
    [
        ("Drink/a.mp4", "Drink/a.mp4", EXACT),
        ("Drink/a.webm", "Drink/a.mp4", SAME),
        ("Drink/a.AVI", "Drink/a.mp4", SAME),
        ("Drink/a", "Drink/a.mp4", SAME),
        ("Drink/a.divx", "Drink/a.mp4", SAME),
        ("Drink/a/", "Drink/a.mp4", SAME),
        ("Drink/a.avi/", "Drink/a.avi", EXACT),
        ("Drink/a.mp4", "Drink/a", SAME),
        ("drink/a.mp4", "Drink/a.mp4", FOLDED),
        ("Rock Climbing Indoor/a.avi", "RockClimbingIndoor/a.avi", FOLDED),
        ("train/walking the dog/a.mkv", "training/walking_the_dog/a.mp4", FOLDED),
        ("clips_v1.5/Drink/a.mp4", "Drink/a.mp4", ELSEWHERE),
        ("Drink/a.mp4", "ARID/frames/Drink/a", ELSEWHERE),
        ("Drink/a.mp4", "home/somebody/data/Drink/a.mp4", ELSEWHERE),
        ("a.mp4", "Drink/a.mp4", FLAT),
        ("all/a.mp4", "Drink/a.mp4", FLAT),
        ("e\u0301.mp4", "\u00e9.mp4", SAME),
    ],
)
def test_a_name_is_found_however_the_copy_was_unpacked(tmp_path: Path, there: str, wanted: str, how: str):
    assert find(tmp_path, [there], wanted) == Found(there.rstrip("/"), how)


ID = "-18N3scYPX8"


@pytest.mark.parametrize(
    ("there", "wanted", "how"),
    [
        (f"{ID}.mp4", f"train/pouring_beer/{ID}_000034_000044.mp4", BY_ID),
        (f"{ID}_34_44.mkv", f"train/pouring_beer/{ID}_000034_000044.mp4", BY_ID),
        (f"{ID}_000034_000044.mp4", f"train/pouring_beer/{ID}_000034_000044.mp4", FLAT),
        (f"val/walking the dog/{ID}_000034_000044.mp4", f"test/{ID}_000034_000044.mp4", FLAT),
        (f"x/walking the dog/{ID}_000034_000044.mp4", f"train/pouring_beer/{ID}_000034_000044.mp4", ELSEWHERE),
    ],
)
def test_kinetics_goes_by_youtube_id_and_start(tmp_path: Path, there: str, wanted: str, how: str):
    assert find(tmp_path, [there], wanted, youtube=True) == Found(there, how)


def test_another_start_or_another_id_is_another_clip(tmp_path: Path):
    wanted = f"train/pouring_beer/{ID}_000034_000044.mp4"
    other = f"_{ID[1:]}"
    there = [f"{ID}_000035_000045.mp4", f"{other}_000034_000044.mp4", f"{ID.lower()}_000034_000044.mp4"]
    assert find(tmp_path, there, wanted, youtube=True) == Found(None)


@pytest.mark.parametrize(
    "there",
    [
        ["RockClimbingIndoor/a.mp4"],  # the same base name, under another class
        ["drink/b.mp4"],
        ["Drink/A.mp4"],  # YouTube ids differ by case alone
    ],
)
def test_a_base_name_is_not_enough(tmp_path: Path, there: list[str]):
    assert find(tmp_path, there, "Drink/a.mp4") == Found(None)


def test_without_flat_matches_a_class_folder_is_needed(tmp_path: Path):
    assert find(tmp_path, ["a.mp4"], "Drink/a.mp4", flat=False) == Found(None)
    assert find(tmp_path, ["x/drink/a.mp4"], "Drink/a.mp4", flat=False).name == "x/drink/a.mp4"


def test_of_several_the_nearest_is_taken_and_of_equals_none(tmp_path: Path):
    assert find(tmp_path, ["train/Drink/a.mp4", "test/Drink/a.mp4"], "test/Drink/a.avi").name == "test/Drink/a.mp4"
    assert find(tmp_path, ["one/Drink/c.mp4", "two/Drink/c.mp4"], "Drink/c.mp4") == Found(None, ambiguous=True)
    assert find(tmp_path, ["clips/Drink/e.mp4", "frames/Drink/e/"], "Drink/e.avi").name == "clips/Drink/e.mp4"
    assert find(tmp_path, ["Drink/d.webm", "Drink/d.mkv", "Drink/d/"], "Drink/d.mp4").name == "Drink/d.mkv"


def test_names_that_fit_several_files_are_counted(tmp_path: Path):
    touch(tmp_path, ["one/Drink/c.mp4", "two/Drink/c.mp4"])
    assert locate(["Drink/c.mp4"], tmp_path)[1] == (
        "1 names fit several files each; point at a folder that holds one copy",
    )


def test_the_tree_is_walked_only_if_it_must_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    touch(tmp_path, ["Drink/a.mp4"])
    monkeypatch.setattr("vidshift.data.resolve.scan", lambda *_, **__: pytest.fail("walked"))
    assert locate(["Drink/a.mp4"], tmp_path) == ([Found("Drink/a.mp4", EXACT)], ())


@given(names=st.lists(st.tuples(file_names(unicode=False), file_names(unicode=False)), unique=True, max_size=6))
def test_whatever_is_listed_as_it_lies_is_found(tmp_path_factory: pytest.TempPathFactory, names: list[tuple[str, str]]):
    root = tmp_path_factory.mktemp("tree")
    paths = [f"{folder}/{base}.mp4" for folder, base in names]
    touch(root, paths)
    finder = Finder(scan(root))
    visible = [path for path in paths if not any(part.startswith(".") for part in path.split("/"))]
    assert [finder.find(path) for path in visible] == [Found(path, EXACT) for path in visible]
