"""Recompute every label of Category 1 from the printed noise, on a pair of neighbours.

The pair attains the sensitivity. Added noise then gives away exactly what the formula says.
For selection, one column holds the pair's high end and all others its low end, and the neighbour
exchanges them in the one row that differs: column 1 falls by Δ while each rival rises by Δ. The
chance that column 1 wins has a closed form, evaluated in interval arithmetic. The loss grows with
the number d of candidates to 2Δ/scale, so a claim breaks for some d exactly if that exceeds ε.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import sympy as sp
from mpmath.ctx_iv import MPIntervalContext

from dprivbench_inspect.divergences import Certificate
from dprivbench_inspect.functions import Exact, Neighbours
from dprivbench_inspect.generate import Claim, Variant, category_1_claims
from dprivbench_inspect.questions import Label

Interval = Any  # mpmath has no types of its own
_IV = MPIntervalContext()
_IV.dps = 50
_MOST_CANDIDATES = 100
_UNITS = {"gaussian_gdp": "μ", "gaussian_zcdp": "ρ"}  # all others claim an ε


class Evidence(NamedTuple):
    """A question's label beside what its pair of neighbours says."""

    question_id: str
    label: Label
    certificate: Certificate

    @property
    def agrees(self) -> bool:
        """Whether the recomputed verdict is the label."""
        return self.certificate.verdict == self.label


class Odds(NamedTuple):
    """Chance that column 1 of d wins, when it leads all rivals and when it trails them."""

    leads: Interval
    trails: Interval


def verify_category_1(
    variant: Variant = "pairs", seed: int = 0, *, n: int = 3, parameter: Fraction | int = 1
) -> Iterator[Evidence]:
    """Evidence for each of the 588 labels, one after the other.

    Args:
        variant: As for `category_1_claims`.
        seed: As for `category_1_claims`.
        n: Rows of the data sets, at least 3. A false claim is false at each n.
        parameter: The ε, μ or ρ at which the claims are tried, above 0. Beyond about 8 the
            graded selection claims would need more than the 100 candidates that are tried.
    """
    for claim in category_1_claims(variant, seed):
        yield certify(claim, n=n, parameter=parameter)


def certify(claim: Claim, *, n: int = 3, parameter: Fraction | int = 1) -> Evidence:
    """Evidence for one claim; trusts neither the bank's sensitivity nor the label.

    Raises:
        ValueError: n is below 3, or the parameter is not positive.
    """
    if parameter <= 0:
        raise ValueError(f"parameter must be positive, got {parameter}")
    privacy = sp.Rational(Fraction(parameter).numerator, Fraction(parameter).denominator)
    pair = claim.function.neighbours(n)
    high, low = claim.function.exact(pair.high), claim.function.exact(pair.low)
    size = noise_size(claim, n, privacy)
    mechanism = claim.mechanism
    # Distance of the two ends over scale or standard deviation; squared for normal noise.
    moved = sp.Abs(high - low) ** mechanism.power
    distance = sp.simplify(moved * size if mechanism.quantity == "rate" else moved / size)
    if mechanism.selects:
        loss, text = _selection_evidence(mechanism.name, distance, privacy)
        pair_text = _selection_pair(pair, text)
    else:
        loss, text = _additive_loss(mechanism.name, distance, float(parameter))
        pair_text = f"n = {n}; x = {_tuple(pair.high)}, x' = {_tuple(pair.low)}; {text}"
    constants = claim.function.constant_values()[0]
    if constants:
        pair_text = (
            ", ".join(f"{name} = {value}" for name, value in constants.items()) + "; " + (pair_text)
        )
    measured = float(loss.mid)
    rounding = abs(measured) * 2.0**-52  # of the conversion to a float
    certificate = Certificate(
        claim=float(parameter),
        measured=measured,
        error=float(loss.delta.b) / 2 + rounding,
        unit=_UNITS.get(mechanism.name, "ε"),
        pair=pair_text,
    )
    return Evidence(claim.id, claim.label, certificate)


def noise_size(claim: Claim, n: int, privacy: Exact) -> Exact:
    """The printed scale, variance or rate as an exact number.

    Args:
        claim: Says function, mechanism and amount of noise.
        n: Rows of the data set.
        privacy: Value of ε, μ or ρ.
    """
    mechanism, function = claim.mechanism, claim.function
    sensitivity = function.sensitivity(n=sp.Integer(n), **function.constant_values()[0])
    coefficient = mechanism.coefficient * claim.amount
    size = (
        sp.Rational(coefficient.numerator, coefficient.denominator)
        * sensitivity**mechanism.power
        / privacy**mechanism.parameter_power
    )
    return 1 / size if mechanism.quantity == "rate" else size


