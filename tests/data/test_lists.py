from pathlib import Path

import pytest
from trees import touch

from vidshift.data.frames import NOMINAL_FPS
from vidshift.data.layouts import absolute_spec, read
from vidshift.data.lists import FORMATS, detect
from vidshift.data.manifest import Manifest
from vidshift.errors import UserError

# A path with all that real names hold, and what the sources of datasets.md section 4 write around it.
ODD = "drink/-(HQ)_a & b! #1 [x] 5_drink_f.avi"
PLAIN = "drink/v_1.avi"
CASES = {
    "ATCoN": ("{n}\t{label}\t{path}", "index, label, path", True),
    "TA3N": ("{stem}/ 90 {label}", "'path frames label'", True),
    "mmaction2 frames": ("{stem} 90 {label}", "path frames label", True),
    "frames, tabs": ("{stem}\t90\t{label}", "'path, frames, label' with tabs", True),
    "frames, commas": ("{stem},90,{label}", "'path, frames, label' with commas", True),
    "mmaction2 video": ("{path} {label}", "path label", True),
    "UNITE": ("{path},{label}", "'path, label' with commas", True),
    "ActorShift": ("{path},{word}", "'path, class' with commas", True),
    "quoted": ('"{path}", "{word}"', "quotes", True),
    "VideoMAE pretraining": ("{path} 0 -1", "without labels", False),
    "frames of pretraining": ("{stem} 1 300", "without labels", False),
    "words": ("{path} {word}", "'path class' with spaces", True),
    "tabs": ("{path}\t{word}", "'path, label' with tabs", True),
    "paths": ("{path}", "paths alone", False),
    "EPIC": ("{stem} 26 50 {label}", "start stop label", True),
}
WORDS = ("drink", "ride bike")


def listed(tmp_path: Path, form: str, *, name: str = "list.txt", there: bool = True) -> tuple[Path, list[str]]:
    paths = [ODD, PLAIN, "ride bike/c d 7.avi", "ride bike/e.avi"]
    if there:
        touch(tmp_path, [path if "{path}" in form else path.removesuffix(".avi") + "/" for path in paths])
    lines = [
        form.format(n=n, path=path, stem=path.removesuffix(".avi"), label=n // 2, word=WORDS[n // 2])
        for n, path in enumerate(paths)
    ]
    (tmp_path / name).write_bytes("\r\n".join([*lines, "", ""]).encode())
    return tmp_path / name, paths


@pytest.mark.parametrize("source", CASES)
def test_each_format_of_the_wild_is_known_by_its_content(tmp_path: Path, source: str):
    form, words, labelled = CASES[source]
    path, names = listed(tmp_path, form)
    manifest = read(path)
    assert words in manifest.origin
    assert [row.id for row in manifest.rows] == [name.removesuffix(".avi") for name in names]
    assert all(row.path.exists() and row.usable for row in manifest.rows)
    assert manifest.labelled == labelled
    if labelled:
        expected = WORDS if "{word}" in form else ("0", "1")
        assert manifest.classes == expected
        assert [row.label for row in manifest.rows] == [expected[0]] * 2 + [expected[1]] * 2
        assert ("labels 0 to 1" in manifest.origin) == ("{label}" in form)


@pytest.mark.parametrize("source", sorted(set(CASES) - {"paths"}))
def test_the_format_is_known_without_the_files_too(source: str):
    form, words, _ = CASES[source]
    lines = [
        form.format(n=n, path=f"walk/{n}.avi", stem=f"walk/{n}", label=n % 3, word=WORDS[n % 2]) for n in range(30)
    ]
    found = detect(lines, Path("nowhere"))
    assert found is not None
    assert words in found[0].words
    assert [line.path.rstrip("/") for line in found[1]] == [f"walk/{n}{'.avi' * ('{path}' in form)}" for n in range(30)]


def test_frames_of_a_part_become_its_times(tmp_path: Path):
    path, _ = listed(tmp_path, CASES["EPIC"][0])
    row = read(path).rows[0]
    assert (row.start, row.end) == (25 / NOMINAL_FPS, 50 / NOMINAL_FPS)


def test_lists_beside_a_class_list_speak_its_names(tmp_path: Path):
    path, _ = listed(tmp_path, CASES["UNITE"][0])
    (tmp_path / "classes.json").write_text('["drink", "ride_bike"]')
    manifest = read(path)
    assert manifest.classes == ("drink", "ride_bike")
    assert "labels 0 to 1 (0 is 'drink')" in manifest.origin


def test_the_videos_may_lie_elsewhere(tmp_path: Path):
    videos = touch(tmp_path / "my videos", ["drink/a.mp4", "walk/b.mp4"])
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "all.csv").write_text("/data/of/somebody/drink/a.mp4,0\n/data/of/somebody/walk/b.avi,1\n")
    with pytest.raises(UserError, match=r"none of the 2 videos .*LIST@FOLDER"):
        read(lists / "all.csv")
    for manifest in (read(f"{lists}/all.csv@{videos}"), read(lists / "all.csv", root=videos)):
        assert [row.path for row in manifest.rows] == [videos / "drink/a.mp4", videos / "walk/b.mp4"]
    with pytest.raises(UserError, match="no folder 'nowhere'"):
        read(f"{lists}/all.csv@nowhere")


