import json
from pathlib import Path

import pytest

from vidshift.cli import run
from vidshift.data.layouts import read
from vidshift.data.stickworld.build import build
from vidshift.data.stickworld.export import export
from vidshift.data.stickworld.variant import ACTIONS
from vidshift.errors import UserError


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


def call(*words: object) -> int:
    return run(["stickworld", *(str(word) for word in words)])


def test_reads_back_as_a_persons_own_data(cache, tmp_path, capsys):
    folder = tmp_path / "mine"
    sizes = ("--train", 16, "--val", 8, "--test", 9)
    assert call(folder, "studio", "street", *sizes, "--cache", cache, "--json") == 0
    out, err = capsys.readouterr()
    assert f"vidshift adapt {folder}/studio {folder}/street" in out
    assert json.loads(out.splitlines()[-1])["videos"] == 66
    assert "drawing studio train: 16/16" in err
    for domain in ("studio", "street"):
        manifest = read(folder / domain)
        assert manifest.classes == ACTIONS
        assert [len(manifest.where(split=split)) for split in ("train", "val", "test")] == [16, 8, 9]
        drawn = {row.id: row.label for row in build(cache, domain, "test", 9).rows}
        assert {Path(row.id).name: row.label for row in manifest.where(split="test").rows} == drawn
        assert not any(action in Path(row.id).name for row in manifest.rows for action in ACTIONS)


def test_an_unlabelled_target_is_one_flat_folder(cache, tmp_path):
    folder = tmp_path / "mine"
    call(folder, "studio", "--train", 8, "--val", 0, "--test", 8, "--unlabelled", "street", "--cache", cache, "--quiet")
    target = read(folder / "street")
    assert len(target) == 8
    assert not target.labelled
    assert target.classes == ()
    assert {path.parent for path in (folder / "street").rglob("*.mp4")} == {folder / "street"}
    assert read(folder / "studio").labelled


def test_a_used_folder_is_left_alone(cache, tmp_path, capsys):
    own = tmp_path / "notes.txt"
    own.write_text("mine")
    assert call(tmp_path, "--cache", cache) == 2
    told = capsys.readouterr().err
    assert "is not empty; choose another one, or remove it first" in told
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert call(own, "--cache", cache) == 2
    assert "is a file" in capsys.readouterr().err
    assert own.read_text() == "mine"


def test_an_empty_folder_may_be_used(cache, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    assert call(folder, "web", "--train", 8, "--val", 0, "--test", 0, "--cache", cache, "--quiet") == 0
    assert len(list(folder.rglob("*.mp4"))) == 8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("studo",), "unknown domain 'studo' (did you mean 'studio'?)"),
        (("--variant", "handhold"), "unknown variant 'handhold' (did you mean 'handheld'?)"),
        (("--variant", "bias=2"), "the bias 2 is not a probability"),
        (("--train", "-1"), "must be 0 or more"),
        (("--train", "0", "--val", "0", "--test", "0"), "one of them above 0"),
        (("--train", "0", "--unlabelled", "street"), "give --train above 0"),
    ],
)
def test_wrong_calls_write_nothing(tmp_path, capsys, words, message):
    assert call(tmp_path / "mine", *words, "--cache", tmp_path / "cache") == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_stops_leaves_nothing(cache, tmp_path):
    parts = [build(cache, "studio", "train", 8)]
    (tmp_path / "mine").mkdir()

    def stopping():
        yield from parts
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(tmp_path / "mine", stopping())
    assert list((tmp_path / "mine").iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_folder_filled_meanwhile_is_not_replaced(cache, tmp_path):
    def filling():
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "other.txt").write_text("theirs")
        yield build(cache, "studio", "train", 8)

    with pytest.raises(UserError, match="is not empty"):
        export(tmp_path / "mine", filling())
    assert (tmp_path / "mine" / "other.txt").read_text() == "theirs"
