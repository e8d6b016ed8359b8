"""Contrastive learning of pictures and captions, and how far a teacher's confidence can be believed."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax

BINS = 15


def contrastive_loss(image_BD: Tensor, text_BD: Tensor, *, scale: Tensor, caption_B: Tensor) -> Tensor:
    """CLIP's symmetric loss for embeddings of unit length.

    Pictures with the same caption (equal numbers in `caption_B`) are each other's answers too: in so small a language
    a batch holds many, and calling them wrong would teach that a caption does not fit its picture.
    """
    logits_BB = scale * image_BD @ text_BD.T
    same_BB = (caption_B[:, None] == caption_B[None, :]).float()
    answer_BB = same_BB / same_BB.sum(dim=1, keepdim=True)
    return (_soft(logits_BB, answer_BB) + _soft(logits_BB.T, answer_BB)) / 2


def _soft(logits_BB: Tensor, answer_BB: Tensor) -> Tensor:
    return -(answer_BB * log_softmax(logits_BB, dim=1)).sum(dim=1).mean()


def best_temperature(similarity_NK: Tensor, label_N: Tensor) -> float:
    """The factor on cosine similarities under which the labels are most likely: one number, found by bisection.

    The likelihood is concave in the factor, so its slope falls through zero once. With a perfect or a hopeless teacher
    it has no such place, and the nearer end of [1, 1000] is taken.
    """
    similarity, rows = similarity_NK.double(), torch.arange(len(label_N))
    right_N = similarity[rows, label_N]

    def slope(factor: float) -> float:
        expected_N = ((factor * similarity).softmax(dim=1) * similarity).sum(dim=1)
        return float((right_N - expected_N).mean())

    low, high = 1.0, 1000.0
    if slope(low) <= 0:
        return low
    if slope(high) >= 0:
        return high
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return (low * high) ** 0.5


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """`error` is the expected calibration error: how far accuracy is from confidence in each bin, by its share."""

    accuracy: float
    confidence: float
    error: float
    loss: float
    coverage: float
    """The share of guesses above `gamma`."""
    accuracy_covered: float | None
    gamma: float


def calibration(probs_NK: Tensor, label_N: Tensor, *, gamma: float = 0.8, bins: int = BINS) -> Calibration:
    """In equally wide bins of confidence."""
    confidence_N, guess_N = probs_NK.double().max(dim=1)
    hit_N = (guess_N == label_N).double()
    bin_N = (confidence_N * bins).long().clamp(max=bins - 1)
    zero = torch.zeros(bins, dtype=torch.double)
    gap = zero.index_add(0, bin_N, hit_N) - zero.index_add(0, bin_N, confidence_N)
    covered_N = confidence_N > gamma
    return Calibration(
        accuracy=float(hit_N.mean()),
        confidence=float(confidence_N.mean()),
        error=float(gap.abs().sum() / len(label_N)),
        loss=float(cross_entropy(probs_NK.double().clamp_min(1e-12).log(), label_N)),
        coverage=float(covered_N.double().mean()),
        accuracy_covered=float(hit_N[covered_N].mean()) if covered_N.any() else None,
        gamma=gamma,
    )
