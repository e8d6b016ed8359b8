"""The contract of a token reducer, and what passes between a reducer, the packing and the network."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from vidshift.data.view import View
from vidshift.registry import Registry
from vidshift.tokens.geometry import Geometry


@dataclass(frozen=True)
class Selection:
    """Which tokens of each clip go on, before the network.

    `gate_BN` is how much each token counts where tokens are attended to and pooled, for reducers with `proportional`
    attention: one gated to 0 acts as if it were dropped, and its gradient tells how it would matter.
    `lengths_BN` is the run length of each kept token, in segments, for networks with a length embedding.
    `merged_BN` names, for each dropped token, the kept token of its clip that takes it in (-1: nobody does).
    `penalty` is a loss of the reducer's own, such as the cost of open gates; it is trained on and never rewarded.
    `info` carries numbers for the log, such as the threshold or the count of static clips.
    """

    keep_BN: Tensor
    gate_BN: Tensor | None = None
    lengths_BN: Tensor | None = None
    merged_BN: Tensor | None = None
    penalty: Tensor | None = None
    info: Mapping[str, float] = field(default_factory=dict)

    @property
    def kept_B(self) -> Tensor:
        return self.keep_BN.sum(dim=1)

    @property
    def kept_ratio(self) -> float:
        return float(self.keep_BN.float().mean())

    def __repr__(self) -> str:
        return f"Selection({self.keep_BN.shape[0]} clips, kept {self.kept_ratio:.3f} of {self.keep_BN.shape[1]} tokens)"


@dataclass(frozen=True)
class Packed:
    """The tokens of a batch in one row after another, clip by clip: no padding.

    `index_M` is each token's original place in its clip; `lengths` how many each clip has. `sizes_M` counts the
    original tokens that a token stands for and `mass_MS` the same by temporal segment: None means one each.
    """

    tokens_MD: Tensor
    index_M: Tensor
    lengths: tuple[int, ...]
    geometry: Geometry
    sizes_M: Tensor | None = None
    mass_MS: Tensor | None = None

    @property
    def lengths_B(self) -> Tensor:
        return torch.tensor(self.lengths, device=self.tokens_MD.device)

    @property
    def clip_M(self) -> Tensor:
        """The clip that each token belongs to."""
        clips = torch.arange(len(self.lengths), device=self.tokens_MD.device)
        return clips.repeat_interleave(self.lengths_B, output_size=sum(self.lengths))

    def sizes(self) -> Tensor:
        if self.sizes_M is not None:
            return self.sizes_M
        return torch.ones(self.tokens_MD.shape[0], device=self.tokens_MD.device)

    def mass(self) -> Tensor:
        """[M, S]: how many original tokens of each segment every token stands for."""
        if self.mass_MS is not None:
            return self.mass_MS
        segment_M = self.index_M // self.geometry.per_segment
        return torch.nn.functional.one_hot(segment_M, self.geometry.segments).float()

    def with_tokens(self, tokens_MD: Tensor) -> "Packed":
        return replace(self, tokens_MD=tokens_MD)

    def __repr__(self) -> str:
        return f"Packed({len(self.lengths)} clips, {sum(self.lengths)} tokens of {self.tokens_MD.shape[-1]})"


class Probe(Protocol):
    """What a reducer may ask of the network before the tokens are chosen (design: the Reducer contract)."""

    def embed(self, view: View) -> Tensor:
        """[B, N, D]: patch embeddings of every token, without positions."""
        ...

    def attention(self, view: View) -> Tensor:
        """[B, N]: attention that each token receives in the last block, a mean over heads and queries."""
        ...


class Attn(Protocol):
    """What a reducer may ask of the attention inside a block; each is computed only when asked for."""

    def keys(self) -> Tensor:
        """[M, d]: keys averaged over heads."""
        ...

    def column_means(self) -> Tensor:
        """[M]: attention received, averaged over heads and the queries of the same clip."""
        ...

    def head_means(self, clip: int) -> Tensor:
        """[n, n]: the attention matrix of one clip averaged over heads."""
        ...


@dataclass(frozen=True)
class Reward:
    """What a step tells a reducer: unweighted task losses and kept ratios, by domain; an absent domain is absent."""

    loss: Mapping[str, float]
    kept: Mapping[str, float]

    def value(self, *, loss_weight: float) -> float:
        """R = sum over domains of -lambda_L * L - kept (the paper's reward; kept = 1 - rho, its dropping ratio)."""
        return sum(-loss_weight * loss - self.kept[domain] for domain, loss in self.loss.items())


class Reducer:
    """Chooses tokens before the network (`select`), inside it (`reduce`), or both; by default neither.

    A reducer with state that learns overrides `update`; `fix` freezes it for test time; `state_dict` is plain
    numbers and strings, so that it can be read in a model's `config.json`.
    """

    name: str = ""
    proportional: bool = False
    """Whether attention counts a merged token as often as the tokens it stands for (ToMe's proportional attention)."""

    def select(
        self, view: View, geometry: Geometry, *, seeds_B: Tensor, training: bool, net: Probe | None
    ) -> Selection:
        keep_BN = torch.ones(len(view), geometry.tokens, dtype=torch.bool, device=view.pixels_BTCHW.device)
        return Selection(keep_BN)

    def reduce(self, layer: int, packed: Packed, attn: Attn) -> Packed:
        return packed

    @property
    def reduces_inside(self) -> bool:
        """Whether `reduce` does anything: networks prepare what `attn` offers only then."""
        return type(self).reduce is not Reducer.reduce

    def update(self, reward: Reward, probe: "Callable[[], Reward] | None" = None) -> Mapping[str, float]:
        """Learn from one step, after its backward pass: parameters of the reducer's own have their gradients by now.
        `probe()` measures the reward again on a few clips, without gradient, at whatever the
        reducer is set to. Returns numbers for the log."""
        return {}

    @property
    def wants_probe(self) -> bool:
        return False

    def fix(self) -> None:
        """Freeze for test time."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state:
            raise ValueError(f"reducer {self.name!r} keeps no state, yet was given {sorted(state)}")

    def options(self) -> dict[str, Any]:
        """The keyword arguments that make this reducer again."""
        return {}

    def warnings(self) -> Sequence[str]:
        """What a user should be told after training, in sentences."""
        return ()


reducers: Registry[Reducer] = Registry("reducer", "vidshift.tokens.reducers")
