"""Divergences of the pairs of distributions that certificates need, each with an error bound.

A certificate compares what a mechanism gives away on one pair of neighbours with what its claim
allows. Hockey-stick values of one-dimensional densities are taken at events with known
probabilities, so they are lower bounds even where a root was found badly.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import integrate, optimize, special, stats

Array = npt.NDArray[np.float64]
_ROUNDING = 1e-14  # of one distribution function near 1; scipy's are good to a few units in 1e-16


class Measured(NamedTuple):
    """A number and a bound on its absolute error."""

    value: float
    error: float


class Certificate(NamedTuple):
    """What a claim allows beside what the mechanism gives away on one pair of neighbours."""

    claim: float
    measured: float
    error: float
    unit: str
    pair: str

    @property
    def verdict(self) -> Literal["yes", "no"]:
        """No: the pair breaks the claim. Yes: the claim holds on this pair: checked, not proved."""
        return "no" if self.margin > 0 else "yes"

    @property
    def margin(self) -> float:
        """Measured minus error minus claim, in `unit`: above 0 exactly where the pair breaks it."""
        return self.measured - self.error - self.claim


class Density(NamedTuple):
    """One-dimensional distribution without atoms.

    `log_pdf` maps points of shape (n,) to shape (n,); `mass(low, high)` is the probability between.
    """

    log_pdf: Callable[[Array], Array]
    mass: Callable[[float, float], float]


def mixture(weights: Sequence[float], parts: Sequence[Any]) -> Density:
    """Mixture of frozen scipy distributions, e.g. `mixture([0.9, 0.1], [norm(0, 2), norm(1, 2)])`.

    Raises:
        ValueError: The weights are negative, do not sum to 1, or do not fit the parts.
    """
    if len(weights) != len(parts) or min(weights) < 0 or abs(sum(weights) - 1) > 1e-12:
        raise ValueError(f"{len(parts)} parts need as many weights that sum to 1; got {weights}")

    def log_pdf(x: Array) -> Array:
        terms = np.stack([part.logpdf(x) for part in parts])
        scale = np.asarray(weights, dtype=float).reshape((-1,) + (1,) * (terms.ndim - 1))
        return np.asarray(special.logsumexp(terms, axis=0, b=scale), dtype=float)

    def mass(low: float, high: float) -> float:
        total = 0.0
        for weight, part in zip(weights, parts, strict=True):
            above = low > part.median()  # differences of the small tails keep their digits
            inside = part.sf(low) - part.sf(high) if above else part.cdf(high) - part.cdf(low)
            total += weight * float(inside)
        return total

    return Density(log_pdf, mass)


def normal(mean: float, sigma: float) -> Density:
    """Normal distribution with standard deviation `sigma`."""
    return mixture([1.0], [stats.norm(mean, sigma)])


def laplace(center: float, scale: float) -> Density:
    """Laplace distribution with density proportional to exp(-|x - center| / scale)."""
    return mixture([1.0], [stats.laplace(center, scale)])


# --- hockey-stick divergence: smallest δ of (ε, δ) for one ordered pair, sup over events ---


def hockey_stick(p: Density, q: Density, epsilon: float, points: Array) -> Measured:
    """Sup over events E of P(E) - e^ε Q(E), for densities on the line.

    The event is log p/q > ε. Its ends are searched between neighbouring points, so the value is
    never too large by more than `error`; it is too small only where two sign changes of
    log p/q - ε lie between neighbours or one lies outside all points.

    Args:
        p: First distribution.
        q: Second distribution.
        epsilon: In nats, any sign.
        points: Increasing, shape (n,); wide and dense enough to see each sign change; kinks of the
            densities belong among them.

    >>> round(hockey_stick(normal(1, 1), normal(0, 1), 1.0, np.linspace(-9, 9, 99)).value, 6)
    0.126937
    """
    excess = p.log_pdf(points) - q.log_pdf(points) - epsilon
    excess = np.where(np.isnan(excess), -np.inf, excess)
    positive = excess > 0

    def root(index: int) -> float:
        low, high = float(points[index]), float(points[index + 1])
        if not np.isfinite(excess[index : index + 2]).all():
            return low if positive[index] else high
        f = lambda x: float((p.log_pdf(np.array([x])) - q.log_pdf(np.array([x])))[0]) - epsilon  # noqa: E731
        return float(optimize.brentq(f, low, high, xtol=1e-14))

    ends = [root(int(i)) for i in np.flatnonzero(positive[1:] != positive[:-1])]
    ends = ([-math.inf] if positive[0] else []) + ends + ([math.inf] if positive[-1] else [])
    total = math.fsum(
        p.mass(low, high) - math.exp(epsilon) * q.mass(low, high)
        for low, high in zip(ends[::2], ends[1::2], strict=True)
    )
    return Measured(max(0.0, total), _ROUNDING * (1 + len(ends)) * (1 + math.exp(epsilon)))


def hockey_stick_discrete(p: Array, q: Array, epsilon: float) -> Measured:
    """Sup over events of P(E) - e^ε Q(E), exact but for rounding.

    Args:
        p: Probabilities of the outcomes, shape (n,).
        q: The same outcomes under the neighbour, shape (n,).
        epsilon: In nats.
    """
    excess = np.asarray(p, dtype=float) - math.exp(epsilon) * np.asarray(q, dtype=float)
    value = math.fsum(excess[excess > 0])
    return Measured(value, 1e-15 * (1 + math.exp(epsilon)) + 1e-13 * value)


def product(*pairs: tuple[Array, Array]) -> tuple[Array, Array]:
    """Joint law of independent discrete releases, as one pair (p, q) of flat arrays.

    >>> [float(x) for x in product((np.array([0.5, 0.5]), np.array([0.25, 0.75])))[1]]
    [0.25, 0.75]
    """
    p, q = np.ones(1), np.ones(1)
    for left, right in pairs:
        p, q = np.multiply.outer(p, left).ravel(), np.multiply.outer(q, right).ravel()
    return p, q


def gaussian_delta(epsilon: float, mu: float) -> Measured:
    """δ at ε of N(μ, 1) against N(0, 1): what μ-GDP allows, and the exact δ of a Gaussian release.

    Source: arXiv:1805.06530, Theorem 8; arXiv:1905.02383, Section 2.

    >>> round(gaussian_delta(1.0, 1.0).value, 6)
    0.126937
    """
    if mu == 0:
        return Measured(max(0.0, 1 - math.exp(epsilon)), _ROUNDING)
    log_first = float(special.log_ndtr(mu / 2 - epsilon / mu))
    log_second = epsilon + float(special.log_ndtr(-mu / 2 - epsilon / mu))
    first = math.exp(log_first)
    error = 2e-15 * (2 + abs(log_first) + abs(log_second) + abs(epsilon)) * first
    return Measured(first * -math.expm1(min(0.0, log_second - log_first)), error)


def gaussian_epsilon(delta: float, mu: float) -> float:
    """Smallest ε >= 0 at which μ-GDP gives δ, by root search to 1e-12."""
    if gaussian_delta(0.0, mu).value <= delta:
        return 0.0
    high = mu * mu / 2 + mu * 40.0
    f = lambda e: gaussian_delta(e, mu).value - delta  # noqa: E731
    return float(optimize.brentq(f, 0.0, high, xtol=1e-12))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The μ whose Gaussian trade-off passes through (ε, δ): no smaller μ allows that δ.

    >>> round(gaussian_mu(1.0, 0.12693673750664397), 9)
    1.0
    """
    f = lambda mu: gaussian_delta(epsilon, mu).value - delta  # noqa: E731
    return float(optimize.brentq(f, 1e-14, 80 + 2 * math.sqrt(abs(epsilon)), xtol=1e-13))


