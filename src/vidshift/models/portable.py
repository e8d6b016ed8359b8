"""The network with its token selection as one traceable function of pixels, for export.

A packed batch has data-dependent splits that no exported graph can hold. Here the kept tokens of every clip come first
and the batch is cut at its longest clip: only that many tokens are embedded and computed, and shorter clips are padded
with dropped tokens that nothing attends to. For one clip, or for equal counts, nothing is wasted.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from vidshift.models.block import Block
from vidshift.models.vit import VideoTransformer
from vidshift.tokens import motion
from vidshift.tokens.pack import patches
from vidshift.tokens.reducers.motion import keep_moving


class Portable(nn.Module):
    """`forward(pixels_BTCHW uint8[, threshold])` gives `probabilities_BK` and `kept_B`, the tokens of each clip."""

    takes_threshold = False

    def __init__(self, net: VideoTransformer) -> None:
        super().__init__()
        self.net = net
        self.eval()

    def keep(self, pixels_BTCHW: Tensor, threshold: Tensor | None) -> Tensor:
        geometry = self.net.geometry
        return torch.ones(pixels_BTCHW.shape[0], geometry.tokens, dtype=torch.bool, device=pixels_BTCHW.device)

    def forward(self, pixels_BTCHW: Tensor, threshold: Tensor | None = None) -> tuple[Tensor, Tensor]:
        keep_BN = self.keep(pixels_BTCHW, threshold)
        kept_B = keep_BN.sum(dim=1)
        count = self.net.geometry.tokens
        longest = self.longest(kept_B)
        # Kept tokens first, each half in its order: a stable sort written as a key.
        place_N = torch.arange(count, device=keep_BN.device)
        order_BN = torch.where(keep_BN, place_N, place_N + count).argsort(dim=1)
        index_BL = order_BN[:, :longest]
        valid_BL = torch.arange(count, device=keep_BN.device)[:longest] < kept_B[:, None]
        logits_BK = self.logits(pixels_BTCHW, index_BL, valid_BL)
        return logits_BK.float().softmax(dim=-1), kept_B

    def longest(self, kept_B: Tensor) -> int:
        longest = cast(int, kept_B.max().item())  # a symbol while exporting, which `int()` would fix
        geometry = self.net.geometry
        if geometry.per_segment < 2:
            return geometry.tokens
        # What the exporter cannot know: every clip keeps its first segment, and no clip has more tokens than there are.
        torch._check(longest >= geometry.per_segment)
        torch._check(longest <= geometry.tokens)
        return longest

    def logits(self, pixels_BTCHW: Tensor, index_BL: Tensor, valid_BL: Tensor) -> Tensor:
        net, config = self.net, self.net.config
        raw_BNP = patches(pixels_BTCHW, net.geometry)
        raw_BLP = raw_BNP.gather(1, index_BL[:, :, None].expand(-1, -1, raw_BNP.shape[2]))
        x = net.embedding.patch(net.embedding.normalise(raw_BLP.flatten(0, 1)))
        x = net.embedding.place(x, index_BL.flatten()).unflatten(0, index_BL.shape)
        if net.embedding.class_token is not None:
            x = torch.cat([net.embedding.class_token.expand(x.shape[0], 1, -1), x], dim=1)
            valid_BL = torch.cat([torch.ones_like(valid_BL[:, :1]), valid_BL], dim=1)
        x = net.embedding.pre_norm(x)
        for block in net.blocks:
            assert isinstance(block, Block)
            x = dense_block(block, x, valid_BL)
        if config.norm_tokens:
            x = net.norm(x)
        if net.embedding.class_token is not None:
            class_BD, x, valid_BL = x[:, 0], x[:, 1:], valid_BL[:, 1:]
        else:
            class_BD = None
        if config.pooling == "class" and class_BD is not None:
            pooled_BD = class_BD
        else:
            weight_BL1 = valid_BL[:, :, None].to(x.dtype)
            pooled_BD = (x * weight_BL1).sum(dim=1) / weight_BL1.sum(dim=1)
        if not config.norm_tokens:
            pooled_BD = net.norm(pooled_BD)
        assert net.head is not None
        return net.head(pooled_BD)


def dense_block(block: Block, x_BLD: Tensor, valid_BL: Tensor) -> Tensor:
    """`models.block.Block` on a padded batch: nothing attends to a token that is not valid."""
    batch_and_length = x_BLD.shape[:2]
    qkv = block.qkv(block.norm1(x_BLD).flatten(0, 1)).unflatten(0, batch_and_length)
    q, k, v = qkv.unflatten(2, (3, block.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
    mixed = scaled_dot_product_attention(q, k, v, valid_BL[:, None, None, :])
    x_BLD = x_BLD + block.scale1(block.proj(mixed.transpose(1, 2).flatten(2)))
    return x_BLD + block.scale2(block.mlp(block.norm2(x_BLD)))


class AllTokens(Portable):
    """Reducer `none`: no data-dependent length."""

    def longest(self, kept_B: Tensor) -> int:
        return self.net.geometry.tokens


class AboveThreshold(Portable):
    """`motion` and `lmft`: the threshold is an input, so that it can be moved without exporting again."""

    takes_threshold = True

    def __init__(self, net: VideoTransformer, *, floor: float) -> None:
        super().__init__(net)
        self.floor = floor

    def keep(self, pixels_BTCHW: Tensor, threshold: Tensor | None) -> Tensor:
        assert threshold is not None
        energy_BN, _ = motion.energy(pixels_BTCHW, self.net.geometry, floor=self.floor)
        return energy_BN > threshold.clamp(max=motion.HIGHEST_THRESHOLD)


class MostMoving(Portable):
    """`motion-topk`: the same count for every clip."""

    def __init__(self, net: VideoTransformer, *, share: float) -> None:
        super().__init__(net)
        self.share = share

    def keep(self, pixels_BTCHW: Tensor, threshold: Tensor | None) -> Tensor:
        energy_BN, _ = motion.energy(pixels_BTCHW, self.net.geometry)
        return keep_moving(energy_BN, self.net.geometry, keep=self.share)

    def longest(self, kept_B: Tensor) -> int:
        geometry = self.net.geometry
        return max(round(self.share * geometry.tokens), geometry.per_segment)


# Reducer name -> what it becomes, from the reducer's options.
FORMS: Mapping[str, Callable[[VideoTransformer, Mapping[str, Any]], Portable]] = {
    "none": lambda net, options: AllTokens(net),
    "motion": lambda net, options: AboveThreshold(net, floor=options["floor"]),
    "lmft": lambda net, options: AboveThreshold(net, floor=options["floor"]),
    "motion-topk": lambda net, options: MostMoving(net, share=options["keep"]),
}
