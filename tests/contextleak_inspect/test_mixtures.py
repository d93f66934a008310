import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from contextleak_inspect.calibration import analytic_sigma, gdp_epsilon, gdp_mu, vote_sensitivity
from contextleak_inspect.mixtures import (
    best_accuracy,
    best_tpr,
    true_epsilon,
)
from contextleak_inspect.tradeoffs import gdp_accuracy, gdp_tpr
from contextleak_inspect.vote_laws import VoteLaw, vote_law

DELTA = 1e-5


def densities(law, mu):
    """Both densities of the noisy votes on a fine grid, the slow and obvious way."""
    grid = np.linspace(-12, mu * (law.canary_in.size - 1) + 12, 400_001)
    width = grid[1] - grid[0]
    inside, outside = (
        sum(
            weight * np.exp(-((grid - k * mu) ** 2) / 2) / math.sqrt(2 * math.pi)
            for k, weight in enumerate(pmf)
        )
        for pmf in (law.canary_in, law.canary_out)
    )
    return inside, outside, width


def hockey_stick(p, q, width, epsilon):
    return np.sum(np.maximum(p - math.exp(epsilon) * q, 0)) * width


def epsilon_by_integration(law, mu, delta):
    inside, outside, width = densities(law, mu)
    found = []
    for p, q in [(inside, outside), (outside, inside)]:
        if hockey_stick(p, q, width, 0.0) <= delta:
            found.append(0.0)
        else:
            found.append(
                brentq(lambda e, p=p, q=q: hockey_stick(p, q, width, e) - delta, 0, 60, xtol=1e-9)
            )
    return max(found)


LAWS = {
    "no errors": vote_law(10),
    "q = r = 0.01": vote_law(10, false_votes=0.01, misses=0.01),
    "q = r = 0.05": vote_law(10, false_votes=0.05, misses=0.05),
    "misses only": vote_law(5, misses=0.3),
    "false votes only": vote_law(5, false_votes=0.3),
    "near-tied": vote_law(11, false_votes=0.02, misses=0.1, clean_votes=[0.98] * 5 + [0.02] * 5),
    "the canary lowers the vote": vote_law(4, false_votes=0.9, misses=0.6),
    "a vote added": vote_law(6, false_votes=0.1, misses=0.05, neighbouring="add_remove"),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("mu", [0.27, 0.92, 2.0, 4.0])
def test_epsilon_and_accuracy_are_those_of_the_integrated_densities(name, mu):
    law = LAWS[name]
    value, error = true_epsilon(law, mu, DELTA)
    assert error < 1e-7
    assert value == pytest.approx(epsilon_by_integration(law, mu, DELTA), abs=2e-5)
    inside, outside, width = densities(law, mu)
    variation = np.sum(np.abs(inside - outside)) * width / 2
    assert best_accuracy(law, mu) == pytest.approx((1 + variation) / 2, abs=1e-6)
    # Neyman-Pearson: fill up to the FPR in order of the likelihood ratio
    order = np.argsort(outside / np.maximum(inside, 1e-300))
    false, true = np.cumsum(outside[order]) * width, np.cumsum(inside[order]) * width
    assert best_tpr(law, mu, 0.1) == pytest.approx(np.interp(0.1, false, true), abs=1e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 10.0, 30.0])
@pytest.mark.parametrize("m", [1, 10])
def test_without_errors_the_mixture_is_the_gaussian_mechanism(epsilon, m):
    mu = gdp_mu(epsilon, DELTA)
    value, error = true_epsilon(vote_law(m), mu, DELTA)
    assert value - 1e-9 <= epsilon <= value + error + 1e-9
    assert best_accuracy(vote_law(m), mu) == pytest.approx(gdp_accuracy(mu), abs=1e-12)
    assert best_tpr(vote_law(m), mu, 0.1) == pytest.approx(gdp_tpr(0.1, mu), abs=1e-10)


@pytest.mark.parametrize(("mu", "delta"), [(1e-6, 1e-9), (40.0, 1e-5), (1.0, 1e-200)])
def test_extreme_steps_keep_their_digits(mu, delta):
    assert true_epsilon(vote_law(3), mu, delta).value == pytest.approx(
        gdp_epsilon(mu, delta), rel=1e-7
    )


def test_errors_hide_leakage_far_below_the_claim():
    # nominal ε = 10 with 10 shards and q = r = 0.01: the pair's own ε is 4.57
    sigma = analytic_sigma(10.0, DELTA, vote_sensitivity())
    law = LAWS["q = r = 0.01"]
    assert true_epsilon(law, math.sqrt(2) / sigma, DELTA).value == pytest.approx(4.57, abs=0.005)


