"""Sequential and adaptive composition: joint laws of a few releases, exactly."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special, stats

from dprivbench_inspect.divergences import (
    Array,
    Certificate,
    Measured,
    hockey_stick_discrete,
    product,
    renyi_discrete,
)


def _randomised_response(epsilon: float) -> tuple[Array, Array]:
    keep = 1 / (1 + math.exp(-epsilon))
    return np.array([keep, 1 - keep]), np.array([1 - keep, keep])


def adaptive_zcdp(claim: Callable[[float, float], float], *, every_y: bool = True) -> Certificate:
    """M₁ flips the record's bit with known odds, M₂ adds Gaussian noise that may depend on y.

    Given y, M₂ has Rényi divergence αρ₂; where the assumption covers one y only, M₂ prints the
    record for the other y.
    """
    rho_2 = 0.3
    p, q = _randomised_response(1.0)
    orders = (1.0001, 1.5, 2.0, 4.0, 16.0, 64.0)
    rho_1 = max(renyi_discrete(p, q, a).value / a for a in (1.0, *orders))
    measured = 0.0
    for order in orders:
        of_y = np.array([order * rho_2, order * rho_2 if every_y else math.inf])
        log_terms = order * np.log(p) + (1 - order) * np.log(q) + (order - 1) * of_y
        measured = max(measured, float(special.logsumexp(log_terms)) / (order - 1) / order)
    pair = "record 1 against 0: randomised response at ε=1, then a Gaussian count"
    return Certificate(claim(rho_1, rho_2), measured, 1e-9, f"ρ (ρ₁={rho_1:.4f}, ρ₂=0.3)", pair)


def gaussian_queries(draws: str) -> Certificate:
    """μ of k = 2 noisy counts; the new record is counted by both, or by the first only.

    The μ of N(s, Σ) against N(0, Σ) is the Mahalanobis length of s: infinite outside Σ's range.
    """
    mu = 1.0
    covariance = (np.eye(2) if draws == "fresh" else np.ones((2, 2))) / mu**2
    inverse = np.linalg.pinv(covariance)
    measured = 0.0
    for shift in (np.array([1.0, 1.0]), np.array([1.0, 0.0])):
        inside = np.allclose(covariance @ inverse @ shift, shift, atol=1e-9)
        length = math.sqrt(shift @ inverse @ shift) if inside else math.inf
        measured = max(measured, length)
    pair = "insert a record that changes both queries, or the first of the two"
    return Certificate(math.sqrt(2) * mu, measured, 1e-12, "μ", pair)


def advanced(
    epsilon_star: Callable[[float, int, float], float],
    delta_star: Callable[[float, int, float], float],
) -> Certificate:
    """Record shown with probability δ, else randomised response at ε, in each of k runs.

    Exact: the number of flipped answers is binomial, and a shown record is a sure event.
    """
    found = []
    for epsilon, delta, k, slack in ((1.0, 0.0, 100, 0.01), (0.1, 1e-3, 10, 1e-6)):
        flip = 1 / (1 + math.exp(epsilon))
        flips = np.arange(k + 1)
        p, q = stats.binom.pmf(flips, k, flip), stats.binom.pmf(flips, k, 1 - flip)
        hidden, at = (1 - delta) ** k, epsilon_star(epsilon, k, slack)
        value = 1 - hidden + hidden * hockey_stick_discrete(p, q, at).value
        pair = f"record 1 against 0, k={k}, ε={epsilon}, δ={delta}, δ'={slack}"
        claim = delta_star(delta, k, slack)
        found.append(Certificate(claim, value, 1e-11, f"δ* at ε*={at:.4g}", pair))
    return max(found, key=lambda c: c.measured / c.claim)


def budget(stops: Callable[[float, float, float], bool]) -> Certificate:
    """An analyst who asks for randomised response with the whole budget, again and again."""
    total, spent, releases = 1.0, 0.0, []
    for _ in range(2):  # K = 2
        request = total
        if stops(spent, request, total):
            break
        releases.append(_randomised_response(request))
        spent += request
    measured = renyi_discrete(*product(*releases), math.inf)
    pair = f"record 1 against 0, randomised response at ε=B, runs allowed: {len(releases)}"
    return Certificate(total, *measured, "ε at B=1", pair)


def chosen_mechanism(noise_scale: Callable[[float], float]) -> Certificate:
    """Two candidates with outputs of their own; one record tips the scores.

    With Gumbel noise the winner is logistic in the score gap; scale 0 is the plain argmax.
    """
    epsilon_1, epsilon_2 = 0.6, 0.4
    scale = noise_scale(epsilon_1)

    def law(scores: tuple[float, float], bit: int) -> Array:
        gap = scores[1] - scores[0]
        second = float(special.expit(gap / scale)) if scale else float(gap > 0)
        answers = _randomised_response(epsilon_2)[bit]
        return np.concatenate([(1 - second) * answers, second * answers])

    neighbours = [((1.0, 1.0), (1.0, 2.0)), ((9.0, 1.0), (8.0, 2.0))]  # scores before and after
    measured = Measured(0.0, 0.0)
    for before, after in neighbours:
        for one, other in ((law(before, 0), law(after, 1)), (law(after, 1), law(before, 0))):
            measured = max(measured, renyi_discrete(one, other, math.inf))
    pair = "insert a record that tips or nearly tips the scores of two tagged mechanisms"
    return Certificate(epsilon_1 + epsilon_2, *measured, "ε at ε₁=0.6, ε₂=0.4", pair)


def _azuma(epsilon: float, k: int, slack: float) -> float:
    return epsilon * math.sqrt(2 * k * math.log(1 / slack))


def _with_mean(epsilon: float, k: int, slack: float) -> float:
    return _azuma(epsilon, k, slack) + k * epsilon * math.expm1(epsilon)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "sequential_composition-01": partial(adaptive_zcdp, lambda a, b: a + b),
    "sequential_composition-02": partial(adaptive_zcdp, math.hypot),
    "sequential_composition-03": partial(adaptive_zcdp, lambda a, b: a + b, every_y=False),
    "sequential_composition-04": partial(gaussian_queries, "fresh"),
    "sequential_composition-05": partial(gaussian_queries, "one for all"),
    "sequential_composition-06": partial(advanced, _with_mean, lambda d, k, s: k * d + s),
    "sequential_composition-07": partial(advanced, _azuma, lambda d, k, s: k * d + s),
    "sequential_composition-08": partial(advanced, _with_mean, lambda d, k, s: s),
    "sequential_composition-09": partial(budget, lambda s, e, total: s + e > total),
    "sequential_composition-10": partial(budget, lambda s, e, total: s > total),
    "sequential_composition-11": partial(chosen_mechanism, lambda epsilon: 2 / epsilon),
    "sequential_composition-12": partial(chosen_mechanism, lambda epsilon: 0.0),
}
