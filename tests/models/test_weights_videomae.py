"""VideoMAE in all its spellings gives here what it gives in transformers."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import FRAMES, SIZE, clips, normalised, original_names, save, videomae

from vidshift.engine.backbone import open_backbone
from vidshift.models.config import VitConfig
from vidshift.models.vit import VideoTransformer
from vidshift.models.weights import WeightsOptions, open_weights
from vidshift.models.weights.assemble import Body

CLOSE = 1e-4


def network(name: str, **options: Any) -> VideoTransformer:
    backbone = open_backbone(name, frames=FRAMES, options=options)
    return backbone.build(backbone.config, seed=0).eval()


@torch.no_grad()
def test_classifier_folder_gives_equal_logits(tmp_path: Path) -> None:
    theirs = videomae()
    ours = network(save(theirs, tmp_path), keep_head=True)
    found = ours(clips()).logits_BK
    expected = theirs(normalised(clips())).logits
    assert expected.std() > 0.1
    assert torch.allclose(found, expected, atol=CLOSE)


@torch.no_grad()
def test_encoder_tokens_are_equal(tmp_path: Path) -> None:
    theirs = videomae("encoder")
    ours = network(save(theirs, tmp_path))
    tokens = ours(clips()).packed.tokens_MD.view(2, -1, 48)
    assert torch.allclose(tokens, theirs(normalised(clips())).last_hidden_state, atol=CLOSE)


@torch.no_grad()
def test_names_of_transformers_5_in_memory(tmp_path: Path) -> None:
    """On disk transformers writes q_bias; in memory version 5 says query.bias."""
    theirs = videomae()
    names = theirs.state_dict()
    assert any(name.endswith("query.bias") for name in names)
    save(theirs, tmp_path / "v4")
    on_disk = load_file(tmp_path / "v4" / "model.safetensors")
    assert any(name.endswith("q_bias") for name in on_disk)
    (tmp_path / "v5").mkdir()
    save_file({name: value.contiguous() for name, value in names.items()}, tmp_path / "v5" / "model.safetensors")
    (tmp_path / "v5" / "config.json").write_text((tmp_path / "v4" / "config.json").read_text())
    four, five = (open_weights(str(tmp_path / v), frames=FRAMES).state for v in ("v4", "v5"))
    assert four.keys() == five.keys()
    assert all(torch.equal(four[name], five[name]) for name in four)


@torch.no_grad()
@pytest.mark.parametrize(
    ("container", "prefix"),
    [("model", ""), ("module", ""), (None, ""), ("model", "backbone."), ("state_dict", "module."), ("model", "model.")],
)
def test_original_names_in_a_pth_file(tmp_path: Path, container: str | None, prefix: str) -> None:
    theirs = videomae(hidden_size=192, num_attention_heads=3, intermediate_size=384, num_hidden_layers=2)
    state: dict[str, Any] = original_names(theirs, prefix=prefix)
    torch.save({container: state, "epoch": 3} if container else state, tmp_path / "weights.pth")
    backbone = open_backbone(str(tmp_path / "weights.pth"), frames=FRAMES, size=SIZE, options={"keep_head": True})
    assert backbone.config.heads == 3
    ours = backbone.build(backbone.config, seed=0).eval()
    assert torch.allclose(ours(clips()).logits_BK, theirs(normalised(clips())).logits, atol=CLOSE)


@torch.no_grad()
def test_pretraining_checkpoint_leaves_the_decoder_out(tmp_path: Path) -> None:
    theirs = videomae("pretraining", use_mean_pooling=False)
    name = save(theirs, tmp_path)
    backbone = open_backbone(name, frames=FRAMES)
    report = str(backbone.report)
    assert "left out: the decoder (" in report
    assert "the encoder's last norm (2 tensors" in report
    assert "starts fresh: norm, head" in report
    ours = backbone.build(backbone.config, seed=0).eval()
    assert torch.equal(ours.norm.weight, torch.ones(48))
    tokens = ours(clips()).packed.tokens_MD.view(2, -1, 48)
    encoder = theirs.videomae
    expected = encoder(normalised(clips())).last_hidden_state
    assert torch.allclose(encoder.layernorm(tokens), expected, atol=CLOSE)


def test_pooled_norm_may_start_from_the_encoders(tmp_path: Path) -> None:
    theirs = videomae("pretraining", use_mean_pooling=False)
    ours = network(save(theirs, tmp_path), init_fc_norm_from_encoder_norm=True)
    assert torch.equal(ours.norm.weight, theirs.videomae.layernorm.weight)
    assert torch.equal(ours.norm.bias, theirs.videomae.layernorm.bias)


def test_original_pretraining_names(tmp_path: Path) -> None:
    theirs = videomae(hidden_size=192, num_attention_heads=3, intermediate_size=384, num_hidden_layers=2)
    state = {k: v for k, v in original_names(theirs, prefix="encoder.").items() if "head" not in k and "fc_" not in k}
    state |= {"encoder.norm.weight": torch.ones(192), "encoder.norm.bias": torch.zeros(192)}
    state |= {"mask_token": torch.zeros(1, 1, 8), "encoder_to_decoder.weight": torch.zeros(8, 192)}
    state |= {"decoder.blocks.0.norm1.weight": torch.ones(8), "decoder.head.bias": torch.zeros(4)}
    torch.save({"model": state, "optimizer": {"step": 1}}, tmp_path / "checkpoint.pth")
    opened = open_weights(str(tmp_path / "checkpoint.pth"), frames=FRAMES, size=SIZE)
    direct = original_names(theirs)
    assert torch.equal(opened.state["blocks.1.qkv.weight"], direct["blocks.1.attn.qkv.weight"])
    assert {part.what: part.tensors for part in opened.report.left_out} == {
        "the decoder": 4,
        "the encoder's last norm": 2,
    }


@torch.no_grad()
def test_round_trip_to_transformers(tmp_path: Path) -> None:
    """Original names -> ours -> back into a fresh transformers model, by its own module names."""
    theirs = videomae(hidden_size=192, num_attention_heads=3, intermediate_size=384, num_hidden_layers=2)
    torch.save(original_names(theirs), tmp_path / "weights.pth")
    options = WeightsOptions(keep_head=True)
    state = open_weights(str(tmp_path / "weights.pth"), frames=FRAMES, size=SIZE, options=options).state
    again = videomae(hidden_size=192, num_attention_heads=3, intermediate_size=384, num_hidden_layers=2, seed=1)
    back: dict[str, torch.Tensor] = {}
    for name in again.state_dict():
        parts = name.split(".")
        kind = parts[-1]
        if "patch_embeddings" in name:
            back[name] = state[f"embedding.patch.{kind}"].view(again.state_dict()[name].shape)
        elif name.startswith("fc_norm"):
            back[name] = state[f"norm.{kind}"]
        elif name.startswith("classifier"):
            back[name] = state[f"head.{kind}"]
        else:
            block, rest = f"blocks.{parts[3]}", ".".join(parts[4:-1])
            if rest.startswith("attention.attention"):
                row = ("query", "key", "value").index(parts[-2])
                fused = state[f"{block}.qkv.weight"].view(3, 192, 192)[row]
                back[name] = fused if kind == "weight" else state[f"{block}.qkv.{'qkv'[row]}_bias"]
            else:
                ours = {
                    "layernorm_before": "norm1",
                    "layernorm_after": "norm2",
                    "attention.output.dense": "proj",
                    "intermediate.dense": "mlp.fc1",
                    "output.dense": "mlp.fc2",
                }[rest]
                back[name] = state[f"{block}.{ours}.{kind}"]
    again.load_state_dict(back)
    assert torch.equal(again(normalised(clips())).logits, theirs(normalised(clips())).logits)


def test_eps_is_the_originals_unless_the_checkpoints_is_asked_for(tmp_path: Path) -> None:
    name = save(videomae(layer_norm_eps=1e-12), tmp_path)
    assert open_weights(name, frames=FRAMES).config.eps == 1e-6
    assert open_weights(name, frames=FRAMES, options=WeightsOptions(eps="checkpoint")).config.eps == 1e-12


def test_half_precision_files_are_read_in_float32(tmp_path: Path) -> None:
    name = save(videomae().half(), tmp_path)
    assert {value.dtype for value in open_weights(name, frames=FRAMES).state.values()} == {torch.float32}


def test_sharded_folders_are_one(tmp_path: Path) -> None:
    theirs = videomae()
    whole = open_weights(save(theirs, tmp_path / "whole"), frames=FRAMES)
    theirs.save_pretrained(tmp_path / "parts", max_shard_size="50KB")
    assert len(list((tmp_path / "parts").glob("*.safetensors"))) > 1
    parts = open_weights(str(tmp_path / "parts"), frames=FRAMES)
    assert all(torch.equal(parts.state[name], value) for name, value in whole.state.items())


@torch.no_grad()
def test_other_frames_and_sizes_extend_the_same_table(tmp_path: Path) -> None:
    name = save(videomae(), tmp_path)
    backbone = open_backbone(name, frames=8, size=48)
    assert backbone.config.geometry.tokens == 4 * 9
    assert "saw 4 frames" in str(backbone.report)
    small = network(name).embedding.table_ND
    large = backbone.build(backbone.config, seed=0).embedding.table_ND
    assert torch.equal(large[: len(small)], small)


@pytest.mark.parametrize(
    ("width", "depth", "heads", "named"),
    [
        (192, 12, 3, "ViT-Ti/16"),
        (384, 12, 6, "ViT-S/16"),
        (768, 12, 12, "ViT-B/16"),
        (1024, 24, 16, "ViT-L/16"),
        (1280, 32, 16, "ViT-H/16"),
    ],
)
def test_geometries_are_recognised_from_shapes(
    width: int, depth: int, heads: int, named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Expanded zeros have the shapes and no memory."""
    zero = torch.zeros(1)
    shapes: dict[str, tuple[int, ...]] = {
        "patch_embed.proj.weight": (width, 3, 2, 16, 16),
        "patch_embed.proj.bias": (width,),
    }
    for i in range(depth):
        shapes |= {
            f"blocks.{i}.attn.qkv.weight": (3 * width, width),
            f"blocks.{i}.attn.q_bias": (width,),
            f"blocks.{i}.attn.v_bias": (width,),
            f"blocks.{i}.attn.proj.weight": (width, width),
            f"blocks.{i}.attn.proj.bias": (width,),
            f"blocks.{i}.mlp.fc1.weight": (4 * width, width),
            f"blocks.{i}.mlp.fc1.bias": (4 * width,),
            f"blocks.{i}.mlp.fc2.weight": (width, 4 * width),
            f"blocks.{i}.mlp.fc2.bias": (width,),
        }
        shapes |= {f"blocks.{i}.norm{n}.{kind}": (width,) for n in (1, 2) for kind in ("weight", "bias")}
    expanded = {name: zero.expand(shape) for name, shape in shapes.items()}
    monkeypatch.setattr("vidshift.models.weights.opening.read_tensors", lambda files: expanded)
    (tmp_path / "w.pth").touch()
    opened = open_weights(str(tmp_path / "w.pth"), frames=16)
    assert opened.report.size == named
    assert (opened.config.width, opened.config.depth, opened.config.heads) == (width, depth, heads)
    assert opened.config.geometry.tokens == 1568


