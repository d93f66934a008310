"""(ε, δ, sensitivity, number of releases) → σ, and back. Natural logarithms throughout."""

import math
import warnings
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from contextleak_inspect.gaussian_tails import log_gdp_delta

FloatArray = NDArray[np.float64]
F = TypeVar("F", float, FloatArray)
Neighbouring = Literal["replace_one", "add_remove"]

_RTOL = 4 * float(np.finfo(float).eps)  # the finest that brentq takes


class KeepProbability(NamedTuple):
    """k-ary randomized response: chance of the true label, and of each other one."""

    keep: float
    other: float


def like(given: F, values: FloatArray | float) -> F:
    """`values` as an array where `given` is one, else as a plain float."""
    return np.asarray(values, dtype=float) if isinstance(given, np.ndarray) else float(values)


def vote_sensitivity(neighbouring: Neighbouring = "replace_one") -> float:
    """L2 sensitivity of a histogram with one vote a subset, in votes.

    Replacing an exemplar moves one vote from a class to another: √2. Adding or removing a
    whole vote changes one count by 1.
    """
    return math.sqrt(2) if _checked(neighbouring) == "replace_one" else 1.0


def embedding_sensitivity(m: int, neighbouring: Neighbouring = "replace_one") -> float:
    """L2 sensitivity of the mean of m embeddings of norm at most 1, with m public and fixed.

    Replacing an exemplar turns one embedding into any other: 2/m. Adding or removing one
    embedding of the sum, still divided by m, moves it by 1/m.
    """
    if m < 1:
        raise ValueError(f"m must be at least 1 subset, got {m}")
    return (2.0 if _checked(neighbouring) == "replace_one" else 1.0) / m


def gdp_delta(epsilon: F, mu: float) -> F:
    """Smallest δ at which μ-Gaussian DP is (ε, δ)-DP.

    Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ), with the difference taken in a form that does not cancel:
    relative error below 1e-11 for μ in [1e-6, 40] down to δ = 1e-300.
    Source: arXiv:1805.06530, Theorem 8; arXiv:1905.02383, Corollary 2.13.

    Args:
        epsilon: ε at least 0, any shape.
        mu: μ at least 0; 0 is no dependence on the data, infinity a release without noise.

    Raises:
        ValueError: ε or μ is negative or not a number.

    >>> round(gdp_delta(1.0, mu=0.5), 6)
    0.00683
    """
    values = np.asarray(epsilon, dtype=float)
    if not np.all(values >= 0):
        raise ValueError(f"epsilon must be at least 0, got {epsilon}")
    _check_mu(mu)
    if mu == 0 or math.isinf(mu):
        delta = np.where(np.isinf(values), 0.0, float(mu > 0))
    else:
        finite = np.where(np.isinf(values), 0.0, values)
        delta = np.where(np.isinf(values), 0.0, np.exp(log_gdp_delta(finite, mu)))
    return like(epsilon, delta)


def gdp_epsilon(mu: float, delta: float) -> float:
    """Smallest ε at which μ-Gaussian DP is (ε, δ)-DP; 0.0 once δ covers 2Φ(μ/2) - 1.

    At δ = 0 it is infinite for every μ > 0: Gaussian noise gives no pure guarantee.

    Raises:
        ValueError: μ is negative, or δ is not in [0, 1).

    >>> round(gdp_epsilon(1.0, 1e-5), 4)
    4.3772
    """
    _check_mu(mu)
    if delta == 0:
        return math.inf if mu > 0 else 0.0
    _check_delta(delta)
    if math.isinf(mu):
        return math.inf
    target = math.log(delta)
    if mu == 0 or _excess_delta(0.0, mu, target) <= 0:
        return 0.0
    high = mu * mu + mu
    while _excess_delta(high, mu, target) > 0:
        high *= 2
    root = brentq(
        lambda epsilon: _excess_delta(epsilon, mu, target), 0.0, high, xtol=1e-300, rtol=_RTOL
    )
    return float(root)


def gdp_mu(epsilon: float, delta: float) -> float:
    """Largest μ at which μ-Gaussian DP is still (ε, δ)-DP.

    Raises:
        ValueError: ε is negative, or δ is not in (0, 1).

    >>> round(gdp_mu(1.0, 1e-5), 5)
    0.26805
    """
    _check_epsilon(epsilon)
    _check_delta(delta)
    if math.isinf(epsilon):
        return math.inf
    target = math.log(delta)
    low = high = 1.0
    while _excess_delta(epsilon, low, target) > 0:
        low /= 2
    while _excess_delta(epsilon, high, target) <= 0:
        high *= 2
    root = brentq(lambda mu: _excess_delta(epsilon, mu, target), low, high, xtol=1e-300, rtol=_RTOL)
    return float(root)


def gdp_compose(mu: float, queries: int) -> float:
    """μ of all releases together: √queries · μ, for releases of the same data with fresh noise."""
    _check_mu(mu)
    return math.sqrt(_at_least_one(queries)) * mu


