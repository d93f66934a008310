"""Output perturbation: minimisers of linear losses plus a regulariser, and the noise on them."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from dprivbench_inspect.divergences import Certificate

N, LIPSCHITZ, LAMBDA, MU, EPSILON, D = 1001, 1.0, 1.0, 1.0, 1.0, 4


def _minimiser(slope: float, power: int) -> float:
    """Of slope · θ + (λ / power) |θ|^power on the line."""
    return -math.copysign(abs(slope / LAMBDA) ** (1 / (power - 1)), slope)


def _moved(power: int) -> float:
    """All other records cancel in pairs; the one that differs has slope L or -L."""
    return _minimiser(-LIPSCHITZ / N, power) - _minimiser(LIPSCHITZ / N, power)


def gaussian_noise(sensitivity: float, *, power: int = 2) -> Certificate:
    """Distance of the minimisers over σ = sensitivity / μ."""
    measured = _moved(power) / (sensitivity / MU)
    pair = f"n={N}, λ=L=1, d=1: linear losses of slope ±L whose mean is L/n against -L/n"
    return Certificate(MU, measured, 1e-12 * measured, "μ", pair)


def exponential_noise(norm: int) -> Certificate:
    """Log ratio of the densities exp(-(nλε/2L) |z|) far out on the diagonal, in the given norm."""
    diagonal = np.ones(D) / math.sqrt(D)
    shift = _moved(2) * diagonal
    far = 10 * diagonal
    rate = N * LAMBDA * EPSILON / (2 * LIPSCHITZ)
    measured = rate * float(np.linalg.norm(far, norm) - np.linalg.norm(far - shift, norm))
    pair = f"n={N}, λ=L=1, d={D}: slopes along the diagonal, mean L/n against -L/n"
    return Certificate(EPSILON, measured, 1e-9, "ε", pair)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "output_perturbation-01": partial(gaussian_noise, 2 * LIPSCHITZ / (N * LAMBDA)),
    "output_perturbation-02": partial(gaussian_noise, LIPSCHITZ / (N * LAMBDA)),
    "output_perturbation-03": partial(gaussian_noise, 2 * LIPSCHITZ / (N * LAMBDA), power=4),
    "output_perturbation-04": partial(exponential_noise, 2),
    "output_perturbation-05": partial(exponential_noise, 1),
}
