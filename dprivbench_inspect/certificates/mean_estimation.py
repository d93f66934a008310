"""Mean estimation: exact losses of noisy means on the neighbours that move them most."""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy import special, stats

from dprivbench_inspect.divergences import (
    Array,
    Certificate,
    gaussian_mu,
    isotropic_gaussian_delta,
)

MU = CLIP = EPSILON = 1.0
GRID = (1.0, 2.0, 4.0, 8.0)  # clipping bounds to choose from
FAR = 1000.0  # a coordinate beyond every bound


def _largest(certificates: list[Certificate]) -> Certificate:
    return max(certificates, key=lambda c: c.measured / c.claim)


def _laplace_loss(one: float, other: float, scale: float) -> float:
    """Largest log density ratio of two Laplace laws of one scale; scale 0 is no noise."""
    if one == other:
        return 0.0
    return abs(one - other) / scale if scale else math.inf


# --- mean of records clipped to [a, b] = [0, 1], with Laplace noise ---


def _clamped_law(
    data: Array, epsilon: float, y: Array, *, outside: str, bounds: str
) -> tuple[Array, dict[float, float]]:
    """Log density at y, and the logs of the masses that sit on a and b."""
    low, high = (0.0, 1.0) if bounds == "public" else (float(data.min()), float(data.max()))
    noisy = stats.laplace(data.clip(low, high).mean(), (high - low) / (len(data) * epsilon))
    inside = (y > low) & (y < high)
    log_density = np.where(inside, noisy.logpdf(y), -math.inf)
    if outside == "clamp":
        return log_density, {low: float(noisy.logcdf(low)), high: float(noisy.logsf(high))}
    return log_density - math.log(noisy.cdf(high) - noisy.cdf(low)), {}  # drawn again


def _clamped_pairs(relation: str, bounds: str) -> Iterator[tuple[Array, Array]]:
    for n in (1, 10):
        zeros = np.zeros(n)
        if relation == "insert":
            yield zeros, np.append(zeros, 1.0)
        elif bounds == "public":
            yield zeros, np.append(zeros[1:], 1.0)
        elif n > 1:
            yield np.append(zeros[1:], 1.0), np.append(zeros[1:], 2.0)


def clamped_laplace(
    *, outside: str = "clamp", relation: str = "replace", bounds: str = "public"
) -> Certificate:
    """Log ratio over densities at a grid that holds the kinks, and over the two atoms."""
    y = np.unique(np.concatenate([np.linspace(0, 2, 2001), 1 / np.arange(1, 12)]))
    law = partial(_clamped_law, y=y, outside=outside, bounds=bounds)
    found = []
    for epsilon in (0.2, 1.0, 3.0):
        for one, other in _clamped_pairs(relation, bounds):
            (density, atoms), (density_2, atoms_2) = law(one, epsilon), law(other, epsilon)
            here = np.isfinite(density) | np.isfinite(density_2)
            losses = [float(np.abs(density[here] - density_2[here]).max())]
            for place in {*atoms, *atoms_2}:
                losses.append(abs(atoms.get(place, -math.inf) - atoms_2.get(place, -math.inf)))
            pair = (
                f"n={len(one)}: zeros (last record {one[-1]:g}) against last record {other[-1]:g}"
            )
            found.append(Certificate(epsilon, max(losses), 1e-12, f"ε' at ε={epsilon:g}", pair))
    return _largest(found)


# --- mean of clipped vectors, with Gaussian noise ---


def _clipped_mean(data: Array, clip: str) -> Array:
    def shorten(v: Array) -> Array:
        norms = np.linalg.norm(v, axis=-1, keepdims=True)
        return np.asarray(v * np.minimum(1.0, CLIP / np.maximum(norms, 1e-300)))

    if clip == "coordinates":
        return np.asarray(data.clip(-CLIP, CLIP).mean(axis=0))
    return shorten(data.mean(axis=0)) if clip == "mean" else np.asarray(shorten(data).mean(axis=0))


def gaussian_mean(
    claim: Callable[[int], float], *, clip: str = "records", steps: str = "replace"
) -> Certificate:
    """μ over data sets k steps apart in d = 4; k records far out on one side or on the other.

    Where variances differ, a μ that the exact δ at a few ε rules out.
    """
    dimension, found = 4, []
    for n, k in ((10, 1), (10, 4), (2, 1)):
        rest, moved = np.zeros((n - k, dimension)), np.full((k, dimension), FAR)
        one, other = np.concatenate([rest, moved]), np.concatenate([rest, -moved])
        if steps == "insert":
            other = rest
        distance = float(np.linalg.norm(_clipped_mean(one, clip) - _clipped_mean(other, clip)))
        sigmas = [2 * CLIP / (len(data) * MU) for data in (one, other)]
        if sigmas[0] == sigmas[1]:
            mu, error = distance / sigmas[0], 1e-12
        else:
            deltas = {
                e: max(
                    isotropic_gaussian_delta(e, distance, p, q, dimension).value
                    for p, q in (sigmas, sigmas[::-1])
                )
                for e in (0.5, 1.0, 3.0, 6.0)
            }
            mu, error = max(gaussian_mu(e, d) for e, d in deltas.items() if d > 1e-6), 1e-4
        pair = f"{steps} {k} records far out, all others 0, n={n}"
        found.append(Certificate(claim(k), mu, error, f"μ (k={k}, d=4)", pair))
    return _largest(found)


