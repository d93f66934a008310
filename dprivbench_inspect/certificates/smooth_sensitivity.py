"""Smooth sensitivity: exact losses of noise whose center and scale both depend on the data."""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dprivbench_inspect.divergences import Array, Certificate, Measured, hockey_stick, laplace


def _cauchy_loss(shift: float, one: float, other: float) -> float:
    """Sup over y of |log p/p'| for Cauchy laws of scales one at 0 and other at shift.

    log p/p' has the limit log one/other, and turns where a quadratic in y is zero.
    """

    def loss(y: float) -> float:
        with_one = math.log(one) - math.log(one**2 + y**2)
        return with_one - math.log(other) + math.log(other**2 + (y - shift) ** 2)

    quadratic = [shift, one**2 - other**2 - shift**2, -shift * one**2]
    turns = [0.0] if shift == 0 else [float(y.real) for y in np.roots(quadratic)]
    return max(abs(math.log(one / other)), *(abs(loss(y)) for y in turns))


def _laplace_loss(shift: float, one: float, other: float) -> float:
    return math.inf if one != other else abs(shift) / one


def any_statistic(noise: Callable[[float, float, float], float], smooth: str) -> Certificate:
    """Noise of scale 2S/ε, f and S on two neighbours at the ends of what the assumption allows."""
    found = []
    for epsilon in (0.1, 1.0, 4.0):
        for least in (1e-3, 1.0):
            most = least * math.exp(epsilon / 2) if smooth == "factor" else least + epsilon / 2
            for shift, (s, s_2) in itertools.product(
                (0.0, least, -least), ((least, least), (least, most), (most, least))
            ):
                loss = noise(shift, 2 * s / epsilon, 2 * s_2 / epsilon)
                pair = f"f differs by {shift:g}, S={s:.4g} against {s_2:.4g}"
                found.append(Certificate(epsilon, loss, 1e-12, f"ε' at ε={epsilon:g}", pair))
    return max(found, key=lambda c: c.measured / c.claim)


# --- median of n = 2m + 1 values in [0, 1] ---


def _sensitivity(data: Array, beta: float, *, smooth: bool) -> float:
    """Largest gap over k + 1 steps of sorted records around the median, times e^(-kβ)."""
    n, m = len(data), len(data) // 2
    padded = np.concatenate([np.zeros(2 * n + 2), np.sort(data), np.ones(2 * n + 2)])

    def at(i: int) -> float:  # 1 is the smallest record
        return float(padded[2 * n + 1 + i])

    return max(
        math.exp(-k * beta) * (at(m + 1 + t) - at(m + t - k))
        for k in range(n + 1 if smooth else 1)
        for t in range(k + 2)
    )


def _excess(one: tuple[float, float], other: tuple[float, float], epsilon: float) -> Measured:
    """δ at ε of Laplace laws given as (center, scale); scale 0 is a point."""
    if one[1] == 0 or other[1] == 0:
        return Measured(0.0 if one == other else 1.0, 0.0)
    reach = 300 * min(one[1], other[1])  # signs change well inside, and densities are above 0
    centers = sorted((one[0], other[0]))
    points = np.linspace(centers[0] - reach, centers[1] + reach, 4001)
    points = np.unique([*points, *centers])
    return hockey_stick(laplace(*one), laplace(*other), epsilon, points)


def median(epsilons: Sequence[float], *, smooth: bool = True) -> Certificate:
    """Zeros and ones (and one value between) around the median, one record replaced."""
    pairs: list[tuple[list[float], list[float]]] = [
        ([0, 0, 0], [0, 0, 1]),
        ([0, 0, 1], [0, 1, 1]),
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 1]),
        ([0, 0, 0.5, 1, 1], [0, 0, 1, 1, 1]),
        ([0, 0, 0.4, 0.6, 1], [0, 0, 0.6, 1, 1]),
    ]
    found = []
    for epsilon, delta in itertools.product(epsilons, (1e-6, 0.01, 0.5)):
        beta = epsilon / (2 * math.log(2 / delta))
        for data in pairs:
            laws = []
            for records in (np.array(values, dtype=float) for values in data):
                spread = _sensitivity(records, beta, smooth=smooth)
                laws.append((float(np.median(records)), 2 * spread / epsilon))
            for one, other in (laws, laws[::-1]):
                measured = _excess(one, other, epsilon)
                pair = f"{data[0]} and {data[1]}"
                unit = f"δ' at ε={epsilon:g}"
                found.append(Certificate(delta, *measured, unit, pair))
    return max(found, key=lambda c: (c.margin > 0, c.measured / c.claim))


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "smooth_sensitivity-01": partial(any_statistic, _cauchy_loss, "factor"),
    "smooth_sensitivity-02": partial(any_statistic, _laplace_loss, "factor"),
    "smooth_sensitivity-03": partial(any_statistic, _cauchy_loss, "sum"),
    "smooth_sensitivity-04": partial(median, (0.2, 0.999)),
    "smooth_sensitivity-05": partial(median, (0.2, 0.999, 20.0)),
    "smooth_sensitivity-06": partial(median, (0.2, 0.999), smooth=False),
}
