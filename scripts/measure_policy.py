"""The signal-to-noise ratios of docs/method.md: `python scripts/measure_policy.py`, with `--network` on a network too.

How much of one update's gradient of the policy is signal: |mean| / deviation over many updates at which the policy
stands still, so that all of them estimate the same gradient. Everything is drawn from seeds, on built-in clips.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vidshift.data.stickworld.numbered import Series
from vidshift.data.stickworld.variant import ACTIONS
from vidshift.engine.batches import Guesses, StageData, TrainingData
from vidshift.engine.config import RunConfig
from vidshift.engine.defaults import LAYER_DECAY
from vidshift.engine.learn import PROBE_CLIPS, build_optimizer, first_clips, learn
from vidshift.engine.step import Network
from vidshift.methods.base import Batch, methods
from vidshift.models.config import VitConfig
from vidshift.models.vit import VideoTransformer
from vidshift.tokens import motion
from vidshift.tokens.base import Reducer, Reward, reducers
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.policy import expected_threshold, logit
from vidshift.tokens.reducers.lmft import POLICIES, LearnedThreshold

GEOMETRY = Geometry(frames=16, height=96, width=96)
CLIPS, BATCH = 128, 16  # of each domain
STARTS = {"tau 0.01": logit(0.01), "mu 0.01": 0.01}
TOY_UPDATES, NETWORK_UPDATES, TRAINED_STEPS = 4000, 600, 200
# The toy's loss of one clip is difficulty + slope * dropped share. The deviation of the difficulty gives the mean of
# 16 clips one of 0.15, as a classifier's cross-entropy has; each clip has a slope of its own, as scattered as large.
DIFFICULTY = 0.15 * math.sqrt(BATCH)
SLOPES = (0.0, 0.1, 0.5)


class InMemory:
    """Freshly drawn clips of one domain (`data.loader.Clips`), all 32 frames of them."""

    def __init__(self, domain: str) -> None:
        series = Series(domain=domain, split="train")
        self.frames = GEOMETRY.frames
        self.ids: Sequence[str] = [series.id(number) for number in range(CLIPS)]
        self.labels_N = torch.tensor([series.action(number) for number in range(CLIPS)])
        self._clips = [series.draw(number).clip_THWC for number in range(CLIPS)]

    def __len__(self) -> int:
        return len(self._clips)

    def grid_THWC(self, index: int) -> NDArray[np.uint8]:
        return self._clips[index]

    def energies_NM(self) -> NDArray[np.float64]:
        """Sorted energies of every clip, so that its kept share at a threshold is one search away."""
        clips_NTCHW = (
            torch.from_numpy(np.stack([clip[1::2] for clip in self._clips])).permute(0, 1, 4, 2, 3).contiguous()
        )
        return np.sort(motion.energy(clips_NTCHW, GEOMETRY)[0].double().numpy(), axis=1)


@dataclass(frozen=True)
class Gradient:
    """d/d mu of the expected reward, as single updates estimate it."""

    mean: float
    deviation: float
    updates: int

    @staticmethod
    def of(found: Sequence[float]) -> "Gradient":
        later = found[len(found) // 10 :]  # the moving baseline has come in by then
        return Gradient(float(np.mean(later)), float(np.std(later, ddof=1)), len(later))

    @property
    def ratio(self) -> float:
        return abs(self.mean) / self.deviation

    def __str__(self) -> str:
        error = math.sqrt((1 + self.ratio**2 / 2) / self.updates)
        return f"{self.ratio:6.3f} +- {error:.3f}   (mean {self.mean:+8.3f})"


def standing(policy: str, mu: float) -> LearnedThreshold:
    """A reducer that draws and measures as in training, and stays where it is."""
    return LearnedThreshold(policy=policy, initial_mu=mu, policy_lr=0.0, seed=1)


class Toy:
    """Rewards from measured kept shares and a drawn loss: no network."""

    def __init__(self, domains: dict[str, InMemory], slope: float) -> None:
        self._energies = {name: clips.energies_NM() for name, clips in domains.items()}
        rng = np.random.default_rng(0)
        self._slopes = {name: slope * (1 + rng.standard_normal(CLIPS)) for name in domains}
        self._rng = np.random.default_rng(1)

    def batch(self) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Which clips of each domain a step sees, and how difficult they are today."""
        difficulty = DIFFICULTY * self._rng.standard_normal((len(self._energies), BATCH))
        return {
            name: (self._rng.permutation(CLIPS)[:BATCH], row)
            for name, row in zip(self._energies, difficulty, strict=True)
        }

    def reward(self, batch: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]], tau: float, few: int) -> Reward:
        loss, kept = {}, {}
        for name, (clips, difficulty) in batch.items():
            energies = self._energies[name][clips[:few]]
            kept_B = (energies > tau).mean(axis=1)
            loss[name] = float((difficulty[:few] + self._slopes[name][clips[:few]] * (1 - kept_B)).mean())
            kept[name] = float(kept_B.mean())
        return Reward(loss, kept)

    def gradient(self, policy: str, mu: float) -> Gradient:
        reducer, found = standing(policy, mu), []
        for _ in range(TOY_UPDATES):
            batch = self.batch()

            def probe(batch: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = batch) -> Reward:
                return self.reward(batch, reducer.drawn_threshold, PROBE_CLIPS)

            whole = self.reward(batch, reducer.drawn_threshold, BATCH)
            found.append(reducer.update(whole, probe)["policy_gradient_mu"])
        return Gradient.of(found)


