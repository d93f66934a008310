"""Adam on noisy gradients: one step, whose update is seen coordinate by coordinate."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from dprivbench_inspect.divergences import Certificate, renyi_gaussian

N, D, C, RHO, GAMMA = 2, 4, 1.0, 0.5, 0.1


def one_step(*, second_moment: str = "noisy", clipping: str = "norm") -> Certificate:
    """Update y / (|y| + γ), which determines y, or y / (|a| + γ), a Gaussian scaled by the data."""
    sigma = math.sqrt(2 * C**2 / (N**2 * RHO))  # T = 1
    direction = np.ones(D)
    clipped = direction * (C / math.sqrt(D) if clipping == "norm" else C)  # of a huge gradient
    means = [(clipped - clipped) / N, (clipped + clipped) / N]
    sizes = [1 / (abs(a[0]) + GAMMA) if second_moment == "exact" else 1.0 for a in means]
    distance = float(np.linalg.norm(means[0] * sizes[0] - means[1] * sizes[1]))
    deviations = [sigma * size for size in sizes]
    measured = max(
        renyi_gaussian(order, distance, p, q, D).value / order
        for order in (1.0, 2.0, 8.0, 64.0)
        for p, q in (deviations, deviations[::-1])
    )
    pair = f"n=2, d={D}: huge gradients (-v, v) against (v, v) along the diagonal, T=1"
    return Certificate(RHO, measured, 1e-9, "ρ", pair)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "dp_adam-01": one_step,
    "dp_adam-02": partial(one_step, second_moment="exact"),
    "dp_adam-03": partial(one_step, clipping="coordinate"),
}
