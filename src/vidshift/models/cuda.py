"""Attention on CUDA in half precision: one fused kernel over the whole ragged batch.

This is the only place that needs a GPU; its CPU twin is the loop in `attention.py`, with equal results (tested where
a GPU is).
"""

import functools
import importlib.util

import torch
from torch import Tensor


def usable(q_MHd: Tensor) -> bool:
    """The fused kernel takes CUDA tensors in half precision only, on compute capability 8 and above."""
    return (
        q_MHd.is_cuda
        and q_MHd.dtype in (torch.float16, torch.bfloat16)
        and q_MHd.shape[-1] % 8 == 0
        and _has_kernel(q_MHd.device)
    )


@functools.lru_cache(maxsize=8)
def _has_kernel(device: torch.device) -> bool:
    if torch.cuda.get_device_capability(device)[0] < 8:
        return False
    return importlib.util.find_spec("torch.nn.attention.varlen") is not None  # new in torch 2.10


@functools.lru_cache(maxsize=8)
def _offsets(lengths: tuple[int, ...], device: torch.device) -> Tensor:
    """[B + 1] int32 starts; cached because every block of a forward pass asks for the same ones."""
    ends = torch.tensor((0, *lengths), dtype=torch.int32).cumsum(0, dtype=torch.int32)
    return ends.to(device, non_blocking=True)


def varlen(q_MHd: Tensor, k_MHd: Tensor, v_MHd: Tensor, lengths: tuple[int, ...]) -> Tensor:
    """Block-diagonal attention. The options whose names changed between torch versions are left at their defaults:
    not causal, no window, scale 1 / sqrt(d)."""
    from torch.nn.attention.varlen import varlen_attn

    starts, longest = _offsets(lengths, q_MHd.device), max(lengths)
    out = varlen_attn(q_MHd, k_MHd, v_MHd, starts, starts, longest, longest)
    return out if isinstance(out, Tensor) else out[0]
