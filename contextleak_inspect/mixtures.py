"""The best any test can do between two Gaussian mixtures that differ in one shard's vote.

Shard answers vary from trial to trial, so each world is a mixture: k votes for the canary's answer
with a known probability, then noise. In units of the score's noise, k votes lie at k μ, with μ the
step of one vote. The two laws share all shards but one, so their likelihood ratio grows with k
(Poisson-binomial laws are log-concave) and thresholds are the best tests.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp, ndtr

from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.vote_laws import VoteLaw

_TAIL = 40.0  # in standard deviations; beyond it Φ is below 1e-300
_WIDTH = 1e-10  # half-width of the bracket around the best threshold
_EQUAL = 1e-11  # laws whose probabilities differ by less, relatively, count as equal


class EpsilonTruth(NamedTuple):
    """ε of a pair of laws at δ, in nats: it lies between `value` and `value + error`."""

    value: float
    error: float


def best_accuracy(law: VoteLaw, mu: float) -> float:
    """Best balanced accuracy of any test, (1 + total variation) / 2, rounding error only.

    Args:
        law: Votes in both worlds.
        mu: Step of one vote over the noise of the score; 0 is no dependence, infinity no noise.

    Raises:
        ValueError: μ is negative.
    """
    law = _rising(law, mu)
    if mu == 0 or _equal(law):
        return 0.5
    if math.isinf(mu):
        gap = float(np.max(_upper_sums(law.canary_in) - _upper_sums(law.canary_out)))
    else:
        threshold = _falls_below_zero(lambda t: -_log_ratio(law, mu, t), law, mu)
        gap = _beyond(law.canary_in - law.canary_out, mu, threshold)
    return 0.5 + max(0.0, gap) / 2


def best_tpr(law: VoteLaw, mu: float, fpr: float) -> float:
    """Best TPR of any test with this FPR; without noise the test may flip a coin on one count.

    Raises:
        ValueError: μ is negative or FPR is not in [0, 1].
    """
    if not 0 <= fpr <= 1:
        raise ValueError(f"fpr must lie in [0, 1], got {fpr}")
    law = _rising(law, mu)
    if mu == 0 or fpr == 1:
        return float(fpr)
    if math.isinf(mu):
        false, true = _upper_sums(law.canary_out)[::-1], _upper_sums(law.canary_in)[::-1]
        first = np.searchsorted(false, fpr, side="right") - 1  # counts that fit in whole
        room, width = fpr - false[first], np.append(np.diff(false), 0)[first]
        gain = np.append(np.diff(true), 0)[first]
        return float(true[first] + (gain * room / width if width > 0 else 0.0))
    if fpr == 0:
        return 0.0
    threshold = _falls_below_zero(
        lambda t: _log_beyond(law.canary_out, mu, t) - math.log(fpr), law, mu
    )
    return min(1.0, float(_beyond(law.canary_in, mu, threshold)))


def true_epsilon(law: VoteLaw, mu: float, delta: float) -> EpsilonTruth:
    """Smallest ε at which the pair is (ε, δ)-indistinguishable, in both directions.

    That is the largest ln((P(E) - δ) / Q(E)) over events, which for a growing likelihood ratio
    are thresholds: its maximum over t is where it equals the log-likelihood ratio at t, and that
    happens once. The value is reached by a threshold; the error is the width of a bracket around
    the maximum, and rounding.

    Args:
        law: Votes in both worlds.
        mu: Step of one vote over the noise of the score; 0 is no dependence, infinity no noise.
        delta: δ of the guarantee, in [0, 1).

    Raises:
        ValueError: μ is negative, or δ out of range.
    """
    if not 0 <= delta < 1:
        raise ValueError(f"delta must be in [0, 1), got {delta}")
    law = _rising(law, mu)
    if mu == 0 or _equal(law):
        return EpsilonTruth(0.0, _EQUAL)
    swapped = VoteLaw(law.canary_out[::-1], law.canary_in[::-1])
    return max(_one_direction(law, mu, delta), _one_direction(swapped, mu, delta))


def _one_direction(law: VoteLaw, mu: float, delta: float) -> EpsilonTruth:
    with np.errstate(divide="ignore", invalid="ignore"):
        if delta == 0:  # the ratio of tails only grows; its limit is that of the outermost count
            outermost = np.flatnonzero(law.canary_in + law.canary_out)[-1]
            limit = np.log(law.canary_in[outermost]) - np.log(law.canary_out[outermost])
            return EpsilonTruth(max(0.0, float(limit)), 0.0)
        if math.isinf(mu):
            excess = _upper_sums(law.canary_in)[:-1] - delta
            ratios = np.log(np.maximum(excess, 0)) - np.log(_upper_sums(law.canary_out)[:-1])
            value = float(np.max(ratios[excess > 0], initial=0.0))
            return EpsilonTruth(value, 1e-12 if math.isfinite(value) else 0.0)

    def tail_ratio(t: float) -> float:
        excess = float(_beyond(law.canary_in, mu, t)) - delta
        return math.log(excess) - _log_beyond(law.canary_out, mu, t) if excess > 0 else -math.inf

    def slope(t: float) -> float:
        return max(-1e9, tail_ratio(t) - _log_ratio(law, mu, t))

    if slope(-_TAIL) <= 0:  # no threshold does better than always saying "in"
        return EpsilonTruth(0.0, 0.0)
    best = _falls_below_zero(slope, law, mu)
    width = _WIDTH * (1 + abs(best))
    value = max(0.0, tail_ratio(best))
    above = _log_ratio(law, mu, best + width)  # the maximum equals the ratio left of here
    return EpsilonTruth(value, max(0.0, above - value) + 1e-13 * (1 + abs(value)))


def _rising(law: VoteLaw, mu: float) -> VoteLaw:
    """The law with votes counted so that more of them speak for the canary."""
    if not mu >= 0:
        raise ValueError(f"mu must be at least 0, got {mu}")
    counts = np.arange(law.canary_in.size)
    if counts @ law.canary_in < counts @ law.canary_out:
        law = VoteLaw(law.canary_in[::-1], law.canary_out[::-1], law.neighbouring)
    grown = law.canary_in[1:] * law.canary_out[:-1]
    if np.any(grown < law.canary_in[:-1] * law.canary_out[1:] * (1 - 1e-9)):
        raise ValueError(
            "the likelihood ratio of the worlds must grow with the votes, "
            f"got canary_in {law.canary_in.tolist()} and canary_out {law.canary_out.tolist()}"
        )
    return law


def _equal(law: VoteLaw) -> bool:
    return np.allclose(law.canary_in, law.canary_out, rtol=_EQUAL, atol=0)


def _upper_sums(pmf: FloatArray) -> FloatArray:
    """P(k at least j) for j = 0..m, and 0 for m + 1."""
    return np.append(np.cumsum(pmf[::-1])[::-1], 0.0)


def _beyond(weights: FloatArray, mu: float, threshold: float) -> float:
    """Weight of the noisy votes above the threshold."""
    return float(weights @ ndtr(mu * np.arange(weights.size) - threshold))


def _log_beyond(pmf: FloatArray, mu: float, threshold: float) -> float:
    kept = np.flatnonzero(pmf)
    return float(logsumexp(np.log(pmf[kept]) + log_ndtr(mu * kept - threshold)))


def _log_ratio(law: VoteLaw, mu: float, score: float) -> float:
    """Log-likelihood ratio of the worlds at a noisy score."""
    inside, outside = (
        logsumexp(np.log(pmf[kept]) - (mu * kept - score) ** 2 / 2)
        for pmf in (law.canary_in, law.canary_out)
        for kept in [np.flatnonzero(pmf)]
    )
    return float(inside - outside)


def _falls_below_zero(function: Callable[[float], float], law: VoteLaw, mu: float) -> float:
    """The threshold at which a function that crosses zero once, downward, does so."""
    right = mu * (law.canary_in.size - 1) + _TAIL
    return float(brentq(function, -_TAIL, right, xtol=1e-13, rtol=1e-14, maxiter=500))
