import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from contextleak_inspect.estimators import accuracy_to_epsilon
from contextleak_inspect.one_run import (
    epsilon_one_run,
    epsilon_one_run_if_gaussian,
    one_run_mu_lower_bound,
    one_run_p_value,
)
from contextleak_inspect.rates import clopper_pearson


def slow_p_value(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    chance = 1 / (1 + math.exp(-epsilon))
    law = [float(binom.pmf(count, r, chance)) for count in range(r + 1)]
    excess = max((sum(law[v - i : v]) / i for i in range(1, v + 1)), default=0.0)
    return min(1.0, sum(law[v:]) + 2 * m * delta * excess)


@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-3, 0.05])
def test_p_values_agree_with_the_formula_term_by_term(delta: float) -> None:
    for m, r, v in [(10, 10, 0), (10, 10, 10), (100, 40, 33), (60, 60, 31), (1, 1, 1)]:
        for epsilon in (0.0, 0.7, 3.0):
            ours = one_run_p_value(m, r, v, epsilon=epsilon, delta=delta)
            assert ours == pytest.approx(slow_p_value(m, r, v, epsilon, delta), abs=1e-12)


def test_without_delta_it_is_the_accuracy_bound() -> None:
    expected = accuracy_to_epsilon(clopper_pearson(90, 100, 0.05).lower, delta=0.0)
    assert epsilon_one_run(1000, 100, 90, delta=0.0).value == pytest.approx(expected, abs=1e-9)


def test_the_delta_term_counts_every_canary_and_only_lowers_the_bound() -> None:
    bounds = [epsilon_one_run(m, 100, 90, delta=1e-5).value for m in (100, 1000, 10**7)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] < epsilon_one_run(100, 100, 90, delta=0.0).value
    assert bounds[-1] == 0.0


@pytest.mark.parametrize(("m", "r", "v", "delta"), [(500, 60, 55, 1e-4), (200, 200, 150, 1e-3)])
def test_no_epsilon_below_the_bound_is_accepted(m: int, r: int, v: int, delta: float) -> None:
    bound = epsilon_one_run(m, r, v, delta=delta)
    assert all(
        one_run_p_value(m, r, v, epsilon=e, delta=delta) < 0.05
        for e in np.linspace(0, bound.value, 200, endpoint=False)
    )
    assert one_run_p_value(m, r, v, epsilon=bound.value + 1e-6, delta=delta) >= 0.05
    assert bound.value <= bound.ceiling


@pytest.mark.parametrize("guesses", [10, 60, 150])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 4.0])
def test_randomized_response_exceeds_its_epsilon_in_five_per_cent_at_most(
    guesses: int, epsilon: float
) -> None:
    # v ~ Binomial(r, e^ε / (1 + e^ε)), enumerated.
    chance = binom.pmf(np.arange(guesses + 1), guesses, 1 / (1 + math.exp(-epsilon)))
    bounds = [epsilon_one_run(guesses, guesses, v, delta=0.0).value for v in range(guesses + 1)]
    assert chance[np.array(bounds) > epsilon + 1e-9].sum() <= 0.05


@pytest.mark.parametrize("mu", [0.0, 0.5, 1.5, 3.0])
def test_gaussian_canaries_exceed_their_mu_in_five_per_cent_at_most(mu: float) -> None:
    guesses = 60
    chance = binom.pmf(np.arange(guesses + 1), guesses, norm.cdf(mu / 2))
    bounds = [one_run_mu_lower_bound(guesses, guesses, v).value for v in range(guesses + 1)]
    assert chance[np.array(bounds) > mu + 1e-9].sum() <= 0.05


def test_gaussian_canaries_with_abstention_exceed_their_mu_in_five_per_cent_at_most() -> None:
    rng, audits, m, r = np.random.default_rng(2), 2000, 200, 40
    for mu in (0.0, 1.0, 2.0):
        coins = rng.random((audits, m)) < 0.5
        scores = rng.standard_normal((audits, m)) + mu * (coins - 0.5)
        surest = np.argsort(-np.abs(scores), axis=1)[:, :r]
        right = np.take_along_axis((scores > 0) == coins, surest, axis=1).sum(axis=1)
        bounds = {v: one_run_mu_lower_bound(m, r, int(v)).value for v in np.unique(right)}
        exceeded = np.mean([bounds[v] > mu for v in right])
        assert exceeded <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / audits)


def test_the_gaussian_one_is_labelled_and_tighter() -> None:
    gaussian = epsilon_one_run_if_gaussian(1000, 100, 90, delta=1e-5)
    assert gaussian.kind == "model_based"
    assert gaussian.value > epsilon_one_run(1000, 100, 90, delta=1e-5).value
    assert gaussian.ceiling == epsilon_one_run_if_gaussian(1000, 100, 100, delta=1e-5).value


def test_few_right_guesses_are_no_evidence() -> None:
    nothing = epsilon_one_run_if_gaussian(100, 50, 0, delta=1e-5)
    assert (nothing.value, nothing.unclipped) == (0.0, -math.inf)
    assert epsilon_one_run_if_gaussian(100, 50, 20, delta=1e-5).unclipped < 0
    assert epsilon_one_run(100, 50, 20, delta=1e-5).unclipped < 0


@pytest.mark.parametrize("counts", [(10, 5, 6), (10, 11, 5), (10, 5, -1), (10, 0, 0)])
def test_counts_out_of_order_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="0 ≤ correct ≤ guesses ≤ canaries"):
        epsilon_one_run(*counts, delta=0.0)
