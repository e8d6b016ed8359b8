"""Layers whose every row is computed the same way whatever lies beside it, filled from an explicit generator."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# BLAS libraries take other kernels, with other last bits, for a handful of rows: measured with MKL at 1-8 threads, a
# row's result no longer depends on the number of rows from 12 rows on. Shorter inputs are padded to this many.
MIN_ROWS = 32


def rows_linear(x_MK: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`x @ weight.T + bias`, where a row of the result does not depend on how many rows there are."""
    if torch.compiler.is_exporting() or x_MK.shape[0] >= MIN_ROWS:
        return F.linear(x_MK, weight, bias)
    return F.linear(F.pad(x_MK, (0, 0, 0, MIN_ROWS - x_MK.shape[0])), weight, bias)[: x_MK.shape[0]]


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


class Mlp(nn.Module):
    def __init__(self, width: int, hidden: int, *, activation: str, generator: torch.Generator) -> None:
        super().__init__()
        self.activation = activation
        self.fc1 = RowLinear(width, hidden, generator=generator)
        self.fc2 = RowLinear(hidden, width, generator=generator)

    def forward(self, x_MD: Tensor) -> Tensor:
        hidden = self.fc1(x_MD)
        act = hidden * torch.sigmoid(1.702 * hidden) if self.activation == "quick_gelu" else F.gelu(hidden)
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
