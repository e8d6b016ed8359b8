"""VideoMAE's classifier written plainly, without packing, from its description alone (tokens.md section 7.1).

Shares no code with the package; reads only the weights.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from vidshift.models.config import VitConfig


def positions(count: int, width: int) -> Tensor:
    rows = [
        [(math.sin if j % 2 == 0 else math.cos)(p / 10000 ** (2 * (j // 2) / width)) for j in range(width)]
        for p in range(count)
    ]
    return torch.tensor(rows)


def tokens_of(pixels_BTCHW: Tensor, weights: dict[str, Tensor], config: VitConfig) -> Tensor:
    """[B, N, D] embedded and placed, with a real convolution."""
    g = config.geometry
    mean, std = (torch.tensor(x).view(1, 1, -1, 1, 1) for x in (config.mean, config.std))
    x = ((pixels_BTCHW - mean) / std).transpose(1, 2)
    kernel = weights["embedding.patch.weight"].view(config.width, g.channels, g.tubelet, g.patch, g.patch)
    x = F.conv3d(x, kernel, weights["embedding.patch.bias"], stride=(g.tubelet, g.patch, g.patch))
    return x.flatten(2).transpose(1, 2) + positions(g.tokens, config.width)


def blocks(x_BND: Tensor, weights: dict[str, Tensor], config: VitConfig) -> Tensor:
    """Without a mask: every token given sees every other of its clip."""
    width, heads = config.width, config.heads
    for i in range(config.depth):
        w = {name.removeprefix(f"blocks.{i}."): value for name, value in weights.items()}
        y = F.layer_norm(x_BND, (width,), w["norm1.weight"], w["norm1.bias"], config.eps)
        bias = torch.cat([w["qkv.q_bias"], torch.zeros(width), w["qkv.v_bias"]])
        q, k, v = (
            part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in (y @ w["qkv.weight"].t() + bias).chunk(3, -1)
        )
        attention = (q @ k.transpose(-1, -2) / math.sqrt(width // heads)).softmax(-1)
        y = (attention @ v).transpose(1, 2).flatten(2)
        x_BND = x_BND + y @ w["proj.weight"].t() + w["proj.bias"]
        y = F.layer_norm(x_BND, (width,), w["norm2.weight"], w["norm2.bias"], config.eps)
        y = F.gelu(y @ w["mlp.fc1.weight"].t() + w["mlp.fc1.bias"])
        x_BND = x_BND + y @ w["mlp.fc2.weight"].t() + w["mlp.fc2.bias"]
    return x_BND


def logits_of(x_BND: Tensor, weights: dict[str, Tensor], config: VitConfig) -> Tensor:
    pooled = F.layer_norm(x_BND.mean(1), (config.width,), weights["norm.weight"], weights["norm.bias"], config.eps)
    return pooled @ weights["head.weight"].t() + weights["head.bias"]


def dense(pixels_BTCHW: Tensor, weights: dict[str, Tensor], config: VitConfig, keep_BN: Tensor | None = None) -> Tensor:
    """Logits, clip by clip on the kept tokens where not all are."""
    x = tokens_of(pixels_BTCHW, weights, config)
    if keep_BN is None:
        return logits_of(blocks(x, weights, config), weights, config)
    kept = [blocks(clip[keep][None], weights, config) for clip, keep in zip(x, keep_BN, strict=True)]
    return torch.cat([logits_of(clip, weights, config) for clip in kept])
