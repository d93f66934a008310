"""Anytime-valid bounds on ε: bets against (ε, δ)-DP on pairs of trials, or on guesses.

Wealth and why it bounds errors: `betting`. Source: arXiv:2509.07055; Waudby-Smith and Ramdas 2024.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from contextleak_inspect.betting import RULES, betting_lower, log_wealth
from contextleak_inspect.bounds import (
    PAPER,
    EpsilonBound,
    Setting,
    ThresholdRule,
    alpha_at,
    check_delta,
    check_rule,
    epsilon_bound,
    unit_values,
)
from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.estimators import accuracy_to_epsilon
from contextleak_inspect.inversion import smallest_accepted
from contextleak_inspect.tradeoffs import dp_accuracy


def pair_log_wealth(
    values_in: ArrayLike, values_out: ArrayLike, *, epsilon: float, delta: float
) -> float:
    """Natural logarithm of the evidence against (ε, δ)-DP after these pairs.

    Payoff of a pair: (f(x) - e^ε f(y) - δ) / (e^ε + δ), with f in [0, 1] of the trial with the
    canary, x, and of the one without it, y.

    Args:
        values_in: f(x) of each pair, shape (n_pairs,).
        values_out: f(y) of each pair, shape (n_pairs,).
        epsilon: ε of the hypothesis.
        delta: δ of the hypothesis, in [0, 1).
    """
    check_delta(delta)
    inside, outside, counts = _pairs(values_in, values_out)
    return log_wealth(pair_payoffs(inside, outside, epsilon, delta), counts)


def epsilon_from_pairs(
    values_in: ArrayLike,
    values_out: ArrayLike,
    *,
    delta: float,
    confidence: float = 0.95,
    threshold_rule: ThresholdRule = "predictable",
    setting: Setting = PAPER,
) -> EpsilonBound:
    """Anytime-valid lower bound on ε in nats: the smallest ε that the pairs do not refute.

    Each pair is one trial with the canary and one without it, in planned order; pairs may stop at
    any time, and f may depend on earlier pairs. With δ > 0 wealth can wobble with ε; the value lies
    below the first ε that is not refuted, as `inversion.smallest_accepted` proves.

    Args:
        values_in: f of each canary-in trial, in [0, 1], shape (n_pairs,).
        values_out: f of each canary-out trial, shape (n_pairs,).
        delta: δ of the guarantee, in [0, 1).
        confidence: Probability that the bound holds at every time, in (0, 1).
        threshold_rule: How the threshold inside f came about.
        setting: What was audited.
    """
    check_delta(delta)
    check_rule(threshold_rule, RULES, "epsilon_from_pairs")
    target = -math.log(alpha_at(confidence))
    inside, outside, counts = _pairs(values_in, values_out)
    pairs = int(counts.sum())

    def evidence(epsilon: float) -> float:
        return log_wealth(pair_payoffs(inside, outside, epsilon, delta), counts) - target

    def floor(low: float, high: float) -> float:
        # A payoff rises or falls with ε all the way, so it is smallest at an end.
        ends = (pair_payoffs(inside, outside, end, delta) for end in (low, high))
        return log_wealth(np.minimum(*ends), counts) - target

    return epsilon_bound(
        smallest_accepted(evidence, floor if delta > 0 else None),
        confidence=confidence,
        method="e_process",
        threshold_rule=threshold_rule,
        delta=delta,
        ceiling=pair_ceiling(pairs, delta, target),
        arms=(pairs, pairs),
        setting=setting,
    )


def pair_ceiling(pairs: int, delta: float, target: float) -> float:
    """Largest ε that this many pairs can refute: every canary-in value 1, every other 0."""
    if pairs == 0:
        return 0.0
    counts, one, none = np.array([float(pairs)]), np.ones(1), np.zeros(1)
    return max(
        0.0,
        smallest_accepted(lambda e: log_wealth(pair_payoffs(one, none, e, delta), counts) - target),
    )


def pair_payoffs(
    values_in: FloatArray, values_out: FloatArray, epsilon: float | FloatArray, delta: float
) -> FloatArray:
    """(f(x) - e^ε f(y) - δ) / (e^ε + δ), at least -1, in a form that takes any ε."""
    with np.errstate(over="ignore"):
        shrink = np.exp(-np.asarray(epsilon, dtype=float))
    return np.asarray((shrink * (values_in - delta) - values_out) / (1 + delta * shrink))


def guess_log_wealth(correct: ArrayLike, *, epsilon: float, delta: float) -> float:
    """Natural logarithm of the evidence against (ε, δ)-DP after these guesses.

    Payoff of a guess c in {0, 1}: (c - q) / q with q = (e^ε + δ) / (1 + e^ε), the best accuracy.
    """
    check_delta(delta)
    best = dp_accuracy(epsilon, delta)
    values, counts = np.unique(unit_values(correct, "correct"), return_counts=True)
    return log_wealth((values - best) / best, counts.astype(float))


def epsilon_from_guesses(
    correct: ArrayLike,
    *,
    fair_coins: bool,
    delta: float,
    confidence: float = 0.95,
    threshold_rule: ThresholdRule = "predictable",
    setting: Setting = PAPER,
) -> EpsilonBound:
    """Anytime-valid lower bound on ε in nats from right and wrong guesses in planned order.

    Needs a fair, independent coin per trial; the guess may depend on earlier trials.

    Args:
        correct: 1 for a right guess, 0 for a wrong one, shape (n,).
        fair_coins: Whether a fair coin decided each trial; arms forced to equal size are not.
        delta: δ of the guarantee, in [0, 1).
        confidence: Probability that the bound holds at every time, in (0, 1).
        threshold_rule: How the threshold behind the guesses came about.
        setting: What was audited.
    """
    check_coins(fair_coins)
    check_rule(threshold_rule, RULES, "epsilon_from_guesses")
    alpha, array = alpha_at(confidence), unit_values(correct, "correct")
    perfect = betting_lower(np.ones(array.size), alpha)
    return epsilon_bound(
        accuracy_to_epsilon(betting_lower(array, alpha), delta=delta),
        confidence=confidence,
        method="accuracy_e_process",
        threshold_rule=threshold_rule,
        delta=delta,
        ceiling=max(0.0, accuracy_to_epsilon(perfect, delta=delta)),
        n=array.size,
        setting=setting,
    )


def check_coins(fair_coins: bool) -> None:
    """Guesses count only where a fair coin per trial decided the world."""
    if not fair_coins:
        raise ValueError(
            "bounds from guesses need a fair coin per trial, and these arms were set by design; "
            "use epsilon_from_pairs"
        )


def _pairs(
    values_in: ArrayLike, values_out: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distinct pairs and how often each came."""
    inside, outside = unit_values(values_in, "values_in"), unit_values(values_out, "values_out")
    if inside.size != outside.size:
        raise ValueError(
            f"every pair needs both worlds, got {inside.size} values with the canary "
            f"and {outside.size} without"
        )
    distinct, counts = np.unique(inside + 1j * outside, return_counts=True)
    return distinct.real.copy(), distinct.imag.copy(), counts.astype(float)