def gaussian_delta(sigma: float, epsilon: float, sensitivity: float, queries: int = 1) -> float:
    """δ that Gaussian noise of standard deviation σ reaches at ε, over all queries together.

    >>> round(gaussian_delta(0.4844805263, 10.0, 1.0) / 1e-5, 3)  # the classical σ for δ = 1e-5
    2.265
    """
    return gdp_delta(float(epsilon), gdp_compose(_mu(sigma, sensitivity), queries))


def gaussian_epsilon(sigma: float, delta: float, sensitivity: float, queries: int = 1) -> float:
    """ε that Gaussian noise of standard deviation σ reaches at δ, over all queries together.

    >>> round(gaussian_epsilon(3.730631635, 1e-5, 1.0, queries=10), 3)
    3.619
    """
    return gdp_epsilon(gdp_compose(_mu(sigma, sensitivity), queries), delta)


def analytic_sigma(epsilon: float, delta: float, sensitivity: float, queries: int = 1) -> float:
    """Smallest σ with which all queries together are (ε, δ)-DP, rounded up.

    Holds for every ε. ε = ∞ is no noise, 0.0. ε = 0 stands for "no private exemplars in the
    prompt" and gives infinity, although a finite σ would reach (0, δ).
    Source: arXiv:1805.06530.

    Args:
        epsilon: ε of the guarantee, at least 0.
        delta: δ of the guarantee, in (0, 1).
        sensitivity: L2 sensitivity of one query under the neighbouring relation of the guarantee.
        queries: Releases of the same data, each with fresh noise of this σ.

    Raises:
        ValueError: An argument is out of range; the message names it.

    >>> round(analytic_sigma(1.0, 1e-5, 1.0), 4)
    3.7306
    """
    _check_epsilon(epsilon)
    _check_delta(delta)
    _check_sensitivity(sensitivity)
    if epsilon == 0:
        return math.inf
    if math.isinf(epsilon):
        return 0.0
    sigma = sensitivity * math.sqrt(_at_least_one(queries)) / gdp_mu(epsilon, delta)
    step = _RTOL
    while (
        gaussian_delta(sigma, epsilon, sensitivity, queries) > delta
        or gaussian_epsilon(sigma, delta, sensitivity, queries) > epsilon
    ):
        sigma, step = sigma * (1 + step), 2 * step
    return sigma


def classical_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """Δ √(2 ln(1.25/δ)) / ε, only to reproduce what others ran; `analytic_sigma` is the right one.

    Proved for ε ≤ 1, with a warning above. From ε ≈ 8.4 on (δ = 1e-5) it is too little noise.
    Source: Dwork & Roth 2014, Theorem A.1.

    Raises:
        ValueError: An argument is out of range; the message names it.
    """
    _check_epsilon(epsilon)
    _check_delta(delta)
    _check_sensitivity(sensitivity)
    if epsilon > 1:
        warnings.warn(
            f"the classical Gaussian σ is proved for epsilon up to 1, got {epsilon}; "
            "analytic_sigma holds for every epsilon",
            stacklevel=2,
        )
    if epsilon == 0:
        return math.inf
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def randomized_response(epsilon: float, k: int) -> KeepProbability:
    """Probabilities with which k-ary randomized response is ε-DP with δ = 0, for each label.

    Keep with e^ε / (e^ε + k - 1), else any other label with equal chance.

    Raises:
        ValueError: ε is negative or k below 2.

    >>> round(randomized_response(2.0, k=4).keep, 4)
    0.7112
    """
    _check_epsilon(epsilon)
    if k < 2:
        raise ValueError(f"k must be at least 2 labels, got {k}")
    relative = math.exp(-epsilon)
    return KeepProbability(1 / (1 + (k - 1) * relative), relative / (1 + (k - 1) * relative))


def _excess_delta(epsilon: float, mu: float, log_delta: float) -> float:
    return float(log_gdp_delta(np.asarray(epsilon), mu)) - log_delta


def _mu(sigma: float, sensitivity: float) -> float:
    _check_sensitivity(sensitivity)
    if not sigma >= 0:
        raise ValueError(f"sigma must be at least 0, got {sigma}")
    return sensitivity / sigma if sigma > 0 else math.inf


def _check_epsilon(epsilon: float) -> None:
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon}")


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1), got {delta}")


def _check_mu(mu: float) -> None:
    if not mu >= 0:
        raise ValueError(f"mu must be at least 0, got {mu}")


def _check_sensitivity(sensitivity: float) -> None:
    if not 0 < sensitivity < math.inf:
        raise ValueError(f"sensitivity must be positive and finite, got {sensitivity}")


def _at_least_one(queries: int) -> int:
    if queries < 1:
        raise ValueError(f"queries must be at least 1, got {queries}")
    return queries


def _checked(neighbouring: str) -> str:
    if neighbouring not in {"replace_one", "add_remove"}:
        raise ValueError(
            f"neighbouring must be 'replace_one' or 'add_remove', got {neighbouring!r}"
        )
    return neighbouring
