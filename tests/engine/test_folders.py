from pathlib import Path

import pytest

from vidshift.data.layouts import read
from vidshift.data.manifest import Manifest
from vidshift.data.match import share
from vidshift.engine.config import RunConfig
from vidshift.engine.domains import open_domains
from vidshift.engine.folders import open_folders, unseen
from vidshift.errors import UserError


def touch(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return root


def clips(*classes: str, count: int = 10, prefix: str = "") -> list[str]:
    return [f"{prefix}{name}/clip {n}.mp4" for name in classes for n in range(count)]


def ids(manifest: Manifest) -> set[str]:
    return {row.id for row in manifest.rows}


def config(source: Path, target: Path, **options) -> RunConfig:
    return RunConfig(source=str(source), target=str(target), **options)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return touch(tmp_path / "warehouse", *clips("Push Cart", "walk", "wave"))


def test_without_splits_a_fifth_is_held_out_by_the_clips_own_id(source: Path, tmp_path: Path):
    target = touch(tmp_path / "street", *clips("push_cart", "walk", "Wave", count=40))
    found = open_folders(config(source, target))
    assert found.classes == ("Push Cart", "walk", "wave")
    assert ids(found.target_train) | ids(found.target_test) == ids(found.target_truth) | ids(found.target_test)
    assert not ids(found.target_train) & ids(found.target_test)
    assert ids(found.target_test) == {i for i in ids(found.target_train) | ids(found.target_test) if share(i) < 0.2}
    assert len(found.target_train) + len(found.target_test) == 120
    assert len(found.source_train) + len(found.source_val) == 30
    assert {row.label for row in found.target_test.rows} <= set(found.classes)
    assert all(row.label is None and row.raw_label is None for row in found.target_train.rows)
    assert ids(found.target_truth) == ids(found.target_train)
    assert found.target_truth.labelled


def test_what_was_held_out_stays_so_when_clips_are_added(source: Path, tmp_path: Path):
    target = touch(tmp_path / "street", *clips("walk", "wave", count=20))
    before = open_folders(config(source, target))
    touch(target, *clips("Push Cart", "walk", count=50))
    after = open_folders(config(source, target))
    assert ids(before.target_test) <= ids(after.target_test)
    assert ids(before.target_train) <= ids(after.target_train)


def test_labels_of_the_target_do_not_decide_what_is_held_out(source: Path, tmp_path: Path):
    target = touch(tmp_path / "street", *clips("walk", "wave", count=3))
    with_labels = open_folders(config(source, target))
    without = open_folders(config(source, target, unlabelled=True))
    assert ids(with_labels.target_test) == ids(without.target_test)
    assert not any(row.label for row in without.target_test.rows)
    assert any("no labels" in note for note in without.notes)


def test_every_class_of_the_source_is_trained_on(tmp_path: Path):
    source = touch(tmp_path / "a", *clips("walk", "wave", "jump", "run", count=2))
    found = open_folders(config(source, touch(tmp_path / "b", *clips("walk"))))
    assert {row.label for row in found.source_train.rows} == {"walk", "wave", "jump", "run"}
    assert len(found.source_val)


def test_splits_are_used_where_they_are(tmp_path: Path):
    source = touch(
        tmp_path / "a",
        *clips("walk", "wave", prefix="train/"),
        *clips("walk", "wave", count=2, prefix="validation/"),
        *clips("walk", "wave", count=3, prefix="test/"),
    )
    target = touch(
        tmp_path / "b",
        *clips("walk", "wave", prefix="train/", count=7),
        *clips("walk", "wave", prefix="val/", count=2),
        *clips("walk", "wave", prefix="test/", count=3),
    )
    found = open_folders(config(source, target))
    sizes = [len(part) for part in (found.source_train, found.source_val, found.target_train, found.target_test)]
    assert sizes == [20, 4, 14, 6]


def test_transductive_tests_on_the_training_clips_and_says_so(source: Path, tmp_path: Path):
    found = open_folders(config(source, touch(tmp_path / "b", *clips("walk", "wave")), transductive=True))
    assert ids(found.target_test) == ids(found.target_train)
    assert len(found.target_test) == 20
    assert any("transductive" in note for note in found.notes)


def test_a_target_of_which_some_videos_are_labelled_has_no_accuracy(source: Path, tmp_path: Path):
    touch(tmp_path / "b", "train/walk/a.mp4", "test/walk/b.mp4", "test/c.mp4")
    (tmp_path / "b.csv").write_text(
        "path,label,split\nb/train/walk/a.mp4,,train\nb/test/walk/b.mp4,walk,test\nb/test/c.mp4,,test\n"
    )
    found = open_folders(config(source, tmp_path / "b.csv"))
    assert not found.target_test.labelled
    assert any("1 of 2 videos without a label" in note for note in found.notes)


def test_a_flat_target_is_unlabelled(source: Path, tmp_path: Path):
    found = open_folders(config(source, touch(tmp_path / "cam", *(f"-{n} [é].mp4" for n in range(30)))))
    assert found.target_truth.labelled is False
    assert len(found.target_train) + len(found.target_test) == 30


def test_clips_that_a_check_found_bad_are_left_out_and_counted(source: Path, tmp_path: Path):
    target = touch(tmp_path / "b", *clips("walk", "wave"))
    rows = ["path,label,split,status"]
    rows += [
        f"{target}/{name},{name.split('/')[0]},{'test' if n % 2 else 'train'},{'corrupt' if n < 4 else 'ok'}"
        for n, name in enumerate(clips("walk", "wave"))
    ]
    listed = tmp_path / "b.csv"
    listed.write_text("\n".join(rows))
    found = open_folders(config(source, listed))
    assert len(found.target_train) == 8
    assert len(found.target_test) == 8
    assert found.target_expected == 10
    assert sum("a check found them bad" in note for note in found.notes) == 2


def test_map_settles_what_names_do_not(source: Path, tmp_path: Path):
    target = touch(tmp_path / "b", *clips("strolling", "waves", "cooking"))
    with pytest.raises(UserError, match=r"'waves' \(did you mean 'wave'\?\).*--map"):
        open_folders(config(source, target))
    found = open_folders(config(source, target, class_map={"strolling": "walk", "waves": "wave", "cooking": ""}))
    assert {row.label for row in found.target_truth.rows} == {"walk", "wave"}
    assert any("no video of: Push Cart" in note for note in found.notes)


def test_aliases_come_from_classes_json_in_the_source(source: Path, tmp_path: Path):
    (source / "classes.json").write_text(
        '[{"name": "walk", "aliases": ["strolling"]}, "wave", {"name": "push", "aliases": ["push cart"]}]'
    )
    target = touch(tmp_path / "b", *clips("strolling"))
    found = open_folders(config(source, target))
    assert found.classes == ("walk", "wave", "push")
    assert {row.label for row in found.target_truth.rows} == {"walk"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no video in the folder"),
        (clips("walk"), "one class only, 'walk'"),
        (["a.mp4", "b.mp4"], "have no label"),
        (clips("walk", "wave", prefix="test/"), "no training split"),
        ([*clips("walk"), "stray.mp4"], "lies beside class folders"),
    ],
)
def test_a_source_that_cannot_be_used_is_refused_in_one_sentence(tmp_path: Path, names: list[str], message: str):
    source, target = tmp_path / "a", touch(tmp_path / "b", *clips("walk"))
    source.mkdir()
    touch(source, *names)
    with pytest.raises(UserError, match=message) as caught:
        open_folders(config(source, target))
    assert "\n" not in str(caught.value)