def isotropic_gaussian_delta(
    epsilon: float, distance: float, sigma_p: float, sigma_q: float, dimension: int
) -> Measured:
    """δ at ε of N(a, σ_p² I) against N(b, σ_q² I) with |a - b| = distance, any two deviations.

    The log ratio is a quadratic in the distance from one center, hence noncentral chi-square.
    """
    if sigma_p == sigma_q:
        return gaussian_delta(epsilon, distance / sigma_p)
    curvature = (sigma_q**-2 - sigma_p**-2) / 2
    # On the line through a (at 0) and b (at `distance`): log p/q = curvature · |x - c|² + rest.
    center = distance * sigma_q**-2 / (2 * curvature)
    rest = (
        dimension * math.log(sigma_q / sigma_p)
        + distance**2 * sigma_q**-2 / 2
        - curvature * center**2
    )
    radius_squared = (epsilon - rest) / curvature

    def outside(offset: float, sigma: float) -> float:
        if radius_squared <= 0:
            return 1.0
        law = stats.ncx2(dimension, (offset / sigma) ** 2)
        return float(law.sf(radius_squared / sigma**2))

    of_p, of_q = outside(center, sigma_p), outside(center - distance, sigma_q)
    if curvature < 0:  # the event is the ball, not its outside
        of_p, of_q = 1 - of_p, 1 - of_q
    return Measured(max(0.0, of_p - math.exp(epsilon) * of_q), 1e-11 * (1 + math.exp(epsilon)))


