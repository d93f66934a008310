"""Numbers that audits print and that are not bounds: maxima over their own data, and plug-ins."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextleak_inspect.bounds import (
    PAPER,
    EpsilonBound,
    Setting,
    alpha_at,
    check_delta,
    epsilon_bound,
)
from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.rates import clopper_pearson, lower_limits, unclipped_epsilon
from contextleak_inspect.roc import roc, tpr_at_fpr

IntArray = NDArray[np.int64]


class BestThreshold(NamedTuple):
    """The threshold that suits the very trials it is judged on."""

    accuracy_optimistic: float
    balanced_accuracy_optimistic: float
    threshold_optimistic: float  # of the balanced accuracy


def best_threshold_optimistic(scores_in: ArrayLike, scores_out: ArrayLike) -> BestThreshold:
    """Highest accuracy any threshold reaches on these scores: too high by construction.

    Without any leakage its mean is about 0.56 at 50 trials a world. For a threshold to be used on
    other trials, take `threshold_optimistic`, which lies in the middle of its gap.
    """
    curve = roc(scores_in, scores_out)
    right = curve.hits_in + curve.n_out - curve.hits_out
    balanced = (curve.tpr + 1 - curve.fpr) / 2
    # Whole numbers, so that the first of equal thresholds wins whatever the rounding.
    best = int(np.argmax(curve.hits_in * curve.n_out - curve.hits_out * curve.n_in))
    below = curve.thresholds[best]
    above = curve.thresholds[best - 1] if best else below
    inside_gap = (below + above) / 2 if math.isfinite(below) and math.isfinite(above) else below
    return BestThreshold(
        accuracy_optimistic=float(right.max()) / (curve.n_in + curve.n_out),
        balanced_accuracy_optimistic=float(balanced[best]),
        # Rounding may lift the middle of two neighbouring floats to the upper one.
        threshold_optimistic=float(inside_gap if inside_gap < above else below),
    )


def epsilon_best_threshold_optimistic(
    scores_in: ArrayLike,
    scores_out: ArrayLike,
    *,
    delta: float,
    confidence: float = 0.95,
    setting: Setting = PAPER,
) -> EpsilonBound:
    """Largest Clopper-Pearson ε over all thresholds of the same data: not a bound.

    Stands here because published audits print it. Without leakage it is positive in about 10 % of
    audits with 3,000 trials a world, where 5 % are allowed.
    """
    curve = roc(scores_in, scores_out)
    each = alpha_at(confidence) / 2

    def limits(points: IntArray) -> tuple[FloatArray, FloatArray]:
        spared = curve.n_out - curve.hits_out[points]
        return (
            lower_limits(curve.hits_in[points], curve.n_in, each),
            1 - lower_limits(spared, curve.n_out, each),
        )

    # Both rates grow along the curve, so a stretch of it cannot beat the TPR at its end with the
    # FPR at its start; only stretches that could hold the maximum are looked at closely.
    ends = np.unique(np.linspace(0, curve.thresholds.size - 1, 513).astype(int))
    tpr, fpr = limits(ends)
    best = float(unclipped_epsilon(tpr, fpr, delta=delta).max())
    promising = unclipped_epsilon(tpr[1:], fpr[:-1], delta=delta) > best
    inside = [
        np.arange(start, end)
        for start, end in zip(ends[:-1][promising], ends[1:][promising], strict=True)
    ]
    if inside:
        best = max(
            best, float(unclipped_epsilon(*limits(np.concatenate(inside)), delta=delta).max())
        )
    full = clopper_pearson(curve.n_in, curve.n_in, each).lower
    none = clopper_pearson(0, curve.n_out, each).upper
    return epsilon_bound(
        best,
        confidence=confidence,
        method="clopper_pearson_best_threshold_optimistic",
        threshold_rule="same_data",
        delta=delta,
        ceiling=max(0.0, unclipped_epsilon(full, none, delta=delta)),
        arms=(curve.n_in, curve.n_out),
        kind="optimistic",
        setting=setting,
    )


def empirical_epsilon_paper(
    scores_in: ArrayLike,
    scores_out: ArrayLike,
    *,
    delta: float,
    fpr: float = 0.1,
    setting: Setting = PAPER,
) -> EpsilonBound:
    """The paper's empirical ε, ln((TPR - δ) / 0.1) at FPR 0.1, in nats: a plug-in, not a bound.

    Never exceeds ln((1 - δ) / 0.1) = 2.30 whatever leaks; without leakage it is positive in about
    half of all audits. Reconstruction of arXiv:2512.16059, whose equation is not in our copy.
    """
    check_delta(delta)
    if not 0 < fpr < 1:
        raise ValueError(f"fpr must lie strictly between 0 and 1, got {fpr}")
    tpr = tpr_at_fpr(scores_in, scores_out, fpr).tpr
    return epsilon_bound(
        unclipped_epsilon(tpr, fpr, delta=delta, two_sided=False),
        confidence=None,
        method=f"empirical_epsilon_paper at FPR {fpr:g}",
        threshold_rule="fixed_rank",
        delta=delta,
        ceiling=max(0.0, math.log((1 - delta) / fpr)),
        arms=(np.size(scores_in), np.size(scores_out)),
        kind="plug_in",
        setting=setting,
    )