def test_report_says_what_and_under_which_licence(tmp_path: Path) -> None:
    name = save(videomae(), tmp_path)
    report = open_weights(name, frames=FRAMES).report
    assert report.parameters == sum(p.numel() for p in videomae().videomae.parameters()) + 2 * 48
    assert "CC BY-NC 4.0: non-commercial" in str(report)
    assert "the head (2 tensors: it tells 5 classes of another data set)" in str(report)
    assert json.loads((tmp_path / "config.json").read_text())["num_attention_heads"] == 4


def test_a_fixed_table_in_the_file_is_computed_here(tmp_path: Path) -> None:
    theirs = videomae(hidden_size=192, num_attention_heads=3, intermediate_size=384, num_hidden_layers=2)
    table = theirs.videomae.embeddings.position_embeddings
    torch.save(original_names(theirs) | {"pos_embed": table}, tmp_path / "weights.pth")
    report = open_weights(str(tmp_path / "weights.pth"), frames=FRAMES, size=SIZE).report
    assert "the table of positions (1 tensor: it is fixed" in str(report)


@pytest.mark.parametrize(("width", "hidden"), [(88, 120), (104, 240), (1408, 6144), (768, 3072)])
def test_any_hidden_width_is_given_back(width: int, hidden: int) -> None:
    body = Body(state={}, width=width, depth=1, hidden=hidden, qkv_bias="qv", layer_scale=False)
    assert VitConfig(width=width, heads=8, mlp_ratio=body.mlp_ratio).hidden == hidden
