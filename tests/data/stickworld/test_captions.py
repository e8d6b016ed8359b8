from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from vidshift.data.stickworld.captions import caption
from vidshift.data.stickworld.draw import Description
from vidshift.data.stickworld.numbered import Series
from vidshift.data.stickworld.scene import STREET, STUDIO, WEB_OWN
from vidshift.data.stickworld.variant import ACTIONS
from vidshift.data.wordings import WORDINGS

SEEN = Description(
    domain="web",
    action="walk",
    motion="walk",
    scene="a park",
    top="orange",
    held="cup",
    cue="a flag",
    facing="left",
)


def captions(description: Description, count: int = 2000) -> list[str]:
    rng = np.random.default_rng(0)
    return [caption(description, rng) for _ in range(count)]


def test_the_same_draw_gives_the_same_caption():
    assert captions(SEEN, 50) == captions(SEEN, 50)


def test_the_prompt_is_one_caption_among_many():
    times = Counter(captions(SEEN))
    assert 0.45 < times["a video of a person walking"] / 2000 < 0.6
    assert len(times) > 150


def test_some_captions_do_not_name_the_action():
    words = ("walking", "strolling", "taking a walk", "going on foot")
    silent = [text for text in captions(SEEN) if not any(word in text for word in words)]
    assert 0.05 < len(silent) / 2000 < 0.15
    # They are no use without something else in them.
    assert all(any(word in text for word in ("park", "orange", "cup", "flag")) for text in silent)


@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_is_named_in_the_teachers_words_and_in_others(action):

    found = captions(replace(SEEN, action=action, motion=action), 500)
    own = sum(WORDINGS[action] in text for text in found)
    assert 250 < own < 450
    # No caption says another action, except that one may be part of another's words.
    for other in set(ACTIONS) - {action}:
        if WORDINGS[other] not in ("pushing something", "picking something up"):
            assert not any(WORDINGS[other] in text for text in found)


def test_a_caption_says_only_what_is_there():

    for text in captions(replace(SEEN, held="nothing", cue=None)):
        assert "flag" not in text
        assert "cup" not in text
        assert "nothing" not in text
        assert "None" not in text
        assert "to the right" not in text


def test_captions_are_english():
    rng = np.random.default_rng(1)
    for scene in (*STUDIO, *STREET, *WEB_OWN):
        for text in captions(replace(SEEN, scene=scene.name), 60):
            assert text == " ".join(text.split())
            assert "{" not in text
            assert " a orange" not in text
            assert " a o" not in text
    drawn = Series(domain="web", split="train").draw(0)
    assert isinstance(caption(drawn.description, rng), str)
