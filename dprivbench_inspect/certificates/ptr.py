"""Propose-test-release: exact laws for statistics of the number of ones among n bits.

Data sets with s and t ones can be |s - t| replaced bits apart and no less, so distances to bad data
sets are found by trying all numbers of ones.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import stats

from dprivbench_inspect.divergences import Array, Certificate

N, BOUND = 24, 1.0
ONES = np.arange(N + 1)
PAIRS = [(s, t) for s in range(N + 1) for t in (s - 1, s + 1) if 0 <= t <= N]
SETTINGS = ((1.0, 0.01), (0.5, 0.05), (2.0, 0.01))  # ε and δ


def _laplace_excess(epsilon: float, shift: float) -> float:
    """Sup of P(E) - e^ε Q(E) for Laplace laws `shift` scales apart, ε of any sign."""
    if epsilon >= shift:
        return 0.0
    return -math.expm1(epsilon if epsilon <= -shift else (epsilon - shift) / 2)


def _passes(distance: Array, epsilon: float, delta: float, *, noisy: bool = True) -> Array:
    """Chance of each number of ones to pass: distance + Lap(1/ε) > ln(1/δ) / ε."""
    threshold = math.log(1 / delta) / epsilon
    if not noisy:
        return (distance > threshold).astype(float)
    return np.asarray(stats.laplace.sf(threshold - distance, scale=1 / epsilon))


def noisy_release(times_epsilon: float, *, noisy_test: bool = True) -> Certificate:
    """Sum of the bits with a jump of 1000 near the end: δ at a multiple of ε, over all pairs."""
    f = ONES + 1000.0 * (ONES >= N - 1)
    steps = np.abs(np.diff(f))
    local = np.maximum(np.append(steps, 0.0), np.insert(steps, 0, 0.0))
    bad = ONES[local > BOUND]
    distance = np.abs(ONES[:, None] - bad).min(axis=1).astype(float)
    found = []
    for epsilon, delta in SETTINGS:
        at = times_epsilon * epsilon
        passes = _passes(distance, epsilon, delta, noisy=noisy_test)
        for s, t in PAIRS:
            p, q = float(passes[s]), float(passes[t])
            refused = max(0.0, (1 - p) - math.exp(at) * (1 - q))
            shift = abs(f[s] - f[t]) / (BOUND / epsilon)
            released = p
            if p > 0 and q > 0:
                released *= _laplace_excess(at + math.log(q / p), shift)
            pair = f"{s} ones against {t} of n={N}; the sum jumps at {N - 1} ones"
            unit = f"δ' at ε'={at:g} (ε={epsilon:g})"
            found.append(Certificate(delta, refused + released, 1e-12, unit, pair))
    return max(found, key=lambda c: c.measured / c.claim)


def exact_release(counted: str) -> Certificate:
    """Majority of the bits, released where it is stable: δ at ε over all pairs."""
    f = ONES > N / 2
    differs = f[:, None] != f[None, :]
    first = np.where(differs, np.abs(ONES[:, None] - ONES), N + 1).min(axis=1)
    distance = (first if counted == "first change" else first - 1).astype(float)
    found = []
    for epsilon, delta in SETTINGS:
        passes = _passes(distance, epsilon, delta)
        for s, t in PAIRS:
            p, q = float(passes[s]), float(passes[t])
            refused = max(0.0, (1 - p) - math.exp(epsilon) * (1 - q))
            released = max(0.0, p - math.exp(epsilon) * (q if f[s] == f[t] else 0.0))
            pair = f"{s} ones against {t} of n={N}, majority released"
            found.append(
                Certificate(delta, refused + released, 1e-12, f"δ' at ε={epsilon:g}", pair)
            )
    return max(found, key=lambda c: c.measured / c.claim)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "ptr-01": partial(noisy_release, 2.0),
    "ptr-02": partial(noisy_release, 2.0, noisy_test=False),
    "ptr-03": partial(noisy_release, 1.0),
    "ptr-04": partial(exact_release, "last without change"),
    "ptr-05": partial(exact_release, "first change"),
}
