import inspect
import math

import numpy as np
import pytest

from contextleak_inspect import betting, estimators, point_estimates, roc, sequential, thresholds
from contextleak_inspect.bounds import EpsilonBound, Outcomes
from contextleak_inspect.estimators import epsilon_best_of, epsilon_lower_bound
from contextleak_inspect.point_estimates import (
    best_threshold_optimistic,
    empirical_epsilon_paper,
    epsilon_best_threshold_optimistic,
)

# auditing_math section 1: mean accuracy of the best threshold when nothing leaks.
NULL_MEANS = {20: 0.588, 50: 0.559, 100: 0.542, 500: 0.520}


@pytest.mark.parametrize(("n", "mean"), NULL_MEANS.items())
def test_the_best_threshold_looks_accurate_when_nothing_leaks(n: int, mean: float) -> None:
    rng = np.random.default_rng(n)
    found = [
        best_threshold_optimistic(*rng.standard_normal((2, n))).balanced_accuracy_optimistic
        for _ in range(1000)
    ]
    assert np.mean(found) == pytest.approx(mean, abs=4 * np.std(found) / math.sqrt(1000) + 5e-4)


# 1 of 7 at 1 of 21, 2 of 7 at 4 of 21, 5 of 7 at 13 of 21: all two 21sts above chance. In floating
# point the last is the largest.
def test_of_equal_thresholds_the_highest_is_taken() -> None:
    scores_in = [5.0] + [4.0] + 3 * [3.0] + 2 * [0.0]
    scores_out = [5.0] + 3 * [4.0] + 9 * [3.0] + 8 * [0.0]
    assert best_threshold_optimistic(scores_in, scores_out).threshold_optimistic == 4.5


def test_the_optimistic_epsilon_is_the_maximum_over_all_thresholds() -> None:
    rng = np.random.default_rng(5)
    for n_in, n_out, shift, delta in [
        (40, 60, 1.0, 1e-5),
        (700, 500, 2.0, 0.0),
        (1500, 20, 0, 0.1),
    ]:
        inside, outside = rng.normal(shift, 1, n_in).round(2), rng.normal(0, 1, n_out).round(2)
        slow = max(
            epsilon_lower_bound(
                Outcomes(int((inside > t).sum()), n_in),
                Outcomes(int((outside > t).sum()), n_out),
                delta=delta,
            ).unclipped
            for t in [-math.inf, *inside, *outside]
        )
        fast = epsilon_best_threshold_optimistic(inside, outside, delta=delta)
        assert fast.unclipped == pytest.approx(slow, abs=1e-12)
        assert (fast.kind, fast.threshold_rule) == ("optimistic", "same_data")


def test_what_is_maximised_on_its_own_data_says_so_in_its_name() -> None:
    assert all(field.endswith("_optimistic") for field in point_estimates.BestThreshold._fields)
    for outcomes in (Outcomes(9, 10, "same_data"), Outcomes(9, 10, "grid")):
        with pytest.raises(ValueError, match=outcomes.threshold_rule):
            epsilon_lower_bound(outcomes, outcomes, delta=0.0)
    with pytest.raises(ValueError, match="same_data"):
        epsilon_best_of([(Outcomes(9, 10, "same_data"),) * 2], delta=0.0)


def test_no_other_function_looks_for_a_threshold_on_the_data_it_judges() -> None:
    # Only the calibration part of a hold-out, and functions with the word in their own name.
    callers = {
        name
        for module in (betting, estimators, point_estimates, roc, sequential, thresholds)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if "best_threshold_optimistic(" in inspect.getsource(function)
    }
    assert callers == {
        "best_threshold_optimistic",
        "epsilon_best_threshold_optimistic",
        "holdout_cut",
    }


def test_the_papers_epsilon_is_a_plug_in_with_its_ceiling_in_the_record() -> None:
    perfect = empirical_epsilon_paper(np.ones(50), np.zeros(50), delta=1e-5)
    assert perfect.value == perfect.ceiling == pytest.approx(math.log((1 - 1e-5) / 0.1))
    assert (perfect.kind, perfect.confidence) == ("plug_in", None)
    nothing = empirical_epsilon_paper([0, 0], [0, 1], delta=1e-5)
    assert (nothing.value, nothing.unclipped) == (0.0, -math.inf)


def test_the_papers_epsilon_is_positive_in_about_half_of_all_audits_without_leakage() -> None:
    rng = np.random.default_rng(6)
    positive = [
        empirical_epsilon_paper(*rng.standard_normal((2, 100)), delta=0.0).value > 0
        for _ in range(1000)
    ]
    assert 0.35 < np.mean(positive) < 0.6


def test_every_epsilon_is_a_record() -> None:
    functions = {
        name: function
        for module in (betting, estimators, point_estimates, roc, sequential)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if name.startswith(("epsilon_", "empirical_epsilon")) and name != "epsilon_bound"
    }
    assert len(functions) >= 9
    for name, function in functions.items():
        if name != "epsilon_from_rates":  # a formula on true rates, not on trials
            assert inspect.signature(function).return_annotation is EpsilonBound, name
