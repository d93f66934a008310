"""Scores → threshold → hits, by a rule that the bound can pay for."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contextleak_inspect.bounds import Outcomes, ThresholdRule, score_array
from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.point_estimates import best_threshold_optimistic
from contextleak_inspect.rates import clopper_pearson


class Cut(NamedTuple):
    """A threshold and the hits to bound; both outcomes carry the rule."""

    threshold: float
    canary_in: Outcomes
    canary_out: Outcomes
    false_alarms: int  # as observed; differs from canary_out.hits under fixed_rank with ties


class Scores(NamedTuple):
    """Membership scores of both worlds, shapes (n_in,) and (n_out,)."""

    canary_in: FloatArray
    canary_out: FloatArray


def fixed_cut(scores_in: ArrayLike, scores_out: ArrayLike, threshold: float) -> Cut:
    """Hits above a threshold that was given before these trials ran.

    >>> fixed_cut([0, 1, 1], [0, 0, 1], 0.5).canary_in
    Outcomes(hits=2, trials=3, threshold_rule='fixed')
    """
    return _cut(scores_in, scores_out, threshold, "fixed")


def fixed_rank_cut(scores_in: ArrayLike, scores_out: ArrayLike, fpr: float = 0.1) -> Cut:
    """Hits above the (k+1)-th largest canary-out score, k = ⌊fpr · n_out⌋.

    The canary-out outcome holds k hits, not the observed ones: for continuous scores the true FPR
    at this threshold is Beta(k+1, n_out-k), whose upper quantile is the Clopper-Pearson limit
    of k, and ties only lower it. The canary-in scores have no part in the threshold.

    Args:
        scores_in: Membership scores with the canary, shape (n_in,).
        scores_out: Membership scores without it, shape (n_out,).
        fpr: Share of canary-out scores that may lie above, in [0, 1).
    """
    if not 0 <= fpr < 1:
        raise ValueError(f"fpr must lie in [0, 1), got {fpr}")
    outside = np.sort(score_array(scores_out, "scores_out"))[::-1]
    k = math.floor(round(fpr * outside.size, 9))
    cut = _cut(scores_in, outside, float(outside[k]), "fixed_rank")
    return cut._replace(canary_out=Outcomes(k, outside.size, "fixed_rank"))


def fixed_rank_fpr_upper(n_out: int, k: int, alpha: float) -> float:
    """Upper limit at level α for the FPR at the (k+1)-th largest of n_out scores."""
    return clopper_pearson(k, n_out, alpha).upper


def holdout_cut(
    chosen_on_in: ArrayLike,
    chosen_on_out: ArrayLike,
    scores_in: ArrayLike,
    scores_out: ArrayLike,
) -> Cut:
    """Hits above the threshold with the best balanced accuracy on other trials.

    Args:
        chosen_on_in: Scores with the canary of the calibration part, shape (n,).
        chosen_on_out: Scores without it of the calibration part, shape (n,).
        scores_in: Scores with the canary of the evaluation part, shape (n_in,).
        scores_out: Scores without it of the evaluation part, shape (n_out,).
    """
    best = best_threshold_optimistic(chosen_on_in, chosen_on_out)
    return _cut(scores_in, scores_out, best.threshold_optimistic, "holdout")


def grid_cuts(
    scores_in: ArrayLike, scores_out: ArrayLike, thresholds: Sequence[float]
) -> list[Cut]:
    """One cut a threshold, all given before the trials; for `estimators.epsilon_best_of`."""
    if not thresholds:
        raise ValueError("a grid needs at least one threshold, got none")
    return [_cut(scores_in, scores_out, threshold, "grid") for threshold in thresholds]


def missing_against_auditor(scores_in: ArrayLike, scores_out: ArrayLike, *, planned: int) -> Scores:
    """Scores with every failed trial counted as a wrong guess.

    A failed trial has nan for a score. With the canary it becomes a miss (minus infinity), without
    it a false alarm (infinity), so a failure that depends on the canary cannot raise a bound.

    Args:
        scores_in: Scores of all trials run with the canary, shape (n_in,), nan where failed.
        scores_out: Scores of all trials run without it, shape (n_out,), nan where failed.
        planned: Number of trials planned for both worlds together.

    Raises:
        ValueError: Fewer or more trials than planned: until the planned number is reached only
            anytime-valid bounds (`sequential`) may be shown.
    """
    inside, outside = np.asarray(scores_in, dtype=float), np.asarray(scores_out, dtype=float)
    if inside.size + outside.size != planned:
        raise ValueError(
            f"{inside.size + outside.size} of {planned} planned trials have run; a bound for a "
            "fixed number needs them all, before that show an anytime-valid one"
        )
    return Scores(
        np.where(np.isnan(inside), -np.inf, inside), np.where(np.isnan(outside), np.inf, outside)
    )


def _cut(scores_in: ArrayLike, scores_out: ArrayLike, threshold: float, rule: ThresholdRule) -> Cut:
    if math.isnan(threshold):
        raise ValueError("the threshold is not a number")
    inside, outside = score_array(scores_in, "scores_in"), score_array(scores_out, "scores_out")
    false_alarms = int((outside > threshold).sum())
    return Cut(
        threshold,
        Outcomes(int((inside > threshold).sum()), inside.size, rule),
        Outcomes(false_alarms, outside.size, rule),
        false_alarms,
    )
