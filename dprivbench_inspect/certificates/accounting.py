"""Accounting: conversions between guarantees, evaluated on the worst pairs known for each."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy import optimize, stats

from dprivbench_inspect.divergences import (
    Array,
    Certificate,
    gaussian_delta,
    gaussian_mu,
    hockey_stick,
    hockey_stick_discrete,
    laplace,
    renyi_discrete,
)


def _two_points(p: float, q: float) -> tuple[Array, Array]:
    """Laws of one event under the two neighbours, which it has with probability p and q."""
    return np.array([p, 1 - p]), np.array([q, 1 - q])


def _worst(certificates: Sequence[Certificate]) -> Certificate:
    """The one with the largest measured value relative to its claim."""
    return max(certificates, key=lambda c: c.measured / c.claim if c.claim else c.measured)


def rdp_to_dp(denominator: Callable[[float], float]) -> Certificate:
    """(α, r)-RDP to ε = r + ln(1/δ) / denominator(α), on two-point laws of divergence r."""
    alpha, r, delta = 2.0, 1.0, 1e-6
    epsilon = r + math.log(1 / delta) / denominator(alpha)
    found = []
    for p in np.geomspace(0.05 * delta, 0.3, 81):
        gap = lambda log_q, p=p: (  # noqa: E731
            renyi_discrete(*_two_points(p, math.exp(log_q)), alpha).value - r
        )
        log_q = optimize.brentq(gap, -60.0, math.log(p), xtol=1e-13)
        # a hair closer than the root, so that the divergence is certainly at most r
        one, other = _two_points(p, math.exp(float(log_q)) * (1 + 1e-9))
        if max(renyi_discrete(a, b, alpha).value for a, b in ((one, other), (other, one))) > r:
            continue
        measured = hockey_stick_discrete(one, other, epsilon)
        pair = f"two-point laws, event of probability {p:.3g} against {other[0]:.3g}"
        found.append(Certificate(delta, *measured, f"δ at ε={epsilon:.4g} (α=2, r=1)", pair))
    return _worst(found)


def classical_gaussian(epsilons: Sequence[float], *, pure: bool = False) -> Certificate:
    """σ = Δ √(2 ln(1.25/δ)) / ε against the exact δ of the Gaussian pair at distance Δ."""
    found = []
    for epsilon in epsilons:
        for delta in (1e-10, 1e-5, 1e-2, 0.5, 0.9):
            mu = epsilon / math.sqrt(2 * math.log(1.25 / delta))  # Δ / σ
            measured = gaussian_delta(epsilon, mu)
            unit, pair = f"δ at ε={epsilon:.4g}", f"q(X), q(X') at distance Δ, δ={delta:g}"
            found.append(Certificate(0.0 if pure else delta, *measured, unit, pair))
    return _worst(found)


def zcdp_of_losses(*, bounded_range: bool) -> Certificate:
    """η²/8-zCDP at η = 1, on two-point laws whose losses fill what the assumption allows.

    That is an interval of length η where the range of the loss is bounded, else [-η, η].
    """
    eta, worst, at = 1.0, 0.0, 0.0
    highs = np.linspace(0.02, 0.98, 49) if bounded_range else np.array([eta])
    for high in highs:
        low = high - eta if bounded_range else -eta
        q = -math.expm1(low) / (math.exp(high) - math.exp(low))
        one, other = _two_points(q * math.exp(high), q)
        for alpha in (1.0, 1.01, 1.5, 2.0, 3.0, 5.0, 10.0, 50.0):
            rho = renyi_discrete(one, other, alpha).value / alpha
            worst, at = max((worst, at), (rho, high))
    pair = f"two-point laws with privacy losses up to {at:.3g}"
    return Certificate(eta**2 / 8, worst, 1e-12, "ρ at η=1", pair)


def group_of_two(factor: Callable[[float], float]) -> Certificate:
    """Two steps of (ε, δ): an event of probability 0, δ, (1 + e^ε) δ on a chain of data sets."""
    epsilon, delta = 1.0, 0.01
    chain = [0.0, delta, math.exp(epsilon) * delta + delta]
    laws = [np.array([p, 1 - p]) for p in chain]
    steps = [(laws[i], laws[j]) for i, j in ((0, 1), (1, 0), (1, 2), (2, 1))]
    if max(hockey_stick_discrete(p, q, epsilon).value for p, q in steps) > delta * (1 + 1e-12):
        raise AssertionError("the chain does not satisfy the assumption of the question")
    measured = hockey_stick_discrete(laws[2], laws[0], 2 * epsilon)
    return Certificate(
        factor(epsilon) * delta, *measured, "δ at 2ε=2", "event of probability (1 + e) δ against 0"
    )


def total_variation(noise: str) -> Certificate:
    """Claim 1 - exp(-ε/2) at ε = 1 for a count that moves by 1, Laplace or geometric noise."""
    epsilon = 1.0
    if noise == "laplace":
        points = np.array([-40.0, 0.0, 0.5, 1.0, 40.0])
        measured = hockey_stick(laplace(1, 1 / epsilon), laplace(0, 1 / epsilon), 0.0, points)
    else:
        z = np.arange(-60, 62)
        at_0, at_1 = (math.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(z - c)) for c in (0, 1))
        measured = hockey_stick_discrete(at_1, at_0, 0.0)
    pair = "counts 1 and 0, best event for telling them apart"
    return Certificate(-math.expm1(-epsilon / 2), *measured, "δ at ε=0", pair)


def tail_of_the_loss(given: str) -> Certificate:
    """Pr[loss > ε] ≤ δ against (ε, δ)-DP, on two-point laws that meet exactly the given one."""
    epsilon, delta = 1.0, 0.05
    found = []
    for q in np.geomspace(1e-9, 0.3, 30):
        if given == "tail":  # the event has probability δ and any smaller one under the neighbour
            p, q = delta, min(q, delta * math.exp(-epsilon)) * 0.999
        else:
            p = q * math.exp(epsilon) + delta
        one, other = _two_points(p, q)
        tail = float(one[one > math.exp(epsilon) * other].sum())
        hockey = hockey_stick_discrete(one, other, epsilon).value
        measured, unit = (hockey, "δ at ε=1") if given == "tail" else (tail, "Pr[loss > 1]")
        pair = f"event of probability {p:.3g} against {q:.3g}"
        found.append(Certificate(delta, measured, 1e-12, unit, pair))
    return _worst(found)


def gdp_of(shown: float, claim: Callable[[float], float]) -> Certificate:
    """μ that randomised response needs which shows the record with probability `shown`."""
    epsilon = 0.1
    keep = (1 - shown) / (1 + math.exp(-epsilon))
    one = np.array([shown, 0.0, keep, 1 - shown - keep])
    other = np.array([0.0, shown, 1 - shown - keep, keep])
    measured = max(
        gaussian_mu(at, hockey_stick_discrete(one, other, at).value)
        for at in (0.0, epsilon / 2, 1.0, 5.0, 30.0)
        if hockey_stick_discrete(one, other, at).value > 1e-12
    )
    pair = f"randomised response at ε={epsilon}, record shown with probability {shown:g}"
    return Certificate(claim(epsilon), measured, 1e-11, "μ", pair)


def _two_segment_mu(epsilon: float) -> float:
    return 2 * float(stats.norm.ppf(1 / (1 + math.exp(-epsilon))))


_BELOW_ONE = tuple(np.linspace(0.05, 0.999, 20))
CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "accounting-01": partial(rdp_to_dp, lambda alpha: alpha - 1),
    "accounting-02": partial(rdp_to_dp, lambda alpha: alpha),
    "accounting-03": partial(classical_gaussian, _BELOW_ONE),
    "accounting-04": partial(classical_gaussian, (*_BELOW_ONE, 4.0, 10.0, 20.0)),
    "accounting-05": partial(classical_gaussian, _BELOW_ONE, pure=True),
    "accounting-06": partial(zcdp_of_losses, bounded_range=True),
    "accounting-07": partial(zcdp_of_losses, bounded_range=False),
    "accounting-08": partial(group_of_two, lambda epsilon: 1 + math.exp(epsilon)),
    "accounting-09": partial(group_of_two, lambda _: 2.0),
    "accounting-10": partial(total_variation, "laplace"),
    "accounting-11": partial(total_variation, "geometric"),
    "accounting-12": partial(tail_of_the_loss, "tail"),
    "accounting-13": partial(tail_of_the_loss, "privacy"),
    "accounting-14": partial(gdp_of, 0.0, _two_segment_mu),
    "accounting-15": partial(gdp_of, 1e-6, _two_segment_mu),
    "accounting-16": partial(gdp_of, 0.0, lambda epsilon: epsilon),
}
