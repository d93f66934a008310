import json
import math
import pathlib

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextleak_inspect.calibration import (
    analytic_sigma,
    classical_sigma,
    embedding_sensitivity,
    gaussian_delta,
    gaussian_epsilon,
    gdp_compose,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    randomized_response,
    vote_sensitivity,
)
from contextleak_inspect.tradeoffs import gdp_accuracy, gdp_tpr


def delta_in_200_digits(epsilon: float, mu: float) -> mpmath.mpf:
    """The textbook difference, carried out with so many digits that cancelling does not matter."""
    with mpmath.workdps(200):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        left, right = (mpmath.erfc((e / m + sign * m / 2) / mpmath.sqrt(2)) for sign in (-1, 1))
        return (left - mpmath.exp(e) * right) / 2


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.27, 1.0, 1.001, 2.5, 10.0, 40.0])
def test_delta_keeps_its_digits_in_the_extremes(mu):
    # t = ε/μ - μ/2 runs from the bulk to δ near 1e-300
    epsilons = [mu * (t + mu / 2) for t in (-19.9, -1, -0.4, 0, 0.5, 3, 20, 36)]
    for epsilon in (e for e in epsilons if e >= 0):
        exact = delta_in_200_digits(epsilon, mu)
        assert abs(gdp_delta(epsilon, mu) / exact - 1) < 1e-11


def test_delta_is_an_array_for_an_array_and_exact_at_the_ends():
    deltas = gdp_delta(np.array([0.0, 1.0, np.inf]), 0.5)
    assert deltas == pytest.approx([math.erf(0.25 / math.sqrt(2)), 0.006829594983114589, 0.0])
    assert gdp_delta(3.0, 0.0) == 0.0
    assert gdp_delta(3.0, math.inf) == 1.0


@settings(max_examples=200, deadline=None)
@given(
    mu=st.floats(1e-6, 40.0),
    log10_delta=st.floats(-300, -0.01),
)
def test_mu_comes_back_from_epsilon(mu, log10_delta):
    delta = 10.0**log10_delta
    epsilon = gdp_epsilon(mu, delta)
    if epsilon > 1e-6 * mu:  # else δ alone covers the release, and μ cannot come back
        assert gdp_mu(epsilon, delta) == pytest.approx(mu, rel=1e-8)
    else:
        assert gdp_delta(0.0, mu) <= delta * (1 + 1e-5)


@settings(max_examples=100, deadline=None)
@given(
    epsilon=st.floats(1e-3, 50.0),
    log10_delta=st.floats(-12, -1),
    sensitivity=st.floats(1e-3, 1e3),
    queries=st.integers(1, 50),
)
def test_sigma_is_rounded_up_and_no_further(epsilon, log10_delta, sensitivity, queries):
    delta = 10.0**log10_delta
    sigma = analytic_sigma(epsilon, delta, sensitivity, queries)
    assert epsilon * (1 - 1e-3) < gaussian_epsilon(sigma, delta, sensitivity, queries) <= epsilon
    assert gaussian_delta(sigma, epsilon, sensitivity, queries) <= delta
    assert gaussian_delta(sigma * (1 - 1e-9), epsilon, sensitivity, queries) > delta


# Cases D18, D20, D22, D23, D26, D27 and D29 of the public faults.


def test_sigma_hits_the_target_delta():
    sigma = analytic_sigma(1.0, 1e-5, 1.0)
    assert sigma == pytest.approx(3.730631635, rel=1e-8)
    assert gaussian_delta(sigma, 1.0, 1.0) <= 1e-5


def test_epsilon_infinity_is_no_noise_and_epsilon_zero_no_data():
    assert analytic_sigma(math.inf, 1e-5, 1.0) == 0.0
    assert analytic_sigma(0.0, 1e-5, 1.0) == math.inf
    assert classical_sigma(0.0, 1e-5, 1.0) == math.inf
    assert gaussian_epsilon(0.0, 1e-5, 1.0) == math.inf
    assert gaussian_epsilon(math.inf, 1e-5, 1.0) == 0.0
    assert gdp_mu(math.inf, 1e-5) == math.inf


