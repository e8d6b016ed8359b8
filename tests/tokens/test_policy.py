"""The threshold policy (tokens.md sections 11 and 13 rows 5 and 6)."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Normal

from vidshift.tokens.policy import (
    LOG_SIGMA_RANGE,
    Sampled,
    ThresholdPolicy,
    expected_threshold,
    log_density,
    logit,
    score,
    threshold_of,
)

MUS, LOG_SIGMAS = st.floats(-8, 4), st.floats(*LOG_SIGMA_RANGE)


def quadrature(mu: float, log_sigma: float) -> float:
    """E[sigmoid(mu + sigma eps)] by Gauss-Hermite."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    return float((weights / (1 + np.exp(-(mu + math.exp(log_sigma) * nodes)))).sum() / weights.sum())


@given(MUS, LOG_SIGMAS, st.floats(-3, 3))
def test_the_score_is_autograd_s_gradient_of_the_log_density(mu: float, log_sigma: float, eps: float) -> None:
    """Of the Gaussian at the latent u; the Jacobian of the sigmoid adds nothing, since it has no parameter."""
    u = mu + math.exp(log_sigma) * eps
    theta = torch.tensor([mu, log_sigma], dtype=torch.float64, requires_grad=True)
    gauss = Normal(theta[0], theta[1].exp()).log_prob(torch.tensor(u, dtype=torch.float64))
    (of_gauss,) = torch.autograd.grad(gauss, theta)
    density = log_density(torch.sigmoid(torch.tensor(u, dtype=torch.float64)), theta[0], theta[1])
    (of_density,) = torch.autograd.grad(density, theta)
    assert score(eps, log_sigma) == pytest.approx(of_gauss.tolist(), rel=1e-9, abs=1e-9)
    torch.testing.assert_close(of_density, of_gauss, rtol=1e-5, atol=1e-5)  # logit(sigmoid(u)) loses some digits


def test_the_density_is_that_of_the_threshold() -> None:
    """It integrates to 1 over (0, 1), which it would not without the Jacobian."""
    tau = torch.linspace(1e-6, 1 - 1e-6, 2_000_001, dtype=torch.float64)
    theta = torch.tensor([-1.0, -0.5], dtype=torch.float64)
    assert float(torch.trapezoid(log_density(tau, theta[0], theta[1]).exp(), tau)) == pytest.approx(1, abs=1e-6)


@given(LOG_SIGMAS)
def test_the_mean_score_is_zero(log_sigma: float) -> None:
    """So a baseline adds no bias: E[grad log pi] = 0, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    scores = np.array([score(z, log_sigma) for z in nodes])
    assert (weights[:, None] * scores).sum(0) / weights.sum() == pytest.approx([0, 0], abs=1e-6)


@pytest.mark.parametrize(("mu", "expected"), [(0.01, 0.5024), (-4.595, 0.01068)])
def test_expected_thresholds(mu: float, expected: float) -> None:
    """By quadrature the sheet's values; by Monte Carlo with K = 100 within three standard errors; no global draw."""
    assert quadrature(mu, -1.0) == pytest.approx(expected, rel=1e-3)
    torch.manual_seed(1)
    first = expected_threshold(mu, -1.0)
    torch.manual_seed(2)
    assert expected_threshold(mu, -1.0) == first
    deviation = math.exp(-1.0) * expected * (1 - expected)
    assert first == pytest.approx(expected, abs=3 * deviation / 10)
    assert expected_threshold(mu, -1.0, samples=200_000) == pytest.approx(expected, rel=5e-3)


@given(st.floats(-1000, 1000))
def test_a_threshold_stays_inside_its_interval(u: float) -> None:
    assert 0 < threshold_of(u) < 1
    assert np.float32(threshold_of(u)) < np.float32(1)


def test_the_initial_values() -> None:
    assert logit(0.01) == pytest.approx(-4.595, abs=1e-3)
    assert threshold_of(logit(0.01)) == pytest.approx(0.01)


def test_reinforce_by_hand() -> None:
    """b starts at the first reward; each advantage uses the b from before; then b <- 0.9 b + 0.1 R."""
    policy = ThresholdPolicy(initial_mu=-1.0, initial_log_sigma=-1.0, seed=3)
    sigma, baseline = math.exp(-1.0), None
    mu = policy.mu
    for reward in (-40.0, -38.0, -41.0):
        drawn = policy.sample()
        baseline = reward if baseline is None else baseline
        z = (drawn.u - mu) / sigma
        log = policy.step([(drawn, reward)])
        assert log["baseline"] == pytest.approx(baseline)
        assert log["advantage"] == pytest.approx(reward - baseline)
        assert log["policy_gradient_mu"] == pytest.approx((reward - baseline) * z / sigma)
        assert log["policy_gradient_log_sigma"] == pytest.approx((reward - baseline) * (z * z - 1))
        baseline = 0.9 * baseline + 0.1 * reward
        assert policy.baseline == pytest.approx(baseline)
        mu, sigma = policy.mu, math.exp(policy.log_sigma)
    assert policy.updates == 3


