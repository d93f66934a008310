import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from contextleak_inspect.bounds import Outcomes
from contextleak_inspect.rates import (
    accuracy,
    clopper_pearson,
    dkw,
    empirical_bernstein,
    epsilon_from_rates,
    lower_limits,
    unclipped_epsilon,
    wilson,
)


@pytest.mark.parametrize(("hits", "trials"), [(0, 1), (1, 1), (0, 50), (3, 100), (50, 50), (7, 9)])
def test_clopper_pearson_agrees_with_scipy(hits: int, trials: int) -> None:
    ours = clopper_pearson(hits, trials, 0.05, sides=2)
    theirs = binomtest(hits, trials).proportion_ci(0.95, method="exact")
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_one_and_two_sided_limits_are_different_and_both_offered() -> None:
    # facebookresearch/PrivacyGuard#129: 3 of 100.
    assert clopper_pearson(3, 100, 0.05).upper == pytest.approx(0.07571079375, rel=1e-9)
    assert clopper_pearson(3, 100, 0.05, sides=2).upper == pytest.approx(0.08517605297, rel=1e-9)


@pytest.mark.parametrize("trials", [1, 2, 25, 60])
@pytest.mark.parametrize("alpha", [0.05, 0.025])
def test_each_limit_fails_with_at_most_its_error_whatever_the_rate(
    trials: int, alpha: float
) -> None:
    limits = [clopper_pearson(hits, trials, alpha) for hits in range(trials + 1)]
    lower, upper = np.array(limits).T
    assert np.allclose(lower, lower_limits(np.arange(trials + 1.0), trials, alpha))
    for rate in np.linspace(0, 1, 301):
        chances = binom.pmf(np.arange(trials + 1), trials, rate)
        assert chances[lower > rate].sum() <= alpha * (1 + 1e-9)
        assert chances[upper < rate].sum() <= alpha * (1 + 1e-9)


def test_wilson_agrees_with_scipy() -> None:
    for hits, trials in [(0, 10), (70, 100), (10, 10)]:
        theirs = binomtest(hits, trials).proportion_ci(0.95, method="wilson")
        assert wilson(hits, trials) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize("broken", [(5, 4), (-1, 4), (0, 0)])
def test_impossible_counts_are_refused(broken: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=f"got {broken[0]} of {broken[1]}"):
        clopper_pearson(*broken, 0.05)
    with pytest.raises(ValueError, match=f"got {broken[0]} of {broken[1]}"):
        wilson(*broken)


def test_dkw_band_covers_the_whole_curve_at_its_level() -> None:
    rng, n, audits = np.random.default_rng(1), 60, 4000
    sample = np.sort(rng.random((audits, n)), axis=1)
    above = (np.arange(1, n + 1) / n - sample).max(axis=1)  # F̂ over F, at its steps
    below = (sample - np.arange(n) / n).max(axis=1)
    margin = 3 * math.sqrt(0.05 * 0.95 / audits)
    assert 0.02 < (above > dkw(n, 0.05).one_sided).mean() <= 0.05 + margin
    assert (np.maximum(above, below) > dkw(n, 0.05).two_sided).mean() <= 0.05 + margin


def test_rates_of_randomized_response_give_its_epsilon_back() -> None:
    for epsilon in (0.0, 0.5, 1.0, 4.0, 10.0, 30.0):
        keep = 1 / (1 + math.exp(-epsilon))
        assert epsilon_from_rates(keep, 1 - keep, delta=0.0) == pytest.approx(epsilon, rel=1e-3)


def test_delta_is_subtracted_before_the_logarithm() -> None:
    assert epsilon_from_rates(0.6, 0.1, delta=0.1) == pytest.approx(math.log(0.5 / 0.1))


def test_true_rates_at_most_delta_are_no_evidence_and_no_nan() -> None:
    assert epsilon_from_rates(0.05, 0.01, delta=0.1, two_sided=False) == 0.0
    assert unclipped_epsilon(0.05, 0.01, delta=0.1, two_sided=False) == -math.inf
    assert unclipped_epsilon(0.0, 0.0, delta=0.0, two_sided=False) == -math.inf


def test_arrays_and_numbers_give_the_same() -> None:
    tpr, fpr = np.array([0.0, 0.3, 1.0, 0.9]), np.array([0.0, 0.6, 0.2, 0.0])
    for two_sided in (False, True):
        many = epsilon_from_rates(tpr, fpr, delta=1e-3, two_sided=two_sided)
        one = [
            epsilon_from_rates(float(a), float(b), delta=1e-3, two_sided=two_sided)
            for a, b in zip(tpr, fpr, strict=True)
        ]
        assert many.tolist() == one


@pytest.mark.parametrize("rates", [(1.1, 0.5), (0.5, -0.1), (math.nan, 0.5)])
def test_rates_outside_the_unit_interval_are_refused(rates: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        epsilon_from_rates(*rates, delta=0.0)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan])
def test_impossible_deltas_are_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta"):
        epsilon_from_rates(0.5, 0.5, delta=delta)


def test_always_in_scores_one_half_on_unequal_arms() -> None:
    # karpathy/nanochat#349: "always in" reaches 70 % of 70 + 30 trials.
    summary = accuracy(Outcomes(70, 70), Outcomes(30, 30))
    assert (summary.raw, summary.balanced) == (0.7, 0.5)
    assert (summary.n_in, summary.n_out) == (70, 30)


def test_balanced_interval_covers_at_least_as_often_as_it_says() -> None:
    n_in, n_out, tpr, fpr = 12, 9, 0.7, 0.2
    missed = 0.0
    for hits in range(n_in + 1):
        for alarms in range(n_out + 1):
            low, high = accuracy(Outcomes(hits, n_in), Outcomes(alarms, n_out)).balanced_interval
            if not low <= (tpr + 1 - fpr) / 2 <= high:
                missed += binom.pmf(hits, n_in, tpr) * binom.pmf(alarms, n_out, fpr)
    assert missed <= 0.05


def test_accuracy_at_a_rank_of_the_judged_scores_is_refused() -> None:
    with pytest.raises(ValueError, match="fixed_rank"):
        accuracy(Outcomes(5, 10, "fixed_rank"), Outcomes(1, 10, "fixed_rank"))


def test_one_value_says_nothing_about_its_mean_to_bernstein() -> None:
    assert empirical_bernstein([0.5], 0.05) == math.inf
