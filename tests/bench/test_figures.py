"""Figures: what is drawn, not how it looks."""

import numpy as np
import pytest

from vidshift.bench.figures import Mark, accuracy_against_cost, energy_image, masked_frames, training_curves


def test_dropped_patches_fade_and_kept_ones_stay():
    frames = np.full((1, 4, 4, 3), 100, np.uint8)
    keep = np.array([[[True, False], [False, False]]])
    found = masked_frames(frames, keep, 2)
    assert (found[0, :2, :2] == 100).all()
    faded = int(0.12 * 100 + 0.88 * 235)
    assert (found[0, 2:] == faded).all()
    assert (found[0, :2, 2:] == faded).all()


def test_energies_are_squares_of_a_patch_on_a_root_scale():
    found = energy_image(np.array([[[0.25, 1.0]]], np.float32), 3)
    assert found.shape == (1, 3, 6)
    assert found[0, 0].tolist() == [0.5] * 3 + [1.0] * 3


def test_curves_show_every_run_and_their_mean():
    pytest.importorskip("matplotlib")
    runs = [[{"step": s, "threshold": 0.1 * k, "kept_source": 0.2, "kept_target": 0.4} for s in (1, 2)] for k in (1, 3)]
    figure = training_curves({"lmft": runs})
    threshold, kept, reward = figure.axes
    assert len(threshold.lines) == 3
    assert threshold.lines[-1].get_ydata() == pytest.approx([0.2, 0.2])
    assert kept.lines[-1].get_ydata() == pytest.approx([0.3, 0.3])
    assert len(reward.lines) == 0


def test_marks_of_a_group_are_joined_in_the_order_of_their_cost():
    pytest.importorskip("matplotlib")
    marks = [
        Mark(name="b", cost=0.9, accuracy=0.6, low=0.5, high=0.7, group="motion"),
        Mark(name="a", cost=0.2, accuracy=0.5, low=0.4, high=0.55, group="motion"),
        Mark(name="c", cost=0.4, accuracy=0.3, low=0.2, high=0.35),
    ]
    (axis,) = accuracy_against_cost(marks).axes
    joined = axis.lines[0]
    assert np.asarray(joined.get_xdata()).tolist() == [0.2, 0.9]
    assert joined.get_ydata() == pytest.approx([50, 60])
    assert {text.get_text() for text in axis.texts} == {"a", "b", "c"}
