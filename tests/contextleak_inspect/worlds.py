"""Pairs of laws for scores whose exact ε is known, and audits drawn from them."""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from contextleak_inspect.calibration import FloatArray, gdp_mu
from contextleak_inspect.mixtures import true_epsilon
from contextleak_inspect.rates import unclipped_epsilon
from contextleak_inspect.vote_laws import vote_law

DELTA = 1e-5
EPSILONS = (0.0, 1.0, 4.0, 10.0)


class World(NamedTuple):
    """A pair of laws for scores, and the exact ε between them."""

    name: str
    truth: float
    # (rng, n, canary in) → clean scores, noise added to them
    draw: Callable[[np.random.Generator, int, bool], tuple[FloatArray, FloatArray]]
    middle: float  # near the best accuracy
    high: float  # near FPR 0.1
    worst: float  # where ln((TPR - δ) / FPR) reaches the truth
    noise: float
    answers_vary: bool = False
    ties: bool = False


def _worst(laws: FloatArray, mu: float) -> float:
    """The threshold of the largest ln((TPR - δ) / FPR), with unit noise on steps of μ."""
    shift = mu if laws.shape[1] == 1 else 0.0
    cuts = np.linspace(-6, mu * laws.shape[1] + 6, 4001)[:, None]
    steps = mu * np.arange(laws.shape[1])
    fpr, tpr = (ndtr(steps + s - cuts) @ law for s, law in zip((0.0, shift), laws, strict=True))
    return float(cuts[int(np.argmax(unclipped_epsilon(tpr, fpr, delta=DELTA))), 0])


def gaussian_world(epsilon: float) -> World:
    """Clean scores 0 and μ with unit noise: continuous, exactly Gaussian DP."""
    mu = gdp_mu(epsilon, DELTA) if epsilon else 0.0

    def draw(rng: np.random.Generator, n: int, inside: bool) -> tuple[FloatArray, FloatArray]:
        return np.full(n, mu * inside), rng.standard_normal(n)

    return World(
        f"gaussian ε={epsilon:g}", epsilon, draw, mu / 2, 1.2816, _worst(np.ones((2, 1)), mu), 1.0
    )


def bit_world(epsilon: float) -> World:
    """Randomized response: score bits, so half of all scores are tied; the truth at δ."""
    keep = 1 / (1 + math.exp(-epsilon))
    truth = max(0.0, unclipped_epsilon(keep, 1 - keep, delta=DELTA))

    def draw(rng: np.random.Generator, n: int, inside: bool) -> tuple[FloatArray, FloatArray]:
        return (rng.random(n) < (keep if inside else 1 - keep)).astype(float), np.zeros(n)

    return World(f"bits ε={epsilon:g}", truth, draw, 0.5, 0.5, 0.5, 0.0, True, True)


def rounded_world(epsilon: float) -> World:
    """Gaussian scores rounded down to whole numbers: ties of many sizes."""
    mu = gdp_mu(epsilon, DELTA) if epsilon else 0.0
    cuts = np.arange(-12.0, mu + 13)
    ratios = unclipped_epsilon(norm.sf(cuts - mu), norm.sf(cuts), delta=DELTA)
    truth = max(0.0, float(ratios.max()))
    worst = float(cuts[int(np.argmax(ratios))]) - 0.5

    def draw(rng: np.random.Generator, n: int, inside: bool) -> tuple[FloatArray, FloatArray]:
        return np.floor(rng.standard_normal(n) + mu * inside), np.zeros(n)

    middle = float(math.floor(mu / 2)) - 0.5
    return World(f"rounded ε={epsilon:g}", truth, draw, middle, 0.5, worst, 0.0, True, True)


def vote_world(epsilon: float, rate: float, m: int = 10) -> World:
    """Noisy votes of m subsets that vote falsely or miss at this rate; the truth is a mixture's."""
    mu = gdp_mu(epsilon, DELTA) if epsilon else 0.0
    law = vote_law(m, false_votes=rate, misses=rate if epsilon else 1 - rate)
    truth = true_epsilon(law, mu, DELTA)
    worlds = [np.cumsum(pmf) for pmf in (law.canary_out, law.canary_in)]

    def draw(rng: np.random.Generator, n: int, inside: bool) -> tuple[FloatArray, FloatArray]:
        votes = np.minimum(np.searchsorted(worlds[inside], rng.random(n)), m)
        return mu * votes, rng.standard_normal(n)

    worst = _worst(np.array([law.canary_out, law.canary_in]), mu)
    name = f"votes q=r={rate:g} ε={epsilon:g}"
    return World(name, truth.value + truth.error, draw, mu / 2, 1.2816, worst, 1.0, True)


class Audit(NamedTuple):
    """One simulated audit."""

    clean_in: FloatArray
    clean_out: FloatArray
    scores_in: FloatArray
    scores_out: FloatArray


def draw_audit(world: World, rng: np.random.Generator, n_in: int, n_out: int) -> Audit:
    """One audit of this world, n_in and n_out trials."""
    (clean_in, noise_in), (clean_out, noise_out) = (
        world.draw(rng, n_in, True),
        world.draw(rng, n_out, False),
    )
    return Audit(clean_in, clean_out, clean_in + noise_in, clean_out + noise_out)


@cache
def worlds() -> tuple[World, ...]:
    """All worlds of the full table."""
    made: list[World] = []
    for epsilon in EPSILONS:
        made += [gaussian_world(epsilon), bit_world(epsilon), rounded_world(epsilon)]
        made += map(partial(vote_world, epsilon), (0.01, 0.05))
    return tuple(made)
