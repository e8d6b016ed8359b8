import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import file_names, touch

from vidshift.data.layouts import read
from vidshift.data.manifest import Manifest
from vidshift.data.manifests import write_manifest
from vidshift.data.match import share
from vidshift.data.names import readable
from vidshift.errors import UserError


def labels(manifest: Manifest) -> dict[str, str | None]:
    return {row.id: row.label for row in manifest.rows}


def splits(manifest: Manifest) -> dict[str, str | None]:
    return {row.id: row.split for row in manifest.rows}


def test_an_empty_class_folder_is_said(tmp_path: Path):
    (tmp_path / "train" / "run").mkdir(parents=True)
    manifest = read(touch(tmp_path, ["train/walk/a.mp4", "train/walk/b/", "test/walk/c.mp4"]))
    assert manifest.classes == ("walk",)
    assert manifest.notes == ("no video in: train/run",)


def test_class_folders(tmp_path: Path):
    names = ["walk/a.mp4", "walk/-b [1].AVI", "Ride Bike/ü#.webm", "walk/._a.mp4", ".hidden/x.mp4", "walk/notes.txt"]
    manifest = read(touch(tmp_path, names))
    assert labels(manifest) == {"walk/a": "walk", "walk/-b [1]": "walk", "Ride Bike/ü#": "Ride Bike"}
    assert manifest.classes == ("Ride Bike", "walk")
    assert "class folders" in manifest.origin
    assert manifest.notes == ("files that are no videos, and were left out: 1",)


def test_a_split_level(tmp_path: Path):
    names = ["Train/walk/a.mp4", "validation/walk/a.mp4", "test/run/c.mp4"]
    manifest = read(touch(tmp_path, names))
    assert splits(manifest) == {"Train/walk/a": "train", "validation/walk/a": "val", "test/run/c": "test"}
    assert manifest.classes == ("run", "walk")
    assert "train (1)" in manifest.origin


def test_a_class_that_is_called_like_a_split_is_a_class(tmp_path: Path):
    assert read(touch(tmp_path, ["test/a.mp4", "walk/b.mp4"])).classes == ("test", "walk")


def test_a_flat_test_split_beside_class_folders_has_no_labels(tmp_path: Path):
    manifest = read(touch(tmp_path, ["train/walk/a.mp4", "train/run/b.mp4", "test/c.mp4"]))
    assert labels(manifest) == {"train/walk/a": "walk", "train/run/b": "run", "test/c": None}
    assert splits(manifest)["test/c"] == "test"


@pytest.mark.parametrize("names", [["a.mp4", "b c.avi"], ["cam 1/monday/a.mp4", "cam 2/tuesday/b.mp4"]])
def test_videos_without_classes_are_unlabelled(tmp_path: Path, names: list[str]):
    manifest = read(touch(tmp_path, names))
    assert not any(labels(manifest).values())
    assert manifest.classes == ()
    assert "videos without labels" in manifest.origin


def test_folders_that_are_no_classes_can_be_said_to_be_none(tmp_path: Path):
    manifest = read(touch(tmp_path, ["monday/a.mp4", "tuesday/b.mp4"]), unlabelled=True)
    assert labels(manifest) == {"monday/a": None, "tuesday/b": None}


def test_frame_folders(tmp_path: Path):
    manifest = read(touch(tmp_path, ["walk/a/", "walk/b.avi/", "run/c/", "run/d.mp4"]))
    assert labels(manifest) == {"walk/a": "walk", "walk/b": "walk", "run/c": "run", "run/d": "run"}
    assert "3 of them folders of pictures" in manifest.origin


def test_two_files_that_differ_by_extension_are_two_videos(tmp_path: Path):
    assert set(labels(read(touch(tmp_path, ["walk/a.mp4", "walk/a.avi"])))) == {"walk/a.mp4", "walk/a.avi"}


