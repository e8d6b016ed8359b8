import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import file_names, touch

from vidshift.data.manifest import Manifest, Row
from vidshift.data.manifests import WRITTEN, read_manifest, write_manifest
from vidshift.errors import UserError

NUMBER = st.none() | st.floats(0, 1e6, allow_nan=False)
COUNT = st.none() | st.integers(0, 2**40)


@st.composite
def manifests(draw: st.DrawFn, folder: Path, *, unicode: bool) -> Manifest:
    names, files = file_names(), file_names(unicode=unicode)
    classes = draw(st.lists(names, unique=True, max_size=4))
    paths = draw(st.lists(st.tuples(files, files).map("/".join), min_size=1, max_size=6, unique=True))
    maybe = st.none() | names
    rows = [
        Row(
            id=f"{place}{draw(names)}",
            path=folder / name,
            label=draw(st.sampled_from([None, *classes])),
            split=draw(st.sampled_from([None, "train", "val", "test"])),
            domain=draw(maybe),
            raw_label=draw(maybe),
            start=draw(NUMBER),
            end=draw(NUMBER),
            num_frames=draw(COUNT),
            fps=draw(NUMBER),
            width=draw(COUNT),
            height=draw(COUNT),
            seconds=draw(NUMBER),
            status=draw(st.sampled_from(["ok", "corrupt"])),
            reason=draw(maybe),
        )
        for place, name in enumerate(paths)
    ]
    return Manifest(tuple(rows), tuple(classes))


@pytest.mark.parametrize("suffix", WRITTEN)
@given(data=st.data())
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, suffix: str, data: st.DataObject):
    folder = tmp_path_factory.mktemp("m")
    manifest = data.draw(manifests(folder, unicode=suffix == ".parquet"))
    touch(folder, [str(row.path.relative_to(folder)) for row in manifest.rows])
    again = read_manifest(write_manifest(manifest, folder / f"list{suffix}"))
    assert again.rows == manifest.rows
    assert again.classes == manifest.classes


@pytest.mark.parametrize("suffix", WRITTEN)
def test_a_folder_with_its_manifest_can_be_moved(tmp_path: Path, suffix: str):
    touch(tmp_path / "here", ["walk/a.mp4"])
    row = Row(id="a", path=tmp_path / "here" / "walk" / "a.mp4", label="walk")
    write_manifest(Manifest((row,), ("walk", "run")), tmp_path / "here" / f"m{suffix}")
    (tmp_path / "here").rename(tmp_path / "there")
    again = read_manifest(tmp_path / "there" / f"m{suffix}")
    assert again.rows == (replace(row, path=tmp_path / "there" / "walk" / "a.mp4"),)
    assert again.classes == ("walk", "run")


