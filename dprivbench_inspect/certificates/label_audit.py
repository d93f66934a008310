"""Counterexamples to false official labels of Category 2, named in data/label_audit.yaml.

The mechanisms are those of the public release erchiw/DPriv-Bench at 48f86ab, evaluated on pairs of
neighbours that fit on a line. A name is the question's id, with the reading after a slash.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import stats

from dprivbench_inspect.certificates.label_audit_readings import READINGS
from dprivbench_inspect.certificates.label_audit_right import RIGHT
from dprivbench_inspect.divergences import (
    Array,
    Certificate,
    Density,
    Measured,
    gaussian_delta,
    hockey_stick,
    isotropic_gaussian_delta,
    laplace,
    laplace_delta,
    renyi,
)

_OfTheta = Callable[[Array], Array]


def gradient_descent(epsilon: float, n: int, dimension: int) -> Certificate:
    """28: one step whose noise has deviation 2C/((n-1)μ), all gradients 0, n against n + 1."""
    mu, clip = 1.0, 1.0
    one, other = (2 * clip / ((size - 1) * mu) for size in (n, n + 1))
    measured = isotropic_gaussian_delta(epsilon, 0.0, one, other, dimension)
    pair = f"{n} against {n + 1} records with gradient 0, T=1, d={dimension}"
    unit = f"δ at ε={epsilon:g} (μ=1)"
    return Certificate(gaussian_delta(epsilon, mu).value, *measured, unit, pair)


def noisy_sum_over_n(x: float) -> Certificate:
    """74: Laplace noise of scale 10C/(nε) on the mean: log density ratio at x, n = 3 against 4."""
    one, other = (laplace(0.0, 10 / n) for n in (3, 4))
    at = np.array([x])
    ratio = float((one.log_pdf(at) - other.log_pdf(at))[0])
    return Certificate(1.0, ratio, 1e-12, "ε", f"3 against 4 records at 0, C=1, output {x:g}")


def sum_of_all_but_the_last(longest: int) -> Certificate:
    """76: worst privacy loss of noisy numerator and denominator over all lists and deletions.

    Lists of up to `longest` records, values at the clipping bounds, at 0 and beyond the bounds. The
    quotient that is released is computed from the two, so it loses no more.
    """
    clip, epsilon, worst, pair = 1.0, 1.0, 0.0, ""
    for n in range(2, longest + 1):
        for records in itertools.product((-clip, 0.0, clip, 5 * clip), repeat=n):
            for left_out in range(n):
                shorter = records[:left_out] + records[left_out + 1 :]
                one, other = (float(np.clip(r[:-1], -clip, clip).sum()) for r in (records, shorter))
                loss = abs(one - other) * epsilon / (2 * clip) + epsilon / 2
                if loss > worst:
                    worst, pair = loss, f"{records} against {shorter}, lists of up to {longest}"
    return Certificate(epsilon, worst, 1e-12, "ε", pair)


def objective_perturbation(delta: float) -> Certificate:
    """87, replace-one: a Huber loss centred in the tail against a loss of constant slope -1.

    d=1, W=R, L=1, ε=1, n=10, λ=1, β=εnλ; the other losses are 0. The minimiser is θ where the sum
    of slopes plus 2nλθ equals -G, so its density is that of G times the change of that sum. The
    corners of the Huber loss can be smoothed with as little effect as one likes.
    """
    n, regularisation, epsilon = 10, 1.0, 1.0
    beta, pull = epsilon * n * regularisation, 2 * n * regularisation
    sigma = math.sqrt(10 * math.log(1 / delta)) / epsilon
    linear = _minimiser(lambda t: np.full_like(t, -1.0), lambda t: np.zeros_like(t), pull, sigma)
    best, at = Measured(0.0, 0.0), 0.0
    for tail in np.linspace(-6.0, -3.0, 61):
        center = tail * sigma / pull
        slope, curvature = _huber(center, beta)
        huber = _minimiser(slope, curvature, pull, sigma)
        inside = center + np.linspace(-1, 1, 41) / beta
        points = np.concatenate([center - np.array([20.0, 1.0]) * sigma / pull, inside])
        points = np.concatenate([points, [center + sigma / pull, 12 * sigma / pull]])
        found = hockey_stick(huber, linear, epsilon, np.unique(points))
        if found.value > best.value:
            best, at = found, tail
    pair = f"Huber loss centred {-at:.2f} deviations out against slope -1, n=10, λ=1, β=10"
    return Certificate(delta, *best, f"δ at ε=1 (δ={delta:g})", pair)


def _huber(center: float, beta: float) -> tuple[_OfTheta, _OfTheta]:
    """Slope and curvature of a loss that is quadratic within 1/β of its centre."""
    return (
        lambda t: np.clip(beta * (t - center), -1, 1),
        lambda t: np.where(np.abs(t - center) < 1 / beta, beta, 0.0),
    )


def _minimiser(slope: _OfTheta, curvature: _OfTheta, pull: float, sigma: float) -> Density:
    def log_pdf(t: Array) -> Array:
        standard = (slope(t) + pull * t) / sigma
        return np.asarray(stats.norm.logpdf(standard) + np.log((curvature(t) + pull) / sigma))

    def mass(low: float, high: float) -> float:
        ends = np.array([low, high])
        a, b = (slope(ends) + pull * ends) / sigma
        difference = stats.norm.sf(a) - stats.norm.sf(b)
        return float(difference if a > 0 else stats.norm.cdf(b) - stats.norm.cdf(a))

    return Density(log_pdf, mass)


def generalised_propose_test_release(epsilon: float, local_sensitivity: float) -> Certificate:
    """113: the test always passes where the local sensitivity is below Δ/ε; scale Δ = 1."""
    delta, scale = 0.01, 1.0
    if local_sensitivity >= scale / epsilon:
        raise ValueError(
            f"local sensitivity {local_sensitivity} must be below Δ/ε = {scale / epsilon:g}"
        )
    measured = laplace_delta(2 * epsilon, local_sensitivity / scale)
    unit, pair = f"δ at 2ε={2 * epsilon:g}", f"values {local_sensitivity:g} apart, test passes"
    return Certificate(2 * delta, *measured, unit, pair)


def trimmed_mean_sinh(m: int, order: float) -> Certificate:
    """127: scale c times sinh of a standard normal, c = 1 against e^-m, same trimmed mean 0.

    In arsinh of the output, where the first law is a standard normal.
    """

    def law(c: float) -> Density:
        def log_pdf(z: Array) -> Array:
            standard = np.arcsinh(np.sinh(z) / c)
            jacobian = np.log(np.cosh(z)) - 0.5 * np.log(c * c + np.sinh(z) ** 2)
            return np.asarray(stats.norm.logpdf(standard) + jacobian, dtype=float)

        def mass(low: float, high: float) -> float:
            a, b = np.arcsinh(np.sinh(np.array([low, high])) / c)
            return float(stats.norm.cdf(b) - stats.norm.cdf(a))

        return Density(log_pdf, mass)

    ends = [-m - 14.0, -m, -2.0, -0.1, 0.0, 0.1, 2.0, m, m + 14.0]
    measured = renyi(law(1.0), law(math.exp(-m)), order, sorted(set(ends)))
    return _trimmed(measured, 8.0, m, order)


def trimmed_mean_laplace(m: int, order: float) -> Certificate:
    """129: scale c times Laplace times a log-normal, c = 1 against e^-m, same trimmed mean 0.

    The sign says nothing of c, and in the logarithm of the size c is a shift by -m of a normal plus
    the logarithm of an exponential variable.
    """
    normal = np.linspace(-18.0, 30.0, 2401)  # its step is far below the width of what it is in
    weights = stats.norm.logpdf(normal) + math.log(normal[1] - normal[0])

    def law(shift: float) -> Density:
        def log_pdf(u: Array) -> Array:
            rest = np.subtract.outer(u - shift, normal)
            return np.asarray(np.logaddexp.reduce(weights + rest - np.exp(rest), axis=-1))

        return Density(log_pdf, lambda low, high: math.nan)  # no event is measured here

    ends = [-40.0, -20.0, -8.0, -3.0, 0.0, 3.0, m + 3.0, m + 13.0]
    measured = renyi(law(0.0), law(-m), order, ends)
    return _trimmed(Measured(measured.value, measured.error + 1e-7), 2.0, m, order)


def _trimmed(measured: Measured, rho: float, m: int, order: float) -> Certificate:
    pair = f"{2 * m + 1} zeros with one of them replaced by 1, m={m}"
    return Certificate(rho * order, *measured, f"Rényi divergence of order {order:g}", pair)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "cate_2-28": partial(gradient_descent, 3.0, 3, 1),
    "cate_2-28/many dimensions": partial(gradient_descent, 1.0, 10, 100),
    "cate_2-74": partial(noisy_sum_over_n, 100.0),
    "cate_2-76": partial(sum_of_all_but_the_last, 5),
    "cate_2-87/replace-one": partial(objective_perturbation, 1e-10),
    "cate_2-113": partial(generalised_propose_test_release, 0.1, 9.0),
    "cate_2-127": partial(trimmed_mean_sinh, 4, 2.0),
    "cate_2-129": partial(trimmed_mean_laplace, 3, 2.0),
    **READINGS,
    **RIGHT,
}
