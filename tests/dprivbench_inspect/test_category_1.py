import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from scipy import integrate

from dprivbench_inspect.certificates.category_1 import (
    certify,
    fewest_candidates,
    selection_loss,
    selection_odds,
    verify_category_1,
)
from dprivbench_inspect.functions import function
from dprivbench_inspect.generate import Claim, category_1_claims
from dprivbench_inspect.mechanisms import MECHANISMS

GUMBEL, LAPLACE, EXPONENTIAL = "expo_mech", "laplace_rnm", "permute_flip"
NOISES = [GUMBEL, LAPLACE, EXPONENTIAL]
HALF, NINE_TENTHS = Fraction(1, 2), Fraction(9, 10)


def claim_with(mechanism, factor, number=1):
    m = MECHANISMS[mechanism]
    return Claim(f"{mechanism}-0", function(number), m, Fraction(factor) ** m.power)


def gap(factor, epsilon):
    """Δ over the scale 2·factor·Δ/ε."""
    return sp.Rational(epsilon) / (2 * sp.Rational(factor.numerator, factor.denominator))


@pytest.mark.parametrize(
    ("variant", "seed", "n", "parameter"),
    [
        ("pairs", 0, 3, 1),
        ("pairs", 0, 8, HALF),
        ("pairs", 0, 4, 2),
        ("graded", 0, 3, 1),
        ("graded", 1, 3, HALF),
        ("graded", 2, 5, 2),
    ],
)
def test_every_label_is_recomputed(variant, seed, n, parameter):
    rows = list(verify_category_1(variant, seed, n=n, parameter=parameter))
    assert len(rows) == 588
    assert [row for row in rows if not row.agrees] == []
    assert sum(row.label == "no" for row in rows) == 294
    for row in rows:
        certificate = row.certificate
        assert certificate.error < 1e-13
        if row.label == "no":
            assert certificate.margin > 1e-4 * certificate.claim


# Values at ε = μ = ρ = 1: (factor 1/2, factor 9/10); for ε the probability ratio.
VALUES = {
    "laplace": (7.38906, 3.03773),
    "gaussian_gdp": (2, 1.11111),
    "gaussian_zcdp": (4, 1.23457),
    GUMBEL: (3.70821, 2.73529),
    LAPLACE: (4.15609, 2.76297),
    EXPONENTIAL: (5.52272, 2.80248),
}


@pytest.mark.parametrize("mechanism", VALUES)
@pytest.mark.parametrize("number", [1, 22, 36, 41, 48])
def test_known_values_at_one(mechanism, number):
    for factor, value in zip((HALF, NINE_TENTHS), VALUES[mechanism], strict=True):
        certificate = certify(claim_with(mechanism, factor, number)).certificate
        measured = certificate.measured
        assert certificate.verdict == "no"
        ratio = math.exp(measured) if certificate.unit == "ε" else measured
        assert ratio == pytest.approx(value, rel=3e-6)


# Fewest candidates, from 2 on, that break the claim; loss over ε there and one candidate earlier.
@pytest.mark.parametrize(
    ("noise", "factor", "epsilon", "d", "loss", "before"),
    [
        (GUMBEL, HALF, HALF, 3, 1.327, 1),
        (GUMBEL, HALF, 1, 3, 1.311, 1),
        (GUMBEL, HALF, 2, 3, 1.260, 1),
        (LAPLACE, HALF, HALF, 3, 1.473, 0.987),
        (LAPLACE, HALF, 1, 3, 1.425, 0.965),
        (LAPLACE, HALF, 2, 3, 1.330, 0.927),
        (EXPONENTIAL, HALF, HALF, 2, 1.664, None),
        (EXPONENTIAL, HALF, 1, 2, 1.490, None),
        (EXPONENTIAL, HALF, 2, 2, 1.312, None),
        (GUMBEL, NINE_TENTHS, HALF, 11, 1.0091, 0.9990),
        (GUMBEL, NINE_TENTHS, 1, 11, 1.0062, 0.9959),
        (GUMBEL, NINE_TENTHS, 2, 12, 1.0039, 0.9947),
        (LAPLACE, NINE_TENTHS, HALF, 5, 1.0343, 0.9651),
        (LAPLACE, NINE_TENTHS, 1, 5, 1.0163, 0.9482),
        (LAPLACE, NINE_TENTHS, 2, 6, 1.0052, 0.9667),
        (EXPONENTIAL, NINE_TENTHS, HALF, 3, 1.0824, 0.9899),
        (EXPONENTIAL, NINE_TENTHS, 1, 3, 1.0305, 0.9106),
        (EXPONENTIAL, NINE_TENTHS, 2, 5, 1.0381, 0.9980),
    ],
)
def test_fewest_candidates_that_break_a_selection_claim(noise, factor, epsilon, d, loss, before):
    s, epsilon = gap(factor, epsilon), sp.Rational(epsilon)
    assert fewest_candidates(noise, s, epsilon) == max(d, 3)
    assert float(selection_loss(noise, s, d).mid / float(epsilon)) == pytest.approx(loss, abs=6e-4)
    if before is not None:
        earlier = float(selection_loss(noise, s, d - 1).mid) / float(epsilon)
        assert earlier == pytest.approx(before, abs=6e-4)


