"""The best of a random number of runs, exactly, through the generating function of that number.

If one run gives an outcome of rank at most r with probability c(r), the best of K runs has rank at
most r with probability f(c(r)), where f(x) is the mean of x^K.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from dprivbench_inspect.divergences import Array, Certificate, Measured

EPSILON = 1.0
Generating = Callable[[Array, float], Array]  # x and γ -> mean of x^K


def geometric(x: Array, gamma: float) -> Array:
    """K = k with probability γ (1-γ)^(k-1)."""
    return gamma * x / (1 - (1 - gamma) * x)


def logarithmic(x: Array, gamma: float) -> Array:
    """K = k with probability (1-γ)^k / (k ln(1/γ))."""
    return np.log1p(-(1 - gamma) * x) / math.log(gamma)


def fixed(x: Array, gamma: float) -> Array:
    """K = ⌈1/γ⌉."""
    return np.asarray(x ** math.ceil(1 / gamma))


def poisson(x: Array, gamma: float) -> Array:
    """K - 1 is Poisson with mean 1/γ."""
    return x * np.exp((x - 1) / gamma)


def _exactly(k: int) -> Generating:
    return lambda x, _: x**k


def _runs(scores: str) -> Iterator[tuple[Array, Array, str]]:
    """Laws of one run on two neighbours, outcomes from worst to best; ε = 1 bounds all ratios."""
    if scores == "exact accuracy":  # M ignores the data, which decide only the order of two models
        yield np.array([0.5, 0.5]), np.array([0.5, 0.5]), "two models in opposite order"
        return
    e = math.exp(EPSILON)
    low = np.array([e, 1.0]) / (1 + e)
    yield low, low[::-1], "randomised response with a bad and a good outcome"
    for top in (0.2, 1e-2, 1e-3, 1e-4):
        middle = 1e-6  # e times likelier on one side while the top is e times likelier on the other
        one = np.array([1 - middle - top, middle, top])
        other = np.array([1 - middle / e - top * e, middle / e, top * e])
        yield one, other, f"outcomes of probability {middle:g} and, above it, {top:g}"


def _loss(best_on_one: Array, best_on_other: Array) -> Measured:
    usable = (best_on_one > 1e-200) & (best_on_other > 1e-200)
    ratios = np.abs(np.log(best_on_one[usable]) - np.log(best_on_other[usable]))
    return Measured(float(ratios.max()), 1e-7)  # differences near 1e-6 keep nine digits


def best_of(
    runs: Generating, times_epsilon: float, *, scores: str = "private", shows_number: bool = False
) -> Certificate:
    """Largest log ratio of the winner's probability, over a few values of γ and a few M."""
    found = []
    for gamma in (0.5, 0.05, 1e-6):
        numbers: list[Generating] = [runs]
        if shows_number:  # given K = k the generating function is x^k
            numbers = [_exactly(k) for k in (1, 2, 5, 10)]
        for one, other, text in _runs(scores):
            for generating in numbers:
                at = [
                    generating(np.cumsum(np.insert(p, 0, 0.0)).clip(0, 1), gamma)
                    for p in (one, other)
                ]
                best = [np.diff(values) for values in at]
                if scores == "exact accuracy":
                    best[1] = best[1][::-1]
                pair = f"{text}; γ={gamma:g}"
                claim = times_epsilon * EPSILON
                found.append(Certificate(claim, *_loss(best[0], best[1]), "ε' at ε=1", pair))
    return max(found, key=lambda c: c.measured)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "hyperparameter_tuning-01": partial(best_of, geometric, 3.0),
    "hyperparameter_tuning-02": partial(best_of, fixed, 3.0),
    "hyperparameter_tuning-03": partial(best_of, poisson, 3.0),
    "hyperparameter_tuning-04": partial(best_of, geometric, 3.0, scores="exact accuracy"),
    "hyperparameter_tuning-05": partial(best_of, geometric, 3.0, shows_number=True),
    "hyperparameter_tuning-06": partial(best_of, logarithmic, 2.0),
    "hyperparameter_tuning-07": partial(best_of, geometric, 2.0),
}
