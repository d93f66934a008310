"""Subsampling: exact likelihood ratios of noisy counts of one value in the sample.

A count with Laplace noise of scale 1/ε has density proportional to e^(-ε|y - count|), so at a point
y beyond every count the ratio of two samples is the ratio of their means of e^(ε · count).
"""

import math
from collections.abc import Callable, Mapping
from functools import partial

from dprivbench_inspect.divergences import Certificate, Measured, log_ratio

EPSILON, RATE, N, DRAWS, ROUNDS = 1.0, 0.1, 10, 5, 3
CountLaw = Mapping[int, float]  # count of the value in the sample -> probability


def _loss(one: CountLaw, other: CountLaw, copies: int = 1) -> Measured:
    """Log of the likelihood ratio at a far point, for `copies` noisy counts of the same sample."""
    beyond = max(*one, *other) + 1.0  # any point beyond the largest count

    def likelihood(law: CountLaw) -> float:
        heights = {count: EPSILON / 2 * math.exp(-EPSILON * (beyond - count)) for count in law}
        return math.fsum(p * heights[count] ** copies for count, p in law.items())

    values = [Measured(x, 1e-14 * x) for x in (likelihood(one), likelihood(other))]
    return log_ratio(*values)


def _amplified(rate: float) -> float:
    return math.log1p(rate * math.expm1(EPSILON))


def poisson(claim: float, relation: str) -> Certificate:
    """Noisy count of r (minus that of r' where a record is replaced) in a Poisson sample."""
    one = {1: RATE, 0: 1 - RATE}
    other = {0: 1.0} if relation == "insert" else {-1: RATE, 0: 1 - RATE}
    pair = f"{relation} one record r, q={RATE}, noisy count of r in the sample, far right tail"
    return Certificate(claim, *_loss(one, other), "ε' at ε=1", pair)


def fixed_size(drawing: str, *, positions_released: bool = False) -> Certificate:
    """Draws m of n positions, with or without replacement; r stands once in X, never in X'."""
    if drawing == "with replacement":
        one = {
            i: math.comb(DRAWS, i) * (1 / N) ** i * (1 - 1 / N) ** (DRAWS - i)
            for i in range(DRAWS + 1)
        }
    else:
        one = {1: DRAWS / N, 0: 1 - DRAWS / N}
    if positions_released:  # look at those releases whose positions hold the record
        one = {1: 1.0}
    pair = f"r replaced at one of n={N} positions, m={DRAWS}, noisy count of r, far right tail"
    return Certificate(_amplified(DRAWS / N), *_loss(one, {0: 1.0}), "ε' at ε=1", pair)


def rounds(samples: str) -> Certificate:
    """T noisy counts of r, each on a sample of its own or all on one."""
    one, other = {1: RATE, 0: 1 - RATE}, {0: 1.0}
    if samples == "fresh":
        single = _loss(one, other)
        measured = Measured(ROUNDS * single.value, ROUNDS * single.error)
    else:
        measured = _loss(one, other, copies=ROUNDS)
    pair = f"insert one record r, q={RATE}, T={ROUNDS} noisy counts of r, far right tails"
    return Certificate(ROUNDS * _amplified(RATE), *measured, "ε' at ε=1", pair)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "subsampling-01": partial(poisson, _amplified(RATE), "insert"),
    "subsampling-02": partial(poisson, RATE * EPSILON, "insert"),
    "subsampling-03": partial(poisson, _amplified(RATE), "replace"),
    "subsampling-04": partial(fixed_size, "without replacement"),
    "subsampling-05": partial(fixed_size, "with replacement"),
    "subsampling-06": partial(fixed_size, "without replacement", positions_released=True),
    "subsampling-07": partial(rounds, "fresh"),
    "subsampling-08": partial(rounds, "one for all"),
}
