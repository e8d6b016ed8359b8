import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidshift.data.stickworld.props import CUES
from vidshift.data.stickworld.scene import STREET, STUDIO, WEB, WEB_OWN
from vidshift.data.stickworld.variant import ACTIONS, BIASES, PUBLISHED, Variant
from vidshift.errors import UserError

VARIANTS = st.builds(Variant, bias=st.floats(-0.0, 1.0), handheld=st.booleans(), static_cue=st.booleans())


@given(VARIANTS)
def test_the_key_reads_back(variant):
    assert Variant.parse(variant.key) == variant
    assert Variant.parse(variant.key).key == variant.key


@given(VARIANTS, VARIANTS)
def test_keys_are_the_same_for_equal_variants_alone(one, two):
    assert (one.key == two.key) == (one == two)


def test_names_that_people_write():
    assert Variant.parse("") == Variant.parse("default") == Variant(bias=0.6)
    assert Variant.parse("static-cue") == Variant(static_cue=True)
    assert Variant.parse(" handheld , bias=0.9 ") == Variant(bias=0.9, handheld=True)
    assert Variant.parse("bias=-0.0").key == "bias=0"
    assert Variant(bias=0.3, static_cue=True, handheld=True).key == "bias=0.3,handheld,static-cue"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bias", r"unknown variant 'bias'"),
        ("bias=much", r"the bias in 'bias=much' is not a number"),
        ("bias=1.5", r"the bias 1.5 is not a probability"),
        ("bias=nan", r"the bias nan is not a probability"),
        ("hand-held", r"unknown variant 'hand-held' \(did you mean 'handheld'\?\)"),
        ("static_cue", r"did you mean 'static-cue'"),
    ],
)
def test_wrong_names_are_told(name, message):
    with pytest.raises(UserError, match=message) as caught:
        Variant.parse(name)
    assert caught.value.exit_code == 2


def test_only_studio_sees_the_bias():
    variant = Variant(bias=0.9, handheld=True)
    assert variant.seen_by("studio") == variant
    assert variant.seen_by("street") == variant.seen_by("web") == Variant(handheld=True)


def test_the_published_variants_are_those_that_were_declared():
    assert BIASES == (0.0, 0.3, 0.6, 0.9)
    keys = ["bias=0", "bias=0.3", "bias=0.6", "bias=0.9", "bias=0.6,handheld", "bias=0.6,static-cue"]
    assert [variant.key for variant in PUBLISHED] == keys


def test_every_action_has_a_scene_and_a_cue_of_its_own():
    assert len({scene.name for scene in STUDIO}) == len(STUDIO) == len(ACTIONS)
    assert len({name for name, _ in CUES}) == len(CUES) == len(ACTIONS)
    assert not {scene.name for scene in STUDIO} & {scene.name for scene in STREET}
    assert len({scene.name for scene in WEB}) == len(STUDIO) + len(STREET) + len(WEB_OWN)
