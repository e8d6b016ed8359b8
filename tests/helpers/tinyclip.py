"""A tiny CLIP folder in the real format: random weights, a byte-level BPE tokenizer as CLIP's."""

from pathlib import Path
from typing import Any

import torch


def save_tiny_clip(folder: Path, *, image_size: int = 32, scale: float = 3.2) -> None:
    from transformers import CLIPConfig, CLIPModel, CLIPTokenizer

    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    vocab = [*letters, *(f"{c}</w>" for c in letters), "in", "ing</w>", "<|startoftext|>", "<|endoftext|>"]
    # The type that transformers declares for merges is not the one that it passes on.
    merges: Any = [("i", "n"), ("in", "g</w>")]
    tokenizer = CLIPTokenizer(vocab={piece: k for k, piece in enumerate(vocab)}, merges=merges, model_max_length=77)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = CLIPConfig(
        text_config={
            "vocab_size": len(vocab),
            "hidden_size": 24,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "bos_token_id": len(vocab) - 2,
            "eos_token_id": len(vocab) - 1,
            "pad_token_id": len(vocab) - 1,
        },
        vision_config={
            "hidden_size": 24,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": image_size,
            "patch_size": 8,
        },
        projection_dim=16,
    )
    model = CLIPModel(config)
    with torch.no_grad():
        model.logit_scale.fill_(scale)
    model.save_pretrained(folder)
