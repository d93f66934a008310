"""Noisy votes of teachers, of whom one record reaches one (or two)."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from dprivbench_inspect.divergences import Certificate, Measured

QUERIES, SIGMA, EPSILON = 3, 2.0, 1.0


def gaussian_counts(
    claim: float, *, teachers_per_record: int = 1, checks_majority: bool = False
) -> Certificate:
    """ρ of the noisy counts of m = 3 queries, on which the record's teachers change their vote."""
    k = teachers_per_record
    measured = 0.0
    for before in (np.array([5, 2, 1]), np.array([k, 0, k]), np.array([2 * k, 1, 1])):
        after = before + np.array([-k, k, 0])
        distance = float(np.linalg.norm(before - after))
        rho = QUERIES * distance**2 / (2 * SIGMA**2)
        answered = [votes.max() > votes.sum() / 2 for votes in (before, after)]
        if checks_majority and answered[0] != answered[1]:
            rho = math.inf  # refused with probability 1 on one side and 0 on the other
        measured = max(measured, rho)
    pair = f"the record's {k} of N teachers vote for another class on each of m={QUERIES} queries"
    return Certificate(claim, measured, 1e-12, "ρ at σ=2", pair)


def laplace_winner(scale: float) -> Certificate:
    """Log ratio of class 2's chance to win two classes, at gaps of votes that grow.

    For g >= 0, Pr[Z_2 - Z_1 > g] = (2 + g/scale) e^(-g/scale) / 4.
    """

    def log_chance(gap: float) -> float:
        return math.log((2 + gap / scale) / 4) - gap / scale

    losses = [log_chance(gap) - log_chance(gap + 2) for gap in (0.0, 10.0, 100.0, 10000.0)]
    single = Measured(max(losses), 1e-11)
    pair = f"votes 10002 to 0 and 10001 to 1 (and smaller gaps), class 2 wins all m={QUERIES}"
    return Certificate(
        QUERIES * EPSILON, QUERIES * single.value, QUERIES * single.error, "ε' at ε=1, m=3", pair
    )


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "pate-01": partial(gaussian_counts, QUERIES / SIGMA**2),
    "pate-02": partial(gaussian_counts, QUERIES / SIGMA**2, teachers_per_record=2),
    "pate-03": partial(gaussian_counts, QUERIES / (2 * SIGMA**2)),
    "pate-04": partial(gaussian_counts, QUERIES / SIGMA**2, checks_majority=True),
    "pate-05": partial(laplace_winner, 2 / EPSILON),
    "pate-06": partial(laplace_winner, 1 / EPSILON),
}
