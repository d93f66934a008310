"""Scores of both worlds → ROC curve, and what can be read off it, with or without a promise."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contextleak_inspect.bounds import (
    PAPER,
    EpsilonBound,
    Setting,
    alpha_at,
    epsilon_bound,
    score_array,
)
from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.rates import dkw, unclipped_epsilon


class Roc(NamedTuple):
    """Hits above each threshold, thresholds falling from the largest score to minus infinity."""

    thresholds: FloatArray
    hits_in: FloatArray
    hits_out: FloatArray
    n_in: int
    n_out: int

    @property
    def tpr(self) -> FloatArray:
        """Share of hits with the canary, shape (n_thresholds,)."""
        return self.hits_in / self.n_in

    @property
    def fpr(self) -> FloatArray:
        """Share of hits without the canary, shape (n_thresholds,)."""
        return self.hits_out / self.n_out


class RatesAtFpr(NamedTuple):
    """TPR where the measured FPR is the largest that does not exceed the target."""

    tpr: float
    fpr: float
    target: float
    resolution: float
    below_resolution: bool  # the target is finer than one trial: read as zero false alarms


def roc(scores_in: ArrayLike, scores_out: ArrayLike) -> Roc:
    """Every distinct way to cut the scores; a hit is strictly above, equal scores stay together.

    Args:
        scores_in: Membership scores with the canary, shape (n_in,).
        scores_out: Membership scores without it, shape (n_out,).
    """
    inside = np.sort(score_array(scores_in, "scores_in"))
    outside = np.sort(score_array(scores_out, "scores_out"))
    thresholds = np.unique(np.concatenate([inside, outside, [-np.inf]]))[::-1]
    return Roc(
        thresholds=thresholds,
        hits_in=inside.size - np.searchsorted(inside, thresholds, side="right").astype(float),
        hits_out=outside.size - np.searchsorted(outside, thresholds, side="right").astype(float),
        n_in=inside.size,
        n_out=outside.size,
    )


def auc(scores_in: ArrayLike, scores_out: ArrayLike) -> float:
    """Chance that a canary-in score exceeds a canary-out one, equal scores counting 1/2.

    Below 1/2 the score may point the wrong way; see `estimators.epsilon_either_direction`.

    >>> auc([0.9, 0.8, 0.2], [0.7, 0.3, 0.1])
    0.7777777777777778
    """
    inside, outside = score_array(scores_in, "scores_in"), score_array(scores_out, "scores_out")
    outside = np.sort(outside)
    below, not_above = outside.searchsorted(inside), outside.searchsorted(inside, "right")
    return float(below.sum() + not_above.sum()) / 2 / (inside.size * outside.size)


def tpr_at_fpr(scores_in: ArrayLike, scores_out: ArrayLike, target: float) -> RatesAtFpr:
    """Measured TPR at the largest reachable FPR ≤ target: a point estimate, not a bound.

    >>> tpr_at_fpr([0.9, 0.8, 0.2], [0.7, 0.3, 0.1], 0.0).tpr
    0.6666666666666666
    """
    if not 0 <= target <= 1:
        raise ValueError(f"target FPR must lie in [0, 1], got {target}")
    curve = roc(scores_in, scores_out)
    # Both rates grow along the curve, so the last point within the target is the best one.
    point = int(np.flatnonzero(curve.hits_out <= target * curve.n_out * (1 + 1e-12))[-1])
    return RatesAtFpr(
        tpr=float(curve.tpr[point]),
        fpr=float(curve.fpr[point]),
        target=target,
        resolution=1 / curve.n_out,
        below_resolution=target < 1 / curve.n_out,
    )


def fpr_label(fpr: float) -> str:
    """A heading nobody can misread.

    >>> fpr_label(0.1), fpr_label(0.001)
    ('TPR@10%FPR', 'TPR@0.1%FPR')
    """
    return f"TPR@{100 * fpr:.12g}%FPR"


def epsilon_dkw(
    scores_in: ArrayLike,
    scores_out: ArrayLike,
    *,
    delta: float,
    confidence: float = 0.95,
    setting: Setting = PAPER,
) -> EpsilonBound:
    """Lower bound on ε in nats at the best of all thresholds, paid for by a band on both curves.

    Every TPR falls and every FPR rises by the one-sided Dvoretzky-Kiefer-Wolfowitz half-width at
    (1 - confidence) / 2, so any threshold may be picked afterwards. Needs independent trials.

    Args:
        scores_in: Membership scores with the canary, shape (n_in,).
        scores_out: Membership scores without it, shape (n_out,).
        delta: δ of the guarantee, in [0, 1).
        confidence: Probability that the bound holds, in (0, 1).
        setting: What was audited.
    """
    curve = roc(scores_in, scores_out)
    each = alpha_at(confidence) / 2
    miss, alarm = dkw(curve.n_in, each).one_sided, dkw(curve.n_out, each).one_sided
    epsilons = unclipped_epsilon(
        np.clip(curve.tpr - miss, 0, 1), np.clip(curve.fpr + alarm, 0, 1), delta=delta
    )
    return epsilon_bound(
        float(epsilons.max()),
        confidence=confidence,
        method="dkw",
        threshold_rule="dkw",
        delta=delta,
        ceiling=max(0.0, unclipped_epsilon(max(0.0, 1 - miss), min(1.0, alarm), delta=delta)),
        arms=(curve.n_in, curve.n_out),
        setting=setting,
    )