def test_a_video_that_is_trained_and_tested_on_is_refused(source: Path, tmp_path: Path):
    with pytest.raises(UserError, match="10 videos stand in both the source and the target"):
        open_folders(config(source, source / "walk", unlabelled=True))
    touch(tmp_path / "b", "a.mp4", "b.mp4")
    (tmp_path / "b.csv").write_text("path,split,id\nb/a.mp4,train,1\nb/b.mp4,train,2\nb/a.mp4,test,3\n")
    with pytest.raises(UserError, match="1 videos stand in both the target's training and test parts"):
        open_folders(config(source, tmp_path / "b.csv"))
    (tmp_path / "b.csv").write_text("path,split,start,end\nb/a.mp4,train,0,5\nb/b.mp4,train,,\nb/a.mp4,test,5,9\n")
    assert len(open_folders(config(source, tmp_path / "b.csv")).target_test) == 1


def test_what_a_run_was_trained_on_is_not_scored_as_unseen(source: Path, tmp_path: Path):
    target = touch(tmp_path / "b", *clips("walk", "wave", count=30))
    run = config(source, target)
    domains = open_folders(run)
    held, note = unseen(run, read(target), split=None)
    assert ids(held) == ids(domains.target_test)
    assert note is not None
    assert f"{len(domains.target_train)} of 60 videos are left out" in note
    assert unseen(run, domains.target_test, split=None) == (domains.target_test, None)
    kept, note = unseen(run, domains.target_train, split="train")
    assert kept == domains.target_train
    assert "transductive" in (note or "")
    other = read(touch(tmp_path / "other", *clips("walk", "wave")))
    assert unseen(run, other, split=None) == (other, None)
    assert unseen(RunConfig(), other, split=None) == (other, None)
    _, note = unseen(config(tmp_path / "gone", target), other, split=None)
    assert "cannot be told: there is no file or folder" in (note or "")


def test_missing_and_equal_folders(source: Path, tmp_path: Path):
    with pytest.raises(UserError, match=r"no file or folder '.*warehous' \(did you mean 'warehouse'\?\)"):
        open_folders(config(tmp_path / "warehous", source))
    with pytest.raises(UserError, match="give two domains"):
        open_folders(config(source, source / ".." / "warehouse"))
    with pytest.raises(UserError, match="mixes a built-in domain"):
        open_domains(config(source, Path("street")), cache=tmp_path, workers=1, console=None)  # pyright: ignore
    one = touch(tmp_path / "one", "a.mp4")
    with pytest.raises(UserError, match="too few to hold any out"):
        open_folders(config(source, one))