# --- noisy sum over noisy count ---


def sum_and_count(sum_scale: float, *, count_scale: float = 2 / EPSILON) -> Certificate:
    """Loss of the pair (sum, count) when one record of absolute value C or less is inserted."""
    measured = 0.0
    for value in (-FAR, 0.0, FAR):
        one = np.array([0.5, -2.0, 0.1])
        other = np.append(one, value)
        sums = [float(data.clip(-CLIP, CLIP).sum()) for data in (one, other)]
        loss = _laplace_loss(sums[0], sums[1], sum_scale)
        measured = max(measured, loss + _laplace_loss(len(one), len(other), count_scale))
    pair = "insert a record beyond C; outcomes where both noises are in the tail"
    return Certificate(EPSILON, measured, 1e-12, "ε' at ε=1, C=1", pair)


# --- clipping bound chosen on one half, mean of the other ---


def _bound_law(half: Array, chosen: str) -> Array:
    """Log probabilities of the bounds in GRID."""
    within = (np.abs(half)[:, None] <= np.array(GRID)).sum(axis=0)
    scores = -np.abs(within - 0.9 * len(half))
    if chosen == "privately":
        return np.asarray(special.log_softmax(EPSILON / 2 * scores))
    return np.where(np.arange(len(GRID)) == scores.argmax(), 0.0, -math.inf)


def two_halves(*, chosen: str = "privately", averaged: str = "other half") -> Certificate:
    """Worst loss over the bound that is drawn, plus that of the noisy mean given the bound."""
    m, found = 10, []
    # While record 1 is FAR, 8 of the first 10 lie within B = 1 and 9 within any other B.
    start = np.array([FAR, 1.5] + [0.0] * 18)
    for place, value in ((0, -1.0), (1, -1.0), (15, -FAR)):
        one, other = start.copy(), start.copy()
        one[place], other[place] = FAR, value
        laws = [_bound_law(data[:m], chosen) for data in (one, other)]
        for j, bound in enumerate(GRID):
            if max(law[j] for law in laws) == -math.inf:
                continue
            loss = abs(float(laws[0][j] - laws[1][j]))
            halves = [data[:m] if averaged == "same half" else data[m:] for data in (one, other)]
            means = [float(half.clip(-bound, bound).mean()) for half in halves]
            loss += _laplace_loss(means[0], means[1], 2 * bound / (m * EPSILON))
            pair = f"record {place + 1} of 20: {one[place]:g} against {other[place]:g}, B={bound:g}"
            found.append(Certificate(EPSILON, loss, 1e-12, "ε' at ε=1, m=10", pair))
    return _largest(found)


# --- answers of disjoint blocks, aggregated ---


def blocks(aggregate: Callable[[Array], float]) -> Certificate:
    """Five answers in [0, 1], of which the block with the replaced record gives any other."""
    k, measured = 5, 0.0
    for ones in range(k):
        answers = np.repeat([0.0, 1.0], [k - ones, ones])
        moved = answers.copy()
        moved[0] = 1.0
        loss = _laplace_loss(aggregate(answers), aggregate(moved), 1 / (k * EPSILON))
        measured = max(measured, loss)
    pair = "one of 5 blocks changes its answer from 0 to 1, the others answer 0 or 1"
    return Certificate(EPSILON, measured, 1e-12, "ε' at ε=1, k=5", pair)


def _average(answers: Array) -> float:
    return float(answers.mean())


def _median(answers: Array) -> float:
    return float(np.median(answers))


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "mean_estimation-01": clamped_laplace,
    "mean_estimation-02": partial(clamped_laplace, outside="redraw"),
    "mean_estimation-03": partial(clamped_laplace, relation="insert"),
    "mean_estimation-04": partial(clamped_laplace, bounds="data"),
    "mean_estimation-05": partial(gaussian_mean, lambda k: k * MU),
    "mean_estimation-06": partial(gaussian_mean, lambda k: k * MU, clip="coordinates"),
    "mean_estimation-07": partial(gaussian_mean, lambda k: k * MU, clip="mean"),
    "mean_estimation-08": partial(gaussian_mean, lambda k: math.sqrt(k) * MU),
    "mean_estimation-09": partial(gaussian_mean, lambda k: k * MU, steps="insert"),
    "mean_estimation-10": partial(sum_and_count, 2 * CLIP / EPSILON),
    "mean_estimation-11": partial(sum_and_count, 2 * CLIP / EPSILON, count_scale=0.0),
    "mean_estimation-12": partial(sum_and_count, CLIP / EPSILON),
    "mean_estimation-13": two_halves,
    "mean_estimation-14": partial(two_halves, averaged="same half"),
    "mean_estimation-15": partial(two_halves, chosen="exactly"),
    "mean_estimation-16": partial(blocks, _average),
    "mean_estimation-17": partial(blocks, _median),
}
