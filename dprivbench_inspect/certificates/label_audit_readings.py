"""Official questions of Category 2 whose answer depends on how they are read.

See label_audit.py for the names. Readings that no program can settle are not here.
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
    Array,
    Certificate,
    Measured,
    gaussian_delta,
    hockey_stick_discrete,
    renyi_discrete,
)


def _response(log_odds: float) -> tuple[Array, Array]:
    """Laws of a coin with that log odds, and of the same with its sides exchanged."""
    p = 1 / (1 + math.exp(-log_odds))
    return np.array([p, 1 - p]), np.array([1 - p, p])


def exponential_mechanism_zcdp(log_odds: float) -> Certificate:
    """6: ε²/8-zCDP at ε = 1 of a choice among two candidates, as KL divergence."""
    measured = renyi_discrete(*_response(log_odds), 1.0)
    pair = f"two candidates, scores exchanged, log odds {log_odds:g}"
    return Certificate(1 / 8, *measured, "KL divergence at ε=1", pair)


def exponential_mechanism_composed(epsilon: float, share: float) -> Certificate:
    """125 with n = 1: its δ at ε/16, where the log odds are that share of ε."""
    claim = math.exp(epsilon**2 / 4 - epsilon / 16 - 1)
    measured = hockey_stick_discrete(*_response(share * epsilon), epsilon / 16)
    pair = f"two candidates, scores exchanged, log odds {share * epsilon:g}"
    return Certificate(claim, *measured, f"δ at ε/16 (ε={epsilon:g}, n=1)", pair)


def projection_at_large_epsilon() -> Certificate:
    """39: a row of zeros against one of norm B, r = 20000 rows out, δ = 0.3, w = B.

    Rows come out with variance w² against w² + B². Both are altered but for a share δ/2 each. The
    event is a privacy loss above ε + 20.
    """
    r, delta, rows_over_floor = 20_000, 0.3, 1.0  # B² / w²
    log_term = math.log(8 / delta)
    epsilon = 8 * rows_over_floor * (math.sqrt(2 * r * log_term) + 2 * log_term)
    enough = 2 * (epsilon + 20 + r / 2 * math.log1p(rows_over_floor)) / rows_over_floor
    probability = float(stats.chi2(r).sf(enough)) - delta / 2
    measured = probability * -math.expm1(-20) * (1 - 1e-9)
    pair = f"d=1, r={r}, a row of zeros against one of norm B, w=B"
    return Certificate(delta, measured, 1e-9, f"δ at ε={epsilon:.0f}", pair)


def mean_with_empty_as_zero(largest: int) -> Certificate:
    """73: sensitivity of the clipped mean over C times ε = 1, where the mean of nothing is 0."""
    worst, at = 1.0, 0  # from no record to one
    for n in range(1, largest):  # all at one end, and another at the other end
        change = abs(1.0 - (n - 1) / (n + 1))
        worst, at = max((worst, at), (change, n))
    return Certificate(1.0, worst, 1e-12, "ε", f"{at} records at C, one added, C=1")


def output_perturbation(moves_by: float) -> Certificate:
    """91 with δ = 1e-5, ε = 1: the minimiser moves by that many times Δ_F."""
    epsilon, delta = 1.0, 1e-5
    sigma = _spread(epsilon, delta) / (math.sqrt(2) * epsilon)
    measured = gaussian_delta(epsilon, moves_by / sigma)
    return Certificate(delta, *measured, "δ at ε=1", f"minimisers {moves_by:g} Δ_F apart, d=1")


def output_perturbation_laplace(moves_by: float) -> Certificate:
    """92 with δ = 1e-5, ε = 1: Laplace density of scale Δ_F times that spread over ε."""
    epsilon, delta = 1.0, 1e-5
    loss = moves_by * epsilon / _spread(epsilon, delta)
    value = max(0.0, -math.expm1((epsilon - loss) / 2))
    return Certificate(delta, value, 1e-14, "δ at ε=1", f"minimisers {moves_by:g} Δ_F apart, d=1")


def _spread(epsilon: float, delta: float) -> float:
    c = math.sqrt(math.log(2 / (math.sqrt(16 * delta**2 + 1) - 1)))
    return c + math.sqrt(c * c + epsilon)


def blocks(partition: str, runs: int = 1) -> Certificate:
    """99-103: a count for each of two blocks, each with Laplace noise of scale 1.

    Two records, the first replaced. Blocks by position count their values from 1/2 on; blocks by
    value, split at 1/2, count what they hold. Each release is run that often.
    """

    def counts(records: Sequence[float]) -> Array:
        above = [int(x >= 0.5) for x in records]
        if partition == "position":
            return np.array(above)
        return np.array([len(records) - sum(above), sum(above)])  # how many each block holds

    change = counts((0.2, 0.9)) - counts((0.8, 0.9))
    measured = runs * float(np.abs(change).sum())  # each is lost in one of the two tails
    pair = f"(0.2, 0.9) against (0.8, 0.9), blocks by {partition}, releases run {runs} times"
    return Certificate(1.0, measured, 0.0, "ε (each ε_i = 1)", pair)


def votes_other_direction(order: float) -> Certificate:
    """108: the divergence of the neighbour from the data that the bound is computed on."""
    sigma, here, there = 2.0, (63, 50), (62, 51)
    of_threshold = order / 1e3**2
    claim = of_threshold + data_dependent_bound(here, sigma, order).value
    laws = noisy_max_log_law(there, sigma), noisy_max_log_law(here, sigma)
    measured = Measured(renyi_of_log_laws(*laws, order), 1e-8)
    pair = f"votes {there} against {here}, σ₂=2, σ₁=1000, threshold always passed"
    return Certificate(claim, *measured, f"Rényi divergence of order {order:g}", pair)


def propose_test_release_as_typed(delta: float) -> Certificate:
    """111: the distance is 0 or infinite as typed, so nothing is withheld next to 1 - δ/2."""
    measured = Measured(1 - delta / 2, 1e-15)
    pair = "local sensitivity above β against one of at most β; nothing is released"
    return Certificate(delta, *measured, "δ at any ε", pair)


def sparse_vector_bottoms(queries: int, *, fresh: bool) -> Certificate:
    """131 at ε = 1, c = 2: the loss of that many ⊥ where all queries rise by Δ from the threshold.

    The threshold noise is drawn for each query, as the step stands, or the first draw is kept.
    """
    epsilon, c = 1.0, 2
    threshold, query = 2 * c / epsilon, 4 * c / epsilon
    if fresh:
        measured = queries * math.log(
            _difference_below(0.0, threshold, query) / _difference_below(-1.0, threshold, query)
        )
    else:
        t = np.linspace(-80 * threshold, 80 * threshold, 400_001)
        weight = stats.laplace(0, threshold).logpdf(t)
        one, other = (
            np.logaddexp.reduce(weight + queries * stats.laplace(0, query).logcdf(t - shift))
            for shift in (0.0, 1.0)
        )
        measured = float(one - other)
    pair = f"{queries} queries at T against T+Δ, all ⊥, c=2"
    return Certificate(epsilon, measured, 1e-6, "ε", pair)


def _difference_below(x: float, one: float, other: float) -> float:
    """Pr[U - V <= x] for independent Laplace variables of two scales."""
    u = abs(x)
    tail = (other**2 * math.exp(-u / other) - one**2 * math.exp(-u / one)) / (
        2 * (other**2 - one**2)
    )
    return 1 - tail if x >= 0 else tail


READINGS: dict[str, Callable[[], Certificate]] = {
    "cate_2-6/any exponential mechanism": partial(exponential_mechanism_zcdp, 1.0),
    "cate_2-6/exponent half of ε": partial(exponential_mechanism_zcdp, 0.5),
    "cate_2-39/any ε": projection_at_large_epsilon,
    "cate_2-73/empty mean is 0": partial(mean_with_empty_as_zero, 50),
    "cate_2-91/sensitivity of the minimiser": partial(output_perturbation, 1.0),
    "cate_2-91/sensitivity of the objective": partial(output_perturbation, 100.0),
    "cate_2-92/sensitivity of the minimiser": partial(output_perturbation_laplace, 1.0),
    "cate_2-92/sensitivity of the objective": partial(output_perturbation_laplace, 100.0),
    "cate_2-99/replace-one, blocks by value": partial(blocks, "value"),
    "cate_2-99/blocks by position": partial(blocks, "position"),
    "cate_2-103/run again": partial(blocks, "position", 2),
    "cate_2-103/released once": partial(blocks, "position", 1),
    "cate_2-108/both directions": partial(votes_other_direction, 3.0),
    "cate_2-111/as typed": partial(propose_test_release_as_typed, 1e-5),
    "cate_2-125/any exponential mechanism": partial(exponential_mechanism_composed, 1.3, 1.0),
    "cate_2-125/exponent half of ε": partial(exponential_mechanism_composed, 1.3, 0.5),
    "cate_2-131/counts ⊤ only": partial(sparse_vector_bottoms, 12, fresh=True),
    "cate_2-131/counts every query": partial(sparse_vector_bottoms, 2, fresh=False),
}