def test_a_spec_made_absolute_means_the_same_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    touch(tmp_path / "v", ["a.mp4", "b.mp4"])
    (tmp_path / "x_train.txt").write_text("a.mp4 0\n")
    (tmp_path / "x_test.txt").write_text("b.mp4 1\n")
    monkeypatch.chdir(tmp_path)
    for spec in ("v", "x_train.txt@v", "x_train.txt+x_test.txt@v"):
        monkeypatch.chdir(tmp_path)
        here, absolute = read(spec), absolute_spec(spec)
        monkeypatch.chdir("/")
        there = read(absolute)
        assert [row.path for row in there.rows] == [tmp_path / row.path for row in here.rows]
        assert absolute_spec(absolute) == absolute
    assert absolute_spec("daily-da:hmdb") == "daily-da:hmdb"
    assert absolute_spec("nowhere") == "nowhere"


def test_two_lists_make_the_splits_that_their_names_say(tmp_path: Path):
    touch(tmp_path, ["a.mp4", "b.mp4"])
    (tmp_path / "arid_train.txt").write_text("a.mp4 10\n")
    (tmp_path / "arid_test.txt").write_text("b.mp4 2\n")
    (tmp_path / "other.txt").write_text("b.mp4 2\n")
    manifest = read(f"{tmp_path}/arid_train.txt+{tmp_path}/arid_test.txt")
    assert [(row.id, row.label, row.split) for row in manifest.rows] == [("a", "10", "train"), ("b", "2", "test")]
    assert manifest.classes == ("2", "10")
    with pytest.raises(UserError, match="does not say its split"):
        read(f"{tmp_path}/arid_train.txt+{tmp_path}/other.txt")
    (tmp_path / "arid_val.txt").write_text("a.mp4 10\n")
    with pytest.raises(UserError, match="'a' stands in two of the lists"):
        read(f"{tmp_path}/arid_train.txt+{tmp_path}/arid_val.txt")


def test_missing_videos_are_marked_and_counted(tmp_path: Path):
    touch(tmp_path, ["a.mp4"])
    (tmp_path / "l.txt").write_text("a.mp4 0\nb.mp4 1\n")
    manifest: Manifest = read(tmp_path / "l.txt")
    assert [row.status for row in manifest.rows] == [None, "missing"]
    assert manifest.notes == ("1 of 2 videos are not there (the first: 'b.mp4')",)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "is empty"), (b"\x00\x01" * 100, "neither a video, by its name, nor a text list"), (b"a 1\na 2\n", "twice")],
)
def test_what_is_no_list_is_refused(tmp_path: Path, content: bytes, message: str):
    touch(tmp_path, ["a.mp4"])
    (tmp_path / "l.txt").write_bytes(content)
    with pytest.raises(UserError, match=message):
        read(tmp_path / "l.txt")


def test_every_format_is_tried_by_a_case_above():
    tried = {words for _, words, _ in CASES.values()}
    assert not [form.words for form in FORMATS if not any(words in form.words for words in tried)]
