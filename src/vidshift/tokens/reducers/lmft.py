"""`lmft`: learnable motion-focused tokenization, the paper's token selection.

One threshold for every clip of a step, drawn from a policy that learns from the reward
R = sum over source and target of -lambda_L * L - kept. At test time the threshold is the policy's expected value.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from vidshift.data.view import View
from vidshift.errors import UserError, unknown
from vidshift.tokens.base import Probe, Reducer, Reward, Selection, reducers
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.policy import LOG_SIGMA_RANGE, Sampled, ThresholdPolicy, expected_threshold, logit
from vidshift.tokens.reducers.motion import select_above
from vidshift.tokens.reducers.parts import check_floor, check_fraction

# The learning rate that each begins with: docs/method.md section 5 row 4, and section 7 for the pairs', whose gradient
# tells enough to be followed ten times as fast.
POLICIES = {"paper": 1e-2, "paired": 1e-1}


@reducers.register("lmft")
class LearnedThreshold(Reducer):
    """`policy="paired"` (ours, not the paper's) learns from two antithetic thresholds tried without gradient on the
    same few clips, so that their difficulty cancels; its sigma stays as set. `policy="paper"` learns from the reward
    of each training step, as printed: its threshold ends about where it began (docs/method.md section 7).

    `initial_threshold` sets the policy's median. The paper prints mu = 0.01, which as a latent is a median of 0.5025;
    read as a threshold it is 0.01, which agrees with its kept ratios (docs/method.md section 5). `initial_mu` takes
    the printed number literally.
    """

    name = "lmft"

    def __init__(
        self,
        *,
        policy: str = "paired",
        initial_threshold: float = 0.01,
        initial_mu: float | None = None,
        initial_log_sigma: float = -1.0,
        loss_weight: float = 10.0,
        policy_lr: float | None = None,
        floor: float = 0.0,
        seed: int = 0,
    ) -> None:
        if policy not in POLICIES:
            raise unknown("policy", policy, POLICIES)
        if loss_weight < 0:
            raise UserError(f"loss_weight {loss_weight:g} is negative; give 0 or more (the paper uses 10).", usage=True)
        policy_lr = POLICIES[policy] if policy_lr is None else policy_lr
        if policy_lr < 0:
            raise UserError(f"policy_lr {policy_lr:g} is negative; give 0 (no learning) or more.", usage=True)
        if not LOG_SIGMA_RANGE[0] <= initial_log_sigma <= LOG_SIGMA_RANGE[1]:
            low, high = LOG_SIGMA_RANGE
            raise UserError(
                f"initial_log_sigma {initial_log_sigma:g} is not accepted: give a number from {low:g} to {high:g}, "
                "such as the paper's -1.",
                usage=True,
            )
        self.kind = policy
        self.initial_threshold = check_fraction("initial_threshold", initial_threshold, open_end=True)
        self.initial_mu = initial_mu
        self.initial_log_sigma = initial_log_sigma
        self.loss_weight = loss_weight
        self.policy_lr = policy_lr
        self.floor = check_floor(floor)
        self.seed = seed
        mu = logit(self.initial_threshold) if initial_mu is None else initial_mu
        self.policy = ThresholdPolicy(initial_mu=mu, initial_log_sigma=initial_log_sigma, lr=policy_lr, seed=seed)
        self.fixed: float | None = None
        self._drawn: Sampled = self.policy.sample()
        self._probed: Sampled | None = None

    def options(self) -> dict[str, Any]:
        names = ("initial_threshold", "initial_mu", "initial_log_sigma", "loss_weight", "policy_lr", "floor", "seed")
        return {"policy": self.kind, **{name: getattr(self, name) for name in names}}

    @property
    def threshold(self) -> float:
        """The deterministic threshold of testing: fixed after training, until then the policy's expectation so far."""
        return self.fixed if self.fixed is not None else expected_threshold(self.policy.mu, self.policy.log_sigma)

    def select(
        self, view: View, geometry: Geometry, *, seeds_B: Tensor, training: bool, net: Probe | None
    ) -> Selection:
        trying = self._probed is not None or (training and self.fixed is None)
        threshold = self.drawn_threshold if trying else self.threshold
        return select_above(view, geometry, threshold=threshold, floor=self.floor)

    @property
    def drawn_threshold(self) -> float:
        """The threshold of this update's training pass, and within a probe the one that is being tried."""
        return (self._probed or self._drawn).tau

    @property
    def wants_probe(self) -> bool:
        return self.kind == "paired"

    def update(self, reward: Reward, probe: Callable[[], Reward] | None = None) -> Mapping[str, float]:
        if self.fixed is not None:
            raise RuntimeError("the threshold is fixed: a reducer does not learn after fix()")
        if not reward.loss:  # a stage without task losses; as R = 0 it would be the wrong first baseline
            self.policy.skip()
            self._drawn = self.policy.sample()
            return {}
        if self.kind == "paired":
            if probe is None:
                raise ValueError("the paired policy learns from probes, and none was given")
            draws = [(drawn, self._probe_at(drawn, probe)) for drawn in (self._drawn, self.policy.at(-self._drawn.eps))]
        else:
            draws = [(self._drawn, reward.value(loss_weight=self.loss_weight))]
        log = self.policy.step(draws)
        if len(draws) == 2:
            log["reward_difference"] = draws[0][1] - draws[1][1]
        log["loss_term"] = -self.loss_weight * sum(reward.loss.values())
        log["kept_term"] = -sum(reward.kept[domain] for domain in reward.loss)
        self._drawn = self.policy.sample()
        return log

    def _probe_at(self, drawn: Sampled, probe: Callable[[], Reward]) -> float:
        self._probed = drawn
        try:
            return probe().value(loss_weight=self.loss_weight)
        finally:
            self._probed = None

    def fix(self) -> None:
        self.fixed = expected_threshold(self.policy.mu, self.policy.log_sigma)

    def state_dict(self) -> dict[str, Any]:
        return {"policy": self.policy.state_dict(), "fixed": self.fixed}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.policy.load_state_dict(state["policy"])
        self.fixed = state["fixed"]
        self._drawn = self.policy.sample()

    def warnings(self) -> Sequence[str]:
        """Said where the learned threshold is at the edge of what it can be."""
        if self.threshold > 0.9:
            return [f"the learned threshold {self.threshold:.3f} keeps little more than each clip's first segment"]
        return []

    def __repr__(self) -> str:
        return f"LearnedThreshold(policy={self.kind!r}, threshold={self.threshold:.4f}, {self.policy!r})"
