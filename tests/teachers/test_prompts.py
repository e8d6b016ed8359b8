"""Class names become sentences."""

import pytest

from vidshift.errors import UserError
from vidshift.teachers.prompts import Prompts, plain


@pytest.mark.parametrize("name", ["Ride_Bike", "ride-bike", "RideBike", " ride  bike ", "RIDE_BIKE"])
def test_spellings_of_one_class(name: str):
    assert plain(name) == "ride bike"


def test_built_in_wordings_read_as_a_sentence():
    assert Prompts().sentences(["walk", "Knitting_Socks"]) == [
        ["a video of a person walking"],
        ["a video of a person knitting socks"],
    ]


def test_own_wordings_go_first_and_every_template_is_used():
    prompts = Prompts(templates=("{class}!", "see {class}"), wordings={"walk": "strolling", "RideBike": "cycling"})
    assert prompts.sentences(["walk", "RideBike"]) == [["strolling!", "see strolling"], ["cycling!", "see cycling"]]
    assert prompts.text == "{class}! | see {class}"


def test_a_wording_with_braces_is_taken_as_it_is():
    assert Prompts(wordings={"odd": "{class}"}).sentences(["odd"]) == [["a video of a person {class}"]]


@pytest.mark.parametrize("templates", [(), ("a video",), ("{class} and {class}",)])
def test_a_template_names_the_class_once(templates: tuple[str, ...]):
    with pytest.raises(UserError, match="template") as caught:
        Prompts(templates=templates)
    assert caught.value.exit_code == 2
