"""Frames as image-text models want them."""

import json
from pathlib import Path

import pytest
import torch

from vidshift.errors import UserError
from vidshift.teachers.preprocess import CLIP_MEAN, CLIP_STD, Preprocess


def write(folder: Path, **values: object) -> Path:
    (folder / "preprocessor_config.json").write_text(json.dumps(values))
    return folder


def test_levels_by_hand():
    frame = torch.tensor([0, 51, 255], dtype=torch.uint8).view(1, 3, 1, 1).expand(1, 3, 4, 4)
    found = Preprocess(resize=4, crop=4)(frame)[0, :, 0, 0]
    expected = [(value - m) / s for value, m, s in zip((0, 0.2, 1), CLIP_MEAN, CLIP_STD, strict=True)]
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


def test_whole_numbers_and_shares_of_one_are_the_same_picture():
    frame = torch.randint(0, 256, (2, 3, 12, 20), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    prepare = Preprocess(resize=8, crop=8)
    torch.testing.assert_close(prepare(frame), prepare(frame / 255), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("height", "width"), [(12, 20), (20, 12), (8, 8)])
def test_the_short_side_is_resized_and_the_centre_cut(height: int, width: int):
    """Left and right (top and bottom) quarters are black: the centre that is cut out is white all over."""
    frame = torch.zeros(1, 3, height, width, dtype=torch.uint8)
    long = max(height, width)
    edge = (long - min(height, width)) // 2
    inner = slice(edge, long - edge)
    frame[:, :, inner] = 255
    frame = frame if height >= width else frame.new_zeros(frame.shape)
    if height < width:
        frame[..., inner] = 255
    found = Preprocess(resize=min(height, width), crop=min(height, width), mean=(0, 0, 0), std=(1, 1, 1))(frame)
    assert found.shape[-2:] == (min(height, width),) * 2
    assert float(found.min()) == 1


def test_squashing_cuts_nothing():
    frame = torch.zeros(1, 3, 8, 16, dtype=torch.uint8)
    frame[..., :8] = 255
    found = Preprocess(resize=8, crop=8, squash=True, mean=(0, 0, 0), std=(1, 1, 1))(frame)
    assert found.shape == (1, 3, 8, 8)
    assert float(found[..., :3].min()) == 1
    assert float(found[..., 5:].max()) == 0


def test_what_models_bring_along_is_read(tmp_path: Path):
    assert Preprocess.read(tmp_path, image_size=32) == Preprocess(resize=32, crop=32)
    old = write(tmp_path, size=30, crop_size=24, image_mean=[0.5] * 3, image_std=[0.25] * 3)
    half = ((0.5,) * 3, (0.25,) * 3)
    assert Preprocess.read(old, image_size=9) == Preprocess(resize=30, crop=24, mean=half[0], std=half[1])
    new = write(tmp_path, size={"shortest_edge": 30}, crop_size={"height": 24, "width": 24})
    assert Preprocess.read(new, image_size=9) == Preprocess(resize=30, crop=24)
    both = write(tmp_path, size={"height": 30, "width": 30})
    assert Preprocess.read(both, image_size=9) == Preprocess(resize=30, crop=30, squash=True)


def test_a_damaged_file_is_said(tmp_path: Path):
    (tmp_path / "preprocessor_config.json").write_text("{")
    with pytest.raises(UserError, match="is not JSON"):
        Preprocess.read(tmp_path, image_size=32)