def selection_odds(noise: str, gap: Exact, candidates: int) -> Odds:
    """Chance that column 1 wins `gap` noise scales above, and below, all its rivals.

    The noise has scale 1: P(1 wins) = ∫ f(z - q_1) Π F(z - q_k) dz in closed form.

    Args:
        noise: Name of the selection mechanism.
        gap: Exact distance of column 1 and each rival over the noise scale, above 0.
        candidates: Number of columns d, at least 2.
    """
    d, s = candidates, _interval(gap)
    grow, shrink = _IV.exp(s), _IV.exp(-s)
    if noise == "expo_mech":  # Gumbel noise: the softmax of the scores
        return Odds(1 / (1 + (d - 1) * shrink), 1 / (1 + (d - 1) * grow))
    if noise == "permute_flip":  # exponential noise
        return Odds(grow * (1 - (1 - shrink) ** d) / d, shrink / d)
    if noise == "laplace_rnm":
        return _laplace_odds(s, d)
    raise ValueError(f"{noise!r} does not select; choose expo_mech, laplace_rnm or permute_flip")


def _laplace_odds(s: Interval, d: int) -> Odds:
    """With a = e^(-s)/2: the integral splits at the rivals' scores and at column 1's own."""
    grow, shrink = _IV.exp(s), _IV.exp(-s)
    a, half_power = shrink / 2, _IV.mpf(2) ** -d
    # between = ∫ (1-w)^(d-1) / w² dw and other = ∫ (1-w)^(d-1) / w dw, both from a to 1/2.
    between, other = 1 / a - 2, -_IV.log(2 * a)
    for m in range(1, d):
        between, other = (
            between - other,
            other - ((1 - a) ** m - _IV.mpf(2) ** -m) / m,
        )
    leads = half_power * shrink / d + grow * (1 - (1 - a) ** d) / d + shrink / 4 * between
    faded = _IV.exp(-(d - 2) * s)
    tail = s if d == 2 else (1 - faded) / (d - 2)
    trails = shrink * ((1 - half_power) / d + half_power * (tail + faded / d))
    return Odds(leads, trails)


@cache
def fewest_candidates(noise: str, gap: Exact, epsilon: Exact) -> int | None:
    """Least d, from 3 to 100, at which exchanging the columns gives away more than ε; or None.

    Args:
        noise: Name of the selection mechanism.
        gap: Exact distance of the pair's two ends over the noise scale.
        epsilon: Exact ε of the claim.
    """
    loss, claimed = selection_loss(noise, gap, _MOST_CANDIDATES), _interval(epsilon)
    if not loss.a > claimed.b:
        return None  # the loss grows with d
    return next(
        d for d in range(3, _MOST_CANDIDATES + 1) if selection_loss(noise, gap, d).a > claimed.b
    )


@cache
def selection_loss(noise: str, gap: Exact, candidates: int) -> Interval:
    """Log ratio, in nats, of the chances that column 1 wins; arguments as above."""
    odds = selection_odds(noise, gap, candidates)
    return _IV.log(odds.leads / odds.trails)


def _selection_evidence(noise: str, gap: Exact, epsilon: Exact) -> tuple[Interval, str]:
    breaks_at = fewest_candidates(noise, gap, epsilon)
    d = breaks_at or _MOST_CANDIDATES
    odds = selection_odds(noise, gap, d)
    text = (
        f"d = {d}; event: index 1, probability {_short(odds.leads)} against {_short(odds.trails)}, "
        f"ratio {_short(odds.leads / odds.trails)} where {_short(_IV.exp(_interval(epsilon)))} "
        "is allowed"
    )
    if breaks_at is None:
        text += f"; for no d is the loss above {_short(2 * _interval(gap))}"
    return selection_loss(noise, gap, d), text


def _additive_loss(mechanism: str, distance: Exact, claimed: float) -> tuple[Interval, str]:
    exact = _interval(distance)
    if mechanism == "laplace":
        trails = _IV.exp(-exact) / 2
        return exact, f"event: M >= f(x), probability 0.5 against {_short(trails)}"
    if mechanism == "gaussian_gdp":
        mu = _IV.sqrt(exact)
        error, allowed = _below(-float(mu.mid) / 2), _below(float(mu.mid) / 2 - claimed)
        return mu, (
            f"test: M >= (f(x)+f(x'))/2, each error has probability {error:.6g}, "
            f"where the claim allows no second one below {allowed:.6g}"
        )
    return exact / 2, f"Rényi divergence of order a, for each a above 1: {_short(exact / 2)} a"


def _below(x: float) -> float:
    """Standard normal distribution function."""
    return math.erfc(-x / math.sqrt(2)) / 2


def _selection_pair(pair: Neighbours, text: str) -> str:
    return (
        f"n = {len(pair.high)}; D has column 1 {_tuple(pair.high)}, all others {_tuple(pair.low)}; "
        f"D' has them exchanged, so only row {pair.row} differs; {text}"
    )


def _interval(value: Exact) -> Interval:
    """An interval around an exact number; irrational ones get 60 digits and room for the last."""
    if value.is_Rational:
        return _IV.mpf(int(value.p)) / int(value.q)
    middle = _IV.mpf(str(sp.N(value, 60)))
    return middle + _IV.mpf(["-1e-50", "1e-50"])


def _short(value: Interval) -> str:
    return f"{float(value.mid):.6g}"


def _tuple(numbers: tuple[Exact, ...]) -> str:
    return f"({', '.join(map(str, numbers))})"
