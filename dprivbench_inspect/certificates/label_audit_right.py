"""Official labels of Category 2 that are right, for another reason than the release gives.

See label_audit.py, whose names these are.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy import stats

from dprivbench_inspect.certificates.noisy_votes import (
    data_dependent_bound,
    noisy_max_log_law,
    renyi_of_log_laws,
)
from dprivbench_inspect.divergences import (
    Certificate,
    Measured,
    isotropic_gaussian_delta,
    laplace,
    renyi,
    renyi_discrete,
)


def permute_and_flip() -> Certificate:
    """7: two candidates, the gap of their scores going from Δ to -Δ, as KL divergence at ε = 1."""
    p = 1 - math.exp(-0.5) / 2
    measured = renyi_discrete(np.array([p, 1 - p]), np.array([1 - p, p]), 1.0)
    return Certificate(1 / 8, *measured, "KL divergence at ε=1", "two candidates, gap Δ against -Δ")


def laplace_with_twice_the_logarithm() -> Certificate:
    """9 at α = 2, ε = 0.1: the claimed divergence is negative."""
    alpha, epsilon = 2.0, 0.1
    gain = math.log((1 + math.exp(-epsilon)) / (1 + math.exp(-(2 * alpha - 1) * epsilon)))
    one, other = laplace(0.0, 1 / epsilon), laplace(1.0, 1 / epsilon)
    measured = renyi(one, other, alpha, [-600.0, -50.0, 0.0, 1.0, 50.0, 600.0])
    pair = "values 0 against 1, noise of scale 10"
    return Certificate(
        epsilon - 2 / (alpha - 1) * gain, *measured, "Rényi divergence of order 2", pair
    )


def sample_without_replacement() -> Certificate:
    """15: a sample of one, its value with Laplace noise of scale 1, from {-1} against {-1, 1}.

    Noisy sums of values in [-1, 1] are 1-DP when a record is inserted; the sample instead has one
    replaced by the other. The log density ratio is the same from 1 on.
    """
    claim = math.log1p(1.0 * (math.e - 1))  # m/n is 1 for one of the two, 1/2 for the other
    measured = math.log((1 + math.exp(2)) / 2)
    return Certificate(claim, measured, 1e-14, "ε", "{-1} against {-1, 1}, m=1, outputs above 1")


def projection_with_a_quarter_of_the_noise(rows: int) -> Certificate:
    """42, 44: d = 1, one row of norm B removed, at the threshold itself; ε = 1, δ = 1e-6.

    The test alone loses ε there; what is released when it passes loses more.
    """
    epsilon, delta, bound = 1.0, 1e-6, 1.0
    log_term = math.log(8 / delta)
    floor = 8 * bound**2 / epsilon * (math.sqrt(2 * rows * log_term) + 2 * log_term)
    threshold = floor + 4 * bound**2 * math.log(1 / delta) / epsilon
    here, there = threshold, threshold - bound**2
    noise = stats.laplace(0, bound**2 / epsilon)
    passes = [float(noise.cdf(square - threshold)) for square in (here, there)]
    rest = isotropic_gaussian_delta(
        epsilon - math.log(passes[0] / passes[1]), 0.0, math.sqrt(here), math.sqrt(there), rows
    )
    pair = f"d=1, r={rows}, smallest singular value squared at the threshold, one row removed"
    return Certificate(delta, passes[0] * rest.value, rest.error, "δ at ε=1", pair)


def tuning_on_private_scores(order: float) -> Certificate:
    """67, 68: two constant models, scores that rank them by the private data, γ = 0.1."""
    gamma = 0.1
    none_better = -math.log1p(-(1 - gamma) / 2) / math.log(1 / gamma)  # the mean of 2^-K
    p = np.array([1 - none_better, none_better])
    claim = math.log(1 / gamma) / order + (
        math.log(1 - gamma) - math.log(gamma) - math.log(math.log(1 / gamma))
    ) / (order - 1)
    measured = renyi_discrete(p, p[::-1], order)
    pair = "two models that do not look at the data, ranked one way against the other, γ=0.1"
    return Certificate(claim, *measured, f"Rényi divergence of order {order:g}", pair)


def mean_of_two_sums(order: float) -> Certificate:
    """86 at ε = 1: whether the release is the lower end, for 60 records there, one added above."""
    n, epsilon = 60, 1.0
    claim = (3 * order**2 + 11 * order + 8) * epsilon / (5 * order**2 + 6 * order)
    # Pr[noisy a <= 0 < their sum], but for the chance that the sum of 60 is drowned in noise
    drowned = 40 * math.exp(-epsilon * n / 2)
    p, q = 0.5, math.exp(-epsilon) / 2
    measured = renyi_discrete(np.array([p, 1 - p]), np.array([q, 1 - q]), order)
    error = measured.error + 4 * order * drowned / q
    pair = f"{n} records at the lower end, one at the upper end added; release is the lower end"
    return Certificate(claim, measured.value, error, f"Rényi divergence of order {order:g}", pair)


def votes_beyond_the_proof(order: float) -> Certificate:
    """110: an order above μ₁, and a third class that almost nobody votes for."""
    sigma, here, there = 4.0, (20, 10, 0), (21, 10, -1)
    raised = [tuple(count + 1 for count in votes) for votes in (here, there)]  # no negative count
    bound = data_dependent_bound(raised[0], sigma, order)
    if order <= bound.largest_order:
        raise ValueError(f"order {order} must be above μ₁ = {bound.largest_order:.3g}")
    claim = order / 1e3**2 + bound.value
    laws = [noisy_max_log_law(votes, sigma) for votes in raised]
    measured = Measured(renyi_of_log_laws(laws[0], laws[1], order), 1e-6)
    pair = f"votes {raised[0]} against {raised[1]}, σ₂=4, σ₁=1000, threshold always passed"
    return Certificate(claim, *measured, f"Rényi divergence of order {order:g}", pair)


def propose_test_release_with_half_the_noise(delta: float) -> Certificate:
    """112 at ε = 1: distance to instability one above against one below the threshold's floor.

    Along a chain of data sets f rises by β at each step and by more at the end of the chain, so
    the distances differ by 1 and the values by β. The event: something below f is released.
    """
    epsilon = 1.0
    threshold = 2 * math.log(1 / delta) / epsilon
    near = math.floor(threshold)
    noise, of_distance = stats.laplace(0, 1 / epsilon), stats.laplace(0, 2 / epsilon)
    farther = float(of_distance.sf(threshold - near - 1)) * float(noise.cdf(0.0))
    nearer = float(of_distance.sf(threshold - near)) * float(noise.cdf(-1.0))
    measured = farther - math.exp(epsilon) * nearer
    pair = f"distances {near + 1} and {near}, values β apart, released below the first value"
    return Certificate(delta, measured, 1e-13, "δ at ε=1", pair)


def quantile(n: int) -> Certificate:
    """116 at ε = 1: the largest record moves below all others; log density ratio at the bottom.

    The level asks for n - 1 records below the output, which the top has before the move and only a
    narrow stretch after it.
    """
    epsilon, wanted, rest = 1.0, n - 1, [1e-6] * (n - 1)

    def log_density(records: Sequence[float], at: float) -> float:
        ends = np.array([0.0, *sorted(records), 1.0])
        scores = -epsilon / 2 * np.abs(np.arange(n + 1) - wanted)
        total = float((np.exp(scores) * np.diff(ends)).sum())
        return float(scores[sum(r < at for r in records)]) - math.log(total)

    at = 5e-7  # above the moved record, below the others
    measured = log_density([1e-9, *rest], at) - log_density([*rest, 1 - 1e-9], at)
    pair = f"{n - 1} records at 1e-6, one moved from the top of (0, 1) to its bottom, output 5e-7"
    return Certificate(epsilon / 2, measured, 1e-9, "ε", pair)


RIGHT: dict[str, Callable[[], Certificate]] = {
    "cate_2-7": permute_and_flip,
    "cate_2-9": laplace_with_twice_the_logarithm,
    "cate_2-15": sample_without_replacement,
    "cate_2-42": partial(projection_with_a_quarter_of_the_noise, 1),
    "cate_2-68": partial(tuning_on_private_scores, 10.0),
    "cate_2-86": partial(mean_of_two_sums, 50.0),
    "cate_2-110": partial(votes_beyond_the_proof, 20.0),
    "cate_2-112": partial(propose_test_release_with_half_the_noise, 1e-5),
    "cate_2-116": partial(quantile, 4),
}
