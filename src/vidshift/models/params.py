"""Parameter groups with layer-wise learning-rate decay that is really applied."""

from collections import defaultdict
from typing import Any

from torch import nn


def layer_of(name: str, depth: int) -> int:
    """0: embedding; i + 1: block i; depth + 1: last norm and head (tokens.md section 7.2)."""
    if name.startswith("blocks."):
        return int(name.split(".")[1]) + 1
    return 0 if name.startswith("embedding.") else depth + 1


def decays(name: str, parameter: nn.Parameter) -> bool:
    """Matrices decay; vectors (biases, norms, tokens) and tables of positions do not."""
    return parameter.dim() > 1 and name not in ("embedding.positions", "embedding.lengths")


def grouped(
    module: nn.Module, *, depth: int, lr: float, weight_decay: float, layer_decay: float = 1.0
) -> list[dict[str, Any]]:
    """One group for each layer and kind. `lr` is absolute, the scale already in it (a scheduler multiplies it);
    `lr_scale` is there to be read."""
    if not 0 < layer_decay <= 1:
        raise ValueError(f"a layer decay of {layer_decay:g} where above 0 and at most 1 is meant")
    members: dict[tuple[int, bool], list[nn.Parameter]] = defaultdict(list)
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            members[layer_of(name, depth), decays(name, parameter)].append(parameter)
    groups = []
    for (layer, decayed), params in sorted(members.items()):
        scale = layer_decay ** (depth + 1 - layer)
        groups.append(
            {
                "params": params,
                "lr": lr * scale,
                "lr_scale": scale,
                "weight_decay": weight_decay if decayed else 0.0,
                "layer": layer,
            }
        )
    return groups
