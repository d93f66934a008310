import math

import numpy as np
import pytest
from scipy.stats import beta, kstest

from contextleak_inspect.bounds import Outcomes
from contextleak_inspect.thresholds import (
    fixed_cut,
    fixed_rank_cut,
    fixed_rank_fpr_upper,
    grid_cuts,
    holdout_cut,
    missing_against_auditor,
)


def test_a_score_at_the_threshold_is_no_hit() -> None:
    cut = fixed_cut([1.0, 2.0, 3.0], [2.0, 2.0], 2.0)
    assert cut == (2.0, Outcomes(1, 3), Outcomes(0, 2), 0)


def test_a_rank_keeps_its_rank_whatever_is_tied() -> None:
    cut = fixed_rank_cut([0, 1, 1], [1] * 15 + [0] * 5, 0.1)
    assert cut.canary_out == Outcomes(2, 20, "fixed_rank")
    assert cut.canary_in == Outcomes(0, 3, "fixed_rank")
    assert (cut.threshold, cut.false_alarms) == (1.0, 0)


@pytest.mark.parametrize(("n", "fpr", "k"), [(9, 0.1, 0), (10, 0.1, 1), (100, 0.29, 29), (5, 0, 0)])
def test_the_rank_is_the_share_rounded_down(n: int, fpr: float, k: int) -> None:
    cut = fixed_rank_cut([0.5], np.arange(n), fpr)
    assert cut.canary_out.hits == k
    assert cut.threshold == n - 1 - k


def test_the_true_rate_at_a_rank_is_beta_and_its_upper_limit_exact() -> None:
    rng, n, k = np.random.default_rng(7), 50, 5
    uniform = rng.random((4000, n))
    rates = np.array([1 - fixed_rank_cut([0.5], row).threshold for row in uniform])
    assert kstest(rates, beta(k + 1, n - k).cdf).pvalue > 0.01
    assert beta(k + 1, n - k).sf(fixed_rank_fpr_upper(n, k, 0.05)) == pytest.approx(0.05)


def test_holdout_never_looks_at_the_trials_it_judges() -> None:
    chosen = [0.9, 1.0, 1.1], [0.0, 0.1, 0.2]
    cut = holdout_cut(*chosen, [5.0, 0.3], [0.56, -1.0])
    other = holdout_cut(*chosen, [-5.0, -5.0], [9.0, 9.0])
    assert cut.threshold == other.threshold == pytest.approx(0.55)  # the middle of the gap
    assert cut[1:3] == (Outcomes(1, 2, "holdout"), Outcomes(1, 2, "holdout"))


def test_a_grid_is_cut_at_every_threshold() -> None:
    cuts = grid_cuts([1, 2, 3], [0, 1, 2], [0.5, 1.5])
    assert [cut.canary_in.hits for cut in cuts] == [3, 2]
    assert {cut.canary_out.threshold_rule for cut in cuts} == {"grid"}
    with pytest.raises(ValueError, match="at least one threshold"):
        grid_cuts([1], [0], [])


def test_failed_trials_count_against_the_auditor() -> None:
    scores = missing_against_auditor([1.0, math.nan], [math.nan, 0.0, 0.0], planned=5)
    cut = fixed_cut(*scores, 0.5)
    assert (cut.canary_in.hits, cut.canary_out.hits) == (1, 1)
    assert (cut.canary_in.trials, cut.canary_out.trials) == (2, 3)


@pytest.mark.parametrize("planned", [4, 6])
def test_before_the_planned_number_no_bound_for_a_fixed_number(planned: int) -> None:
    with pytest.raises(ValueError, match=f"5 of {planned} planned trials have run; .* anytime"):
        missing_against_auditor([1.0, 1.0], [0.0, 0.0, 0.0], planned=planned)


def test_bad_thresholds_are_refused() -> None:
    with pytest.raises(ValueError, match="not a number"):
        fixed_cut([1.0], [0.0], math.nan)
    with pytest.raises(ValueError, match=r"\[0, 1\)"):
        fixed_rank_cut([1.0], [0.0], 1.0)
