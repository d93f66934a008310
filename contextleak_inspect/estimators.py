"""Hits and trials of both worlds → a lower bound on ε."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from contextleak_inspect.bounds import (
    PAPER,
    EpsilonBound,
    Outcomes,
    Setting,
    ThresholdRule,
    alpha_at,
    arm_sizes,
    check_rule,
    epsilon_bound,
)
from contextleak_inspect.rates import clopper_pearson, unclipped_epsilon

RULES: tuple[ThresholdRule, ...] = ("fixed", "fixed_rank", "holdout")


class RateLimits(NamedTuple):
    """Lower limit of TPR and upper limit of FPR, which hold together."""

    tpr_lower: float
    fpr_upper: float


class DeltaBound(NamedTuple):
    """A lower bound on δ at a claimed ε: above the claimed δ, it refutes the claim."""

    value: float
    unclipped: float
    epsilon: float
    confidence: float
    threshold_rule: ThresholdRule
    n_in: int
    n_out: int


def epsilon_lower_bound(
    canary_in: Outcomes,
    canary_out: Outcomes,
    *,
    delta: float,
    confidence: float = 0.95,
    two_sided: bool = True,
    setting: Setting = PAPER,
) -> EpsilonBound:
    """Largest ε in nats that the outcomes rule out: a lower bound on the true ε, at least 0.

    Any (ε, δ)-DP release has TPR ≤ e^ε FPR + δ and TNR ≤ e^ε FNR + δ. TPR is replaced by its
    Clopper-Pearson lower limit and FPR by its upper one, each failing with (1 - confidence) / 2;
    the second inequality needs the same two limits and costs nothing. Holds for independent
    trials and a threshold by the rules fixed, fixed_rank or holdout. Source: arXiv:2006.07709.

    Args:
        canary_in: Hits and trials with the canary in the context.
        canary_out: Hits and trials without it.
        delta: δ of the guarantee under audit, in [0, 1).
        confidence: Probability that the bound holds, in (0, 1).
        two_sided: Also use the misses; False keeps to ln((TPR - δ) / FPR).
        setting: What was audited.

    Raises:
        ValueError: A world without trials, a threshold chosen on the same data, or delta or
            confidence out of range.

    >>> round(epsilon_lower_bound(Outcomes(95, 100), Outcomes(5, 100), delta=0.0).value, 2)
    2.06
    """
    arms = arm_sizes(canary_in, canary_out)
    check_rule(canary_in.threshold_rule, RULES, "epsilon_lower_bound")
    return _clopper_pearson_epsilon(
        canary_in, canary_out, arms, delta, confidence, two_sided, 1, setting
    )


def epsilon_best_of(
    cells: Sequence[tuple[Outcomes, Outcomes]],
    *,
    delta: float,
    confidence: float = 0.95,
    two_sided: bool = True,
    setting: Setting = PAPER,
) -> EpsilonBound:
    """Lower bound on ε in nats from the best of C cells, each at error (1 - confidence) / C.

    A cell is a canary, a query or a threshold of a grid, as (canary_in, canary_out). Give all that
    were tried, not only the good ones.

    Args:
        cells: The outcomes of every cell, C of them.
        delta: δ of the guarantee, in [0, 1).
        confidence: Probability that the returned bound holds.
        two_sided: As in `epsilon_lower_bound`.
        setting: What was audited.
    """
    if not cells:
        raise ValueError("the best of no cells is undefined; give every cell that was tried")
    bounds = []
    for canary_in, canary_out in cells:
        arms = arm_sizes(canary_in, canary_out)
        check_rule(canary_in.threshold_rule, (*RULES, "grid"), "epsilon_best_of")
        bounds.append(
            _clopper_pearson_epsilon(
                canary_in, canary_out, arms, delta, confidence, two_sided, len(cells), setting
            )
        )
    best = max(bounds, key=lambda bound: bound.unclipped)
    return replace(best, method=f"clopper_pearson, best of {len(cells)}")


def epsilon_either_direction(
    canary_in: Outcomes,
    canary_out: Outcomes,
    *,
    delta: float,
    confidence: float = 0.95,
    setting: Setting = PAPER,
) -> EpsilonBound:
    """Lower bound on ε in nats when high scores may mean either world: two cells, half the error.

    Never an absolute value: the direction is a choice made on the data and is paid for.
    """
    check_rule(canary_in.threshold_rule, ("fixed", "holdout"), "epsilon_either_direction")
    flipped = [
        replace(outcomes, hits=outcomes.trials - outcomes.hits)
        for outcomes in (canary_in, canary_out)
    ]
    both = [(canary_in, canary_out), (flipped[0], flipped[1])]
    return epsilon_best_of(both, delta=delta, confidence=confidence, setting=setting)


def delta_lower_bound(
    canary_in: Outcomes,
    canary_out: Outcomes,
    *,
    epsilon: float,
    confidence: float = 0.95,
    two_sided: bool = False,
) -> DeltaBound:
    """Lower bound on δ at this ε: TPR - e^ε FPR at their limits, at least 0.

    Assumptions and error split as in `epsilon_lower_bound`. With two sides also TNR - e^ε FNR.
    """
    arms = arm_sizes(canary_in, canary_out)
    check_rule(canary_in.threshold_rule, RULES, "delta_lower_bound")
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon}")
    tpr, fpr = rate_limits(canary_in, canary_out, alpha_at(confidence))
    sides = [(tpr, fpr), (1 - fpr, 1 - tpr)] if two_sided else [(tpr, fpr)]
    factor = math.exp(epsilon) if epsilon < 700 else math.inf
    unclipped = max(right - factor * wrong for right, wrong in sides)
    rule = canary_in.threshold_rule
    return DeltaBound(max(0.0, unclipped), unclipped, epsilon, confidence, rule, *arms)


def epsilon_from_accuracy(
    canary_in: Outcomes,
    canary_out: Outcomes,
    *,
    fair_coins: bool,
    delta: float,
    confidence: float = 0.95,
    setting: Setting = PAPER,
) -> EpsilonBound:
    """Lower bound on ε in nats from the share of right guesses, both worlds taken together.

    With a fair, independent coin a trial, accuracy is at most (e^ε + δ) / (1 + e^ε), so
    ε ≥ ln((a - δ) / (1 - a)) with a the Clopper-Pearson lower limit of accuracy.

    Args:
        canary_in: Hits and trials with the canary; a hit is a right guess.
        canary_out: Hits and trials without it; a hit is a wrong guess. May be empty.
        fair_coins: Whether a fair coin decided each trial; arms forced to equal size are not.
        delta: δ of the guarantee, in [0, 1).
        confidence: Probability that the bound holds, in (0, 1).
        setting: What was audited.

    Raises:
        ValueError: No fair coins, no trials, or a threshold that depends on these trials.
    """
    if not fair_coins:
        raise ValueError(
            "the accuracy bound needs a fair coin per trial, and these arms were set by design; "
            "use epsilon_lower_bound"
        )
    check_rule(canary_in.threshold_rule, ("fixed", "holdout"), "epsilon_from_accuracy")
    check_rule(canary_out.threshold_rule, ("fixed", "holdout"), "epsilon_from_accuracy")
    alpha = alpha_at(confidence)
    n = canary_in.trials + canary_out.trials
    right = canary_in.hits + canary_out.trials - canary_out.hits
    return epsilon_bound(
        accuracy_to_epsilon(clopper_pearson(right, n, alpha).lower, delta=delta),
        confidence=confidence,
        method="accuracy_clopper_pearson",
        threshold_rule=canary_in.threshold_rule,
        delta=delta,
        ceiling=max(0.0, accuracy_to_epsilon(clopper_pearson(n, n, alpha).lower, delta=delta)),
        arms=(canary_in.trials, canary_out.trials),
        setting=setting,
    )


def accuracy_to_epsilon(accuracy: float, *, delta: float) -> float:
    """ln((a - δ) / (1 - a)) in nats, below 0 for small a: the ε at which a is the best accuracy."""
    return unclipped_epsilon(accuracy, 1 - accuracy, delta=delta, two_sided=False)


def rate_limits(canary_in: Outcomes, canary_out: Outcomes, alpha: float) -> RateLimits:
    """Limits of the two rates that matter, together failing with probability at most α."""
    return RateLimits(
        clopper_pearson(canary_in.hits, canary_in.trials, alpha / 2).lower,
        clopper_pearson(canary_out.hits, canary_out.trials, alpha / 2).upper,
    )


def perfect_outcomes(canary_in: Outcomes, canary_out: Outcomes) -> tuple[Outcomes, Outcomes]:
    """The best these trials could have shown; a rank stays where it is."""
    hits_out = canary_out.hits if canary_out.threshold_rule == "fixed_rank" else 0
    return replace(canary_in, hits=canary_in.trials), replace(canary_out, hits=hits_out)


def _clopper_pearson_epsilon(
    canary_in: Outcomes,
    canary_out: Outcomes,
    arms: tuple[int, int],
    delta: float,
    confidence: float,
    two_sided: bool,
    cells: int,
    setting: Setting,
) -> EpsilonBound:
    alpha = alpha_at(confidence) / cells
    found, perfect = (
        unclipped_epsilon(limits.tpr_lower, limits.fpr_upper, delta=delta, two_sided=two_sided)
        for limits in (
            rate_limits(canary_in, canary_out, alpha),
            rate_limits(*perfect_outcomes(canary_in, canary_out), alpha),
        )
    )
    return epsilon_bound(
        found,
        confidence=confidence,
        method="clopper_pearson",
        threshold_rule=canary_in.threshold_rule,
        delta=delta,
        ceiling=max(0.0, perfect),
        arms=arms,
        setting=setting,
    )