def test_the_first_step_moves_nothing() -> None:
    """Its advantage is zero, where a baseline of 0 would make it about -40 (section 12 row 5)."""
    policy = ThresholdPolicy(initial_mu=-4.595)
    policy.step([(policy.sample(), -42.0)])
    assert policy.mu == -4.595


def test_a_better_reward_pulls_the_policy_towards_its_draw() -> None:
    for better in (True, False):
        policy = ThresholdPolicy(initial_mu=0.0)
        policy.step([(policy.sample(), -10.0)])
        drawn = policy.sample()
        policy.step([(drawn, -9.0 if better else -11.0)])
        assert (policy.mu > 0) == ((drawn.u > 0) == better)


def test_of_an_antithetic_pair_the_clips_difficulty_cancels() -> None:
    """Adding the same number to both rewards changes nothing, and sigma stays."""
    moved = []
    for difficulty in (0.0, -500.0):
        policy = ThresholdPolicy(initial_mu=0.0, seed=1)
        drawn = policy.sample()
        other = policy.at(-drawn.eps)
        assert other.u == pytest.approx(-drawn.u)
        log = policy.step([(drawn, difficulty - 1.0), (other, difficulty - 2.0)])
        assert log["policy_gradient_mu"] == pytest.approx(0.5 * drawn.eps / math.exp(-1.0))
        assert log["policy_gradient_log_sigma"] == pytest.approx(0, abs=1e-9)
        moved.append(policy.mu)
    assert moved[0] == pytest.approx(moved[1], abs=1e-9)
    assert moved[0] * drawn.eps > 0


def reward_of(drawn: Sampled, best: float) -> float:
    return -20 * (drawn.tau - best) ** 2


@pytest.mark.parametrize("best", [0.25, 0.7])
@pytest.mark.parametrize("paired", [False, True])
def test_a_bandit_converges(best: float, paired: bool) -> None:
    """A quadratic reward in tau, at the default learning rate (section 13 row 5)."""
    reached = []
    for seed in range(3):
        policy = ThresholdPolicy(initial_mu=0.0, seed=seed)
        for _ in range(800):
            drawn = policy.sample()
            tried = [drawn, policy.at(-drawn.eps)] if paired else [drawn]
            policy.step([(one, reward_of(one, best)) for one in tried])
        reached.append(expected_threshold(policy.mu, policy.log_sigma))
    assert float(np.mean(reached)) == pytest.approx(best, abs=0.04)
    assert max(abs(tau - best) for tau in reached) < 0.08


def test_sigma_stays_in_its_range_and_gradients_are_cut() -> None:
    policy = ThresholdPolicy(initial_mu=0.0, lr=10.0)
    for reward in (0.0, 1e6, -1e6, 1e6):
        log = policy.step([(policy.sample(), reward)])
        assert LOG_SIGMA_RANGE[0] <= policy.log_sigma <= LOG_SIGMA_RANGE[1]
    assert log["policy_gradient_norm"] > 1
    assert policy.theta.grad is not None
    assert float(policy.theta.grad.norm()) <= 1 + 1e-6


def trained(steps: int, seed: int = 5) -> ThresholdPolicy:
    policy = ThresholdPolicy(initial_mu=-2.0, seed=seed)
    for _ in range(steps):
        drawn = policy.sample()
        policy.step([(drawn, reward_of(drawn, 0.3))])
    return policy


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_the_state_goes_through_json_exactly(steps: int) -> None:
    """Saved and loaded, it draws and learns the same bits as if nothing had happened."""
    policy = trained(steps)
    again = ThresholdPolicy(initial_mu=0.5, initial_log_sigma=-2.0, seed=5)
    again.load_state_dict(json.loads(json.dumps(policy.state_dict())))
    for _ in range(5):
        drawn = policy.sample()
        assert again.sample() == drawn
        assert again.step([(drawn, reward_of(drawn, 0.3))]) == policy.step([(drawn, reward_of(drawn, 0.3))])
        assert again.state_dict() == policy.state_dict()


def test_processes_of_one_run_share_every_threshold() -> None:
    """Draws are keyed by (seed, update) alone: whatever else a process drew, they agree; other seeds do not."""
    one, two, other = trained(0, seed=5), trained(0, seed=5), trained(0, seed=6)
    for number in range(4):
        torch.manual_seed(number)
        drawn = one.sample()
        torch.manual_seed(100 + number)
        assert two.sample() == drawn
        assert one.sample() == drawn
        assert other.sample() != drawn
        for policy in (one, two, other):
            policy.step([(policy.sample(), -1.0 * number)])
    assert len({trained(0).sample().eps, trained(1).sample().eps}) == 2


def test_a_skipped_step_learns_nothing_and_draws_anew() -> None:
    policy = trained(3)
    state, drawn = policy.state_dict(), policy.sample()
    policy.skip()
    assert policy.state_dict() == {**state, "updates": 4}
    assert policy.sample() != drawn
