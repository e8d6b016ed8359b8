"""The learned threshold: a logistic-normal policy over tau, trained by REINFORCE (the paper's Approach).

u ~ N(mu, sigma^2), tau = sigmoid(u). Two numbers are learned, mu and log sigma; nothing else. What the paper leaves
open is decided in docs/method.md section 5 (rows 3, 4, 5, 11, 31) and named beside each default below.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vidshift.tokens import seeds

# Float32 sigmoid reaches 1 exactly for u > 16.6, where the strict comparison would drop the first segment too (row 11).
EDGE = 1e-6
# Row 4: sigma stays in [exp(-4), 1].
LOG_SIGMA_RANGE = (-4.0, 0.0)


def logit(tau: float) -> float:
    return math.log(tau) - math.log1p(-tau)


def sigmoid(u: float) -> float:
    return 1 / (1 + math.exp(-u)) if u >= 0 else math.exp(u) / (1 + math.exp(u))


def threshold_of(u: float) -> float:
    """tau for a latent u, kept strictly inside (0, 1)."""
    return min(max(sigmoid(u), EDGE), 1 - EDGE)


def log_density(tau: Tensor, mu: Tensor, log_sigma: Tensor) -> Tensor:
    """log pi(tau): the Gaussian at logit(tau), and the change of variables -log tau - log(1 - tau)."""
    u = torch.log(tau) - torch.log1p(-tau)
    gauss = -0.5 * ((u - mu) / log_sigma.exp()) ** 2 - log_sigma - 0.5 * math.log(2 * math.pi)
    return gauss - torch.log(tau) - torch.log1p(-tau)


def score(eps: float, log_sigma: float) -> tuple[float, float]:
    """The gradient of `log_density` with respect to (mu, log sigma) at tau = sigmoid(mu + sigma eps)."""
    return eps * math.exp(-log_sigma), eps * eps - 1


def expected_threshold(mu: float, log_sigma: float, *, samples: int = 100, seed: int = 0) -> float:
    """E[sigmoid(mu + sigma eps)] by Monte Carlo, as the paper does it (K = 100), with a fixed seed (row 31)."""
    eps_K = torch.randn(samples, generator=seeds.generator("expected threshold", seed), dtype=torch.float64)
    return float(torch.sigmoid(mu + math.exp(log_sigma) * eps_K).mean().clamp(EDGE, 1 - EDGE))


@dataclass(frozen=True)
class Sampled:
    """One draw from the policy."""

    eps: float
    u: float
    tau: float

    def __repr__(self) -> str:
        return f"Sampled(tau={self.tau:.4f}, u={self.u:.3f})"


class ThresholdPolicy:
    """mu and log sigma with their optimiser and the moving baseline. Draws are keyed by (seed, update), so every
    process of a run sees the same threshold and a resumed run the same sequence."""

    def __init__(
        self,
        *,
        initial_mu: float,
        initial_log_sigma: float = -1.0,
        lr: float = 1e-2,
        baseline_decay: float = 0.9,
        seed: int = 0,
    ) -> None:
        self.theta = torch.tensor([initial_mu, initial_log_sigma], dtype=torch.float64, requires_grad=True)
        # Row 4: an optimiser of its own, without weight decay (which would pull mu to 0, that is tau to 0.5).
        self.optimizer = torch.optim.Adam([self.theta], lr=lr)
        self.baseline_decay = baseline_decay
        self.baseline: float | None = None
        self.seed = seed
        self.updates = 0

    @property
    def mu(self) -> float:
        return self.theta.detach()[0].item()

    @property
    def log_sigma(self) -> float:
        return self.theta.detach()[1].item()

    def at(self, eps: float) -> Sampled:
        u = self.mu + math.exp(self.log_sigma) * eps
        return Sampled(eps, u, threshold_of(u))

    def sample(self) -> Sampled:
        """The draw that belongs to the current update; asking again gives the same one."""
        eps = torch.randn((), generator=seeds.generator("policy", self.seed, self.updates), dtype=torch.float64)
        return self.at(float(eps))

    def skip(self) -> None:
        """A step without a reward teaches nothing; the next one still has its own draw."""
        self.updates += 1

    def step(self, draws: "list[tuple[Sampled, float]]") -> dict[str, float]:
        """One REINFORCE update from draws and their rewards: ascend the mean of (R - b) grad log pi.

        For one draw b is the moving baseline: the first reward at first, in each advantage the b from before the
        update (row 5), and then b <- 0.9 b + 0.1 R. Several draws tried on the same clips are compared with their own
        mean, so that the clips' difficulty cancels; of an antithetic pair mu alone learns then, since both draws have
        the same density under any sigma.
        """
        rewards = [reward for _, reward in draws]
        mean_reward = sum(rewards) / len(draws)
        moving = mean_reward if self.baseline is None else self.baseline
        baseline = moving if len(draws) == 1 else mean_reward
        scores = [score(drawn.eps, self.log_sigma) for drawn, _ in draws]
        gradient = [
            math.fsum((reward - baseline) * one[i] for reward, one in zip(rewards, scores, strict=True)) / len(draws)
            for i in range(2)
        ]
        self.theta.grad = -torch.tensor(gradient, dtype=torch.float64)
        norm = float(torch.nn.utils.clip_grad_norm_([self.theta], 1.0))  # row 4
        self.optimizer.step()
        with torch.no_grad():
            self.theta[1].clamp_(*LOG_SIGMA_RANGE)
        keep = self.baseline_decay
        self.baseline = keep * moving + (1 - keep) * mean_reward
        self.updates += 1
        return {
            "reward": mean_reward,
            "baseline": baseline,
            "advantage": rewards[0] - baseline,
            "policy_gradient_mu": gradient[0],
            "policy_gradient_log_sigma": gradient[1],
            "policy_gradient_norm": norm,
            "mu": self.mu,
            "log_sigma": self.log_sigma,
        }

    def state_dict(self) -> dict[str, Any]:
        """Plain numbers; Python writes floats so that they are read back exactly."""
        moments = self.optimizer.state.get(self.theta, {})
        return {
            "theta": self.theta.tolist(),
            "baseline": self.baseline,
            "updates": self.updates,
            "adam": {name: value.tolist() for name, value in moments.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        with torch.no_grad():
            self.theta.copy_(torch.tensor(state["theta"], dtype=torch.float64))
        self.baseline = state["baseline"]
        self.updates = state["updates"]
        if state["adam"]:
            dtypes = {"step": torch.float32}
            self.optimizer.state[self.theta] = {
                name: torch.tensor(value, dtype=dtypes.get(name, torch.float64))
                for name, value in state["adam"].items()
            }

    def __repr__(self) -> str:
        return f"ThresholdPolicy(mu={self.mu:.4f}, log_sigma={self.log_sigma:.4f}, updates={self.updates})"