def test_at_three_candidates_nine_tenths_of_the_noise_still_keep_some_claims():
    s = gap(NINE_TENTHS, 1)
    assert float(selection_loss(GUMBEL, s, 3).mid) == pytest.approx(0.737, abs=5e-4)
    assert float(selection_loss(LAPLACE, s, 3).mid) == pytest.approx(0.816, abs=5e-4)


@pytest.mark.parametrize("noise", NOISES)
def test_the_loss_grows_with_the_candidates_to_twice_the_gap(noise):
    s = gap(HALF, 1)
    losses = [float(selection_loss(noise, s, d).mid) for d in range(2, 60)]
    assert np.all(np.diff(losses) > -1e-15)
    assert losses[-1] <= 2 * float(s)
    assert losses[-1] > 0.97 * 2 * float(s)


@pytest.mark.parametrize("noise", NOISES)
def test_intervals_stay_narrow(noise):
    for d in (2, 3, 12, 100):
        for s in (gap(HALF, 2), gap(NINE_TENTHS, HALF)):
            loss = selection_loss(noise, s, d)
            assert loss.delta.b < 1e-39


def test_enough_noise_is_never_refuted():
    for mechanism in MECHANISMS:
        for factor in (1, Fraction(10, 9), Fraction(5, 2)):
            certificate = certify(claim_with(mechanism, factor)).certificate
            assert certificate.verdict == "yes"
    assert all(
        fewest_candidates(noise, gap(Fraction(1), 1), sp.Integer(1)) is None for noise in NOISES
    )


def test_an_overstated_sensitivity_is_not_certified():
    # The noise is printed for twice what f really moves, so half of it is enough after all.
    doubled = function(1).model_copy(update={"coefficient": Fraction(2)})
    for claim in category_1_claims("pairs"):
        if claim.function.id == 1:
            wrong = certify(claim._replace(function=doubled))
            assert wrong.certificate.verdict == "yes"
            assert wrong.agrees == (wrong.label == "yes")


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="parameter must be positive, got 0"):
        certify(claim_with("laplace", 1), parameter=0)
    with pytest.raises(ValueError, match="n must be at least 3, got 2"):
        next(verify_category_1(n=2))
    with pytest.raises(ValueError, match="'laplace' does not select"):
        selection_odds("laplace", gap(HALF, 1), 3)


# The same probabilities a second time: scores of the columns from f, noise in the printed size.
DENSITY = {
    GUMBEL: (lambda z: math.exp(-z - math.exp(-z)), lambda z: math.exp(-math.exp(-z))),
    LAPLACE: (
        lambda z: math.exp(-abs(z)) / 2,
        lambda z: math.exp(z) / 2 if z < 0 else 1 - math.exp(-z) / 2,
    ),
    EXPONENTIAL: (
        lambda z: math.exp(-z) if z >= 0 else 0.0,
        lambda z: -math.expm1(-z) if z >= 0 else 0.0,
    ),
}


def integrated(noise, scores, scale):
    """Probability that the first of the scores wins, by adaptive quadrature."""
    density, below = DENSITY[noise]
    q = np.asarray(scores) / scale

    def integrand(y):
        return density(y - q[0]) * math.prod(below(y - other) for other in q[1:])

    cuts = sorted(set(q.tolist()))
    ends = [min(cuts) - 12, *cuts, max(cuts) + 45]
    return sum(
        integrate.quad(integrand, a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
        for a, b in pairwise(ends)
    )


@pytest.mark.parametrize(
    ("variant", "mechanism"), [("pairs", m) for m in NOISES] + [("graded", m) for m in NOISES]
)
def test_numeric_integration_finds_the_same_ratio(variant, mechanism):
    n, epsilon = 3, 1.0
    for claim in category_1_claims(variant):
        if claim.mechanism.name != mechanism or claim.label == "yes":
            continue
        f = claim.function
        certificate = certify(claim, n=n).certificate
        d = int(certificate.pair.split("d = ")[1].split(";")[0])
        pair = f.neighbours(n)
        high, low = f.floats(np.array([pair.high, pair.low], dtype=np.float64))
        scale = 2 * claim.factor * float(f.sensitivity(n=n, **f.constant_values()[0])) / epsilon
        ratio = integrated(mechanism, [high] + [low] * (d - 1), scale) / integrated(
            mechanism, [low] + [high] * (d - 1), scale
        )
        assert math.log(ratio) == pytest.approx(certificate.measured, abs=1e-9), claim.id
        assert math.log(ratio) > epsilon


@pytest.mark.parametrize("noise", NOISES)
def test_running_the_whole_mechanism_gives_these_probabilities(noise):
    rng = np.random.default_rng(5)
    runs, d, s = 400_000, 4, 0.8
    draw = {GUMBEL: rng.gumbel, LAPLACE: rng.laplace, EXPONENTIAL: rng.exponential}[noise]
    scale = {"size": (runs, d)} if noise == EXPONENTIAL else {"loc": 0.0, "size": (runs, d)}
    odds = selection_odds(noise, gap(HALF, sp.Rational(4, 5)), d)
    for shift, exact in ((s, odds.leads), (-s, odds.trails)):
        scores = draw(**scale)
        scores[:, 0] += shift
        won = (scores.argmax(axis=1) == 0).mean()
        p = float(exact.mid)
        assert abs(won - p) < 4 * math.sqrt(p * (1 - p) / runs)
