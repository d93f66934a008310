"""Report noisy max over vote counts with Gaussian noise, and its data-dependent Rényi bound."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from dprivbench_inspect.divergences import Array


class Bound(NamedTuple):
    """The bound, and the order up to which its proof goes."""

    value: float
    largest_order: float


def noisy_max_log_law(votes: Sequence[float], sigma: float) -> Array:
    """Log probability that each class wins under noise of deviation `sigma`; shape (classes,)."""
    counts = np.asarray(votes, dtype=float)
    z = np.linspace(-10.0, 40.0, 20_001)
    ahead = [
        stats.norm.logpdf(z)
        + sum(stats.norm.logcdf(z + (count - other) / sigma) for other in np.delete(counts, i))
        for i, count in enumerate(counts)
    ]
    return np.asarray(special.logsumexp(np.array(ahead), axis=1) + math.log(z[1] - z[0]))


def renyi_of_log_laws(p: Array, q: Array, order: float) -> float:
    """Rényi divergence from log probabilities, in nats."""
    return float(special.logsumexp(order * p + (1 - order) * q)) / (order - 1)


def data_dependent_bound(votes: Sequence[float], sigma: float, order: float) -> Bound:
    """Bound on the Rényi divergence from the law at these votes to that of a neighbour.

    Theorem 6 with the μ of Proposition 10 and the q of Proposition 7, arXiv:1802.08908; proved
    for orders up to μ₁.

    Raises:
        ValueError: The votes are too close for the theorem's conditions.
    """
    counts = np.asarray(votes, dtype=float)
    q = min(
        float(special.erfc((count - np.delete(counts, i)) / (2 * sigma)).sum()) / 2
        for i, count in enumerate(counts)
    )
    mu_2 = sigma * math.sqrt(max(0.0, math.log(1 / q)))
    mu_1 = mu_2 + 1
    epsilon_1, epsilon_2 = mu_1 / sigma**2, mu_2 / sigma**2
    if (
        mu_2 <= 1
        or q > math.exp((mu_2 - 1) * epsilon_2) / (mu_1 / (mu_1 - 1) * mu_2 / (mu_2 - 1)) ** mu_2
    ):
        raise ValueError(f"votes {tuple(votes)} are too close for noise of deviation {sigma}")
    log_a = math.log1p(-q) - math.log1p(-((q * math.exp(epsilon_2)) ** ((mu_2 - 1) / mu_2)))
    log_b = epsilon_1 - math.log(q) / (mu_1 - 1)
    terms = np.logaddexp(math.log1p(-q) + (order - 1) * log_a, math.log(q) + (order - 1) * log_b)
    return Bound(float(terms) / (order - 1), mu_1)
