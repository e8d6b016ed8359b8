import json
from typing import Any

import pytest
from tiny import tiny_config

from vidshift.errors import UserError
from vidshift.models.config import PRESETS, VitConfig, preset


@pytest.mark.parametrize("name", list(PRESETS))
def test_a_configuration_goes_through_json(name: str) -> None:
    config = preset(name, classes=5, drop_path=0.0)
    assert VitConfig.from_dict(json.loads(json.dumps(config.as_dict()))) == config


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"heads": 5}, "width 32 does not divide into 5 heads"),
        ({"width": 33, "heads": 3}, "even width"),
        ({"drop_path": 1.0}, "drop path"),
        ({"pooling": "class"}, "class token"),
        ({"mean": (0.5,)}, "3 numbers"),
        ({"activation": "relu"}, "gelu, quick_gelu"),
    ],
)
def test_what_cannot_be_built_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tiny_config(**changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rotary": True}, "'rotary': it was probably written by a newer VidShift"),
        ({"width": "wide"}, "cannot be used"),
        ({"geometry": {"frames": 3}}, "cannot be used"),
        ({"geometry": 7}, "cannot be used"),
        ({"mean": None}, "cannot be used"),
    ],
)
def test_a_damaged_configuration_is_refused_in_a_sentence(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        VitConfig.from_dict({**tiny_config().as_dict(), **changes})


def test_an_unknown_preset() -> None:
    with pytest.raises(UserError, match="did you mean 'vit-b'"):
        preset("vitb")