@pytest.mark.parametrize("sigma_of", [analytic_sigma, classical_sigma])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta", 0.0),
        ("delta", 1.0),
        ("delta", math.nan),
        ("epsilon", -1.0),
        ("epsilon", math.nan),
        ("sensitivity", -1.0),
        ("sensitivity", 0.0),
        ("sensitivity", math.inf),
    ],
)
def test_a_bad_argument_is_named_with_its_value(sigma_of, name, value):
    arguments = {"epsilon": 1.0, "delta": 1e-5, "sensitivity": 1.0, name: value}
    with pytest.raises(ValueError, match=rf"^{name} must be .*got {value}$"):
        sigma_of(**arguments)


def test_other_bad_arguments_are_named():
    with pytest.raises(ValueError, match="queries must be at least 1, got 0"):
        analytic_sigma(1.0, 1e-5, 1.0, queries=0)
    with pytest.raises(ValueError, match=r"sigma must be at least 0, got -1.0"):
        gaussian_epsilon(-1.0, 1e-5, 1.0)
    with pytest.raises(ValueError, match="neighbouring must be 'replace_one' or 'add_remove'"):
        vote_sensitivity("substitute")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="m must be at least 1 subset, got 0"):
        embedding_sensitivity(0)
    with pytest.raises(ValueError, match="k must be at least 2 labels, got 1"):
        randomized_response(1.0, 1)
    with pytest.raises(ValueError, match="mu must be at least 0, got nan"):
        gdp_delta(1.0, math.nan)


@pytest.mark.parametrize("delta", [1e-5, 5e-5, 1e-3])
def test_the_classical_sigma_warns_and_gives_too_little_noise_at_ten(delta):
    with pytest.warns(UserWarning, match=r"proved for epsilon up to 1, got 10"):
        sigma = classical_sigma(10.0, delta, 1.0)
    assert gaussian_epsilon(sigma, delta, 1.0) > 10
    assert sigma < analytic_sigma(10.0, delta, 1.0)


def test_the_classical_sigma_breaks_where_it_is_said_to():
    assert gaussian_delta(0.4844805263, 10.0, 1.0) == pytest.approx(2.265374365e-05, rel=1e-6)
    assert analytic_sigma(10.0, 1e-5, 1.0) == pytest.approx(0.4998886197, rel=1e-8)
    # the crossing lies at ε ≈ 8.42, 8.13 and 7.46
    for delta, crossing in [(1e-5, 8.42), (5e-5, 8.13), (1e-3, 7.46)]:
        for factor, enough in [(0.998, True), (1.002, False)]:
            epsilon = factor * crossing
            sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
            assert (gaussian_delta(sigma, epsilon, 1.0) <= delta) is enough


def test_the_classical_sigma_is_silent_where_it_is_proved(recwarn):
    assert classical_sigma(1.0, 1e-5, 2.0) == pytest.approx(2 * 4.844805262605389)
    assert not recwarn.list


def test_queries_on_the_same_data_add_up():
    one = gaussian_epsilon(3.730631635, 1e-5, 1.0)
    ten = gaussian_epsilon(3.730631635, 1e-5, 1.0, queries=10)
    assert (one, ten) == pytest.approx((1.0, 3.618591574), rel=1e-6)
    # σ that already counts the queries gives the target back
    assert gaussian_epsilon(analytic_sigma(1.0, 1e-5, 1.0, 10), 1e-5, 1.0, 10) <= 1.0
    assert gdp_compose(0.25, 16) == 1.0


@pytest.mark.parametrize(("sigma", "queries"), [(1.0, 1), (3.7, 10), (8.0, 100)])
def test_composition_agrees_with_an_independent_accountant(sigma, queries):
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant().compose(dp_event.GaussianDpEvent(sigma), queries)
    ours = gaussian_epsilon(sigma, 1e-5, 1.0, queries)
    theirs = accountant.get_epsilon(1e-5)  # discretised, and rounded up
    assert theirs * (1 - 2e-3) < ours <= theirs


