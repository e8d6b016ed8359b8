"""Block-diagonal attention over a packed batch: each token sees the tokens of its own clip.

Three backends with equal results (tested): `varlen` on CUDA in half precision, `loop` everywhere else (measured
fastest on CPU, tokens.md section 10), `dense` with an explicit mask as the reference of the tests.
"""

from itertools import groupby
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from vidshift.models import cuda

Backend = Literal["loop", "varlen", "dense"]


def choose(q_MHd: Tensor, *, biased: bool = False) -> Backend:
    """By device and dtype; the fused kernel takes no bias."""
    return "varlen" if not biased and cuda.usable(q_MHd) else "loop"


def attend(
    q_MHd: Tensor,
    k_MHd: Tensor,
    v_MHd: Tensor,
    lengths: tuple[int, ...],
    *,
    sizes_M: Tensor | None = None,
    backend: Backend | None = None,
) -> Tensor:
    """`[M, H, d]`, softmax(q k^T / sqrt(d)) v within each clip.

    `sizes_M` adds log(size) of the key's token to the logits (ToMe's proportional attention): a token that stands for
    s tokens is attended to as s equal tokens would be.
    """
    chosen = backend or choose(q_MHd, biased=sizes_M is not None)
    bias_M = None if sizes_M is None else sizes_M.float().log().to(q_MHd.dtype)
    if chosen == "varlen":
        if bias_M is not None:
            raise ValueError("the varlen backend takes no sizes")
        return cuda.varlen(q_MHd, k_MHd, v_MHd, lengths)
    if chosen == "dense":
        return _dense(q_MHd, k_MHd, v_MHd, lengths, bias_M)
    return _loop(q_MHd, k_MHd, v_MHd, lengths, bias_M)


def runs(lengths: tuple[int, ...]) -> list[tuple[int, int]]:
    """(count, length) of neighbouring clips with equal lengths: each run is one batched call on a view."""
    return [(len(list(same)), length) for length, same in groupby(lengths)]


def _loop(q: Tensor, k: Tensor, v: Tensor, lengths: tuple[int, ...], bias_M: Tensor | None) -> Tensor:
    """One call a run. `split` rather than slices: its backward is one concatenation, where every slice would fill a
    gradient of the whole batch with zeros."""
    groups = runs(lengths)
    spans = [count * length for count, length in groups]
    heads, dim = q.shape[1:]
    biases = [None] * len(groups) if bias_M is None else bias_M.split(spans)
    outputs: list[Tensor] = []
    for (count, length), qs, ks, vs, bias in zip(
        groups, q.split(spans), k.split(spans), v.split(spans), biases, strict=True
    ):
        shape = (count, length, heads, dim)
        mask = None if bias is None else bias.view(count, 1, 1, length).expand(count, heads, length, length)
        out = scaled_dot_product_attention(
            qs.view(shape).transpose(1, 2), ks.view(shape).transpose(1, 2), vs.view(shape).transpose(1, 2), mask
        )
        outputs.append(out.transpose(1, 2).reshape(count * length, heads, dim))
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs)


def _dense(q: Tensor, k: Tensor, v: Tensor, lengths: tuple[int, ...], bias_M: Tensor | None) -> Tensor:
    clip_M = torch.arange(len(lengths), device=q.device).repeat_interleave(torch.tensor(lengths, device=q.device))
    logits = torch.einsum("ihd,jhd->hij", q.float(), k.float()) * q.shape[-1] ** -0.5
    if bias_M is not None:
        logits = logits + bias_M.float()
    logits = logits.masked_fill(clip_M[:, None] != clip_M[None, :], float("-inf"))
    return torch.einsum("hij,jhd->ihd", logits.softmax(-1), v.float()).to(q.dtype)