def data_of(domains: dict[str, InMemory]) -> TrainingData:
    """Both domains, with the target's true actions as its guesses."""
    source, target = domains["studio"], domains["street"]
    certain_N = torch.ones(CLIPS)
    guesses = Guesses(target.labels_N, certain_N, certain_N.bool())
    return TrainingData(source, source.labels_N, target, guesses)


def network_of(reducer: Reducer, weights: dict[str, Tensor] | None = None) -> Network:
    config = VitConfig(geometry=GEOMETRY, width=64, depth=2, heads=2, classes=len(ACTIONS), positions="axes")
    network = Network(VideoTransformer(config, seed=0), methods["joint"](), reducer, classes=len(ACTIONS))
    if weights is not None:
        network.load_state_dict(weights)
    return network


def trained(data: TrainingData) -> dict[str, Tensor]:
    """Weights after a few steps of the engine's own training, with all tokens."""
    network = network_of(reducers["none"]())
    stage = network.method.stages()[0]
    optimizer, batches = build_optimizer(network, stage, RunConfig(layer_decay=LAYER_DECAY)), batches_of(network, data)
    network.train()
    for step in range(TRAINED_STEPS):
        learn(network, optimizer, batches.at(step), stage, progress=0.5, scale=1.0)
    return {name: value.clone() for name, value in network.state_dict().items()}


def batches_of(network: Network, data: TrainingData) -> StageData:
    """Without crops, which would cost more time here than the network does."""
    return StageData(data, network.method.stages()[0], network.method, batch=BATCH, seed=0, augment=False)


@torch.no_grad()
def network_gradient(data: TrainingData, weights: dict[str, Tensor], policy: str, mu: float) -> Gradient:
    """The rewards of training steps whose weights stay: with drop path for `paper`, of a few clips without it else."""
    reducer = standing(policy, mu)
    network = network_of(reducer, weights).train(not reducer.wants_probe)
    stage, batches, found = network.method.stages()[0], batches_of(network, data), []
    for step in range(TRAINED_STEPS, TRAINED_STEPS + NETWORK_UPDATES):
        batch = batches.at(step)
        seen = first_clips(batch, PROBE_CLIPS) if reducer.wants_probe else batch

        def reward(seen: Batch = seen) -> Reward:
            return network(seen, stage, 0.5).reward()

        found.append(reducer.update(reward(), reward)["policy_gradient_mu"])
    return Gradient.of(found)


def kept_at_start(domains: dict[str, InMemory]) -> None:
    for start, mu in STARTS.items():
        threshold = expected_threshold(mu, -1.0)
        shares = [f"{name} {(clips.energies_NM() > threshold).mean():.3f}" for name, clips in domains.items()]
        print(f"start at {start}: expected threshold {threshold:.4f}, kept {', '.join(shares)}")


def report(what: str, measure: Callable[[str, float], Gradient]) -> None:
    for start, mu in STARTS.items():
        for policy in POLICIES:
            print(f"{what:<24} {start:<9} {policy:<7} {measure(policy, mu)}", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    domains = {"studio": InMemory("studio"), "street": InMemory("street")}
    kept_at_start(domains)
    print("|mean| / deviation of one update's gradient with respect to mu, with its standard error")
    for slope in SLOPES:
        report(f"toy, slope {slope:g}", Toy(domains, slope).gradient)
    if "--network" in sys.argv[1:]:
        data = data_of(domains)
        weights = trained(data)
        report(f"network, {TRAINED_STEPS} steps in", partial(network_gradient, data, weights))


if __name__ == "__main__":
    main()
