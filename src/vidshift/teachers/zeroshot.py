"""Zero-shot classification of videos by an image-text model, as pure functions (docs/method.md section 4).

Frame embeddings are L2-normalised, averaged over frames, L2-normalised again; their dot products with the normalised
class embeddings times the model's own temperature go through a softmax. Without that temperature no guess among seven
classes or more can exceed a confidence of 0.8 (docs/method.md section 5 row 25).
"""

import torch
from torch import Tensor
from torch.nn.functional import normalize


def pool_frames(frame_BTD: Tensor, *, raw_mean: bool = False) -> Tensor:
    """`video_BD`, of unit length. `raw_mean` averages the embeddings as they are, so that long ones weigh more."""
    frame_BTD = frame_BTD.float()
    if not raw_mean:
        frame_BTD = normalize(frame_BTD, dim=-1)
    return normalize(frame_BTD.mean(dim=1), dim=-1)


def class_embeddings(text_KPD: Tensor) -> Tensor:
    """`class_KD`, of unit length: the mean direction of a class's sentences, one for each of P templates."""
    return normalize(normalize(text_KPD.float(), dim=-1).mean(dim=1), dim=-1)


def class_probabilities(video_BD: Tensor, class_KD: Tensor, *, temperature: float) -> Tensor:
    """`probs_BK` for embeddings of unit length."""
    return torch.softmax(temperature * (video_BD @ class_KD.T), dim=-1)


def zero_shot(frame_BTD: Tensor, text_KPD: Tensor, *, temperature: float, raw_mean: bool = False) -> Tensor:
    """`probs_BK` from the embeddings of frames and sentences as the model gives them."""
    video_BD = pool_frames(frame_BTD, raw_mean=raw_mean)
    return class_probabilities(video_BD, class_embeddings(text_KPD), temperature=temperature)
