"""Bets on means: limits for values in [0, 1] that hold at every time at once.

A bet multiplies wealth by 1 + λ · payoff, which stays above 0 and does not grow on average if the
hypothesis is true; so wealth ever reaches 1/α with probability at most α (Ville). The wealth here
is the mean over 20 sizes of λ. Source: Waudby-Smith and Ramdas 2024.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from contextleak_inspect.bounds import (
    PAPER,
    EpsilonBound,
    Outcomes,
    Setting,
    ThresholdRule,
    alpha_at,
    check_alpha,
    check_rule,
    epsilon_bound,
    unit_values,
)
from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.rates import Accuracy, Limits, accuracy, unclipped_epsilon

# Shares of the largest bet that never loses everything.
BETS: FloatArray = 0.95 * np.arange(1, 21) / 20
# What a value may depend on without spoiling a bet: nothing of its own trial or of later ones.
MEAN_RULES: tuple[ThresholdRule, ...] = ("fixed", "holdout")  # one mean for all trials
RULES: tuple[ThresholdRule, ...] = (*MEAN_RULES, "predictable")
_BLOCK = 128  # factors multiplied before a logarithm: 0.05^128 and 100^128 are still floats
_SMALLEST_MEAN = 1e-300


def log_wealth(payoffs: FloatArray, counts: FloatArray) -> float:
    """Natural logarithm of the wealth after bets with these payoffs, at least -1 each."""
    return float(log_mean(_log_products(payoffs, counts)))


def log_mean(logs: FloatArray) -> FloatArray:
    """Logarithm of the mean over the bets, which are the first axis."""
    highest = logs.max(axis=0)
    return np.asarray(highest + np.log(np.exp(logs - highest).mean(axis=0)))


def betting_bounds(values: ArrayLike, alpha: float) -> Limits:
    """Limits for the mean of independent values in [0, 1], each failing with probability ≤ α.

    Lower limit: the smallest mean μ at which bets with payoff (x - μ) / μ have not reached 1/α;
    the upper one is its mirror image. Valid at every time of a growing sample, and for values
    whose mean given the past is constant.

    Args:
        values: Values in [0, 1] in the order they came, shape (n,).
        alpha: Error probability of each limit.
    """
    check_alpha(alpha)
    array = unit_values(values, "values")
    return Limits(betting_lower(array, alpha), 1 - betting_lower(1 - array, alpha))


def betting_lower(values: FloatArray, alpha: float) -> float:
    """The lower limit of `betting_bounds`; 0 where it is too small for a float."""
    distinct, counts = np.unique(values, return_counts=True)
    return _lower(distinct, counts.astype(float), alpha)


def betting_lower_of_counts(ones: int, trials: int, alpha: float) -> float:
    """The same for `ones` values 1 among `trials`, all others 0."""
    return _lower(np.array([0.0, 1.0]), np.array([float(trials - ones), float(ones)]), alpha)


def accuracy_at_any_time(
    canary_in: Outcomes, canary_out: Outcomes, *, confidence: float = 0.95
) -> Accuracy:
    """`rates.accuracy` with intervals that hold at every number of trials at once.

    For runs whose number of trials depended on them: an interval for a fixed number would miss the
    truth too often. Both intervals join limits for the two rates.

    Raises:
        ValueError: A world is empty, or the threshold came from the scores that are judged.
    """
    fixed = accuracy(canary_in, canary_out, confidence=confidence)
    each, n = alpha_at(confidence) / 4, (fixed.n_in, fixed.n_out)
    right = (canary_in.hits, canary_out.trials - canary_out.hits)
    lower = [betting_lower_of_counts(ones, of, each) for ones, of in zip(right, n, strict=True)]
    upper = [
        1 - betting_lower_of_counts(of - ones, of, each) for ones, of in zip(right, n, strict=True)
    ]
    return fixed._replace(
        raw_interval=Limits(*(float(np.average(limits, weights=n)) for limits in (lower, upper))),
        balanced_interval=Limits(sum(lower) / 2, sum(upper) / 2),
    )


def epsilon_betting(
    values_in: ArrayLike,
    values_out: ArrayLike,
    *,
    delta: float,
    confidence: float = 0.95,
    threshold_rule: ThresholdRule = "fixed",
    setting: Setting = PAPER,
) -> EpsilonBound:
    """Lower bound on ε in nats from per-trial hit probabilities, such as noise integrated out.

    TPR and FPR are the means of the values; each limit by `betting_bounds` at
    (1 - confidence) / 2. The number of values is the number of independent model draws, never the
    number of noise draws.

    Args:
        values_in: Hit probability of each trial with the canary, in [0, 1], shape (n_in,).
        values_out: The same without it, shape (n_out,).
        delta: δ of the guarantee, in [0, 1).
        confidence: Probability that the bound holds, in (0, 1).
        threshold_rule: How the threshold inside the values came about.
        setting: What was audited.
    """
    check_rule(threshold_rule, MEAN_RULES, "epsilon_betting")
    inside, outside = unit_values(values_in, "values_in"), unit_values(values_out, "values_out")
    each = alpha_at(confidence) / 2
    found = unclipped_epsilon(
        betting_bounds(inside, each).lower, betting_bounds(outside, each).upper, delta=delta
    )
    perfect = unclipped_epsilon(
        betting_bounds(np.ones(inside.size), each).lower,
        betting_bounds(np.zeros(outside.size), each).upper,
        delta=delta,
    )
    return epsilon_bound(
        found,
        confidence=confidence,
        method="betting",
        threshold_rule=threshold_rule,
        delta=delta,
        ceiling=max(0.0, perfect),
        arms=(inside.size, outside.size),
        setting=setting,
    )


def _log_products(payoffs: FloatArray, counts: FloatArray) -> FloatArray:
    """Logarithm of each bet's wealth, shape (20,)."""
    if payoffs.size < _BLOCK:
        return np.asarray(np.log1p(BETS[:, None] * payoffs) @ counts)
    if counts.max() > 1 or payoffs.max() > 100:
        return np.array([float(counts @ np.log1p(bet * payoffs)) for bet in BETS])
    rest = payoffs.size % _BLOCK
    blocks, tail = payoffs[rest:].reshape(_BLOCK, -1), payoffs[:rest]
    return np.array([
        float(np.log((1 + bet * blocks).prod(axis=0)).sum() + np.log1p(bet * tail).sum())
        for bet in BETS
    ])


def _lower(distinct: FloatArray, counts: FloatArray, alpha: float) -> float:
    target, middle = -math.log(alpha), float(counts @ distinct) / float(counts.sum())
    if middle < _SMALLEST_MEAN:
        return 0.0

    def evidence(log_of_mean: float) -> float:
        mean = math.exp(log_of_mean)
        return log_wealth((distinct - mean) / mean, counts) - target

    # No bet wins against the sample's own mean, and wealth falls as the mean rises.
    low = high = math.log(middle)
    while evidence(low) < 0:
        low -= 1.0
        if low < math.log(_SMALLEST_MEAN):
            return 0.0
    return math.exp(float(brentq(evidence, low, high, xtol=1e-13)))
