"""Divergences against closed forms, slow sums and each other."""

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from dprivbench_inspect.divergences import (
    Certificate,
    Measured,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    hockey_stick,
    hockey_stick_discrete,
    isotropic_gaussian_delta,
    laplace,
    laplace_delta,
    log_ratio,
    mixture,
    normal,
    product,
    renyi,
    renyi_discrete,
    renyi_gaussian,
)

WIDE = np.linspace(-60, 60, 2401)


def plain_delta(p_pdf, q_pdf, epsilon):
    """Slow and obvious: a fine Riemann sum of the positive part."""
    x = np.linspace(-40, 40, 800_001)
    return integrate.trapezoid(np.maximum(p_pdf(x) - math.exp(epsilon) * q_pdf(x), 0), x)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_equal_gaussians_agree_three_ways(epsilon, mu):
    closed = gaussian_delta(epsilon, mu).value
    by_events = hockey_stick(normal(mu, 1), normal(0, 1), epsilon, WIDE)
    assert by_events.value == pytest.approx(closed, abs=by_events.error)
    assert closed == pytest.approx(
        plain_delta(stats.norm(mu, 1).pdf, stats.norm(0, 1).pdf, epsilon), abs=1e-8
    )


def test_gaussian_delta_keeps_its_digits_far_out():
    # mpmath, 40 digits: Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2) at ε = 10, μ = 1
    mpmath.mp.dps = 40
    exact = mpmath.ncdf(-9.5) - mpmath.exp(10) * mpmath.ncdf(-10.5)
    found = gaussian_delta(10.0, 1.0)
    assert abs(found.value - float(exact)) <= found.error < 1e-11 * float(exact)


def test_epsilon_and_mu_invert_delta():
    assert gaussian_epsilon(gaussian_delta(1.7, 0.8).value, 0.8) == pytest.approx(1.7, abs=1e-9)
    assert gaussian_mu(1.7, gaussian_delta(1.7, 0.8).value) == pytest.approx(0.8, abs=1e-9)
    assert gaussian_epsilon(0.9, 1.0) == 0.0
    # the known minimal σ for (1, 1e-5) at sensitivity 1 is 3.730631635
    assert gaussian_mu(1.0, 1e-5) == pytest.approx(1 / 3.730631635, rel=1e-8)


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.3, 0.99, 1.5])
def test_laplace_agrees_with_its_closed_form(epsilon):
    pair = laplace(1, 1), laplace(0, 1)
    found = hockey_stick(*pair, epsilon, np.union1d(WIDE, [0, 1]))
    assert found.value == pytest.approx(laplace_delta(epsilon, 1.0).value, abs=1e-12)


