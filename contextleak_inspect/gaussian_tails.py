"""The difference of two Gaussian tails that δ(ε) of Gaussian DP is, without cancellation."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, ndtr

FloatArray = NDArray[np.float64]

_NODES, _WEIGHTS = (part.copy() for part in np.polynomial.legendre.leggauss(12))
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2  # on [0, 1]
_ROOT_HALF_PI = math.sqrt(math.pi / 2)


def log_gdp_delta(epsilon: FloatArray, mu: float) -> FloatArray:
    """Logarithm of δ(ε; μ), for finite ε and finite μ > 0.

    With t = ε/μ - μ/2 and Mills' ratio M(x) = Φ(-x)/φ(x), δ = φ(t) (M(t) - M(t + μ)).
    """
    t = epsilon / mu - mu / 2
    log_density = -t * t / 2 - math.log(2 * math.pi) / 2
    if mu <= 1:  # the two ratios are close: integrate -M' between them
        slopes = _mills_descent(t[..., np.newaxis] + mu * _NODES)
        return log_density + np.log(mu * (slopes @ _WEIGHTS))
    right = np.maximum(t, 0)
    in_the_tail = log_density + np.log(_mills(right) - _mills(right + mu))
    left = np.minimum(t, 0)
    at_most = np.minimum(epsilon, mu * mu / 2)
    in_the_bulk = np.log(ndtr(-left) - np.exp(at_most + log_ndtr(-left - mu)))
    return np.where(t > 0, in_the_tail, in_the_bulk)


def _mills(x: FloatArray) -> FloatArray:
    return _ROOT_HALF_PI * erfcx(x / math.sqrt(2))


def _mills_descent(x: FloatArray) -> FloatArray:
    """-M'(x) = 1 - x M(x), for x at least -1; by its asymptotic series where that cancels."""
    inverse = 1 / np.maximum(x, 50) ** 2
    series = inverse * (1 - 3 * inverse * (1 - 5 * inverse * (1 - 7 * inverse * (1 - 9 * inverse))))
    return np.where(x < 50, 1 - x * _mills(np.minimum(x, 50)), series)
