"""A small CLIP of transformers: its shape, and the folder that `hub.open_model` reads like any other CLIP's."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from vidshift.models.layers import axes_sinusoid
from vidshift.teachers.preprocess import CLIP_MEAN, CLIP_STD

# CLIP begins at exp(logit_scale) = 1 / .07 and never lets it pass 100.
FIRST_SCALE, LARGEST_SCALE = 1 / 0.07, 100.0
# About as strong as the patches beside them are at first.
FIRST_POSITIONS = 0.25


@dataclass(frozen=True, kw_only=True)
class SmallClip:
    """The capacity of a teacher."""

    image_size: int = 96
    patch: int = 8
    width: int = 128
    depth: int = 4
    heads: int = 4
    text_width: int = 64
    text_depth: int = 2
    text_heads: int = 2
    projection: int = 64
    length: int = 48
    """The longest sentence, in tokens with both ends."""

    def build(self, tokenizer: Any, *, seed: int) -> Any:
        """A `CLIPModel` with fresh weights that follow from the seed alone."""
        from transformers import CLIPConfig, CLIPModel

        config = CLIPConfig(
            text_config={
                "vocab_size": len(tokenizer),
                "hidden_size": self.text_width,
                "intermediate_size": 4 * self.text_width,
                "num_hidden_layers": self.text_depth,
                "num_attention_heads": self.text_heads,
                "max_position_embeddings": self.length,
                "projection_dim": self.projection,
                "bos_token_id": tokenizer.bos_token_id,
                "eos_token_id": tokenizer.eos_token_id,
                "pad_token_id": tokenizer.pad_token_id,
            },
            vision_config={
                "hidden_size": self.width,
                "intermediate_size": 4 * self.width,
                "num_hidden_layers": self.depth,
                "num_attention_heads": self.heads,
                "image_size": self.image_size,
                "patch_size": self.patch,
                "projection_dim": self.projection,
            },
            projection_dim=self.projection,
            logit_scale_init_value=float(torch.tensor(FIRST_SCALE).log()),
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = CLIPModel(config)
        side = self.image_size // self.patch
        with torch.no_grad():
            # Learned positions begin as sinusoids: from a draw of deviation .02 they are found last of all.
            table = axes_sinusoid(1, side, side, self.width)
            model.vision_model.embeddings.position_embedding.weight[1:] = FIRST_POSITIONS * table
        return model


def save_clip(folder: Path, model: Any, tokenizer: Any) -> None:
    """Weights as safetensors, configuration, tokenizer and preprocessing, as `save_pretrained` of CLIP leaves them."""
    from transformers.utils import logging

    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model.save_pretrained(folder)
    finally:
        if bars:
            logging.enable_progress_bar()
    tokenizer.save_pretrained(folder)
    size = model.config.vision_config.image_size
    preprocessing = {
        "image_processor_type": "CLIPImageProcessor",
        "do_resize": True,
        "size": {"shortest_edge": size},
        "resample": 3,
        "do_center_crop": True,
        "crop_size": {"height": size, "width": size},
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(CLIP_MEAN),
        "image_std": list(CLIP_STD),
        "do_convert_rgb": True,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessing, indent=2) + "\n", encoding="utf-8")
