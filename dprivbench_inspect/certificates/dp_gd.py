"""Gradient descent with Gaussian noise, on losses whose gradients at each step are known numbers.

For a loss linear in θ the gradients are constant, so a path is a Gaussian vector and its guarantee
follows from the shift of the means and the noise of each step. Everything is one-dimensional.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dprivbench_inspect.divergences import (
    Array,
    Certificate,
    gaussian_delta,
    gaussian_mu,
    isotropic_gaussian_delta,
    renyi_gaussian,
)

C, T, MU, RHO, BETA = 1.0, 4, 1.0, 0.5, 0.9
Records = Sequence[float]  # the gradient of each record, before clipping
Clipping = Callable[[Array], float]  # gradients -> mean, in the printed order


def _clip(gradients: Array, norm: float = C) -> Array:
    return np.clip(gradients, -norm, norm)


def _needed_mu(distance: float, sigma_p: float, sigma_q: float, steps: int) -> float:
    """μ of two Gaussians with `steps` coordinates; a lower bound where the deviations differ."""
    if sigma_p == sigma_q:
        return distance / sigma_p
    found = 0.0
    for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0):
        for one, other in ((sigma_p, sigma_q), (sigma_q, sigma_p)):
            delta = isotropic_gaussian_delta(epsilon, distance, one, other, steps).value
            if 1e-6 < delta < 1 - 1e-6:
                found = max(found, gaussian_mu(epsilon, delta))
    return found


def path(
    sigma: Callable[[int], float],
    *,
    mean: Clipping = lambda gradients: float(_clip(gradients).mean()),
    relation: str = "replace",
    draws: str = "fresh",
    stops: bool = False,
    claims: str = "μ-GDP",
) -> Certificate:
    """All points of T = 4 noisy steps, the noise of each being sigma(n).

    With one draw for all steps the covariance has rank one: a gradient whose size varies along the
    path, as for the loss xθ²/2, moves the means outside its range.
    """
    pairs: list[tuple[Records, Records]] = [((0.0, -50.0), (0.0, 50.0)), ((0.0, 0.0), (0.0, 50.0))]
    if relation == "insert":
        pairs = [((0.0, 0.0), (0.0, 0.0, 50.0))]
    measured, pair = 0.0, ""
    for one, other in pairs:
        a, b = (mean(np.array(records)) for records in (one, other))
        sigma_p, sigma_q = sigma(len(one)), sigma(len(other))
        if draws == "fresh":
            mu = _needed_mu(abs(a - b) * math.sqrt(T), sigma_p, sigma_q, T)
        else:
            shift = abs(a - b) * np.array([1.0, 0.5, -0.7, 0.2])  # gradients along some path
            covariance = sigma_p**2 * np.ones((T, T))
            inverse = np.linalg.pinv(covariance)
            inside = np.allclose(covariance @ inverse @ shift, shift, atol=1e-9)
            mu = math.sqrt(shift @ inverse @ shift) if inside else math.inf
        if stops and (abs(a) <= C / (2 * len(one))) != (abs(b) <= C / (2 * len(other))):
            mu = math.inf  # an empty list has probability 1 on one of them and 0 on the other
        if mu > measured:
            measured, pair = mu, f"gradients {one} against {other} in each of T={T} steps"
    if claims == "pure":
        return Certificate(0.0, *gaussian_delta(MU, measured), "δ at ε=μ=1", pair)
    return Certificate(MU, measured, 1e-7 * min(measured, 1e3), "μ", pair)


def momentum(
    *, noise: str = "in m", mean: Clipping = lambda g: float(g.mean()), norm: str = "public"
) -> Certificate:
    """Points of T = 4 steps with momentum, equivalently the vector m_t or m_t + Z of each step."""
    n = 3
    pairs: list[tuple[Records, Records]] = [
        ((1.0, -5.0, 1.0), (1.0, 5.0, 1.0)),
        ((1.0, 1.0, 5.0), (1.0, 5.0, 5.0)),
    ]
    gather = np.tril(BETA ** np.subtract.outer(np.arange(T), np.arange(T)).clip(0))
    measured, pair = 0.0, ""
    for one, other in pairs:
        norms = [max(1.0, float(np.median(np.abs(r)))) for r in (one, other)]
        if norm == "public":
            norms = [C, C]
        a, b = (mean(_clip(np.array(r), c)) for r, c in zip((one, other), norms, strict=True))
        sigmas = [c * math.sqrt(2 * T / RHO) / n for c in norms]
        shift = gather @ np.full(T, a - b)
        if noise == "in m":  # the noise goes through the same sum as the gradients
            shift = np.linalg.solve(gather, shift)
        distance = float(np.linalg.norm(shift))
        for order in (1.0, 1.5, 2.0, 8.0):
            for p, q in (sigmas, sigmas[::-1]):
                rho = renyi_gaussian(order, distance, p, q, T).value / order
                if rho > measured * (1 + 1e-12):
                    measured, pair = rho, f"gradients {one} against {other}, order {order:g}"
    return Certificate(RHO, measured, 1e-9, "ρ", pair)


def own_step_size(seen: str) -> Certificate:
    """One step divided by √(1 + y²) with y the noisy mean, or by √(1 + a²) with the exact one.

    The first divisor is undone by the one who sees the step, since y/√(1 + y²) is increasing.
    """
    n, norm = 2, 10.0
    sigma = 2 * norm / (n * MU)
    means = [0.0, 2 * norm / n]
    sizes = [1 / math.sqrt(1 + a * a) if seen == "exact" else 1.0 for a in means]
    distance = abs(means[0] * sizes[0] - means[1] * sizes[1])
    mu = _needed_mu(distance, sigma * sizes[0], sigma * sizes[1], 1)
    pair = "n=2, C=10: gradients (-10, 10) against (10, 10), T=1"
    return Certificate(MU, mu, 1e-7, "μ", pair)


def _full(n: int) -> float:
    return 2 * C * math.sqrt(T) / (n * MU)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "dp_gd-01": partial(path, _full),
    "dp_gd-02": partial(path, lambda n: C * math.sqrt(T) / (n * MU)),
    "dp_gd-03": partial(path, lambda n: 2 * C / (n * MU)),
    "dp_gd-04": partial(path, _full, draws="one for all"),
    "dp_gd-05": partial(path, _full, relation="insert"),
    "dp_gd-06": partial(path, _full, mean=lambda g: float(_clip(g.mean()))),
    "dp_gd-07": partial(path, _full, mean=lambda g: float(g.mean())),
    "dp_gd-08": partial(path, _full, stops=True),
    "dp_gd-09": partial(path, _full, claims="pure"),
    "dp_gd-10": momentum,
    "dp_gd-11": partial(momentum, noise="beside m"),
    "dp_gd-12": partial(momentum, mean=lambda g: float(g.sum())),
    "dp_gd-13": partial(momentum, norm="median"),
    "dp_gd-14": partial(own_step_size, "noisy"),
    "dp_gd-15": partial(own_step_size, "exact"),
}
