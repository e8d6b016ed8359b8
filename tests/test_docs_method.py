"""docs/method.md names files, options and numbers: they are there, and they are these."""

import re
from inspect import signature
from pathlib import Path

import pytest

from vidshift.engine.config import RunConfig
from vidshift.engine.defaults import with_defaults
from vidshift.methods.joint import Joint
from vidshift.tokens import motion, policy
from vidshift.tokens.reducers.lmft import POLICIES, LearnedThreshold

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")


def test_every_file_is_there():
    named = set(re.findall(r"`((?:[\w]+/)*[\w]+\.py)`", TEXT)) | set(re.findall(r"python ([\w/]+\.py)", TEXT))
    assert len(named) > 15
    for name in named:
        places = [ROOT / name, ROOT / "src" / "vidshift" / name, *ROOT.glob(f"src/vidshift/tokens/**/{name}")]
        assert any(place.is_file() for place in places), name


def test_every_option_of_the_reducer_is_one():
    options = set(signature(LearnedThreshold.__init__).parameters)
    named = {name for name in re.findall(r"`(?:--reducer-option )?(\w+)=[\w.]+`", TEXT)}
    assert named
    assert named <= options
    assert set(POLICIES) == {"paper", "paired"}


def test_the_numbers_are_the_defaults():
    made = LearnedThreshold()
    assert (made.loss_weight, made.kind, made.policy_lr, made.floor) == (10, "paired", 0.1, 0)
    assert LearnedThreshold(policy="paper").policy_lr == 0.01
    assert made.policy.mu == pytest.approx(-4.595, abs=1e-3)
    assert policy.LOG_SIGMA_RANGE == (-4, 0)
    assert made.policy.baseline_decay == 0.9
    assert Joint().target_weight == 0.5
    config = with_defaults(RunConfig(source="/a", target="/b"))
    assert (config.gamma, config.batch, config.layer_decay, config.warmup, config.drop_path) == (
        0.8,
        16,
        0.75,
        0.1,
        0.1,
    )
    assert (config.weight_decay, config.lr, config.epochs) == (0.05, 0.001, 6)
    assert (motion.FAINT_RANGE, motion.CUT_CHANGE, motion.CUT_FACTOR) == (0.02, 0.05, 3)
