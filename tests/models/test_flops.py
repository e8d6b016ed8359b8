"""FLOPs by formula against a hand count, the paper's numbers (tokens.md section 13 row 7) and PyTorch's own counter."""

from collections.abc import Mapping

import pytest
import torch
from tiny import names, tiny_vit, view_of
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from vidshift.models import block
from vidshift.models.config import preset
from vidshift.models.flops import (
    Flops,
    bipartite_flops,
    clip_flops,
    features_flops,
    full_flops,
    mean_flops,
    patch_flops,
    similarity_flops,
)
from vidshift.tokens.base import Selection
from vidshift.tokens.geometry import Geometry

VIT_B = preset("vit-b")
# 24 tubelet patches by 3 blocks: more tokens than layers.MIN_ROWS even where half are dropped, so nothing is padded.
GEOMETRY = Geometry(frames=8, height=48, width=48, tubelet=2, patch=8)


def billions(flops: Flops) -> tuple[float, float]:
    return flops.paper / 1e9, flops.true / 1e9


def test_a_clip_by_hand():
    """Two multiply-adds counted for each weight and token: qkv 3, projection 1, MLP 8 widths squared."""
    n, d = 1568, 768
    linears = 12 * 2 * n * (3 * d * d + d * d + 4 * d * d + 4 * d * d)
    attention = 12 * 2 * (n * n * d + n * n * d)
    patches = 2 * n * (3 * 2 * 16 * 16) * d
    assert full_flops(VIT_B) == Flops(linears + attention + patches, linears)


@pytest.mark.parametrize(("tokens", "paper", "true"), [(1568, 266.355, 360.689), (1278, 217.09, 280.32)])
def test_published_sizes(tokens: int, paper: float, true: float):
    assert billions(clip_flops(VIT_B, [tokens])) == pytest.approx((paper, true), abs=5e-3)


@pytest.mark.parametrize(("tokens", "true"), [(1411, 316.4), (1254, 273.9), (784, 157.7), (392, 73.2), (196, 35.2)])
def test_the_table_of_kept_tokens(tokens: int, true: float):
    assert billions(clip_flops(VIT_B, [tokens]))[1] == pytest.approx(true, abs=0.06)


def test_tome_of_the_paper():
    """r = 24 in every block: 242 in the paper, with the matching."""
    counts = [1568 - 24 * layer for layer in range(13)]
    found = clip_flops(VIT_B, counts) + bipartite_flops(VIT_B, counts)
    assert billions(found)[0] == pytest.approx(242.01, abs=5e-3)


def test_divprune_and_prumerge_of_the_paper():
    """DivPrune embeds all and compares all; PruMerge makes a full pass first, and compares twice."""
    kept = clip_flops(VIT_B, [round(0.81 * 1568)])
    once = kept + patch_flops(VIT_B) + similarity_flops(VIT_B)
    assert billions(once)[0] == pytest.approx(223.21, abs=5e-3)
    assert billions(once + full_flops(VIT_B) + similarity_flops(VIT_B))[0] == pytest.approx(493.34, abs=5e-3)


def test_unite_of_the_paper():
    """8 frames, tubelet 1, attention as counted matrix products: 358 in the paper, cut from 358.84."""
    unite = VIT_B.with_(geometry=Geometry(frames=8, tubelet=1))
    assert billions(full_flops(unite))[1] == pytest.approx(358.84, abs=5e-3)


def test_the_mean_of_costs_is_not_the_cost_of_the_mean():
    """Attention is quadratic in a clip's tokens, so unequal clips cost more than equal ones of the same mean."""
    unequal = mean_flops(VIT_B, [[1568, 784]] * 13)
    parts = [clip_flops(VIT_B, [1568]), clip_flops(VIT_B, [784])]
    assert unequal.true == pytest.approx(sum(part.true for part in parts) / 2)
    equal = clip_flops(VIT_B, [1176])
    assert unequal.paper == pytest.approx(equal.paper)
    assert unequal.true - equal.true == pytest.approx(12 * 2 * 2 * 768 * 392**2)


def test_a_class_token_takes_part_everywhere_but_in_the_patches():
    with_class = VIT_B.with_(class_token=True, pooling="class")
    more = clip_flops(with_class, [1000]) + clip_flops(VIT_B, [1000]) * -1
    linears = 12 * 2 * 12 * 768**2
    assert more == Flops(linears + 12 * 2 * 2 * 768 * (1001**2 - 1000**2), linears)


def test_a_wrong_number_of_counts_is_refused():
    with pytest.raises(ValueError, match="2 token counts for 12 blocks"):
        clip_flops(VIT_B, [1568, 1568])


def eager(
    q_MHd: Tensor, k_MHd: Tensor, v_MHd: Tensor, lengths: tuple[int, ...], *, sizes_M: Tensor | None = None
) -> Tensor:
    """Attention as plain matrix products, clip by clip, which PyTorch's counter sees on every device."""
    outputs = []
    for q, k, v in zip(q_MHd.split(lengths), k_MHd.split(lengths), v_MHd.split(lengths), strict=True):
        weights_Hnn = (q.transpose(0, 1) @ k.permute(1, 2, 0) * q.shape[-1] ** -0.5).softmax(-1)
        outputs.append((weights_Hnn @ v.transpose(0, 1)).transpose(0, 1))
    return torch.cat(outputs)


def counted(keep_BN: Tensor, monkeypatch: pytest.MonkeyPatch) -> tuple[float, Mapping[str, float], Flops]:
    """PyTorch's count of a pass over these tokens, by operation too, and ours; both for the whole batch."""
    monkeypatch.setattr(block, "attend", eager)
    net = tiny_vit(GEOMETRY, classes=0)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        features = net(view_of(names(len(keep_BN)), GEOMETRY), selection=Selection(keep_BN))
    by_operation = {str(op): float(n) for op, n in counter.get_flop_counts()["Global"].items()}
    return counter.get_total_flops(), by_operation, features_flops(net.config, features) * len(keep_BN)


def test_pytorch_counts_the_same_with_eager_attention(monkeypatch: pytest.MonkeyPatch):
    full_BN = torch.ones(2, GEOMETRY.tokens, dtype=torch.bool)
    total, by_operation, ours = counted(full_BN, monkeypatch)
    assert total == ours.true
    # The blocks' linear layers and the patch embedding are `addmm`; attention is `bmm`.
    patches = patch_flops(tiny_vit(GEOMETRY).config).true * 2
    assert by_operation["aten.addmm"] == ours.paper + patches
    assert by_operation["aten.bmm"] == ours.true - ours.paper - patches


def test_pytorch_counts_the_same_for_unequal_clips(monkeypatch: pytest.MonkeyPatch):
    keep_BN = torch.zeros(3, GEOMETRY.tokens, dtype=torch.bool)
    for clip, kept in enumerate((144, 77, 40)):
        keep_BN[clip, :kept] = True
    total, _, ours = counted(keep_BN, monkeypatch)
    assert total == ours.true


def test_pytorch_leaves_out_fused_attention():
    """What docs/performance.md explains: on a CPU the counter sees linear layers and the embedding, not attention."""
    net = tiny_vit(GEOMETRY, classes=0)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        net(view_of(names(1), GEOMETRY))
    patches = patch_flops(net.config).true
    seen = counter.get_total_flops() - patches - full_flops(net.config).paper
    attention = full_flops(net.config).true - full_flops(net.config).paper - patches
    assert seen in (0, attention)  # torch after 2.13 counts it on a CPU too
