"""Stochastic gradient descent: exact laws of noisy sums over random batches, in one dimension.

Gradients are constant in θ and at most C = 1 long. Where several steps are looked at together, the
sum of their releases is used: a lower bound on what the steps give away.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from scipy import stats

from dprivbench_inspect.divergences import (
    Certificate,
    Density,
    Measured,
    gaussian_delta,
    gaussian_mu,
    hockey_stick,
    mixture,
)

MU = 1.0
Counts = Mapping[int, float]  # how often the record is read -> probability


def _larger(p: Density, q: Density, epsilon: float, width: float) -> Measured:
    """δ at ε in the worse of the two directions; both laws lie within `width` of 0."""
    points = np.linspace(-width, width, 6001)
    return max(hockey_stick(p, q, epsilon, points), hockey_stick(q, p, epsilon, points))


def _poisson_step(gradients: Sequence[float], q: float, sigma: float, divisor: str) -> Density:
    """Law of (sum over the batch + noise) / divisor, by listing all batches."""
    weights, parts = [], []
    for inside in itertools.product((0, 1), repeat=len(gradients)):
        size = sum(inside)
        by = max(1, size) if divisor == "drawn size" else 1
        weights.append(q**size * (1 - q) ** (len(gradients) - size))
        total = sum(g for g, i in zip(gradients, inside, strict=True) if i)
        parts.append(stats.norm(total / by, sigma / by))
    return mixture(weights, parts)


def poisson(*, relation: str = "insert", divisor: str = "public") -> Certificate:
    """One step against δ(ε) of the printed pair of mixtures."""
    pairs: list[tuple[list[float], list[float]]] = [([], [1.0]), ([0.0], [0.0, 0.0])]
    if relation == "replace":
        pairs = [([-1.0], [1.0])]
    found = []
    for sigma, q, epsilon in ((1.0, 0.2, 0.5), (0.7, 0.01, 1.0), (10.0, 0.5, 0.01)):
        printed = mixture([1 - q, q], [stats.norm(0, sigma), stats.norm(1, sigma)])
        claim = _larger(printed, mixture([1.0], [stats.norm(0, sigma)]), epsilon, 12 * sigma).value
        for one, other in pairs:
            laws = [_poisson_step(g, q, sigma, divisor) for g in (one, other)]
            measured = _larger(laws[0], laws[1], epsilon, 12 * sigma)
            pair = f"gradients {one} against {other}, σ={sigma}, q={q}, T=1"
            found.append(Certificate(claim, *measured, f"δ at ε={epsilon}", pair))
    return max(found, key=lambda c: c.measured / c.claim)


def _sum_of_steps(counts: Counts, steps: int, sigma: float) -> Density:
    """Law of the summed releases: each reading of the record adds 2C, each step adds noise."""
    total = sigma * math.sqrt(steps)
    parts = [stats.norm(2.0 * count, total) for count in counts]
    return mixture(list(counts.values()), parts)


def _fresh(steps: int, rate: float) -> Counts:
    return {k: float(stats.binom.pmf(k, steps, rate)) for k in range(steps + 1)}


def fixed_size(*, noise: float = 2.0, batches: str = "fresh") -> Certificate:
    """Batches of m of n records; noise of standard deviation noise · σ · C.

    All other records have gradient -C, and the one that differs has C or -C, so that the sum moves
    by 2C exactly when it is drawn.
    """
    rate, found = 0.02, []
    for steps, sigma, epsilon in ((1, 1.0, 1.0), (100, 4.0, 1.0)):
        counts = _fresh(steps, rate) if batches == "fresh" else {0: 1 - rate, steps: rate}
        at = steps * math.log1p(rate * math.expm1(epsilon))
        claim = steps * rate * gaussian_delta(epsilon, 1 / sigma).value
        deviation = noise * sigma
        laws = [_sum_of_steps(c, steps, deviation) for c in (counts, {0: 1.0})]
        width = 12 * deviation * math.sqrt(steps) + 2 * steps
        measured = _larger(laws[0], laws[1], at, width)
        pair = f"m/n={rate}, σ={sigma}, T={steps}: one gradient C or -C, all others -C"
        found.append(Certificate(claim, *measured, f"δ' at ε'={at:.4g}", pair))
    return max(found, key=lambda c: c.measured / c.claim)


def one_pass(batches: str) -> Certificate:
    """T = 2 batches of one record each, noise 2C/μ; the record differs by 2C where it is read."""
    steps, sigma, epsilons = 2, 2 / MU, (0.5, 1.0, 2.0, 4.0, 8.0)
    if batches == "drawn":
        counts, none = _fresh(steps, 1 / steps), {0: 1.0}
        laws = [_sum_of_steps(c, steps, sigma) for c in (counts, none)]
        measured = max(
            gaussian_mu(e, delta)
            for e in epsilons
            if (delta := _larger(laws[0], laws[1], e, 60.0).value) > 1e-8
        )
        return Certificate(MU, measured, 1e-6, "μ", "one gradient C or -C, the other -C")
    measured, pair = 0.0, ""
    for gradient in (-1.0, 1.0):
        one, other = [(1, 1.0), (2, -1.0)], [(3, gradient), (2, -1.0)]  # key and gradient
        if batches == "sorted":
            one, other = sorted(one), sorted(other)
        shift = [g - h for (_, g), (_, h) in zip(one, other, strict=True)]
        mu = float(np.linalg.norm(shift)) / sigma
        if mu > measured:
            measured, pair = mu, f"batches of (key, gradient) {one} against {other}"
    return Certificate(MU, measured, 1e-12, "μ", pair)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "dp_sgd-01": poisson,
    "dp_sgd-02": partial(poisson, relation="replace"),
    "dp_sgd-03": partial(poisson, divisor="drawn size"),
    "dp_sgd-04": fixed_size,
    "dp_sgd-05": partial(fixed_size, noise=1.0),
    "dp_sgd-06": partial(fixed_size, batches="one for all"),
    "dp_sgd-07": partial(one_pass, "as given"),
    "dp_sgd-08": partial(one_pass, "sorted"),
    "dp_sgd-09": partial(one_pass, "drawn"),
}
