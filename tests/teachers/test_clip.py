"""The CLIP teacher against a direct computation with transformers."""

from pathlib import Path

import pytest
import torch

from vidshift.data.view import View
from vidshift.errors import UserError
from vidshift.teachers.base import teachers
from vidshift.teachers.clip import ClipTeacher
from vidshift.teachers.prompts import Prompts

CLASSES = ("drink", "Ride_Bike", "walk")


def clips(count: int = 3, *, height: int = 32, width: int = 32) -> View:
    generator = torch.Generator().manual_seed(1)
    pixels = torch.randint(0, 256, (count, 4, 3, height, width), generator=generator, dtype=torch.uint8)
    return View(pixels, tuple(f"clip{k}" for k in range(count)))


def direct(folder: Path, view: View, sentences: list[str]) -> torch.Tensor:
    """What transformers itself says: cosine similarities of frames, averaged as unit vectors, times its scale."""
    from transformers import AutoTokenizer, CLIPModel

    model = CLIPModel.from_pretrained(folder).eval()
    tokens = AutoTokenizer.from_pretrained(folder)(sentences, padding=True, return_tensors="pt")
    mean = torch.tensor([0.48145466, 0.4578275, 0.40821073])[:, None, None]
    std = torch.tensor([0.26862954, 0.26130258, 0.27577711])[:, None, None]
    rows = []
    with torch.no_grad():
        for clip_TCHW in view.pixels_BTCHW:
            out = model(pixel_values=(clip_TCHW / 255 - mean) / std, **tokens)
            video = out.image_embeds.mean(0)
            rows.append((model.logit_scale.exp() * (out.text_embeds @ (video / video.norm()))).softmax(-1))
    return torch.stack(rows)


def test_probabilities_equal_a_direct_computation(tiny_clip: Path) -> None:
    teacher = ClipTeacher(where=str(tiny_clip), chunk=5)
    expected = direct(
        tiny_clip, clips(), [f"a video of a person {word}" for word in ("drinking", "riding a bike", "walking")]
    )
    found = teacher.probabilities(clips(), CLASSES)
    assert torch.allclose(found, expected, atol=1e-5)
    assert found.std() > 1e-3
    assert torch.allclose(found.sum(-1), torch.ones(3), atol=1e-6)


def test_temperature_is_the_trained_one(tiny_clip: Path) -> None:
    teacher = ClipTeacher(where=str(tiny_clip))
    assert teacher.temperature == pytest.approx(torch.tensor(3.2).exp().item(), rel=1e-6)
    assert teacher.card.temperature == teacher.temperature


def test_templates_are_averaged_as_directions(tiny_clip: Path) -> None:
    templates = ("a video of a person {class}", "someone {class}")
    teacher = ClipTeacher(where=str(tiny_clip), prompts=Prompts(templates=templates))
    single = [
        torch.nn.functional.normalize(teacher.text_embeddings([t.replace("{class}", "walking")]), dim=-1)
        for t in templates
    ]
    expected = torch.nn.functional.normalize(single[0] + single[1], dim=-1)
    assert torch.allclose(teacher.class_embeddings(["walk", "run"])[:1], expected, atol=1e-6)


def test_wordings_and_order_of_classes(tiny_clip: Path) -> None:
    teacher = ClipTeacher(where=str(tiny_clip))
    forward, backward = teacher.probabilities(clips(), CLASSES), teacher.probabilities(clips(), CLASSES[::-1])
    assert torch.allclose(forward, backward.flip(1), atol=1e-6)
    other = ClipTeacher(where=str(tiny_clip), prompts=Prompts(wordings={"drink": "sipping"}))
    assert not torch.allclose(forward, other.probabilities(clips(), CLASSES), atol=1e-4)
    assert other.card.fingerprint != teacher.card.fingerprint


def test_float_pixels_equal_bytes_and_batches_do_not_matter(tiny_clip: Path) -> None:
    teacher = ClipTeacher(where=str(tiny_clip))
    view = clips(height=40, width=56)
    whole = teacher.probabilities(view, CLASSES)
    parts = torch.cat([teacher.probabilities(view.take([k]), CLASSES) for k in range(3)])
    assert torch.allclose(whole, parts, atol=1e-6)
    floating = View(view.pixels_BTCHW.float() / 255, view.ids)
    assert torch.allclose(whole, teacher.probabilities(floating, CLASSES), atol=1e-5)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("no-such-folder", "no hub id"),
        ("./no/such", "no hub id"),
        ("nobody-here/no-such-model", "--teacher stick"),
    ],
)
def test_errors_name_the_ways_out(where: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match=said) as caught:
        ClipTeacher(where=where)
    assert "labels.csv" in str(caught.value)


def test_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"config\.json"):
        ClipTeacher(where=str(tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "clip"}')
    with pytest.raises(UserError, match="cannot be read as a CLIP model"):
        ClipTeacher(where=str(tmp_path))


def test_registry_knows_the_teachers() -> None:
    assert {"clip", "stick", "table"} <= set(teachers)