def laplace_delta(epsilon: float, shift_over_scale: float) -> Measured:
    """δ at ε of two Laplace distributions of one scale: 1 - exp((ε - shift/scale) / 2), or 0."""
    value = max(0.0, -math.expm1((epsilon - abs(shift_over_scale)) / 2))
    return Measured(value, _ROUNDING)


# --- Rényi, KL, and largest ratios ---


def renyi(p: Density, q: Density, order: float, points: Sequence[float]) -> Measured:
    """Rényi divergence D_order(P || Q) in nats by quadrature; order 1 is the KL divergence.

    Args:
        p: First distribution.
        q: Second distribution; must have mass wherever p has.
        order: At least 1.
        points: Increasing ends of the pieces; kinks and modes belong among them. Nothing outside is
            counted, so choose the ends where both integrands have vanished.
    """
    if order < 1:
        raise ValueError(f"order must be at least 1, got {order}")

    def integrand(x: float) -> float:
        at = np.array([x])
        log_p, log_q = float(p.log_pdf(at)[0]), float(q.log_pdf(at)[0])
        if log_p == -math.inf:
            return 0.0
        if order == 1:
            return math.exp(log_p) * (log_p - log_q)
        return math.exp(order * log_p + (1 - order) * log_q)

    pieces = [
        integrate.quad(integrand, low, high, epsabs=1e-13, epsrel=1e-11, limit=200)[:2]
        for low, high in itertools.pairwise(points)
    ]
    total, error = math.fsum(v for v, _ in pieces), math.fsum(abs(e) for _, e in pieces)
    if order == 1:
        return Measured(total, error)
    return Measured(math.log(total) / (order - 1), error / total / (order - 1))


def renyi_discrete(p: Array, q: Array, order: float) -> Measured:
    """Rényi divergence of two discrete laws in nats; order 1 is KL, math.inf the largest log ratio.

    >>> round(renyi_discrete(np.array([0.75, 0.25]), np.array([0.25, 0.75]), math.inf).value, 6)
    1.098612
    """
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    p, q = p[p > 0], q[p > 0]
    if (q == 0).any():
        return Measured(math.inf, 0.0)
    log_ratio = np.log(p) - np.log(q)
    if order == math.inf:
        value = float(log_ratio.max())
    elif order == 1:
        value = math.fsum(p * log_ratio)
    else:
        value = float(special.logsumexp(np.log(p) + (order - 1) * log_ratio)) / (order - 1)
    return Measured(value, 1e-13 * (1 + float(np.abs(log_ratio).max())))


def renyi_gaussian(
    order: float, distance: float, sigma_p: float, sigma_q: float, dimension: int = 1
) -> Measured:
    """Rényi divergence of N(a, σ_p² I) from N(b, σ_q² I), |a - b| = distance; inf where it is.

    Source: Gil, Alajaji, Linder 2013, doi:10.1016/j.ins.2013.06.018, Table 2.
    """
    if order == 1:
        ratio = (sigma_p / sigma_q) ** 2
        value = (dimension * (ratio - 1 - math.log(ratio)) + (distance / sigma_q) ** 2) / 2
        return Measured(value, 1e-14 * (1 + value))
    blend = order * sigma_q**2 + (1 - order) * sigma_p**2
    if blend <= 0:
        return Measured(math.inf, 0.0)
    spread = (1 - order) * math.log(sigma_p) + order * math.log(sigma_q) - math.log(blend) / 2
    value = order * distance**2 / (2 * blend) + dimension * spread / (order - 1)
    return Measured(value, 1e-13 * (1 + abs(value)))


def log_ratio(p_event: Measured, q_event: Measured) -> Measured:
    """ln(P(E) / Q(E)) of one event: no smaller ε is possible for pure DP; inf if Q(E) is 0."""
    if q_event.value == 0 and q_event.error == 0:
        return Measured(math.inf, 0.0)
    value = math.log(p_event.value / q_event.value)
    low = max(p_event.value - p_event.error, 1e-300) / (q_event.value + q_event.error)
    return Measured(value, value - math.log(low))