def write(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_only_a_path_is_needed_and_the_rest_is_known_by_many_names(tmp_path: Path):
    touch(tmp_path, ["a.mp4", "b.mp4", "c d.mp4"])
    plain = read_manifest(write(tmp_path, "a.csv", "path\na.mp4\nb.mp4\n"))
    assert [row.id for row in plain.rows] == ["a", "b"]
    assert plain.classes == ()
    named = read_manifest(write(tmp_path, "b.tsv", "\ufeffVideo_Path\tClass\tsubset\tfps\nc d.mp4\twalk\t2\t25\n"))
    (row,) = named.rows
    assert (row.path, row.label, row.split, row.fps) == (tmp_path / "c d.mp4", "walk", "test", 25.0)
    lines = '{"file_name": "a.mp4", "label": 3, "note": 1}\n\n{"file_name": "b.mp4", "label": null}\n'
    jsonl = read_manifest(write(tmp_path, "c.jsonl", lines))
    assert [row.label for row in jsonl.rows] == ["3", None]
    assert "columns that were not used: note" in jsonl.notes


def test_numbers_become_names_where_there_is_a_class_list(tmp_path: Path):
    touch(tmp_path, ["a.mp4", "b.mp4"])
    write(tmp_path, "classes.json", json.dumps([{"name": "walk", "aliases": ["stroll"]}, "run"]))
    zero = read_manifest(write(tmp_path, "a.csv", "path,label\na.mp4,0\nb.mp4,1.0\n".replace("1.0", "1")))
    assert [row.label for row in zero.rows] == ["walk", "run"]
    one = read_manifest(write(tmp_path, "b.csv", "path,label\na.mp4,1\nb.mp4,2\n"))
    assert [row.label for row in one.rows] == ["walk", "run"]
    words = read_manifest(write(tmp_path, "c.csv", "path,label\na.mp4,Stroll\nb.mp4,RUN\n"))
    assert [row.label for row in words.rows] == ["walk", "run"]
    with pytest.raises(UserError, match=r"label 'rum'.*did you mean 'run'"):
        read_manifest(write(tmp_path, "d.csv", "path,label\na.mp4,rum\n"))


def test_one_file_cut_into_parts(tmp_path: Path):
    touch(tmp_path, ["long.mp4"])
    parts = read_manifest(write(tmp_path, "a.csv", "path,start,end\nlong.mp4,0,10\nlong.mp4,10,20.5\n"))
    assert [row.id for row in parts.rows] == ["long@0-10", "long@10-20.5"]


def test_missing_files_are_marked_and_found_again(tmp_path: Path):
    touch(tmp_path, ["a.mp4"])
    listed = write(tmp_path, "a.csv", "path,status,reason\na.mp4,missing,there is no such file\nb.mp4,,\n")
    first, second = read_manifest(listed).rows
    assert (first.status, first.usable) == (None, True)
    assert (second.status, second.usable) == ("missing", False)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "path,start\na.mp4,soon\n", "line 2 .* has 'soon' in column 'start'"),
        ("a.csv", "path,split\na.mp4,tests\n", r"unknown split 'tests' \(did you mean 'test'\?\)"),
        ("a.csv", "path,label\na.mp4,1\na.mp4,2\n", "has the id 'a' twice, with label 1 and 2"),
        ("a.csv", "path,label\na.mp4,1,3\n", "line 2 .* has 3 values for 2 columns"),
        ("a.csv", "path\n", "has no rows"),
        ("a.csv", "path,label\n,walk\n", "line 2 .* has no path"),
        ("a.csv", "path\ngone.mp4\n", "none of the 1 videos"),
        ("a.jsonl", '{"path": "a.mp4"}\nnonsense\n', "line 2 .* is not JSON"),
        ("a.jsonl", "[1]\n", "accepted: one JSON object a line"),
        ("a.jsonl", '{"place": "a.mp4"}\n', "has no column `path`"),
        ("a.csv", "youtube_id,time_start,time_end\nx,0,end\n", "line 2 .* times that are no numbers"),
        ("a.parquet", "no", "cannot read the Parquet file"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, name: str, text: str, message: str):
    touch(tmp_path, ["a.mp4"])
    with pytest.raises(UserError, match=message) as caught:
        read_manifest(write(tmp_path, name, text))
    assert "\n" not in str(caught.value)


def test_a_kill_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.csv"
    write_manifest(Manifest((Row(id="a", path=tmp_path / "a.mp4"),), ()), path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_manifest(Manifest((Row(id="b", path=tmp_path / "b.mp4"),), ()), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_annotations_of_kinetics_are_a_manifest(tmp_path: Path):
    touch(tmp_path, ["train/walking the dog/--O2qCO6zBI_000025_000035.mp4", "-18N3scYPX8.mkv"])
    annotations = (
        "label,youtube_id,time_start,time_end,split,is_cc\n"
        '"walking the dog",--O2qCO6zBI,25,35,train,0\n"push ups",-18N3scYPX8,34,44,validate,0\n'
    )
    manifest = read_manifest(write(tmp_path, "k.csv", annotations))
    assert [(row.path.name, row.label, row.split, row.start) for row in manifest.rows] == [
        ("--O2qCO6zBI_000025_000035.mp4", "walking the dog", "train", None),
        ("-18N3scYPX8.mkv", "push ups", "val", None),
    ]
    assert "Kinetics annotation" in manifest.origin
