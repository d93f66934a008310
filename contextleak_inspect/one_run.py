"""Many canaries in one run: right guesses about independent coins → a lower bound on ε."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betainc, ndtr, ndtri

from contextleak_inspect.bounds import (
    PAPER,
    EpsilonBound,
    Setting,
    alpha_at,
    check_alpha,
    check_delta,
    epsilon_bound,
)
from contextleak_inspect.calibration import FloatArray, gdp_epsilon
from contextleak_inspect.gaussian_model import MuBound, signed_gdp_epsilon
from contextleak_inspect.inversion import smallest_accepted

IntArray = NDArray[np.int64]
_LARGEST_MU = 38.0  # Φ(-38) is the last that is not 0


def one_run_p_value(
    canaries: int, guesses: int, correct: int, *, epsilon: float, delta: float
) -> float:
    """Chance bound for so many right guesses if the run is (ε, δ)-DP, at most 1.

    P(B ≥ v) + 2mδ max_i P(v - i ≤ B < v) / i with B ~ Binomial(r, e^ε / (1 + e^ε)), m canaries, r
    guesses, v right ones. Source: arXiv:2305.08846, Theorem 3.1.

    Args:
        canaries: Independent fair coins m, guessed or not.
        guesses: Coins guessed, r.
        correct: Right guesses, v.
        epsilon: ε of the hypothesis.
        delta: δ of the hypothesis, in [0, 1).
    """
    check_delta(delta)
    _check_counts(canaries, guesses, correct)
    return min(1.0, _p_value(canaries, guesses, correct, delta, epsilon, epsilon))


def epsilon_one_run(
    canaries: int,
    guesses: int,
    correct: int,
    *,
    delta: float,
    confidence: float = 0.95,
    setting: Setting = PAPER,
) -> EpsilonBound:
    """Lower bound on ε in nats from one run with m independent canaries.

    The smallest ε whose p-value is not below 1 - confidence. Which coins are guessed may depend on
    the run, for instance those with the most extreme scores, but how many (r) is fixed before it;
    the best of several r is a best of several cells. Abstentions count in m only.

    Raises:
        ValueError: Counts out of order.
    """
    check_delta(delta)
    _check_counts(canaries, guesses, correct)
    alpha = alpha_at(confidence)

    def bound(right: int) -> float:
        def floor(low: float, high: float) -> float:
            return alpha - _p_value(canaries, guesses, right, delta, low, high)

        return smallest_accepted(lambda e: floor(e, e), floor if delta > 0 else None)

    return epsilon_bound(
        bound(correct),
        confidence=confidence,
        method="one_run",
        threshold_rule="fixed",
        delta=delta,
        ceiling=max(0.0, bound(guesses)),
        n=canaries,
        setting=setting,
    )


def one_run_mu_lower_bound(
    canaries: int, guesses: int, correct: int, *, confidence: float = 0.95
) -> MuBound:
    """Lower bound on μ from one run, for a release with a Gaussian trade-off curve.

    The largest μ that the recursion of arXiv:2410.22235 refutes at 1 - confidence.
    """
    _check_counts(canaries, guesses, correct)
    alpha = alpha_at(confidence)

    def evidence(mu: float) -> float:
        return _one_run_excess(canaries, guesses, correct, alpha, mu)

    if evidence(-_LARGEST_MU) <= 0:
        return MuBound(0.0, -math.inf)
    root = float(brentq(evidence, -_LARGEST_MU, _LARGEST_MU, xtol=1e-12))
    return MuBound(max(0.0, root), root)


def epsilon_one_run_if_gaussian(
    canaries: int,
    guesses: int,
    correct: int,
    *,
    delta: float,
    confidence: float = 0.95,
    setting: Setting = PAPER,
) -> EpsilonBound:
    """ε in nats of the μ that one run shows; `model_based`, since the Gaussian curve is assumed."""
    shown = one_run_mu_lower_bound(canaries, guesses, correct, confidence=confidence)
    perfect = one_run_mu_lower_bound(canaries, guesses, guesses, confidence=confidence)
    return epsilon_bound(
        -math.inf if math.isinf(shown.unclipped) else signed_gdp_epsilon(shown.unclipped, delta),
        confidence=confidence,
        method="one_run_gaussian",
        threshold_rule="fixed",
        delta=delta,
        ceiling=gdp_epsilon(perfect.value, delta),
        n=canaries,
        kind="model_based",
        setting=setting,
    )


def _p_value(
    canaries: int, guesses: int, correct: int, delta: float, low: float, high: float
) -> float:
    """The p-value, or for low < high a number that it does not exceed between them."""
    tail = _at_least(guesses, np.array([correct]), high)[0]
    if delta == 0 or correct == 0:
        return float(tail)
    steps = np.arange(1, correct + 1)
    below = _at_least(guesses, correct - steps, high) - _at_least(guesses, np.array([correct]), low)
    return float(tail + 2 * canaries * delta * (below / steps).max())


def _at_least(guesses: int, counts: IntArray, epsilon: float) -> FloatArray:
    """P(B ≥ count) for B ~ Binomial(guesses, e^ε / (1 + e^ε)), as a Beta integral."""
    chance = 1 / (1 + math.exp(-epsilon))
    tail = betainc(np.maximum(counts, 1), guesses - np.maximum(counts, 1) + 1.0, chance)
    return np.where(counts > 0, tail, 1.0)


def _one_run_excess(canaries: int, guesses: int, correct: int, alpha: float, mu: float) -> float:
    """Above 0 where μ is refuted: what the two rates sum to, less what they may."""
    check_alpha(alpha)
    right, wrong = alpha * correct / canaries, alpha * (guesses - correct) / canaries
    for count in range(correct - 1, -1, -1):
        raised = max(wrong, float(ndtr(ndtri(right) - mu)))
        right += count / (guesses - count) * (raised - wrong)
        wrong = raised
    return right + wrong - guesses / canaries


def _check_counts(canaries: int, guesses: int, correct: int) -> None:
    if not (0 <= correct <= guesses <= canaries and guesses >= 1):
        raise ValueError(
            "need 0 ≤ correct ≤ guesses ≤ canaries and a guess, "
            f"got {correct}, {guesses} and {canaries}"
        )
