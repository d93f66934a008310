"""Quantiles: exact output laws of the exponential mechanism over ranks and of a noisy search."""

import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special, stats

from dprivbench_inspect.divergences import Array, Certificate

EPSILON = 1.0


# --- density on an interval, weighted by distance from the wanted rank ---


def _log_density(data: Array, q: float, per_rank: float, interval: str, cuts: Array) -> Array:
    """Log density on each piece between neighbouring cuts; records lie on cuts."""
    low, high = (0.0, 1.0) if interval == "public" else (float(data.min()), float(data.max()))
    middles = (cuts[1:] + cuts[:-1]) / 2
    below = (data[:, None] < middles).sum(axis=0)
    log_weights = -per_rank * np.abs(below - q * len(data))
    log_weights[(middles < low) | (middles > high)] = -math.inf
    return np.asarray(log_weights - special.logsumexp(log_weights, b=np.diff(cuts)))


def by_rank(per_rank: float, *, interval: str = "public") -> Certificate:
    """One record moves from one end to the other; a tiny piece near the end gains a rank.

    Whatever q is, most of the interval then loses one, or the other way round.
    """
    found = []
    for rest, q in (([0.001], 0.5), ([0.001, 1.0, 1.0], 0.5), ([0.4, 0.6], 0.9)):
        for before, after in ((0.0, 1.0), (1.0, 0.0), (0.3, 0.7)):
            one, other = np.array([*rest, before]), np.array([*rest, after])
            cuts = np.unique([0.0, 1.0, *one, *other])
            laws = [_log_density(data, q, per_rank, interval, cuts) for data in (one, other)]
            here = np.isfinite(laws[0]) | np.isfinite(laws[1])
            loss = float(np.abs(laws[0][here] - laws[1][here]).max())
            pair = f"records {rest} and {before:g} or {after:g}, q={q}"
            found.append(Certificate(EPSILON, loss, 1e-12, "ε' at ε=1", pair))
    return max(found, key=lambda c: c.measured)


# --- bisection with noisy counts ---


def _path_law(data: Array, q: float, steps: int, scale: float) -> Array:
    """Log probabilities of the 2^steps sequences of left and right, shape (2^steps,)."""
    logs = []
    for path in itertools.product((False, True), repeat=steps):
        low, high, total = 0.0, 1.0, 0.0
        for right in path:
            middle = (low + high) / 2
            count = stats.laplace(float((data < middle).sum()), scale)
            total += float(count.logcdf(q * len(data)) if right else count.logsf(q * len(data)))
            low, high = (middle, high) if right else (low, middle)
        logs.append(total)
    return np.array(logs)


def bisection(claim: Callable[[int], float]) -> Certificate:
    """Steps with counts of scale T/ε; the record leaves all counts of the path to the right."""
    n, q, found = 10, 0.5, []
    for steps in (1, 2, 4):
        one, other = np.zeros(n), np.append(np.zeros(n - 1), 1.0)
        laws = [_path_law(data, q, steps, steps / EPSILON) for data in (one, other)]
        loss = float(np.abs(laws[0] - laws[1]).max())
        pair = f"n={n} zeros, one of them replaced by 1; always to the right, T={steps}"
        found.append(Certificate(claim(steps), loss, 1e-12, f"ε' at ε=1, T={steps}", pair))
    return max(found, key=lambda c: c.measured / c.claim)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "quantile-01": partial(by_rank, EPSILON / 2),
    "quantile-02": partial(by_rank, EPSILON),
    "quantile-03": partial(by_rank, EPSILON / 2, interval="data"),
    "quantile-04": partial(bisection, lambda steps: EPSILON),
    "quantile-05": partial(bisection, lambda steps: EPSILON / math.sqrt(steps)),
}
