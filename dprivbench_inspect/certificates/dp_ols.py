"""Linear regression from noisy sufficient statistics: how far one record moves them."""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dprivbench_inspect.divergences import Array, Certificate

MU, EPSILON, D = 1.0, 1.0, 3
Record = tuple[Sequence[float], float]


def _statistics(records: Sequence[Record]) -> Array:
    """Upper triangle of the sum of x xᵀ, then the sum of y x; shape (d(d+1)/2 + d,)."""
    total = np.zeros(D * (D + 1) // 2 + D)
    for features, y in records:
        x = np.array(features)
        total += np.concatenate([np.outer(x, x)[np.triu_indices(D)], y * x])
    return total


def gaussian_statistics(
    *, relation: str = "insert", norm: float = 2, noise_of_b: str = "fresh"
) -> Certificate:
    """Length of the shift in units of the noise; infinite outside the range of the covariance."""
    sigma, size = math.sqrt(2) / MU, D * (D + 1) // 2 + D
    factor = np.eye(size)  # released statistics = exact ones + sigma · factor · standard normals
    if noise_of_b == "first column of E":
        for i in range(D):  # entry (0, i) of the upper triangle stands at place i
            factor[D * (D + 1) // 2 + i] = np.eye(size)[i]
    directions = [d for d in itertools.product((-1.0, 0.0, 0.5, 1.0), repeat=D) if any(d)]
    unit = [tuple(np.array(d) / np.linalg.norm(d, norm)) for d in directions]
    measured, pair = 0.0, ""
    covariance = factor @ factor.T
    inverse = np.linalg.pinv(covariance)
    for x, other in itertools.product(unit, unit if relation == "replace" else [None]):
        before: list[Record] = [] if other is None else [(other, -1.0)]
        shift = (_statistics([(x, 1.0)]) - _statistics(before)) / sigma
        inside = np.allclose(covariance @ inverse @ shift, shift, atol=1e-9)
        mu = math.sqrt(shift @ inverse @ shift) if inside else math.inf
        if mu > measured:
            shown = tuple(round(float(c), 3) for c in x)
            measured, pair = mu, f"{relation} the record x={shown}, y=1, d={D}"
    return Certificate(MU, measured, 1e-9, "μ", pair)


def laplace_statistics(scale: float, *, largest_y: float = 1.0) -> Certificate:
    """Log density ratio far out, where each coordinate of noise gives its whole shift / scale."""
    grid = np.linspace(-1, 1, 41)
    measured, pair = 0.0, ""
    for x, other in itertools.product(grid, grid):
        for y, other_y in itertools.product((-largest_y, 0.0, largest_y), repeat=2):
            moved = abs(x * x - other * other) + abs(x * y - other * other_y)
            if moved / scale > measured:
                measured = float(moved / scale)
                pair = f"record ({x:g}, {y:g}) against ({other:g}, {other_y:g}), n=1"
    return Certificate(EPSILON, measured, 1e-12, "ε", pair)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "dp_ols-01": gaussian_statistics,
    "dp_ols-02": partial(gaussian_statistics, relation="replace"),
    "dp_ols-03": partial(gaussian_statistics, norm=math.inf),
    "dp_ols-04": partial(gaussian_statistics, noise_of_b="first column of E"),
    "dp_ols-05": partial(laplace_statistics, 9 / (4 * EPSILON)),
    "dp_ols-06": partial(laplace_statistics, 2 / EPSILON),
    "dp_ols-07": partial(laplace_statistics, 9 / (4 * EPSILON), largest_y=100.0),
}
