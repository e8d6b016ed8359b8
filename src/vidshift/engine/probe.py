"""How much a frozen network knows: a linear classifier on its pooled features."""

from dataclasses import dataclass

import torch
from torch import Tensor

from vidshift.data.augment import Augment
from vidshift.data.loader import Clips, ahead, draw_seeds, draws, test_view, training_view
from vidshift.data.view import View
from vidshift.engine.config import RunConfig
from vidshift.engine.defaults import with_defaults
from vidshift.engine.schedule import factor
from vidshift.models.vit import VideoTransformer

# The strengths of the penalty among which a held-out fifth of the training clips chooses.
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)
_HELD_OUT = 5
_ROUNDS = 60


@dataclass(frozen=True)
class Probed:
    """Accuracy on clips that neither the network nor the classifier has seen."""

    accuracy: float
    train_accuracy: float
    penalty: float
    train_clips: int
    test_clips: int


@torch.no_grad()
def pooled_features(net: VideoTransformer, clips: Clips, *, batch: int = 64) -> Tensor:
    """`pool_ND` of every clip's test view, with all tokens."""
    device = next(net.parameters()).device
    net.eval()
    parts = []
    for first in range(0, len(clips), batch):
        view = test_view(clips, range(first, min(first + batch, len(clips))))
        parts.append(net(view.to(device)).pool_BD.float().cpu())
    return torch.cat(parts)


def probe(train_ND: Tensor, train_N: Tensor, test_ND: Tensor, test_N: Tensor, *, classes: int) -> Probed:
    """Features are standardised by the training clips; the penalty is chosen within them."""
    mean, deviation = train_ND.mean(0), train_ND.std(0) + 1e-6
    x_ND, y_ND = (train_ND - mean) / deviation, (test_ND - mean) / deviation
    held = torch.arange(len(x_ND)) % _HELD_OUT == 0
    scores: list[float] = []
    for penalty in PENALTIES:
        weights = _fit(x_ND[~held], train_N[~held], classes, penalty)
        scores.append(_accuracy(weights, x_ND[held], train_N[held]))
    penalty = PENALTIES[max(range(len(PENALTIES)), key=scores.__getitem__)]
    weights = _fit(x_ND, train_N, classes, penalty)
    return Probed(
        _accuracy(weights, y_ND, test_N), _accuracy(weights, x_ND, train_N), penalty, len(train_ND), len(test_ND)
    )


def fine_tune(net: VideoTransformer, clips: Clips, label_N: Tensor, test: Clips, test_N: Tensor) -> float:
    """Accuracy on `test` after the whole network, copied, was trained on `clips` by the defaults of a run."""
    import copy

    config, device = with_defaults(RunConfig()), next(net.parameters()).device
    model = copy.deepcopy(net)
    model.config = model.config.with_(drop_path=config.drop_path)
    model.reset_head(int(label_N.max()) + 1)
    model.to(device).train()
    groups = model.param_groups(lr=config.lr, weight_decay=config.weight_decay, layer_decay=config.layer_decay)
    groups = [{**group, "initial_lr": group["lr"]} for group in groups]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.999))
    steps = config.epochs * len(clips) // config.batch
    augment = Augment()

    def batch(step: int) -> tuple[View, Tensor, Tensor]:
        found = draws(step, batch=config.batch, total=len(clips), seed=0, domain="tune")
        view = training_view(clips, found, seed=0, stream="weak", augment=augment)
        return view, draw_seeds(clips, found, seed=0), label_N[[draw.index for draw in found]]

    for step, (view, seeds_B, label_B) in enumerate(ahead(batch, range(steps))):
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"] * factor(step, total=steps, warmup=config.warmup)
        logits_BK = model(view.to(device), seeds_B=seeds_B).logits_BK
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(logits_BK, label_B.to(device)).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        parts = [
            model(test_view(test, range(first, min(first + 64, len(test)))).to(device)).logits_BK.argmax(1).cpu()
            for first in range(0, len(test), 64)
        ]
    return float((torch.cat(parts) == test_N).float().mean())


def _with_one(x_ND: Tensor) -> Tensor:
    return torch.cat([x_ND, torch.ones(len(x_ND), 1)], dim=1)


def _fit(x_ND: Tensor, label_N: Tensor, classes: int, penalty: float) -> Tensor:
    """Multinomial logistic regression: convex, so it needs no seed."""
    x = _with_one(x_ND)
    weights = torch.zeros(x.shape[1], classes, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=_ROUNDS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(x @ weights, label_N) + penalty * weights[:-1].square().sum() / 2
        loss.backward()
        return loss

    optimizer.step(closure)
    return weights.detach()


def _accuracy(weights: Tensor, x_ND: Tensor, label_N: Tensor) -> float:
    return float(((_with_one(x_ND) @ weights).argmax(1) == label_N).float().mean())
