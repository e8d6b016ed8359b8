import pytest
import torch
from tiny import GEOMETRY, names, tiny_vit, view_of
from torch.nn import functional as F

from vidshift.tokens.base import Selection

S, P = GEOMETRY.segments, GEOMETRY.per_segment


@pytest.mark.parametrize("norm_tokens", [False, True])
def test_segment_features_are_normed_means_and_empty_ones_are_masked(norm_tokens: bool) -> None:
    """On the scale of the pooled vector: with one segment left, its feature is the pooled one."""
    net, view = tiny_vit(norm_tokens=norm_tokens), view_of(names(2))
    keep_BN = torch.zeros(2, GEOMETRY.tokens, dtype=torch.bool)
    keep_BN[0, :P] = True
    keep_BN[1, P : 2 * P : 2] = True
    keep_BN[1, 3 * P :] = True
    features = net(view, selection=Selection(keep_BN))
    assert features.segment_mass_BS.tolist() == [[P, 0, 0, 0], [0, P / 2, 0, P]]
    assert not bool(features.segments_BSD[features.segment_mass_BS == 0].any())
    torch.testing.assert_close(features.segments_BSD[0, 0], features.pool_BD[0])
    rows = features.packed.tokens_MD.split(features.packed.lengths)[1]
    wanted = rows[: P // 2].mean(0)
    if not norm_tokens:
        wanted = F.layer_norm(wanted, (32,), net.norm.weight, net.norm.bias, net.config.eps)
    torch.testing.assert_close(features.segments_BSD[1, 1], wanted)
    features.segments_BSD.sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in net.parameters() if p.grad is not None)


def test_what_a_pass_costs_is_told_by_its_trace() -> None:
    net, view = tiny_vit(), view_of(names(2))
    features = net(view)
    assert features.trace == ((GEOMETRY.tokens,) * 2,) * 4
    assert "2 clips, width 32" in repr(features)
