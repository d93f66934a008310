import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from contextleak_inspect.rates import dkw, unclipped_epsilon
from contextleak_inspect.roc import auc, epsilon_dkw, fpr_label, roc, tpr_at_fpr


def test_every_point_of_the_curve_counts_scores_strictly_above() -> None:
    inside, outside = [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 3.0]
    curve = roc(inside, outside)
    assert curve.thresholds.tolist() == [3.0, 2.0, 1.0, 0.0, -math.inf]
    for threshold, hits_in, hits_out in zip(*curve[:3], strict=True):
        assert hits_in == sum(score > threshold for score in inside)
        assert hits_out == sum(score > threshold for score in outside)


def test_auc_agrees_with_scikit_learn_with_ties() -> None:
    rng = np.random.default_rng(3)
    inside, outside = rng.integers(0, 6, 40) + 1, rng.integers(0, 6, 55)
    labels = np.repeat([1, 0], [40, 55])
    theirs = roc_auc_score(labels, np.concatenate([inside, outside]))
    assert auc(inside, outside) == pytest.approx(theirs, abs=1e-12)


def test_tpr_at_zero_false_alarms_exists() -> None:
    # aidotse/LeakPro#275: '<' for '<=' made it unavailable.
    found = tpr_at_fpr([0.9, 0.8, 0.2], [0.7, 0.3, 0.1], 0.0)
    assert found.tpr == pytest.approx(2 / 3)
    assert auc([0.9, 0.8, 0.2], [0.7, 0.3, 0.1]) == pytest.approx(7 / 9)


def test_a_target_finer_than_one_trial_is_flagged() -> None:
    # aidotse/LeakPro#32; AI-SDC/SACRO-ML#480: 0.1 % of 50 trials.
    found = tpr_at_fpr(np.linspace(0.51, 1, 50), np.linspace(0, 0.245, 50), 0.001)
    assert (found.tpr, found.fpr, found.resolution) == (1.0, 0.0, 0.02)
    assert found.below_resolution
    assert not tpr_at_fpr([1.0], [0.0], 1.0).below_resolution


def test_a_score_that_points_the_wrong_way_shows_in_the_auc() -> None:
    # google-deepmind/jax_privacy#270: AUC 0, TPR 0, and no absolute value anywhere.
    assert auc([1, 2, 3, 4, 5], [11, 12, 13, 14, 15]) == 0.0
    assert tpr_at_fpr([1, 2, 3, 4, 5], [11, 12, 13, 14, 15], 0.0).tpr == 0.0


def test_labels_carry_the_per_cent_sign() -> None:
    assert [fpr_label(fpr) for fpr in (0.1, 0.05, 0.001)] == [
        "TPR@10%FPR",
        "TPR@5%FPR",
        "TPR@0.1%FPR",
    ]


def test_ties_at_the_target_are_kept_whole() -> None:
    # Four of ten canary-out scores are 1, so FPR jumps from 0 to 0.4 and 0.1 is out of reach.
    found = tpr_at_fpr([1, 1, 2, 0], [1] * 4 + [0] * 6, 0.1)
    assert (found.fpr, found.tpr) == (0.0, 0.25)


def test_the_dkw_bound_is_the_best_threshold_less_both_bands() -> None:
    rng = np.random.default_rng(4)
    inside, outside = rng.normal(2, 1, 400), rng.normal(0, 1, 300)
    bands = dkw(400, 0.025).one_sided, dkw(300, 0.025).one_sided
    slow = max(
        unclipped_epsilon(
            max(0.0, float((inside > t).mean()) - bands[0]),
            min(1.0, float((outside > t).mean()) + bands[1]),
            delta=1e-5,
        )
        for t in np.concatenate([inside, outside])
    )
    bound = epsilon_dkw(inside, outside, delta=1e-5)
    assert bound.value == pytest.approx(slow, abs=1e-12)
    assert (bound.kind, bound.threshold_rule, bound.n) == ("bound", "dkw", 700)
    assert epsilon_dkw(np.ones(400), np.zeros(300), delta=1e-5).value == bound.ceiling


def test_few_scores_give_no_evidence_and_no_error() -> None:
    bound = epsilon_dkw([1.0], [0.0], delta=0.0)
    assert (bound.value, bound.unclipped, bound.ceiling) == (0.0, -math.inf, 0.0)
