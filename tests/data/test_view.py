import pytest
import torch

from vidshift.data.view import View


def view(**more) -> View:
    pixels = torch.arange(3 * 2 * 3 * 4 * 4, dtype=torch.int64).remainder(256).to(torch.uint8).reshape(3, 2, 3, 4, 4)
    return View(pixels, ("a", "b", "c"), **more)


def test_clean_pixels_are_the_pixels_unless_something_was_done_to_them():
    plain = view()
    assert plain.clean_BTCHW is plain.pixels_BTCHW
    mixed = view(clean=torch.zeros(3, 2, 3, 4, 4, dtype=torch.uint8))
    assert mixed.clean_BTCHW.sum() == 0
    assert mixed.clean_float_BTCHW.sum() == 0


def test_bytes_become_floats_in_the_unit_range_and_floats_stay():
    plain = view()
    torch.testing.assert_close(plain.clean_float_BTCHW, plain.pixels_BTCHW.float() / 255)
    real = View(torch.rand(2, 2, 3, 4, 4), ("a", "b"))
    assert real.clean_float_BTCHW.dtype == torch.float32
    torch.testing.assert_close(real.clean_float_BTCHW, real.pixels_BTCHW)


def test_taking_rows_takes_all_that_belongs_to_them():
    whole = view(clean=torch.rand(3, 2, 3, 4, 4), info={"crop": 1})
    part = whole.take([2, 0])
    assert part.ids == ("c", "a")
    assert part.info == {"crop": 1}
    assert len(part) == 2
    torch.testing.assert_close(part.pixels_BTCHW, whole.pixels_BTCHW[[2, 0]])
    torch.testing.assert_close(part.clean_BTCHW, whole.clean_BTCHW[[2, 0]])
    assert whole.take(torch.tensor([1])).ids == ("b",)


def test_moving_keeps_what_is_shared_shared():
    moved = view().to("cpu")
    assert moved.clean is None
    assert moved.clean_BTCHW is moved.pixels_BTCHW


@pytest.mark.parametrize(
    ("pixels", "ids", "clean", "message"),
    [
        (torch.zeros(2, 3, 4, 4), ("a", "b"), None, r"not \(2, 3, 4, 4\)"),
        (torch.zeros(2, 1, 3, 4, 4), ("a",), None, "1 clip ids for 2 clips"),
        (torch.zeros(1, 1, 3, 4, 4), ("a",), torch.zeros(1, 2, 3, 4, 4), "clean pixels"),
    ],
)
def test_shapes_that_do_not_fit_are_told(pixels, ids, clean, message):
    with pytest.raises(ValueError, match=message):
        View(pixels, ids, clean)


def test_says_what_it_holds():
    assert repr(view()) == "View(3x2x3x4x4 torch.uint8, clean)"
