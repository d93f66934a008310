"""Audits under way: the e-processes of `sequential`, one trial at a time."""

import math
from typing import NamedTuple

import numpy as np

from contextleak_inspect.betting import BETS, RULES, betting_lower_of_counts, log_mean
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
from contextleak_inspect.sequential import check_coins, pair_ceiling, pair_payoffs

# Edges of the intervals a running state keeps: 16 nats would take more than 10⁷ pairs to show.
GRID: FloatArray = np.linspace(0.0, 16.0, 1601)


class PairState(NamedTuple):
    """A paired audit between two trials: replaced by `pair_added`, never changed."""

    log_wealth: FloatArray  # shape (20, 1600): per bet and interval of GRID, never too high
    pairs: int
    value: float  # largest bound reached so far, in nats
    delta: float
    confidence: float


class GuessState(NamedTuple):
    """Right guesses so far, and the largest bound reached; replaced by `guess_added`."""

    right: int
    guesses: int
    accuracy: float  # largest lower limit of accuracy so far
    confidence: float


def pair_start(*, delta: float, confidence: float = 0.95) -> PairState:
    """The state before the first pair."""
    check_delta(delta)
    alpha_at(confidence)
    return PairState(np.zeros((BETS.size, GRID.size - 1)), 0, 0.0, delta, confidence)


def pair_added(state: PairState, value_in: float, value_out: float) -> PairState:
    """The state after one more pair; takes the same time however many came before.

    On each interval of GRID the smaller payoff of its two ends is bet, so an interval whose wealth
    reaches 1/α is refuted throughout. The running maximum of the bound stays valid.
    """
    inside, outside = unit_values([value_in], "value_in"), unit_values([value_out], "value_out")
    ends = pair_payoffs(inside, outside, GRID, state.delta)
    payoffs = np.minimum(ends[:-1], ends[1:])
    wealth = state.log_wealth + np.log1p(BETS[:, None] * payoffs)
    refuted = log_mean(wealth) >= -math.log(alpha_at(state.confidence))
    reached = GRID[-1] if refuted.all() else GRID[int(np.argmin(refuted))]
    return state._replace(
        log_wealth=wealth, pairs=state.pairs + 1, value=max(state.value, float(reached))
    )


def pair_bound(
    state: PairState,
    *,
    threshold_rule: ThresholdRule = "predictable",
    setting: Setting = PAPER,
) -> EpsilonBound:
    """The bound at this time: the largest so far, up to 0.01 nats below the exact one.

    Its ceiling includes the end of GRID, 16 nats.
    """
    target = -math.log(alpha_at(state.confidence))
    check_rule(threshold_rule, RULES, "pair_bound")
    return epsilon_bound(
        state.value,
        confidence=state.confidence,
        method="e_process, running maximum",
        threshold_rule=threshold_rule,
        delta=state.delta,
        ceiling=min(float(GRID[-1]), pair_ceiling(state.pairs, state.delta, target)),
        arms=(state.pairs, state.pairs),
        setting=setting,
    )


def guess_start(*, fair_coins: bool, confidence: float = 0.95) -> GuessState:
    """The state before the first guess."""
    check_coins(fair_coins)
    alpha_at(confidence)
    return GuessState(0, 0, 0.0, confidence)


def guess_added(state: GuessState, correct: bool) -> GuessState:
    """The state after one more guess; keeps the largest limit reached, which stays valid."""
    right, guesses = state.right + bool(correct), state.guesses + 1
    limit = betting_lower_of_counts(right, guesses, alpha_at(state.confidence))
    return state._replace(right=right, guesses=guesses, accuracy=max(state.accuracy, limit))


def guess_bound(
    state: GuessState,
    *,
    delta: float,
    threshold_rule: ThresholdRule = "predictable",
    setting: Setting = PAPER,
) -> EpsilonBound:
    """The bound at this time: the largest so far."""
    check_delta(delta)
    check_rule(threshold_rule, RULES, "guess_bound")
    alpha, n = alpha_at(state.confidence), state.guesses
    perfect = betting_lower_of_counts(n, n, alpha) if n else 0.0
    return epsilon_bound(
        accuracy_to_epsilon(state.accuracy, delta=delta),
        confidence=state.confidence,
        method="accuracy_e_process, running maximum",
        threshold_rule=threshold_rule,
        delta=delta,
        ceiling=max(0.0, accuracy_to_epsilon(perfect, delta=delta)),
        n=n,
        setting=setting,
    )
