"""What a guarantee still allows an attack: its accuracy, and its TPR at a given FPR."""

import math

import numpy as np
from scipy.special import ndtr, ndtri

from contextleak_inspect.calibration import F, FloatArray, like


def gdp_accuracy(mu: F) -> F:
    """Best balanced accuracy against a μ-Gaussian-DP release, Φ(μ/2). Source: arXiv:1905.02383.

    >>> round(gdp_accuracy(1.0), 4)
    0.6915
    """
    if not np.all(np.asarray(mu) >= 0):
        raise ValueError(f"mu must be at least 0, got {mu}")
    return like(mu, ndtr(np.asarray(mu) / 2))


def gdp_tpr(fpr: F, mu: float) -> F:
    """Best TPR at this FPR against a μ-Gaussian-DP release, 1 - Φ(z(1 - FPR) - μ).

    >>> round(gdp_tpr(0.1, mu=1.0), 4)
    0.3891
    """
    _check_rate(fpr)
    if not mu >= 0:
        raise ValueError(f"mu must be at least 0, got {mu}")
    return like(fpr, np.ones_like(fpr) if math.isinf(mu) else ndtr(ndtri(fpr) + mu))


def dp_accuracy(epsilon: F, delta: float) -> F:
    """Best balanced accuracy against any (ε, δ)-DP release, (e^ε + δ) / (1 + e^ε).

    Source: Kairouz, Oh & Viswanath 2015, Theorem 2.1.

    >>> round(dp_accuracy(1.0, delta=0.0), 4)
    0.7311
    """
    _check_guarantee(epsilon, delta)
    relative = np.exp(-np.asarray(epsilon))
    return like(epsilon, (1 + delta * relative) / (1 + relative))


def dp_tpr(fpr: F, epsilon: float, delta: float) -> F:
    """Best TPR at this FPR against any (ε, δ)-DP release.

    min(1, δ + e^ε FPR, 1 - e^-ε (1 - δ - FPR)): the upper edge of the privacy region.
    Source: Kairouz, Oh & Viswanath 2015, Theorem 2.1.

    >>> round(dp_tpr(0.1, epsilon=1.0, delta=0.0), 4)
    0.2718
    """
    _check_rate(fpr)
    _check_guarantee(epsilon, delta)
    if math.isinf(epsilon):
        return like(fpr, np.ones_like(fpr))
    rates = np.asarray(fpr)
    # e^700 is still finite, and FPR times it above 1 for every FPR that can be counted
    few_misses = 1 - math.exp(-epsilon) * (1 - delta - rates)
    few_false_alarms = delta + math.exp(min(epsilon, 700.0)) * rates
    return like(fpr, np.minimum(1.0, np.minimum(few_false_alarms, few_misses)))


def _check_rate(fpr: float | FloatArray) -> None:
    if not (np.all(np.asarray(fpr) >= 0) and np.all(np.asarray(fpr) <= 1)):
        raise ValueError(f"fpr must be in [0, 1], got {fpr}")


def _check_guarantee(epsilon: float | FloatArray, delta: float) -> None:
    if not np.all(np.asarray(epsilon) >= 0):
        raise ValueError(f"epsilon must be at least 0, got {epsilon}")
    if not 0 <= delta < 1:
        raise ValueError(f"delta must be in [0, 1), got {delta}")
