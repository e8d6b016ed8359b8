"""Layers whose every row is computed the same way whatever lies beside it, filled from an explicit generator."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

# BLAS libraries take other kernels, with other last bits, for a handful of rows: measured with MKL at 1-32 threads, a
# row's result no longer depends on the number of rows from 16 rows on. Shorter inputs are padded to this many.
MIN_ROWS = 32
# The same holds for columns (a single one is another operation altogether), which are padded to a multiple of this.
COLUMNS = 16
# With several threads they also split a long sum among them, as long as there are few rows. Sums of at most this many
# terms never were, but for those of 384.
MAX_TERMS = 512


def pieces(terms: int) -> list[int]:
    """How a sum over so many terms is cut."""
    full, rest = divmod(terms, MAX_TERMS)
    return [MAX_TERMS] * full + ([256, 128] if rest == 384 else [rest] if rest else [])


class _PiecedLinear(torch.autograd.Function):
    """A linear layer summed piece by piece; gradients, which sum over rows anyway, are taken at once."""

    @staticmethod
    def forward(ctx: Any, x_MK: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x_MK, weight)
        cut = pieces(x_MK.shape[1])
        (x, *xs), (w, *ws) = x_MK.split(cut, dim=1), weight.split(cut, dim=1)
        out = F.linear(x, w, bias)
        for x, w in zip(xs, ws, strict=True):
            torch.addmm(out, x, w.t(), out=out)  # not `addmm_`, which PyTorch's FLOP counters do not know
        return out

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grads: Tensor
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        (grad_MN,), (x_MK, weight) = grads, ctx.saved_tensors
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        return (
            grad_MN @ weight if needs_x else None,
            grad_MN.t() @ x_MK if needs_weight else None,
            grad_MN.sum(dim=0) if needs_bias else None,
        )


def rows_linear(x_MK: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`x @ weight.T + bias`, where on a CPU in float32 a row of the result does not depend on the rows beside it."""
    if torch.compiler.is_exporting() or x_MK.device.type != "cpu":
        return F.linear(x_MK, weight, bias)
    rows, columns = x_MK.shape[0], weight.shape[0]
    if rows < MIN_ROWS:
        return rows_linear(F.pad(x_MK, (0, 0, 0, MIN_ROWS - rows)), weight, bias)[:rows]
    if spare := -columns % COLUMNS:
        more = None if bias is None else F.pad(bias, (0, spare))
        return rows_linear(x_MK, F.pad(weight, (0, 0, 0, spare)), more)[:, :columns]
    if len(pieces(x_MK.shape[1])) == 1 or x_MK.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):
        return F.linear(x_MK, weight, bias)
    return _PiecedLinear.apply(x_MK, weight, bias)  # pyright: ignore[reportReturnType]


def truncated(generator: torch.Generator, *shape: int, std: float = 0.02) -> nn.Parameter:
    """VideoMAE's initialisation: normal with deviation .02, cut at 2 (tokens.md section 7.1)."""
    return nn.Parameter(nn.init.trunc_normal_(torch.empty(*shape), std=std, a=-2.0, b=2.0, generator=generator))


class RowLinear(nn.Module):
    """A linear layer with the names and shapes of `nn.Linear`, without a draw from the global generator."""

    def __init__(self, fan_in: int, fan_out: int, *, generator: torch.Generator, bias: bool = True) -> None:
        super().__init__()
        self.weight = truncated(generator, fan_out, fan_in)
        self.bias = nn.Parameter(torch.zeros(fan_out)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2:
            return rows_linear(x, self.weight, self.bias)
        return rows_linear(x.flatten(0, -2), self.weight, self.bias).unflatten(0, x.shape[:-1])

    def extra_repr(self) -> str:
        return f"{self.weight.shape[1]} -> {self.weight.shape[0]}"


class Qkv(nn.Module):
    """Queries, keys and values from one matrix. VideoMAE learns biases of queries and values only: a key bias adds the
    same number to all logits of a query, and so does nothing."""

    def __init__(self, width: int, *, bias: str, generator: torch.Generator) -> None:
        super().__init__()
        self.form = bias
        self.weight = truncated(generator, 3 * width, width)
        if bias == "qv":
            self.q_bias, self.v_bias = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))
        elif bias == "qkv":
            self.bias = nn.Parameter(torch.zeros(3 * width))

    def forward(self, x_MD: Tensor) -> Tensor:
        if self.form == "qv":
            bias = torch.cat([self.q_bias, torch.zeros_like(self.q_bias), self.v_bias])
        else:
            bias = self.bias if self.form == "qkv" else None
        return rows_linear(x_MD, self.weight, bias)


def spare() -> bool:
    """Whether a fresh tensor may be written over: nothing is differentiated, and no graph is recorded.

    A new tensor as large as a batch's hidden layer costs its pages, which shows in the time of a pass at ViT-B's size.
    """
    return not torch.is_grad_enabled() and not torch.compiler.is_compiling()


def gelu_of(fresh: Tensor) -> Tensor:
    """GELU, with the same bits in place."""
    return torch.ops.aten.gelu_(fresh) if spare() else F.gelu(fresh)


def added(x: Tensor, fresh: Tensor) -> Tensor:
    """`x + fresh`, with the same bits in the place of `fresh`; x is left alone."""
    return fresh.add_(x) if spare() and fresh.dtype == x.dtype else x + fresh


class Mlp(nn.Module):
    def __init__(self, width: int, hidden: int, *, activation: str, generator: torch.Generator) -> None:
        super().__init__()
        self.activation = activation
        self.fc1 = RowLinear(width, hidden, generator=generator)
        self.fc2 = RowLinear(hidden, width, generator=generator)

    def forward(self, x_MD: Tensor) -> Tensor:
        hidden = self.fc1(x_MD)
        act = hidden * torch.sigmoid(1.702 * hidden) if self.activation == "quick_gelu" else gelu_of(hidden)
        return self.fc2(act)


def sinusoid(count: int, width: int) -> Tensor:
    """[count, width] float32: sin at even and cos at odd columns of p / 10000^(2 floor(j / 2) / width), computed in
    float64 (tokens.md section 7.1). Every row has the norm sqrt(width / 2)."""
    position = torch.arange(count, dtype=torch.float64)[:, None]
    exponent = 2 * (torch.arange(width, dtype=torch.float64) // 2) / width
    angle = position / torch.pow(10000.0, exponent)
    table = torch.empty_like(angle)
    table[:, 0::2], table[:, 1::2] = angle[:, 0::2].sin(), angle[:, 1::2].cos()
    return table.float()


def axes_sinusoid(segments: int, rows: int, cols: int, width: int) -> Tensor:
    """[segments * rows * cols, width]: a sinusoid of a third of the width for each of time, row and column.

    One sinusoid over the whole index hides from a small network which patches are neighbours (docs/standins.md).
    """
    third = 2 * (width // 6)
    parts = [sinusoid(count, third) for count in (rows, cols)]
    time_SD = sinusoid(segments, width - 2 * third)
    shape = (segments, rows, cols)
    table = torch.cat(
        [
            time_SD[:, None, None].expand(*shape, -1),
            parts[0][None, :, None].expand(*shape, -1),
            parts[1][None, None].expand(*shape, -1),
        ],
        dim=-1,
    )
    return table.flatten(0, 2).contiguous()
