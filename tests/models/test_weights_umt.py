"""UMT: tubelets of one frame under VideoMAE's names, against a plain network written from the sheet."""

import math
from pathlib import Path

import torch
from tiny_models import clips, normalised
from torch import Tensor
from torch.nn import functional as F

from vidshift.engine.backbone import open_backbone

WIDTH, DEPTH, HEADS, FRAMES, PATCH = 192, 2, 3, 8, 16


def checkpoint() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int, around: float = 0.0) -> Tensor:
        return around + 0.08 * torch.randn(*shape, generator=generator)

    state = {"patch_embed.proj.weight": draw(WIDTH, 3, 1, PATCH, PATCH), "patch_embed.proj.bias": draw(WIDTH)}
    for i in range(DEPTH):
        state |= {f"blocks.{i}.norm{n}.weight": draw(WIDTH, around=1) for n in (1, 2)}
        state |= {f"blocks.{i}.norm{n}.bias": draw(WIDTH) for n in (1, 2)}
        state |= {f"blocks.{i}.attn.{name}": draw(WIDTH) for name in ("q_bias", "v_bias", "proj.bias")}
        state[f"blocks.{i}.attn.qkv.weight"] = draw(3 * WIDTH, WIDTH)
        state[f"blocks.{i}.attn.proj.weight"] = draw(WIDTH, WIDTH)
        state[f"blocks.{i}.mlp.fc1.weight"], state[f"blocks.{i}.mlp.fc1.bias"] = draw(4 * WIDTH, WIDTH), draw(4 * WIDTH)
        state[f"blocks.{i}.mlp.fc2.weight"], state[f"blocks.{i}.mlp.fc2.bias"] = draw(WIDTH, 4 * WIDTH), draw(WIDTH)
    state |= {"fc_norm.weight": draw(WIDTH, around=1), "fc_norm.bias": draw(WIDTH)}
    return state | {"head.weight": draw(7, WIDTH), "head.bias": draw(7)}


def plain(state: dict[str, Tensor], pixels_BTCHW: Tensor) -> Tensor:
    """The network of tokens.md section 7.1 with a Conv3d, loops and an explicit softmax."""
    kernel = state["patch_embed.proj.weight"]
    x = F.conv3d(pixels_BTCHW.transpose(1, 2), kernel, state["patch_embed.proj.bias"], stride=(1, PATCH, PATCH))
    x = x.flatten(2).transpose(1, 2)
    table = [[p / 10000 ** (2 * (j // 2) / WIDTH) for j in range(WIDTH)] for p in range(x.shape[1])]
    x = x + torch.tensor([[(math.sin, math.cos)[j % 2](a) for j, a in enumerate(row)] for row in table])

    def norm(x: Tensor, name: str) -> Tensor:
        mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
        return (x - mean) / (var + 1e-6).sqrt() * state[f"{name}.weight"] + state[f"{name}.bias"]

    for i in range(DEPTH):
        q, k, v = (norm(x, f"blocks.{i}.norm1") @ state[f"blocks.{i}.attn.qkv.weight"].T).chunk(3, dim=-1)
        q, v = q + state[f"blocks.{i}.attn.q_bias"], v + state[f"blocks.{i}.attn.v_bias"]
        parts = []
        for h in range(HEADS):
            cut = slice(h * WIDTH // HEADS, (h + 1) * WIDTH // HEADS)
            scores = q[..., cut] @ k[..., cut].transpose(1, 2) / math.sqrt(WIDTH // HEADS)
            parts.append(scores.softmax(-1) @ v[..., cut])
        mixed = torch.cat(parts, -1)
        x = x + mixed @ state[f"blocks.{i}.attn.proj.weight"].T + state[f"blocks.{i}.attn.proj.bias"]
        hidden = (
            norm(x, f"blocks.{i}.norm2") @ state[f"blocks.{i}.mlp.fc1.weight"].T + state[f"blocks.{i}.mlp.fc1.bias"]
        )
        hidden = hidden * 0.5 * (1 + torch.erf(hidden / math.sqrt(2)))
        x = x + hidden @ state[f"blocks.{i}.mlp.fc2.weight"].T + state[f"blocks.{i}.mlp.fc2.bias"]
    return norm(x.mean(1), "fc_norm") @ state["head.weight"].T + state["head.bias"]


@torch.no_grad()
def test_umt_equals_a_plain_network(tmp_path: Path) -> None:
    state = checkpoint()
    torch.save({"model": state}, tmp_path / "umt.pth")
    backbone = open_backbone(str(tmp_path / "umt.pth"), frames=FRAMES, size=32, options={"keep_head": True})
    assert backbone.config.geometry.tubelet == 1
    assert backbone.config.geometry.tokens == FRAMES * 4
    view = clips(frames=FRAMES)
    expected = plain(state, normalised(view))
    assert expected.std() > 0.1
    found = backbone.build(backbone.config, seed=0).eval()(view).logits_BK
    assert torch.allclose(found, expected, atol=1e-4)


def test_pretraining_heads_are_left_out(tmp_path: Path) -> None:
    state = {f"encoder.{k}": v for k, v in checkpoint().items() if not k.startswith(("head", "fc_norm"))}
    state |= {"encoder.norm.weight": torch.ones(WIDTH), "encoder.norm.bias": torch.zeros(WIDTH)}
    state |= {"clip_decoder.0.head.weight": torch.zeros(4, WIDTH), "clip_decoder.0.norm.weight": torch.ones(4)}
    torch.save({"model": state}, tmp_path / "umt.pth")
    backbone = open_backbone(str(tmp_path / "umt.pth"), frames=16)
    report = str(backbone.report)
    assert "of UMT (original names)" in report
    assert "the alignment heads (2 tensors: only UMT's pre-training imitates CLIP)" in report
    assert "saw 8 frames and this run reads 16" in report
    assert "licence of the weights: unknown" in report
    assert backbone.config.geometry.tokens == 16 * 196
