"""Objective perturbation by change of variables: b = -(sum of gradients) - nλθ at the minimiser θ.

The density of the minimiser is that of b there, times the determinant of the sum of Hessians + nλI.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import stats

from dprivbench_inspect.divergences import Array, Certificate, gaussian_mu

N, LAMBDA, CURVATURE, EPSILON, MU, D = 1, 1.0, 1.0, 1.0, 1.0, 3
_SHARE = math.log1p(CURVATURE / (N * LAMBDA))  # what the determinant may cost


def _log_density(theta: Array, gradient: Array, hessian: Array, rate: float) -> float:
    """Of the minimiser at θ, but for a constant; the noise has density ~ exp(-rate · |b|)."""
    b = -gradient - N * LAMBDA * theta
    jacobian = hessian + N * LAMBDA * np.eye(D)
    return -rate * float(np.linalg.norm(b)) + float(np.linalg.slogdet(jacobian)[1])


def pure(spent_on_noise: float, *, rate_per_epsilon: float = 0.5, rank: int = 1) -> Certificate:
    """Log density ratio at one θ = 5u: Huber loss, just inside its quadratic zone, against linear.

    The Huber loss has curvature c in the direction u only, or in all directions.
    """
    u, edge = np.eye(D)[0], 1e-3  # the smooth corner of the Huber loss lies beyond 1 - edge
    hessian = CURVATURE * (np.outer(u, u) if rank == 1 else np.eye(D))
    rate = rate_per_epsilon * spent_on_noise
    curved = _log_density(5 * u, -(1 - edge) * u, hessian, rate)
    linear = _log_density(5 * u, u, np.zeros((D, D)), rate)
    pair = f"n=1, λ=c=1, d={D}: Huber loss of slope -0.999 against linear loss of slope 1, θ=5u"
    return Certificate(EPSILON, abs(curved - linear), 1e-12, "ε", pair)


def gaussian(curvature: float) -> Certificate:
    """μ of the minimiser's law on the line, from the events θ > t and |θ| < t.

    One record has slope 1, or a Huber loss of the given curvature around 0; the other slope -1.
    """
    sigma = 2 / MU

    def below(t: Array, slope: Callable[[Array], Array]) -> Array:
        """Pr[minimiser <= t]: -b = slope + nλθ increases with θ."""
        return np.asarray(stats.norm.cdf((slope(t) + N * LAMBDA * t) / sigma), dtype=float)

    def first(t: Array) -> Array:
        return np.clip(curvature * t, -1, 1) if curvature else np.ones_like(t)

    def second(t: Array) -> Array:
        return -np.ones_like(t)

    points = np.concatenate([np.linspace(-12, 12, 4801), np.geomspace(1e-4, 1, 200)])
    one, other = below(points, first), below(points, second)
    inside = np.abs(below(np.abs(points), first) - below(-np.abs(points), first))
    outside = np.abs(below(np.abs(points), second) - below(-np.abs(points), second))
    measured = 0.0
    for epsilon in (0.5, 1.0, 2.0, 3.0):
        for p, q in (
            (one, other),
            (other, one),
            (1 - one, 1 - other),
            (1 - other, 1 - one),
            (inside, outside),
            (outside, inside),
        ):
            delta = float((p - math.exp(epsilon) * q).max())
            if delta > 1e-8:
                measured = max(measured, gaussian_mu(epsilon, delta))
    pair = f"n=λ=1, curvature {curvature:g}: events θ > t and |θ| < t"
    return Certificate(MU, measured, 1e-6, "μ", pair)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "objective_perturbation-01": partial(pure, EPSILON - _SHARE),
    "objective_perturbation-02": partial(pure, EPSILON),
    "objective_perturbation-03": partial(pure, EPSILON - _SHARE, rate_per_epsilon=1.0),
    "objective_perturbation-04": partial(pure, EPSILON - _SHARE, rank=D),
    "objective_perturbation-05": partial(gaussian, 0.0),
    "objective_perturbation-06": partial(gaussian, 1000.0),
}