@pytest.mark.parametrize(
    ("m", "accuracy"), [(1, 0.95), (2, 0.93), (5, 0.87), (10, 0.78), (20, 0.67)]
)
def test_best_accuracy_falls_with_the_number_of_shards_when_answers_err(m, accuracy):
    law = vote_law(m, false_votes=0.05, misses=0.05)
    assert best_accuracy(law, math.inf) == pytest.approx(accuracy, abs=0.005)
    # by hand: the changed shard tells the worlds apart by 0.9 times the largest chance that the
    # others hide it behind one more vote of theirs
    hidden = binom.pmf(np.arange(m), m - 1, 0.05).max()
    assert best_accuracy(law, math.inf) == pytest.approx(0.5 + 0.9 * hidden / 2, abs=1e-12)


def test_without_noise_epsilon_is_the_worst_set_of_counts():
    law = LAWS["q = r = 0.05"]
    worst = 0.0
    for p, q in [(law.canary_in, law.canary_out), (law.canary_out, law.canary_in)]:
        for event in range(1, 2**11):  # every set of counts
            members = np.array([bool(event >> k & 1) for k in range(11)])
            if p[members].sum() > DELTA:
                worst = max(worst, math.log((p[members].sum() - DELTA) / q[members].sum()))
    assert true_epsilon(law, math.inf, DELTA).value == pytest.approx(worst, abs=1e-9)
    assert true_epsilon(vote_law(10), math.inf, DELTA) == (math.inf, 0.0)


def test_at_delta_zero_epsilon_is_the_largest_ratio():
    # the outermost counts: all vote for the canary, 0.99 / 0.01, or none, again
    law = LAWS["q = r = 0.01"]
    for mu in (0.5, math.inf):
        assert true_epsilon(law, mu, 0.0).value == pytest.approx(math.log(99))
    assert true_epsilon(vote_law(10), 0.5, 0.0).value == math.inf


def test_less_delta_never_lowers_epsilon_and_a_sum_of_errors_never_raises_it():
    for law in LAWS.values():
        values = [true_epsilon(law, 1.5, delta).value for delta in (0.2, 1e-2, 1e-5, 1e-9)]
        assert values == sorted(values)
        assert values[2] <= gdp_epsilon(1.5, 1e-5) + 1e-9


def test_worlds_without_a_difference_show_nothing():
    for law in (vote_law(10, false_votes=0.1, misses=0.9), LAWS["no errors"]):
        mu = 0.0 if law is LAWS["no errors"] else 2.0
        assert best_accuracy(law, mu) == 0.5
        assert true_epsilon(law, mu, DELTA).value == 0.0
        assert best_tpr(law, mu, 0.1) == pytest.approx(0.1, abs=1e-9)


def test_tpr_without_noise_may_need_a_coin_on_one_count():
    # out: counts 0 or 1 with 3/4 and 1/4; in: 1/4 and 3/4. FPR 0.1 takes 0.4 of count 1
    law = vote_law(1, false_votes=0.25, misses=0.25)
    assert best_tpr(law, math.inf, 0.1) == pytest.approx(0.4 * 0.75)
    assert best_tpr(law, math.inf, 0.25) == pytest.approx(0.75)
    assert best_tpr(law, math.inf, 0.0) == 0.0
    assert best_tpr(vote_law(1), math.inf, 0.0) == 1.0
    assert best_tpr(vote_law(1), math.inf, 1.0) == 1.0


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_simulated_votes_with_errors_reach_the_best_accuracy_and_no_more(epsilon):
    n, rng = 20_000, np.random.default_rng(5)
    noise = math.sqrt(2) * analytic_sigma(epsilon, DELTA, vote_sensitivity())
    outside = 2 * rng.binomial(10, 0.05, (2, n)) + noise * rng.standard_normal((2, n))
    hits = rng.binomial(9, 0.05, (2, n)) + rng.binomial(1, 0.95, (2, n))
    inside = 2 * hits + noise * rng.standard_normal((2, n))
    cuts = np.linspace(-10, 25, 701)
    shares = [np.mean(inside[0] > t) + np.mean(outside[0] <= t) for t in cuts]
    cut = cuts[int(np.argmax(shares))]  # chosen on one half, judged on the other
    measured = (np.mean(inside[1] > cut) + np.mean(outside[1] <= cut)) / 2
    expected = best_accuracy(LAWS["q = r = 0.05"], 2 / noise)
    assert abs(measured - expected) < 4 * math.sqrt(0.25 / (2 * n))
    # the false promise of a model without errors is far off
    assert gdp_accuracy(2 / noise) - measured > 4 * math.sqrt(0.25 / (2 * n))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: best_accuracy(vote_law(3), -1.0), r"mu must be at least 0, got -1.0"),
        (lambda: true_epsilon(vote_law(3), 1.0, 1.0), r"delta must be in \[0, 1\), got 1.0"),
        (lambda: best_tpr(vote_law(3), 1.0, 1.5), r"fpr must lie in \[0, 1\], got 1.5"),
        (
            lambda: best_accuracy(VoteLaw(np.array([0.5, 0, 0.5]), np.array([0, 1.0, 0])), 1.0),
            "likelihood ratio of the worlds must grow",
        ),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
