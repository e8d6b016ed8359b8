import pytest

from vidshift.tokens.geometry import Geometry


def test_videomae_has_1568_tokens() -> None:
    g = Geometry()
    assert (g.segments, g.rows, g.cols, g.per_segment, g.tokens, g.patch_dim) == (8, 14, 14, 196, 1568, 1536)
    assert Geometry(**g.as_dict()) == g


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"frames": 15}, "15 frames do not divide into tubelets of 2"),
        ({"width": 100}, "224 x 100 pixels do not divide into patches of 16"),
        ({"tubelet": 0}, "at least 1"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changes: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Geometry(**changes)