@pytest.mark.parametrize(("sigma_p", "sigma_q"), [(1.0, 1.4), (1.4, 1.0), (1.0, 1.0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.3])
def test_unequal_gaussians_agree_in_one_dimension(sigma_p, sigma_q, epsilon):
    closed = isotropic_gaussian_delta(epsilon, 0.7, sigma_p, sigma_q, 1)
    by_events = hockey_stick(normal(0.7, sigma_p), normal(0, sigma_q), epsilon, WIDE)
    assert closed.value == pytest.approx(by_events.value, abs=closed.error)


@pytest.mark.parametrize(("sigma_p", "sigma_q"), [(1.0, 1.1), (1.1, 1.0)])
def test_unequal_gaussians_agree_with_simulation_in_thirty_dimensions(sigma_p, sigma_q):
    d, distance, epsilon, n = 30, 0.8, 0.3, 200_000
    rng = np.random.default_rng(0)
    shift = np.zeros(d)
    shift[0] = distance
    x = rng.normal(0, sigma_p, (n, d))
    log_ratio_at_x = (
        d * math.log(sigma_q / sigma_p)
        + ((x - shift) ** 2).sum(1) / (2 * sigma_q**2)
        - (x**2).sum(1) / (2 * sigma_p**2)
    )
    samples = np.maximum(0, 1 - np.exp(epsilon - log_ratio_at_x))
    found = isotropic_gaussian_delta(epsilon, distance, sigma_p, sigma_q, d).value
    assert abs(samples.mean() - found) < 5 * samples.std() / math.sqrt(n)


def test_a_known_audit_figure():
    # DP-GD with n private: n = 10 against 9 records, d = 100, μ = 1, noise 2C√T/((n - 1)μ).
    # Mean of clipped gradients moves by at most 2C/n when the n-th record differs in sign.
    sigma = {n: 2 / (n - 1) for n in (9, 10)}
    worst = max(
        isotropic_gaussian_delta(1.0, 2 / 10, sigma[9], sigma[10], 100).value,
        isotropic_gaussian_delta(1.0, 2 / 10, sigma[10], sigma[9], 100).value,
    )
    assert worst > 0.33
    assert gaussian_delta(1.0, 1.0).value < 0.127


def test_mixture_is_a_lower_bound_even_on_a_coarse_grid():
    p = mixture([0.9, 0.1], [stats.norm(0, 1), stats.norm(1, 1)])
    fine = hockey_stick(p, normal(0, 1), 0.1, WIDE).value
    coarse = hockey_stick(p, normal(0, 1), 0.1, np.array([-60.0, 60.0])).value
    assert 0 <= coarse <= fine + 1e-15
    by_sum = plain_delta(
        lambda x: 0.9 * stats.norm.pdf(x) + 0.1 * stats.norm.pdf(x - 1), stats.norm.pdf, 0.1
    )
    assert fine == pytest.approx(by_sum, abs=1e-8)


def test_weights_that_do_not_sum_to_one_are_refused():
    with pytest.raises(ValueError, match="sum to 1"):
        mixture([0.5, 0.4], [stats.norm(0, 1), stats.norm(1, 1)])


def test_randomised_response_composes_as_the_binomial_formula_says():
    eps = 0.7
    keep = math.exp(eps) / (1 + math.exp(eps))
    one = np.array([keep, 1 - keep]), np.array([1 - keep, keep])
    p, q = product(*[one] * 4)
    expected = sum(
        math.comb(4, i)
        * max(
            keep ** (4 - i) * (1 - keep) ** i - math.exp(1) * keep**i * (1 - keep) ** (4 - i),
            0,
        )
        for i in range(5)
    )
    assert hockey_stick_discrete(p, q, 1.0).value == pytest.approx(expected, abs=1e-14)
    assert renyi_discrete(p, q, math.inf).value == pytest.approx(4 * eps)
    assert renyi_discrete(p, q, 1).value == pytest.approx(4 * eps * (2 * keep - 1))
    assert renyi_discrete(p, q, 1.0001).value == pytest.approx(4 * eps * (2 * keep - 1), rel=1e-3)


def test_renyi_by_quadrature_meets_the_closed_forms():
    ends = list(np.linspace(-40, 40, 17))
    for order in (1, 2, 3.5):
        found = renyi(normal(1.0, 1.0), normal(0.0, 1.3), order, ends)
        closed = renyi_gaussian(order, 1.0, 1.0, 1.3)
        assert found.value == pytest.approx(closed.value, abs=1e-9)
    # Laplace, scale 1, shift t: arXiv:1702.07476, Proposition 6
    order, t = 3.0, 0.8
    closed_laplace = math.log(
        order / (2 * order - 1) * math.exp((order - 1) * t)
        + (order - 1) / (2 * order - 1) * math.exp(-order * t)
    ) / (order - 1)
    ends = sorted({*ends, 0.0, t})
    assert renyi(laplace(t, 1), laplace(0, 1), order, ends).value == pytest.approx(closed_laplace)


def test_renyi_of_gaussians():
    assert renyi_gaussian(3.0, 1.0, 2.0, 2.0).value == pytest.approx(3 / 8)
    assert renyi_gaussian(1.0, 1.0, 2.0, 2.0).value == pytest.approx(1 / 8)
    assert renyi_gaussian(3.0, 0.0, 2.0, 1.0).value == math.inf
    many = renyi_gaussian(2.0, 0.5, 1.0, 1.2, dimension=7).value
    one = renyi_gaussian(2.0, 0.5, 1.0, 1.2).value + 6 * renyi_gaussian(2.0, 0, 1.0, 1.2).value
    assert many == pytest.approx(one)


def test_orders_below_one_are_refused():
    with pytest.raises(ValueError, match=r"order must be at least 1, got 0\.5"):
        renyi(normal(0, 1), normal(1, 1), 0.5, [-9, 9])


def test_missing_mass_gives_an_infinite_divergence():
    p, q = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    assert renyi_discrete(p, q, 2).value == math.inf
    assert hockey_stick_discrete(p, q, 5.0).value == 0.5
    assert log_ratio(Measured(0.5, 0), Measured(0, 0)).value == math.inf


def test_log_ratio_carries_the_error_of_both_sides():
    found = log_ratio(Measured(0.5, 0.01), Measured(0.25, 0.01))
    assert found.value == pytest.approx(math.log(2))
    assert found.value - found.error == pytest.approx(math.log(0.49 / 0.26))


@pytest.mark.parametrize(
    ("measured", "error", "verdict"),
    [(1.2, 0.1, "no"), (1.05, 0.1, "yes"), (0.9, 0.0, "yes"), (math.inf, 0.0, "no")],
)
def test_verdict_needs_the_claim_broken_beyond_the_error(measured, error, verdict):
    assert Certificate(1.0, measured, error, "ε", "pair").verdict == verdict
