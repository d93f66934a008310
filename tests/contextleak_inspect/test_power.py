"""The powers are those of the estimators themselves, run on every outcome or on drawn audits."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from contextleak_inspect.betting import epsilon_betting
from contextleak_inspect.bounds import Outcomes
from contextleak_inspect.calibration import gdp_mu
from contextleak_inspect.estimators import epsilon_from_accuracy, epsilon_lower_bound
from contextleak_inspect.gaussian_model import epsilon_if_gaussian
from contextleak_inspect.power import (
    AUDITS,
    Claim,
    accuracy_power,
    betting_power,
    clopper_pearson_power,
    fixed_rank_power,
    growth,
    pair_power,
    threshold_tests,
)
from contextleak_inspect.sequential import epsilon_from_guesses, epsilon_from_pairs
from contextleak_inspect.thresholds import fixed_rank_cut
from contextleak_inspect.vote_laws import vote_law

ERRING = vote_law(5, false_votes=0.05, misses=0.1)
EXACT = vote_law(5)
MU = 2.5
CLAIM = Claim(epsilon=0.7, delta=1e-5, alpha=0.05)


def a_test(law, mu=MU, share=0.5):
    tests = threshold_tests(law, mu)
    return tests[int(np.argmin(np.abs(tests @ law.canary_in - share)))]


@pytest.mark.parametrize("law", [ERRING, EXACT], ids=["erring", "exact"])
@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize("gaussian", [False, True])
def test_counts_have_the_power_of_all_outcomes_together(law, share, gaussian):
    n, hit = 30, a_test(law, share=share)
    tpr, fpr = float(law.canary_in @ hit), float(law.canary_out @ hit)
    power = 0.0
    for hits in range(n + 1):
        for alarms in range(n + 1):
            worlds = Outcomes(hits, n), Outcomes(alarms, n)
            if gaussian:
                bound = epsilon_if_gaussian(*worlds, answers_vary=True, delta=CLAIM.delta)
            else:
                bound = epsilon_lower_bound(*worlds, delta=CLAIM.delta)
            if bound.value >= CLAIM.epsilon:
                power += binom.pmf(hits, n, tpr) * binom.pmf(alarms, n, fpr)
    mu = gdp_mu(CLAIM.epsilon, CLAIM.delta) if gaussian else None
    assert 0 < power < 1
    assert clopper_pearson_power(law, hit, CLAIM, n, gaussian_mu=mu) == pytest.approx(
        power, abs=1e-8
    )


@pytest.mark.parametrize(("mu", "n"), [(MU, 40), (MU, 99), (math.inf, 40)])
def test_a_rank_has_the_power_of_drawn_audits(mu, n):
    rng, audits, claim = np.random.default_rng(1), 1500, Claim(0.4, 1e-5, 0.05)
    votes_in = rng.choice(6, p=ERRING.canary_in, size=(audits, n)).astype(float)
    votes_out = rng.choice(6, p=ERRING.canary_out, size=(audits, n)).astype(float)
    if math.isfinite(mu):
        votes_in = mu * votes_in + rng.standard_normal(votes_in.shape)
        votes_out = mu * votes_out + rng.standard_normal(votes_out.shape)
    shown = 0
    for inside, outside in zip(votes_in, votes_out, strict=True):
        cut = fixed_rank_cut(inside, outside)
        bound = epsilon_lower_bound(cut.canary_in, cut.canary_out, delta=claim.delta)
        shown += bound.value >= claim.epsilon
    power = fixed_rank_power(ERRING, threshold_tests(ERRING, mu), claim, n)
    assert 0.02 < power < 0.98
    assert abs(shown / audits - power) < 4 * math.sqrt(power * (1 - power) / audits)


@pytest.mark.parametrize("anytime", [False, True])
def test_guesses_have_the_power_of_all_outcomes_together(anytime):
    n, accuracy = 30, 0.8
    power = 0.0
    for right in range(2 * n + 1):
        if anytime:
            guesses = np.repeat([1.0, 0.0], [right, 2 * n - right])
            bound = epsilon_from_guesses(guesses, fair_coins=True, delta=CLAIM.delta)
        else:
            all_in = Outcomes(right, 2 * n), Outcomes(0, 0)
            bound = epsilon_from_accuracy(*all_in, fair_coins=True, delta=CLAIM.delta)
        if bound.value >= CLAIM.epsilon:
            power += binom.pmf(right, 2 * n, accuracy)
    assert 0 < power < 1
    assert accuracy_power(accuracy, CLAIM, n, anytime=anytime) == pytest.approx(power, abs=1e-9)


def drawn_values(law, hit, n, audits, *, drawn):
    rng = np.random.default_rng(2)
    worlds = []
    for pmf in (law.canary_in, law.canary_out):
        values = hit[rng.choice(pmf.size, p=pmf, size=(audits, n))]
        worlds.append((rng.random(values.shape) < values).astype(float) if drawn else values)
    return zip(*worlds, strict=True)


@pytest.mark.parametrize("drawn", [False, True])
def test_bets_on_pairs_have_the_power_of_drawn_audits(drawn):
    n, audits, hit = 150 if drawn else 60, 200, a_test(ERRING)
    shown = [
        epsilon_from_pairs(inside, outside, delta=CLAIM.delta).value >= CLAIM.epsilon
        for inside, outside in drawn_values(ERRING, hit, n, audits, drawn=drawn)
    ]
    power = pair_power(ERRING, hit, CLAIM, n, drawn=drawn)
    assert 0.05 < power < 0.95
    error = math.sqrt(power * (1 - power) * (1 / AUDITS + 1 / audits))
    assert abs(np.mean(shown) - power) < 4 * error


def test_betting_limits_have_the_power_of_drawn_audits():
    n, audits, hit = 90, 100, a_test(ERRING)
    shown = [
        epsilon_betting(inside, outside, delta=CLAIM.delta).value >= CLAIM.epsilon
        for inside, outside in drawn_values(ERRING, hit, n, audits, drawn=False)
    ]
    power = betting_power(ERRING, hit, CLAIM, n)
    assert 0.05 < power < 0.95
    error = math.sqrt(power * (1 - power) * (1 / AUDITS + 1 / audits))
    assert abs(np.mean(shown) - power) < 4 * error


def test_answers_that_do_not_vary_decide_as_the_estimators_do():
    hit = a_test(EXACT)
    value_in, value_out = hit[1], hit[0]
    for n in range(20, 140, 3):
        inside, outside = np.full(n, value_in), np.full(n, value_out)
        pairs = epsilon_from_pairs(inside, outside, delta=CLAIM.delta).value >= CLAIM.epsilon
        limits = epsilon_betting(inside, outside, delta=CLAIM.delta).value >= CLAIM.epsilon
        assert pair_power(EXACT, hit, CLAIM, n, drawn=False) == pairs
        assert betting_power(EXACT, hit, CLAIM, n) == limits
    assert pairs
    assert limits


def test_growth_tells_how_many_pairs_it_takes():
    # answers that do not vary, noise integrated out: wealth grows by the same factor every time
    hit = a_test(EXACT)
    [gain] = growth(EXACT, hit[np.newaxis], CLAIM, drawn=False)
    pairs = math.log(20) / gain
    assert pair_power(EXACT, hit, CLAIM, math.floor(0.95 * pairs), drawn=False) == 0.0
    # the mean over 20 bets lags behind the best one by at most ln 20
    assert pair_power(EXACT, hit, CLAIM, math.ceil(2.1 * pairs), drawn=False) == 1.0


def test_without_noise_there_is_a_threshold_between_any_two_counts():
    assert threshold_tests(vote_law(2), math.inf).tolist() == [[0, 1, 1], [0, 0, 1]]