@given(names=st.lists(st.tuples(file_names(unicode=False), file_names(unicode=False)), min_size=1, max_size=6))
def test_any_names_come_through_class_folders(tmp_path_factory: pytest.TempPathFactory, names: list[tuple[str, str]]):
    visible = {(c, n) for c, n in names if not c.startswith(".") and not n.startswith(".")}
    root = touch(tmp_path_factory.mktemp("tree"), [f"x{folder}/{name}.mp4" for folder, name in visible])
    if visible:
        manifest = read(root)
        assert {(row.path, row.label) for row in manifest.rows} == {
            (root / f"x{folder}" / f"{name}.mp4", readable(f"x{folder}")) for folder, name in visible
        }
        assert len({row.id.encode() for row in manifest.rows}) == len(visible)
        assert all(0 <= share(row.id) < 1 for row in manifest.rows)


def test_loops_of_links_end_and_broken_links_are_listed(tmp_path: Path):
    touch(tmp_path, ["walk/a.mp4"])
    (tmp_path / "walk" / "again").symlink_to(tmp_path)
    (tmp_path / "walk" / "gone.mp4").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "walk" / "pipe.mp4")
    (tmp_path / "walk" / "folder.mp4").mkdir()
    assert set(labels(read(tmp_path))) == {"walk/a", "walk/gone", "walk/pipe", "walk/folder"}


UCF = ["Basketball/v_Basketball_g08_c01.avi", "Biking/v_Biking_g01_c01.avi", "YoYo/v_YoYo_g09_c01.avi"]


def ucf_splits(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "classInd.txt").write_text("1 Basketball\n2 Biking\n3 YoYo\n")
    (folder / "trainlist01.txt").write_text(f"{UCF[0]} 1\r\n{UCF[2]} 3\r\n")
    (folder / "testlist01.txt").write_text(f"{UCF[1]}\n")
    (folder / "testlist02.txt").write_text(f"{UCF[0]}\n")
    return folder


@pytest.mark.parametrize("where", ["", "ucfTrainTestlist"])
def test_the_official_split_of_ucf101(tmp_path: Path, where: str):
    touch(tmp_path, UCF)
    ucf_splits(tmp_path / where)
    manifest = read(tmp_path)
    assert "UCF101 with its official split 1, train (2), test (1)" in manifest.origin
    assert [(row.label, row.split) for row in manifest.rows] == [
        ("Basketball", "train"),
        ("YoYo", "train"),
        ("Biking", "test"),
    ]


def test_the_official_split_of_hmdb51_has_parts_not_labels_in_its_second_column(tmp_path: Path):
    splits_folder = tmp_path / "splits"
    splits_folder.mkdir()
    (splits_folder / "wave_test_split1.txt").write_text("a_wave_1.avi 1 \nb_wave_2.avi 2 \nc_wave_3.avi 0 \n")
    (splits_folder / "ride_bike_test_split1.txt").write_text("(x) y_ride_bike_1.avi 2 \nz_ride_bike_2.avi 1 \n")
    (splits_folder / "sit_test_split1.txt").write_text("s_sit_2.avi 1 \n")
    (splits_folder / "wave_test_split2.txt").write_text("a_wave_1.avi 2 \n")
    videos = touch(
        tmp_path / "hmdb51",
        ["wave/a_wave_1.avi", "wave/b_wave_2.avi", "wave/c_wave_3.avi", "ride_bike/(x) y_ride_bike_1.avi"],
    )
    manifest = read(f"{splits_folder}@{videos}")
    assert {row.id: (row.label, row.split, row.usable) for row in manifest.rows} == {
        "wave/a_wave_1": ("wave", "train", True),
        "wave/b_wave_2": ("wave", "test", True),
        "ride_bike/(x) y_ride_bike_1": ("ride_bike", "test", True),
        "ride_bike/z_ride_bike_2": ("ride_bike", "train", False),
    }
    assert "1 of HMDB51's classes have no video here and are left out" in manifest.notes
    with pytest.raises(UserError, match="of which all are needed"):
        read(splits_folder / "wave_test_split1.txt")


