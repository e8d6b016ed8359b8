"""The linear probe finds what is linear, and only that."""

import torch
from tiny import Memory, names, tiny_vit, view_of

from vidshift.engine.probe import pooled_features, probe


def test_separable_features_are_separated_and_noise_is_not():
    generator = torch.Generator().manual_seed(0)
    label_N = torch.arange(400) % 4
    noise_ND = torch.randn(400, 6, generator=generator)
    told_ND = noise_ND.clone()
    told_ND[torch.arange(400), label_N] += 8
    found = probe(told_ND[:300], label_N[:300], told_ND[300:], label_N[300:], classes=4)
    assert found.accuracy > 0.97
    assert (found.train_clips, found.test_clips) == (300, 100)
    blind = probe(noise_ND[:300], label_N[:300], noise_ND[300:], label_N[300:], classes=4)
    # Chance is .25 with a deviation of .043.
    assert blind.accuracy < 0.45


def test_the_scale_of_a_feature_does_not_matter():
    generator = torch.Generator().manual_seed(1)
    label_N = torch.arange(200) % 2
    x_ND = torch.randn(200, 3, generator=generator)
    x_ND[:, 0] += 3 * label_N
    plain = probe(x_ND[:150], label_N[:150], x_ND[150:], label_N[150:], classes=2)
    scaled = probe(x_ND[:150] * 1000 + 7, label_N[:150], x_ND[150:] * 1000 + 7, label_N[150:], classes=2)
    assert abs(plain.accuracy - scaled.accuracy) < 0.021
    assert plain.accuracy > 0.85


def test_features_are_the_pooled_ones_of_the_test_view():
    net, ids = tiny_vit(), names(5)
    found = pooled_features(net, Memory(ids), batch=2)
    assert found.shape == (5, net.config.width)
    from vidshift.data.loader import test_view

    with torch.no_grad():
        expected = net(test_view(Memory(ids), range(5))).pool_BD
    assert torch.allclose(found, expected, atol=1e-6)
    assert not torch.allclose(found[0], net(view_of(ids)).pool_BD[1])
