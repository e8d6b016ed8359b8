"""The contrastive loss, and what is said about confidence."""

from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy, normalize

from vidshift.teachers.contrast import best_temperature, calibration, contrastive_loss


def unit(*shape: int, seed: int) -> torch.Tensor:
    return normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed)), dim=-1)


def test_with_different_captions_it_is_clip_s_own_loss(tiny_clip):
    from transformers import CLIPModel

    model: Any = CLIPModel.from_pretrained(tiny_clip).eval()
    pixels = torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    end = model.config.text_config.eos_token_id
    ids = torch.tensor([[k + 1, k + 2, end] for k in range(4)])
    with torch.no_grad():
        out = model(pixel_values=pixels, input_ids=ids, return_loss=True)
        found = contrastive_loss(
            out.image_embeds, out.text_embeds, scale=model.logit_scale.exp(), caption_B=torch.arange(4)
        )
    assert float(found) == pytest.approx(float(out.loss), rel=1e-5)


def test_pictures_with_one_caption_are_each_other_s_answer():
    image_BD, text_BD = unit(4, 8, seed=0), unit(3, 8, seed=1)[[0, 0, 1, 2]]
    scale = torch.tensor(5.0)
    found = contrastive_loss(image_BD, text_BD, scale=scale, caption_B=torch.tensor([7, 7, 3, 9]))
    logits = scale * image_BD @ text_BD.T
    answer = torch.eye(4)
    answer[:2, :2] = 0.5
    expected = (cross_entropy(logits, answer) + cross_entropy(logits.T, answer)) / 2
    assert float(found) == pytest.approx(float(expected), rel=1e-5)


def test_the_best_temperature_is_where_the_likelihood_is_highest():
    generator = torch.Generator().manual_seed(0)
    similarity = 0.1 * torch.randn(500, 8, generator=generator)
    label_N = torch.multinomial((30 * similarity).softmax(1), 1, generator=generator)[:, 0]
    best = best_temperature(similarity, label_N)
    assert 20 < best < 45
    loss = {factor: float(cross_entropy(factor * similarity, label_N)) for factor in (0.9 * best, best, 1.1 * best)}
    assert min(loss, key=loss.__getitem__) == best


def test_temperatures_at_the_ends():
    similarity = torch.eye(4)
    assert best_temperature(similarity, torch.arange(4)) == 1000.0
    assert best_temperature(similarity, torch.tensor([1, 2, 3, 0])) == 1.0


def test_calibration_by_hand():
    """Two guesses at .9 (one right), two at .6 (both right): gaps .4 and .4, so the error is .4."""
    probs = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.4, 0.6]])
    found = calibration(probs, torch.tensor([0, 1, 1, 1]))
    assert found.accuracy == 0.75
    assert found.confidence == pytest.approx(0.75, abs=1e-6)
    assert found.error == pytest.approx(0.4, abs=1e-6)
    assert found.coverage == 0.5
    assert found.accuracy_covered == 0.5


def test_a_teacher_that_means_what_it_says_has_no_calibration_error():
    generator = torch.Generator().manual_seed(0)
    probs = (2 * torch.randn(60_000, 4, generator=generator)).softmax(1)
    label_N = torch.multinomial(probs, 1, generator=generator)[:, 0]
    assert calibration(probs, label_N).error < 0.01
    assert calibration((probs**3 / (probs**3).sum(1, keepdim=True)), label_N).error > 0.08
    assert calibration(torch.full((10, 4), 0.25), label_N[:10]).accuracy_covered is None
