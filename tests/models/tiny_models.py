"""Small random models in other people's formats, and clips for them."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vidshift.data.view import View

SIZE, FRAMES = 32, 4
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


def clips(count: int = 2, *, frames: int = FRAMES, height: int = SIZE, width: int = SIZE, seed: int = 0) -> View:
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(0, 256, (count, frames, 3, height, width), generator=generator, dtype=torch.uint8)
    return View(pixels, tuple(f"clip{k}" for k in range(count)))


def normalised(view: View, mean: tuple[float, ...] = MEAN, std: tuple[float, ...] = STD) -> Tensor:
    """`[B, T, C, H, W]` as the other models read it."""
    shape = (1, 1, 3, 1, 1)
    return (view.pixels_BTCHW.float() / 255 - torch.tensor(mean).view(shape)) / torch.tensor(std).view(shape)


def shaken(model: nn.Module, *, seed: int = 0) -> Any:
    """Every parameter random, so that a norm or bias that is mixed up shows."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            one = 1.0 if ("norm" in name and name.endswith("weight")) or "lambda" in name else 0.0
            parameter.copy_(one + 0.1 * noise)
    return model.eval()


def videomae_config(**changes: Any) -> Any:
    from transformers.models.videomae import VideoMAEConfig

    small: dict[str, Any] = {
        "image_size": SIZE,
        "num_frames": FRAMES,
        "hidden_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 96,
        "decoder_hidden_size": 24,
        "decoder_num_hidden_layers": 1,
        "decoder_num_attention_heads": 2,
        "decoder_intermediate_size": 48,
        "layer_norm_eps": 1e-6,
        "num_labels": 5,
    }
    return VideoMAEConfig(**(small | changes))


def videomae(kind: str = "classifier", *, seed: int = 0, **changes: Any) -> Any:
    """A random transformers VideoMAE: "classifier", "encoder" or "pretraining"."""
    from transformers.models.videomae import VideoMAEForPreTraining, VideoMAEForVideoClassification, VideoMAEModel

    classes = {
        "classifier": VideoMAEForVideoClassification,
        "encoder": VideoMAEModel,
        "pretraining": VideoMAEForPreTraining,
    }
    model = shaken(classes[kind](videomae_config(**changes)), seed=seed)
    if kind == "classifier":
        model.fc_norm.eps = model.config.layer_norm_eps  # transformers leaves PyTorch's 1e-5 here
    return model


def original_names(model: Any, *, prefix: str = "") -> dict[str, Tensor]:
    """A transformers VideoMAE classifier under the names of VideoMAE's own repository, written out by hand."""
    v5 = model.state_dict()
    out = {
        "patch_embed.proj.weight": v5["videomae.embeddings.patch_embeddings.projection.weight"],
        "patch_embed.proj.bias": v5["videomae.embeddings.patch_embeddings.projection.bias"],
    }
    for i in range(model.config.num_hidden_layers):
        layer, block = f"videomae.encoder.layer.{i}", f"blocks.{i}"
        attention = f"{layer}.attention.attention"
        parts = [v5[f"{attention}.{part}.weight"] for part in ("query", "key", "value")]
        out[f"{block}.attn.qkv.weight"] = torch.cat(parts)
        out[f"{block}.attn.q_bias"] = v5[f"{attention}.query.bias"]
        out[f"{block}.attn.v_bias"] = v5[f"{attention}.value.bias"]
        for theirs, ours in (
            ("layernorm_before", "norm1"),
            ("attention.output.dense", "attn.proj"),
            ("layernorm_after", "norm2"),
            ("intermediate.dense", "mlp.fc1"),
            ("output.dense", "mlp.fc2"),
        ):
            for kind in ("weight", "bias"):
                out[f"{block}.{ours}.{kind}"] = v5[f"{layer}.{theirs}.{kind}"]
    for kind in ("weight", "bias"):
        if f"fc_norm.{kind}" in v5:
            out[f"fc_norm.{kind}"], out[f"head.{kind}"] = v5[f"fc_norm.{kind}"], v5[f"classifier.{kind}"]
        if f"videomae.layernorm.{kind}" in v5:
            out[f"norm.{kind}"] = v5[f"videomae.layernorm.{kind}"]
    return {prefix + name: value.clone() for name, value in out.items()}


def save(model: Any, folder: Path) -> str:
    """In transformers' own format, quietly."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    return str(folder)


def clip_vision(**changes: Any) -> Any:
    from transformers.models.clip import CLIPVisionConfig, CLIPVisionModel

    small: dict[str, Any] = {
        "hidden_size": 48,
        "intermediate_size": 96,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "image_size": SIZE,
        "patch_size": 8,
    }
    return shaken(CLIPVisionModel(CLIPVisionConfig(**(small | changes))))


def dinov2(**changes: Any) -> Any:
    from transformers.models.dinov2 import Dinov2Config, Dinov2Model

    small: dict[str, Any] = {
        "hidden_size": 48,
        "mlp_ratio": 2,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "image_size": 70,
        "patch_size": 14,
    }
    return shaken(Dinov2Model(Dinov2Config(**(small | changes))))


def still(view: View) -> View:
    """The same clips with every frame equal to the first."""
    return View(view.pixels_BTCHW[:, :1].expand(-1, view.pixels_BTCHW.shape[1], -1, -1, -1).contiguous(), view.ids)