def test_a_violation_shows_against_the_exact_epsilon_only():
    sigma, delta, lower_bound = 3.730631635, 1e-5, 1.15
    rho = 1 / (2 * sigma**2)
    by_zcdp = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert by_zcdp == pytest.approx(1.322175963, rel=1e-6)
    assert gaussian_epsilon(sigma, delta, 1.0) < lower_bound < by_zcdp


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-6), (0.5, 1e-5), (1, 1e-5), (3, 1e-4), (8, 1e-6), (30, 1e-5)]
)
def test_achieved_epsilon_is_never_above_the_target(epsilon, delta):
    achieved = gaussian_epsilon(analytic_sigma(epsilon, delta, 1.0), delta, 1.0)
    assert epsilon * (1 - 1e-3) < achieved <= epsilon


def test_randomized_response_keeps_exactly_epsilon():
    for epsilon, k in [(0.0, 2), (1.0, 2), (2.0, 4), (700.0, 3), (math.inf, 5)]:
        keep, other = randomized_response(epsilon, k)
        assert keep + (k - 1) * other == pytest.approx(1.0)
        assert (
            other == 0.0
            if math.isinf(epsilon)
            else math.log(keep / other) == pytest.approx(epsilon, abs=1e-12)
        )


# Expected curves of the auditing notes: δ = 1e-5, replace-one, perfect model, optimal score.
# ε, μ, σ of the votes, m σ of the mean, accuracy, TPR at FPR 0.1, ln((TPR - δ)/0.1)
TABLE = [
    (1, 0.26805, 5.27591, 7.46126, 0.55331, 0.15541, 0.44084),
    (2, 0.50155, 2.81968, 3.98762, 0.59901, 0.21770, 0.77788),
    (4, 0.92493, 1.52899, 2.16232, 0.67813, 0.36069, 1.28281),
    (8, 1.66603, 0.84885, 1.20046, 0.79758, 0.64969, 1.87131),
    (10, 2.00045, 0.70695, 0.99978, 0.84140, 0.76390, 2.03325),
    (math.inf, math.inf, 0.0, 0.0, 1.0, 1.0, 2.30258),
]


@pytest.mark.parametrize(("epsilon", "mu", "votes", "mean", "accuracy", "tpr", "paper"), TABLE)
def test_sigma_and_mu_of_the_expected_curves(epsilon, mu, votes, mean, accuracy, tpr, paper):
    m = 10
    assert gdp_mu(epsilon, 1e-5) == pytest.approx(mu, abs=6e-6)
    assert analytic_sigma(epsilon, 1e-5, vote_sensitivity()) == pytest.approx(votes, abs=6e-6)
    embeddings = analytic_sigma(epsilon, 1e-5, embedding_sensitivity(m))
    assert m * embeddings == pytest.approx(mean, abs=6e-6)
    assert gdp_accuracy(gdp_mu(epsilon, 1e-5)) == pytest.approx(accuracy, abs=6e-6)
    measured = gdp_tpr(0.1, gdp_mu(epsilon, 1e-5))
    assert measured == pytest.approx(tpr, abs=6e-6)
    assert math.log((measured - 1e-5) / 0.1) == pytest.approx(paper, abs=1e-5)


def test_the_wrong_neighbouring_relation_is_a_finding():
    # σ for one vote added or removed, while an exemplar is replaced: nominal 4 is 5.99
    sigma = analytic_sigma(4.0, 1e-5, vote_sensitivity("add_remove"))
    assert gaussian_epsilon(sigma, 1e-5, vote_sensitivity("replace_one")) == pytest.approx(
        5.99, abs=0.005
    )


def test_calibration_cases_of_the_shared_file(shared: pathlib.Path):
    cases = json.loads((shared / "cases" / "cases.json").read_text(encoding="utf-8"))["cases"]
    by_id = {case["id"]: case for case in cases}
    for call in by_id["D22"]["input"]["calls"]:
        with pytest.raises(ValueError, match="must be"):
            analytic_sigma(call["epsilon"], call["delta"], call.get("l2_sensitivity", 1.0))
    for epsilon, delta in by_id["D29"]["input"]["targets"]:
        achieved = gaussian_epsilon(analytic_sigma(epsilon, delta, 1.0), delta, 1.0)
        assert epsilon * (1 - 1e-3) < achieved <= epsilon
