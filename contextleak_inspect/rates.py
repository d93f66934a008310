"""Hits and trials → limits for a rate; rates → ε."""

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from contextleak_inspect.bounds import (
    Outcomes,
    alpha_at,
    arm_sizes,
    check_alpha,
    check_delta,
    check_rule,
    unit_values,
)
from contextleak_inspect.calibration import F, FloatArray, like


class Limits(NamedTuple):
    """Lower and upper limit for a rate."""

    lower: float
    upper: float


class Band(NamedTuple):
    """Half-width of a band around an empirical distribution function, for one side or both."""

    one_sided: float
    two_sided: float


class Accuracy(NamedTuple):
    """Share of right guesses; `balanced` weighs both worlds alike and is the headline."""

    raw: float
    raw_interval: Limits
    balanced: float
    balanced_interval: Limits
    n_in: int
    n_out: int


def clopper_pearson(hits: int, trials: int, alpha: float, sides: Literal[1, 2] = 1) -> Limits:
    """Exact limits for the rate behind `hits` of `trials`.

    With one side each limit alone fails with probability at most α, both together with 2α. With
    two sides α is shared. Source: Clopper and Pearson 1934.

    Raises:
        ValueError: More hits than trials, no trials, or α out of range.

    >>> [round(limit, 4) for limit in clopper_pearson(3, 100, 0.05)]
    [0.0082, 0.0757]
    """
    check_alpha(alpha)
    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(f"need 0 ≤ hits ≤ trials and a trial, got {hits} of {trials}")
    # The upper limit is the lower limit of the misses, which keeps small error probabilities.
    error = alpha / sides
    lower, missed = lower_limits(np.array([hits, trials - hits]), trials, error).tolist()
    return Limits(lower, 1 - missed)


def lower_limits(hits: FloatArray, trials: int, alpha: float) -> FloatArray:
    """Clopper-Pearson lower limits for many counts of the same number of trials, any shape."""
    limits = betaincinv(np.maximum(hits, 1), trials - np.maximum(hits, 1) + 1.0, alpha)
    return np.asarray(np.where(np.asarray(hits) > 0, limits, 0.0))


def wilson(hits: int, trials: int, confidence: float = 0.95) -> Limits:
    """Wilson's two-sided interval for a rate: for display, its coverage is only approximate.

    >>> [round(limit, 4) for limit in wilson(70, 100)]
    [0.6042, 0.7811]
    """
    z = float(ndtri(1 - alpha_at(confidence) / 2))
    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(f"need 0 ≤ hits ≤ trials and a trial, got {hits} of {trials}")
    rate, shrink = hits / trials, 1 + z * z / trials
    middle = (rate + z * z / (2 * trials)) / shrink
    half = z / shrink * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials**2))
    return Limits(max(0.0, middle - half), min(1.0, middle + half))


def dkw(n: int, alpha: float) -> Band:
    """Half-width that an empirical distribution of n draws keeps everywhere, but for chance α.

    One-sided √(ln(1/α) / 2n), for α ≤ 1/2; two-sided √(ln(2/α) / 2n). Source: Massart 1990.

    >>> round(dkw(50, 0.05).two_sided, 4)
    0.1921
    """
    check_alpha(alpha)
    if n < 1:
        raise ValueError(f"n must be at least 1 draw, got {n}")
    # Above 1/2 the one-sided statement is not proved; the wider level 1/2 holds there too.
    one_sided = math.sqrt(math.log(1 / min(alpha, 0.5)) / (2 * n))
    return Band(one_sided, math.sqrt(math.log(2 / alpha) / (2 * n)))


def empirical_bernstein(values: ArrayLike, alpha: float) -> float:
    """Distance below the mean of n values in [0, 1] that the true mean keeps but for chance α.

    √(2 V ln(2/α) / n) + 7 ln(2/α) / (3(n - 1)), V the sample variance; infinite for one value.
    Shown for comparison only: betting bounds are tighter. Source: arXiv:0907.3740, Theorem 4.
    """
    check_alpha(alpha)
    array = unit_values(values, "values")
    if array.size == 1:
        return math.inf
    log = math.log(2 / alpha)
    variance = float(array.var(ddof=1))
    return math.sqrt(2 * variance * log / array.size) + 7 * log / (3 * (array.size - 1))


def unclipped_epsilon(tpr: F, fpr: F, *, delta: float, two_sided: bool = True) -> F:
    """ln((TPR - δ) / FPR) in nats, or with two sides the larger of it and ln((TNR - δ) / FNR).

    Minus infinity where the numerator is at most 0, infinity where only the denominator is 0.
    Both sides speak of the same event and its complement. Source: Kairouz, Oh, Viswanath 2015.

    Args:
        tpr: Rate of hits with the canary, any shape.
        fpr: Rate of hits without it, a shape that broadcasts against it.
        delta: δ of the guarantee, in [0, 1).
        two_sided: Also use the rates of misses.
    """
    check_delta(delta)
    true, false = np.asarray(tpr, dtype=float), np.asarray(fpr, dtype=float)
    for name, rates in (("tpr", true), ("fpr", false)):
        if not np.all((rates >= 0) & (rates <= 1)):
            raise ValueError(f"{name} must lie in [0, 1], got {rates.min()} to {rates.max()}")
    sides = [(true, false), (1 - false, 1 - true)] if two_sided else [(true, false)]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [
            np.where(right > delta, np.log(np.maximum(right - delta, 0)) - np.log(wrong), -np.inf)
            for right, wrong in sides
        ]
    return like(tpr, np.maximum.reduce(ratios))


def epsilon_from_rates(tpr: F, fpr: F, *, delta: float, two_sided: bool = True) -> F:
    """Smallest ε in nats that allows these rates, at least 0: exact for true rates only.

    For measured rates it is a point estimate, infinite without false alarms, and no bound.

    >>> round(epsilon_from_rates(0.9, 0.1, delta=0.0), 4)
    2.1972
    """
    unclipped = unclipped_epsilon(tpr, fpr, delta=delta, two_sided=two_sided)
    return like(tpr, np.maximum(np.asarray(unclipped), 0.0))


def accuracy(canary_in: Outcomes, canary_out: Outcomes, *, confidence: float = 0.95) -> Accuracy:
    """Share of right guesses over all trials, and balanced over the two worlds.

    Only balanced accuracy compares with Φ(μ/2) when the worlds differ in size. Its interval joins
    exact limits for both rates; the raw one is Wilson's.

    Raises:
        ValueError: A world is empty, or the threshold came from the scores that are judged.
    """
    n_in, n_out = arm_sizes(canary_in, canary_out)
    check_rule(canary_in.threshold_rule, ("fixed", "holdout"), "accuracy")
    right_out = canary_out.trials - canary_out.hits
    each = alpha_at(confidence) / 4
    found = clopper_pearson(canary_in.hits, n_in, each)
    spared = clopper_pearson(right_out, n_out, each)
    return Accuracy(
        raw=(canary_in.hits + right_out) / (n_in + n_out),
        raw_interval=wilson(canary_in.hits + right_out, n_in + n_out, confidence),
        balanced=(canary_in.hits / n_in + right_out / n_out) / 2,
        balanced_interval=Limits(
            (found.lower + spared.lower) / 2, (found.upper + spared.upper) / 2
        ),
        n_in=n_in,
        n_out=n_out,
    )