def test_a_hugging_face_folder_with_metadata(tmp_path: Path):
    touch(tmp_path, ["train/a.mp4", "train/b.mp4", "test/a.mp4", "test/unlisted.mp4"])
    (tmp_path / "train" / "metadata.csv").write_text("file_name,label,caption\na.mp4,walk,x\nb.mp4,run,y\n")
    (tmp_path / "test" / "metadata.jsonl").write_text('{"file_name": "a.mp4", "label": "walk"}\n')
    manifest = read(tmp_path)
    assert labels(manifest) == {"train/a": "walk", "train/b": "run", "test/a": "walk"}
    assert splits(manifest) == {"train/a": "train", "train/b": "train", "test/a": "test"}
    assert sorted(manifest.classes) == ["run", "walk"]
    assert "Hugging Face video folder" in manifest.origin


def test_metadata_without_labels_takes_those_of_the_class_folders(tmp_path: Path):
    touch(tmp_path, ["train/walk/a.mp4", "train/run/b.mp4"])
    (tmp_path / "metadata.jsonl").write_text('{"file_name": "train/walk/a.mp4"}\n{"file_name": "train/run/b.mp4"}\n')
    manifest = read(tmp_path)
    assert labels(manifest) == {"train/walk/a": "walk", "train/run/b": "run"}
    assert set(splits(manifest).values()) == {"train"}
    assert any("class folders" in note for note in manifest.notes)


def test_a_flat_folder_with_metadata_without_labels(tmp_path: Path):
    touch(tmp_path, ["a.mp4", "b.mp4"])
    (tmp_path / "metadata.csv").write_text("file_name,text\na.mp4,one\n")
    assert labels(read(tmp_path)) == {"a": None}


def test_hmdb51_as_hugging_face_keeps_it(tmp_path: Path):
    touch(tmp_path, ["Videos/wave/a.avi", "Videos/sit/b.avi"])
    listed = tmp_path / "metadata_split1.jsonl"
    listed.write_text(
        '{"video_path": "Videos/wave/a.avi", "label": "wave", "subset": 1}\n'
        '{"video_path": "Videos/sit/b.avi", "label": "sit", "subset": 2}\n'
    )
    assert [(row.label, row.split) for row in read(listed).rows] == [("wave", "train"), ("sit", "test")]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_manifests_are_told_from_lists(tmp_path: Path, suffix: str):
    read_back = read(write_manifest(read(touch(tmp_path, ["walk/a.mp4", "run/b.mp4"])), tmp_path / f"m{suffix}"))
    assert "manifest" in read_back.origin
    assert labels(read_back) == {"walk/a": "walk", "run/b": "run"}


def test_one_video(tmp_path: Path):
    (row,) = read(touch(tmp_path, ["-a b.mp4"]) / "-a b.mp4").rows
    assert row.id == "-a b"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no video in the folder"),
        (["walk/notes.txt"], "no video in the folder"),
        (["walk/a.mp4", "b.mp4"], "'.*b.mp4' lies beside class folders"),
        (["walk/a.mp4", "walk/deep/er/b.mp4"], "lie deeper than class folders"),
    ],
)
def test_folders_that_cannot_be_understood_are_refused_in_one_sentence(tmp_path: Path, names: list[str], message: str):
    with pytest.raises(UserError, match=message) as caught:
        read(touch(tmp_path, names))
    assert "\n" not in str(caught.value)


def test_what_is_not_there_or_no_file_is_said(tmp_path: Path):
    touch(tmp_path, ["street/a.mp4"])
    with pytest.raises(UserError, match=r"did you mean 'street'\?"):
        read(tmp_path / "stret")
    os.mkfifo(tmp_path / "list.txt")
    with pytest.raises(UserError, match="is a pipe"):
        read(tmp_path / "list.txt")
