"""Counts of both worlds → posterior of ε: credible, not a bound with coverage."""

import math
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv

from contextleak_inspect.bounds import (
    PAPER,
    EpsilonBound,
    Outcomes,
    Setting,
    alpha_at,
    arm_sizes,
    check_delta,
    check_rule,
    epsilon_bound,
)

# Gauss-Legendre on pieces that shrink towards both ends, where quantiles of a Beta bend.
_TAILS = 10.0 ** np.array([-16, -14, -12, -10, -8, -7, -6, -5, -4, -3, -2, -1])
_EDGES = np.concatenate([[0.0], _TAILS, [0.3, 0.5, 0.7], (1 - _TAILS)[::-1], [1.0]])
_BENDS = np.array([0, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-3, 1 - 1e-6, 1 - 1e-9, 1])
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_HIGHEST = 700.0  # nats; e^700 is still a float


def epsilon_posterior(
    canary_in: Outcomes, canary_out: Outcomes, *, epsilon: float, delta: float
) -> float:
    """Posterior probability that the true rates fit (ε, δ)-DP, under Jeffreys priors.

    FNR and FPR have independent Beta(1/2, 1/2) priors; the rates fit if (FPR, FNR) and its mirror
    image lie above both lines of the privacy region. Source: arXiv:2206.05199.
    """
    check_delta(delta)
    arm_sizes(canary_in, canary_out)
    return _posterior(canary_in, canary_out, delta, epsilon)


def epsilon_credible(
    canary_in: Outcomes,
    canary_out: Outcomes,
    *,
    delta: float,
    confidence: float = 0.95,
    setting: Setting = PAPER,
) -> EpsilonBound:
    """ε in nats that the posterior exceeds with probability `confidence`: labelled credible.

    Uses both directions of the score. Its coverage over repeated audits is not promised: at δ = 0,
    every audit of a harmless system gives more than 0; at ε = 3 and 50 trials a world, up to 22 %
    of audits exceed the truth.

    Raises:
        ValueError: A world without trials, or a threshold that depends on these trials.
    """
    check_delta(delta)
    arms = arm_sizes(canary_in, canary_out)
    check_rule(canary_in.threshold_rule, ("fixed", "holdout"), "epsilon_credible")
    alpha = alpha_at(confidence)
    perfect = (Outcomes(arms[0], arms[0]), Outcomes(0, arms[1]))
    return epsilon_bound(
        _quantile(canary_in, canary_out, delta, alpha),
        confidence=confidence,
        method="beta_posterior",
        threshold_rule=canary_in.threshold_rule,
        delta=delta,
        ceiling=_quantile(*perfect, delta, alpha),
        arms=arms,
        kind="credible",
        setting=setting,
    )


def _quantile(canary_in: Outcomes, canary_out: Outcomes, delta: float, alpha: float) -> float:
    posterior = partial(_posterior, canary_in, canary_out, delta)
    if posterior(0.0) >= alpha:
        return 0.0
    high = 1.0
    while posterior(high) < alpha and high < _HIGHEST:
        high *= 2
    return float(brentq(lambda epsilon: posterior(epsilon) - alpha, 0.0, high, xtol=1e-12))


def _posterior(canary_in: Outcomes, canary_out: Outcomes, delta: float, epsilon: float) -> float:
    """∫ P(lowest(x) ≤ FPR ≤ highest(x)) over the posterior of x = FNR."""
    grow, room = math.exp(min(epsilon, _HIGHEST)), 1 - delta
    a, b = canary_out.hits + 0.5, canary_out.trials - canary_out.hits + 0.5
    c, d = canary_in.trials - canary_in.hits + 0.5, canary_in.hits + 0.5
    # The integrand bends where an edge of the region meets another, or the bulk of FPR.
    fpr = betaincinv(a, b, _BENDS)
    bends = [
        (room - fpr) / grow,
        room - grow * fpr,
        (grow + delta - fpr) / grow,
        grow + delta - grow * fpr,
        np.array([room, grow + delta]) / (1 + grow),
    ]
    at = betainc(c, d, np.clip(np.concatenate(bends), 0, 1))
    # Below the first edge lies next to nothing, and inverses of denormal numbers fail.
    edges = np.unique(np.concatenate([_EDGES, at[at > _TAILS[0]]]))
    widths = np.diff(edges)[:, None] / 2
    fnr = betaincinv(c, d, (edges[:-1, None] + widths * (_POINTS + 1)).ravel())
    lowest = np.clip(np.maximum(room - grow * fnr, (room - fnr) / grow), 0, 1)
    highest = np.clip(np.minimum(grow + delta - grow * fnr, (grow + delta - fnr) / grow), lowest, 1)
    inside = betainc(a, b, highest) - betainc(a, b, lowest)
    return float((widths * _WEIGHTS).ravel() @ inside)
