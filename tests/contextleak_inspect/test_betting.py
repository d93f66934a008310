import math

import numpy as np
import pytest
from scipy.optimize import brentq

from contextleak_inspect.betting import (
    BETS,
    accuracy_at_any_time,
    betting_bounds,
    betting_lower,
    betting_lower_of_counts,
    epsilon_betting,
    log_mean,
    log_wealth,
)
from contextleak_inspect.bounds import Outcomes
from contextleak_inspect.rates import accuracy, unclipped_epsilon


def slow_log_wealth(payoffs: np.ndarray) -> float:
    wealths = []
    for step in range(1, 21):
        wealth = 0.0
        for payoff in payoffs:
            wealth += math.log(1 + 0.95 * step / 20 * payoff)
        wealths.append(wealth)
    top = max(wealths)
    return top + math.log(sum(math.exp(w - top) for w in wealths) / 20)


@pytest.mark.parametrize("n", [1, 127, 128, 129, 1000])
def test_wealth_is_the_mean_of_twenty_products(n: int) -> None:
    payoffs = np.random.default_rng(n).uniform(-1, 1.5, n)
    assert log_wealth(payoffs, np.ones(n)) == pytest.approx(slow_log_wealth(payoffs), abs=1e-9)
    twice = log_wealth(payoffs, np.full(n, 2.0))
    assert twice == pytest.approx(slow_log_wealth(np.repeat(payoffs, 2)), abs=1e-9)


def test_wealth_survives_the_worst_and_the_best_payoffs() -> None:
    assert log_wealth(-np.ones(200_000), np.ones(200_000)) == pytest.approx(
        200_000 * math.log1p(-BETS[0]) - math.log(20)
    )
    assert math.isfinite(log_wealth(np.full(1000, 1e9), np.ones(1000)))


def test_the_lower_limit_is_where_wealth_first_stays_below_its_target() -> None:
    values = np.random.default_rng(1).beta(4, 2, 40)
    lower = brentq(lambda m: slow_log_wealth((values - m) / m) - math.log(20), 0.01, 0.99)
    limits = betting_bounds(values, 0.05)
    assert limits.lower == pytest.approx(lower, abs=1e-10)
    mirrored = betting_bounds(1 - values, 0.05)
    assert limits.upper == pytest.approx(1 - mirrored.lower, abs=1e-12)


def test_counts_and_values_give_the_same() -> None:
    values = np.repeat([0.0, 1.0], [7, 23])
    assert betting_lower(values, 0.05) == pytest.approx(betting_lower_of_counts(23, 30, 0.05))


@pytest.mark.parametrize("values", [[0.0], [0.0] * 50, [1e-320] * 3])
def test_nothing_but_zeros_has_lower_limit_zero(values: list[float]) -> None:
    assert betting_bounds(values, 0.05).lower == 0.0


def test_one_tiny_value_among_many_zeros_is_no_error() -> None:
    assert 0 <= betting_bounds([1e-12, *[0.0] * 5000], 0.05).lower < 1e-100
    assert betting_bounds([1e-12, *[0.0] * 50_000], 0.05).lower == 0.0


def test_limits_lie_around_the_mean_inside_the_unit_interval() -> None:
    for values in ([0.5], [1.0], [1.0] * 1000, [0.3, 0.9]):
        lower, upper = betting_bounds(values, 0.025)
        assert 0 <= lower < np.mean(values) <= upper <= 1 or lower < upper == 1


def test_epsilon_from_probabilities_is_that_of_both_limits() -> None:
    rng = np.random.default_rng(2)
    inside, outside = rng.uniform(0.6, 1, 80), rng.uniform(0, 0.2, 50)
    bound = epsilon_betting(inside, outside, delta=1e-5)
    expected = unclipped_epsilon(
        betting_bounds(inside, 0.025).lower, betting_bounds(outside, 0.025).upper, delta=1e-5
    )
    assert bound.value == pytest.approx(expected)
    assert (bound.n_in, bound.n_out, bound.method) == (80, 50, "betting")
    perfect = epsilon_betting(np.ones(80), np.zeros(50), delta=1e-5)
    assert perfect.value == pytest.approx(bound.ceiling)
    with pytest.raises(ValueError, match="fixed_rank"):
        epsilon_betting(inside, outside, delta=0.0, threshold_rule="fixed_rank")


def test_log_mean_is_over_the_bets() -> None:
    assert np.allclose(log_mean(np.log([[1.0, 2.0], [3.0, 4.0]])), np.log([2.0, 3.0]))


# Whoever looks after every tenth trial and stops when the truth lies outside finds it outside too
# often. Both worlds err together here: the union behind the interval allows any dependence.
def test_an_accuracy_that_is_watched_keeps_its_interval():
    rng, runs, looks = np.random.default_rng(5), 200, range(10, 201, 10)
    hits = np.cumsum(rng.random((runs, 200)) < 0.7, axis=1)

    def missed(measure, run):
        return any(
            not low <= 0.7 <= high
            for n in looks
            for low, high in [
                measure(
                    Outcomes(int(hits[run, n - 1]), n),
                    Outcomes(n - int(hits[run, n - 1]), n),
                    confidence=0.7,
                ).balanced_interval
            ]
        )

    watched, fixed = (
        sum(missed(measure, run) for run in range(runs)) / runs
        for measure in (accuracy_at_any_time, accuracy)
    )
    assert watched <= 0.3 < fixed


def test_at_any_time_only_the_intervals_are_wider():
    worlds = Outcomes(70, 80), Outcomes(10, 60)
    fixed, anytime = accuracy(*worlds), accuracy_at_any_time(*worlds)
    assert anytime[0::2] == fixed[0::2]
    for name in ("raw_interval", "balanced_interval"):
        (low, high), (lower, higher) = getattr(fixed, name), getattr(anytime, name)
        assert lower < low < high < higher
