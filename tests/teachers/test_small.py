"""A small CLIP goes through the code that every CLIP goes through."""

import json
from pathlib import Path

import torch

from vidshift.data.view import View
from vidshift.teachers.bpe import make_tokenizer
from vidshift.teachers.clip import ClipTeacher
from vidshift.teachers.small import SmallClip, save_clip

TINY = SmallClip(
    image_size=32, patch=8, width=32, depth=1, heads=2, text_width=16, text_depth=1, text_heads=2, projection=16
)


def test_a_small_clip_is_opened_as_any_other(tmp_path: Path):
    tokenizer = make_tokenizer(["a video of a person drinking", "a video of a person walking"])
    model = TINY.build(tokenizer, seed=0).eval()
    save_clip(tmp_path, model, tokenizer)
    teacher = ClipTeacher(where=str(tmp_path))
    pixels = torch.randint(0, 256, (2, 3, 3, 32, 32), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    probs = teacher.probabilities(View(pixels, ("a", "b")), ["drink", "walk"])
    assert torch.allclose(probs.sum(1), torch.ones(2))
    assert teacher.image_size == 32
    assert abs(teacher.temperature - 1 / 0.07) < 1e-3
    assert json.loads((tmp_path / "preprocessor_config.json").read_text())["crop_size"] == {"height": 32, "width": 32}
    assert not list(tmp_path.glob("*.bin"))


def test_weights_follow_from_the_seed_and_leave_the_global_one_alone():
    tokenizer = make_tokenizer(["walking"])
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, again, other = (TINY.build(tokenizer, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(first.visual_projection.weight, again.visual_projection.weight)
    assert not torch.equal(first.visual_projection.weight, other.visual_projection.weight)
