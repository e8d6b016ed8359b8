"""Zero-shot classification as arithmetic on embeddings."""

import math

import pytest
import torch

from vidshift.teachers.zeroshot import class_embeddings, class_probabilities, pool_frames, zero_shot


def test_two_classes_by_hand():
    """A video at 60 degrees from class a and 30 from b: cosines 1/2 and sqrt(3)/2, temperature 2."""
    video_BD = torch.tensor([[0.5, math.sqrt(3) / 2]])
    found = class_probabilities(video_BD, torch.eye(2), temperature=2.0)[0]
    a, b = math.exp(1.0), math.exp(math.sqrt(3))
    assert found.tolist() == pytest.approx([a / (a + b), b / (a + b)])


def test_frames_count_by_direction_unless_asked_otherwise():
    """Of two frames at right angles one is ten times as long: their mean is the diagonal, or nearly the long one."""
    frame_BTD = torch.tensor([[[10.0, 0.0], [0.0, 1.0]]])
    assert pool_frames(frame_BTD)[0].tolist() == pytest.approx([math.sqrt(0.5)] * 2)
    assert pool_frames(frame_BTD, raw_mean=True)[0].tolist() == pytest.approx([10 / math.sqrt(101), 1 / math.sqrt(101)])


def test_sentences_of_a_class_are_averaged_as_directions():
    text_KPD = torch.tensor([[[3.0, 0.0], [0.0, 0.1]], [[-1.0, 0.0], [-2.0, 0.0]]])
    found = class_embeddings(text_KPD)
    assert found.flatten().tolist() == pytest.approx([math.sqrt(0.5), math.sqrt(0.5), -1.0, 0.0])


def test_without_its_temperature_no_guess_among_eight_classes_passes_the_filter():
    """The largest softmax of cosines in [-1, 1] is e / (e + 7/e) = 0.514."""
    class_KD = torch.cat([torch.tensor([[1.0, 0.0]]), torch.tensor([[-1.0, 0.0]]).repeat(7, 1)])
    video_BD = torch.tensor([[1.0, 0.0]])
    flat = class_probabilities(video_BD, class_KD, temperature=1.0).max()
    assert float(flat) == pytest.approx(math.e / (math.e + 7 / math.e))
    assert float(flat) < 0.8 < float(class_probabilities(video_BD, class_KD, temperature=100.0).max())


def test_lengths_of_embeddings_do_not_matter_and_rows_sum_to_one():
    generator = torch.Generator().manual_seed(0)
    frame_BTD, text_KPD = torch.randn(4, 3, 8, generator=generator), torch.randn(5, 2, 8, generator=generator)
    found = zero_shot(frame_BTD, text_KPD, temperature=20.0)
    scales = torch.rand(4, 3, 1, generator=generator) + 0.5
    torch.testing.assert_close(zero_shot(frame_BTD * scales, text_KPD * 7, temperature=20.0), found)
    torch.testing.assert_close(found.sum(1), torch.ones(4))
    torch.testing.assert_close(zero_shot(frame_BTD.flip(1), text_KPD, temperature=20.0), found)
