from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidshift.data.classes import ClassList, fold, read_classes
from vidshift.data.manifest import Manifest, Row
from vidshift.data.match import holdout, match, parse_map, share
from vidshift.errors import UserError


def made(*labels: str | None, classes: tuple[str, ...] | None = None) -> Manifest:
    rows = tuple(Row(id=f"{n}", path=Path(f"{n}.mp4"), label=label) for n, label in enumerate(labels))
    return Manifest(rows, classes or tuple(sorted({label for label in labels if label is not None})), "a test")


def names(manifest: Manifest) -> list[str | None]:
    return [row.label for row in manifest.rows]


def test_names_match_without_case_and_separators():
    found = match(made("RockClimbing", "push_cart", "Wave"), made("rock climbing", "Push-Cart", "wave", "WAVE"))
    assert names(found.target) == ["RockClimbing", "push_cart", "Wave", "Wave"]
    assert found.target.classes == ("RockClimbing", "Wave", "push_cart")
    assert [row.raw_label for row in found.target.rows] == ["rock climbing", "Push-Cart", "wave", "WAVE"]


def test_a_class_that_is_declared_but_has_no_video_is_no_disagreement():
    source = made("walk", "run", classes=("run", "jump", "walk"))
    found = match(source, made("walk", classes=("walk", "cook")))
    assert found.source.classes == ("run", "walk")
    assert found.missing == ("run",)


def test_a_target_without_labels_needs_nothing():
    found = match(made("walk", "run"), made(None, None))
    assert found.target.classes == ("run", "walk")
    assert found.notes() == ()


def test_what_does_not_fit_is_shown_with_a_suggestion_that_works():
    source, target = made("walking", "running"), made("walkin", "cooking", "running")
    with pytest.raises(UserError, match=r"2 target classes .*'cooking'; 'walkin' \(did you mean 'walking'\?\)"):
        match(source, target)
    found = match(source, target, mapping=("walkin=walking", "cooking="))
    assert names(found.target) == ["walking", "running"]
    assert found.left_out == ("cooking",)


def test_the_map_renames_joins_and_drops_source_classes_too():
    found = match(made("walk", "stroll", "run", "sit"), made("run", "walk"), mapping=("stroll=walk", "sit="))
    assert names(found.source) == ["walk", "walk", "run"]
    assert found.source.classes == ("run", "walk")


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("walk", "accepted: old=new"),
        ("=walk", "accepted: old=new"),
        ("stroll=walk", "no class of either domain"),
        ("wave=wav", r"sends 'wave' to 'wav', which is no class.*accepted: run, walk"),
    ],
)
def test_a_map_that_cannot_be_followed(mapping: str, message: str):
    with pytest.raises(UserError, match=message):
        match(made("walk", "run"), made("wave"), mapping=(mapping,))


def test_aliases_and_their_mistakes(tmp_path: Path):
    path = tmp_path / "classes.json"
    path.write_text('{"classes": [{"name": "walk", "aliases": ["stroll"], "prompt": "strolling"}, "run"]}')
    classes = read_classes(path)
    assert (classes.find("Stroll"), classes.find("RUN"), classes.find("x")) == ("walk", "run", None)
    assert classes.prompts == {"walk": "strolling"}
    for text, message in (
        ("[]", "holds no class list"),
        ('["a", 3]', "has the entry 3"),
        ('["Walk", "walk"]', "names one class twice"),
        ("nonsense", "should be JSON"),
    ):
        path.write_text(text)
        with pytest.raises(UserError, match=message):
            read_classes(path)


@given(st.text())
def test_every_name_finds_itself_and_folding_is_stable(name: str):
    assert ClassList((name, "other")).find(name) == name
    assert fold(fold(name)) == fold(name)


@given(
    labels=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=2, max_size=40),
    by_class=st.booleans(),
    fraction=st.floats(0.01, 0.99),
)
def test_both_parts_of_a_holdout_hold_something(labels: list[str | None], by_class: bool, fraction: float):
    manifest = made(*labels)
    found = holdout(manifest, fraction=fraction, by_class=by_class)
    train, held = found.where(split="train"), found.where(split="test")
    assert len(train) + len(held) == len(manifest)
    assert len(train)
    if not by_class or len({row.label for row in manifest.rows}) < len(manifest):
        assert len(held)
    if by_class:
        assert {row.label for row in train.rows} == {row.label for row in manifest.rows}
    assert holdout(found) is found


def test_shares_are_spread_evenly_and_the_same_for_ever():
    shares = [share(str(n)) for n in range(10_000)]
    assert sum(value < 0.2 for value in shares) == pytest.approx(2_000, abs=150)
    assert 0 <= share("caf\udce9") < 1  # a file's name may be bytes that are no text
    assert share("walk/0001") == pytest.approx(0.16975195, abs=1e-8)  # sha256sum


def test_parse_map_takes_a_mapping_too():
    assert parse_map({"a": "b"}) == {"a": "b"}
    assert parse_map(("a b = c", "d=")) == {"a b": "c", "d": ""}
