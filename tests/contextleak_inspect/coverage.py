"""How often each method exceeds the truth: exact enumeration for counts, simulation otherwise."""

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri
from scipy.stats import binom, norm

from contextleak_inspect.betting import BETS, epsilon_betting
from contextleak_inspect.bounds import EpsilonBound, Outcomes
from contextleak_inspect.calibration import FloatArray, gdp_mu
from contextleak_inspect.credible import epsilon_credible
from contextleak_inspect.estimators import (
    epsilon_best_of,
    epsilon_either_direction,
    epsilon_from_accuracy,
    epsilon_lower_bound,
)
from contextleak_inspect.gaussian_model import epsilon_if_gaussian
from contextleak_inspect.mixtures import true_epsilon
from contextleak_inspect.point_estimates import (
    empirical_epsilon_paper,
    epsilon_best_threshold_optimistic,
)
from contextleak_inspect.rao_blackwell import hit_probability
from contextleak_inspect.rates import lower_limits, unclipped_epsilon
from contextleak_inspect.roc import epsilon_dkw
from contextleak_inspect.sequential import epsilon_from_guesses, epsilon_from_pairs, pair_payoffs
from contextleak_inspect.thresholds import (
    fixed_cut,
    fixed_rank_cut,
    fixed_rank_fpr_upper,
    grid_cuts,
    holdout_cut,
    missing_against_auditor,
)
from contextleak_inspect.tradeoffs import dp_tpr
from contextleak_inspect.vote_laws import vote_law

ALPHA, DELTA = 0.05, 1e-5
ROUNDING = 1e-9
EPSILONS = (0.0, 1.0, 4.0, 10.0)


class Row(NamedTuple):
    """How often a method exceeded the truth in one world."""

    method: str
    kind: str
    world: str
    n_in: int
    n_out: int
    exceeded: float
    allowed: float


# Exact enumeration over (true positives, false positives).


def worst_rates(epsilon: float, delta: float) -> list[tuple[float, float]]:
    """(TPR, FPR) on the edge of the privacy region: its corner, and points to both sides."""
    corner = (1 - delta) / (1 + math.exp(epsilon))
    rates = [1e-4, 0.01, 0.1, 0.3, corner, 0.3 * corner, 0.7]
    return [(float(dp_tpr(fpr, epsilon, delta)), fpr) for fpr in rates]


def _law(trials: int, rate: float) -> tuple[FloatArray, FloatArray]:
    """Counts that together have all but 1e-12 of the probability, and their chances."""
    low, high = np.asarray(binom.ppf([5e-13, 1 - 5e-13], trials, rate)).astype(int)
    counts = np.arange(max(0, low), min(trials, high) + 1)
    return counts.astype(float), binom.pmf(counts, trials, rate)


def epsilon_table(
    hits: FloatArray, alarms: FloatArray, n_in: int, n_out: int, delta: float, two_sided: bool
) -> FloatArray:
    """`epsilon_lower_bound(...).unclipped` for all pairs of counts; a test compares them."""
    tpr = lower_limits(hits, n_in, ALPHA / 2)[:, None]
    fpr = (1 - lower_limits(n_out - alarms, n_out, ALPHA / 2))[None, :]
    return unclipped_epsilon(tpr, fpr, delta=delta, two_sided=two_sided)


def enumerated(n_in: int, n_out: int, epsilon: float, delta: float) -> Iterator[Row]:
    """Chance to exceed ε for the count-based bounds, at the worst rates that ε allows."""
    worst: dict[str, float] = {}
    for tpr, fpr in worst_rates(epsilon, delta):
        (hits, chance_in), (alarms, chance_out) = _law(n_in, tpr), _law(n_out, fpr)
        grow = math.exp(epsilon)
        tpr_lower = lower_limits(hits, n_in, ALPHA / 2)[:, None]
        fpr_upper = (1 - lower_limits(n_out - alarms, n_out, ALPHA / 2))[None, :]
        exceeds: dict[str, NDArray[np.bool_]] = {
            f"clopper_pearson {sides}-sided": epsilon_table(
                hits, alarms, n_in, n_out, delta, sides == 2
            )
            > epsilon + ROUNDING
            for sides in (1, 2)
        }
        exceeds["hockey_stick"] = tpr_lower - grow * fpr_upper > delta + ROUNDING
        for method, cells in exceeds.items():
            worst[method] = max(worst.get(method, 0.0), float(chance_in @ cells @ chance_out))
        right, chance = _law(n_in + n_out, (tpr + 1 - fpr) / 2)
        lower = lower_limits(right, n_in + n_out, ALPHA)
        shown = unclipped_epsilon(lower, 1 - lower, delta=delta, two_sided=False)
        exceeded = float(chance[shown > epsilon + ROUNDING].sum())
        worst["accuracy"] = max(worst.get("accuracy", 0.0), exceeded)
    for method, exceeded in worst.items():
        yield Row(
            method, "bound", f"region ε={epsilon:g} δ={delta:g}", n_in, n_out, exceeded, ALPHA
        )


def enumerated_gaussian(n_in: int, n_out: int, epsilon: float) -> Iterator[Row]:
    """The same for the Gaussian bound and for fixed_rank, on continuous Gaussian scores."""
    mu = gdp_mu(epsilon, DELTA) if epsilon else 0.0
    world = f"gaussian ε={epsilon:g}"
    worst = 0.0
    for threshold in (-1.0, 0.0, mu / 2, 1.28, mu, mu + 2):
        (hits, chance_in), (alarms, chance_out) = (
            _law(n, float(norm.sf(threshold - shift))) for n, shift in ((n_in, mu), (n_out, 0.0))
        )
        shown = (
            ndtri(lower_limits(hits, n_in, ALPHA / 2))[:, None]
            + ndtri(lower_limits(n_out - alarms, n_out, ALPHA / 2))[None, :]
        )
        worst = max(worst, float(chance_in @ (shown > mu + ROUNDING) @ chance_out))
    yield Row("gaussian, fixed", "bound", world, n_in, n_out, worst, ALPHA)

    # The FPR behind a rank is Beta(k + 1, n - k); given it, hits are binomial.
    k = math.floor(0.1 * n_out)
    upper = fixed_rank_fpr_upper(n_out, k, ALPHA / 2)
    x, w = np.polynomial.legendre.leggauss(400)
    fpr = betaincinv(k + 1, n_out - k, (x + 1) / 2)
    tpr = ndtr(ndtri(fpr) + mu)
    lower = lower_limits(np.arange(n_in + 1.0), n_in, ALPHA / 2)
    for method, exceeds in (
        (
            "clopper_pearson, fixed_rank",
            unclipped_epsilon(lower, np.full_like(lower, upper), delta=DELTA) > epsilon + ROUNDING,
        ),
        ("gaussian, fixed_rank", ndtri(lower) - ndtri(upper) > mu + ROUNDING),
    ):
        first = int(np.argmax(exceeds)) if exceeds.any() else n_in + 1
        chance = binom.sf(first - 1, n_in, tpr) @ (w / 2)
        yield Row(method, "bound", world, n_in, n_out, float(chance), ALPHA)


# Simulation.


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


Method = Callable[[World, Audit], EpsilonBound]


def _fixed(world: World, audit: Audit, threshold: float) -> tuple[Outcomes, Outcomes]:
    return fixed_cut(audit.scores_in, audit.scores_out, threshold)[1:3]


def _rank(audit: Audit) -> tuple[Outcomes, Outcomes]:
    return fixed_rank_cut(audit.scores_in, audit.scores_out)[1:3]


def _holdout(audit: Audit, share: float = 0.3) -> tuple[Outcomes, Outcomes]:
    first, second = (max(1, int(share * s.size)) for s in audit[2:])
    return holdout_cut(
        audit.scores_in[:first],
        audit.scores_out[:second],
        audit.scores_in[first:],
        audit.scores_out[second:],
    )[1:3]


def _with_failures(world: World, audit: Audit) -> tuple[Outcomes, Outcomes]:
    """Trials fail where that flatters the attack: low scores with the canary, high ones without."""
    inside, outside = audit.scores_in.copy(), audit.scores_out.copy()
    inside[inside < np.quantile(inside, 0.1)] = np.nan
    outside[outside > np.quantile(outside, 0.9)] = np.nan
    scores = missing_against_auditor(inside, outside, planned=inside.size + outside.size)
    return fixed_cut(*scores, world.middle)[1:3]


def _values(world: World, audit: Audit, threshold: float) -> tuple[FloatArray, FloatArray]:
    """Hit probabilities, or hits where there is no noise to integrate out."""
    return (
        hit_probability(audit.clean_in, world.noise, threshold),
        hit_probability(audit.clean_out, world.noise, threshold),
    )


def _pairs(world: World, audit: Audit, threshold: float) -> tuple[FloatArray, FloatArray]:
    """The same, one pair a step."""
    n = min(audit.clean_in.size, audit.clean_out.size)
    inside, outside = _values(world, audit, threshold)
    return inside[:n], outside[:n]


def _grid(world: World, audit: Audit) -> tuple[tuple[Outcomes, Outcomes], ...]:
    thresholds = [world.middle + step for step in (-1, 0, 1, 2)]
    return tuple(cut[1:3] for cut in grid_cuts(audit.scores_in, audit.scores_out, thresholds))


# Bounds depend on counts, or on values in any order: what came before is not computed again.
_counted, _either, _grid_best = (
    cache(partial(function, delta=DELTA))
    for function in (epsilon_lower_bound, epsilon_either_direction, epsilon_best_of)
)
_accuracy = cache(partial(epsilon_from_accuracy, fair_coins=True, delta=DELTA))
_gaussian = cache(partial(epsilon_if_gaussian, delta=DELTA))
_credible = cache(partial(epsilon_credible, delta=DELTA))


@cache
def _sorted_betting(inside: bytes, outside: bytes) -> EpsilonBound:
    return epsilon_betting(np.frombuffer(inside), np.frombuffer(outside), delta=DELTA)


@cache
def _sorted_pairs(pairs: bytes) -> EpsilonBound:
    both = np.frombuffer(pairs, dtype=complex)
    return epsilon_from_pairs(both.real, both.imag, delta=DELTA)


@cache
def _guesses(right: int, n: int) -> EpsilonBound:
    correct = np.repeat([1.0, 0.0], [right, n - right])
    return epsilon_from_guesses(correct, fair_coins=True, delta=DELTA)


def _betting(world: World, audit: Audit, threshold: float) -> EpsilonBound:
    return _sorted_betting(*(np.sort(v).tobytes() for v in _values(world, audit, threshold)))


def _paired(world: World, audit: Audit, threshold: float) -> EpsilonBound:
    inside, outside = _pairs(world, audit, threshold)
    return _sorted_pairs(np.sort(inside + 1j * outside).tobytes())


def _right(world: World, audit: Audit) -> int:
    return int((audit.scores_in > world.middle).sum() + (audit.scores_out <= world.middle).sum())


METHODS: dict[str, Method] = {
    "clopper_pearson, fixed": lambda w, a: _counted(*_fixed(w, a, w.middle)),
    "clopper_pearson, fixed_rank": lambda w, a: _counted(*_rank(a)),
    "clopper_pearson, holdout": lambda w, a: _counted(*_holdout(a)),
    "clopper_pearson, failed trials": lambda w, a: _counted(*_with_failures(w, a)),
    "best of a grid": lambda w, a: _grid_best(_grid(w, a)),
    "either direction": lambda w, a: _either(*_fixed(w, a, w.middle)),
    "dkw": lambda w, a: epsilon_dkw(a.scores_in, a.scores_out, delta=DELTA),
    "accuracy, holdout": lambda w, a: _accuracy(*_holdout(a)),
    "betting": lambda w, a: _betting(w, a, w.high),
    "betting, worst threshold": lambda w, a: _betting(w, a, w.worst),
    "pair_e_process": lambda w, a: _paired(w, a, w.high),
    "pair_e_process, worst threshold": lambda w, a: _paired(w, a, w.worst),
    "accuracy_e_process": lambda w, a: _guesses(_right(w, a), a.scores_in.size + a.scores_out.size),
    "gaussian": lambda w, a: _gaussian(*_rank(a), answers_vary=w.answers_vary),
    "credible": lambda w, a: _credible(*_fixed(w, a, w.middle)),
    "best threshold": lambda w, a: epsilon_best_threshold_optimistic(
        a.scores_in, a.scores_out, delta=DELTA
    ),
    "paper": lambda w, a: empirical_epsilon_paper(a.scores_in, a.scores_out, delta=DELTA),
}
NEED_COINS = ("accuracy, holdout", "accuracy_e_process")


def simulated(
    world: World, n_in: int, n_out: int, audits: int, seed: int, methods: tuple[str, ...]
) -> Iterator[Row]:
    """Share of audits whose value exceeds the truth, for each method.

    Methods that need fair coins get worlds of random size with n_in + n_out trials in all.
    """
    rng = np.random.default_rng(seed)
    above = dict.fromkeys(methods, 0)
    kinds: dict[str, str] = {}
    for _ in range(audits):
        fixed, coins = draw_audit(world, rng, n_in, n_out), None
        for method in methods:
            if method in NEED_COINS:
                n = n_in + n_out
                inside = int(np.clip(rng.binomial(n, 0.5), 2, n - 2))
                coins = coins or draw_audit(world, rng, inside, n - inside)
            bound = METHODS[method](world, coins if method in NEED_COINS else fixed)  # type: ignore[arg-type]
            kinds[method] = bound.kind
            above[method] += bound.value > world.truth + ROUNDING
    for method in methods:
        share = above[method] / audits
        yield Row(method, kinds[method], world.name, n_in, n_out, share, _allowed(audits))


def draw_audit(world: World, rng: np.random.Generator, n_in: int, n_out: int) -> Audit:
    """One audit of this world, n_in and n_out trials."""
    (clean_in, noise_in), (clean_out, noise_out) = (
        world.draw(rng, n_in, True),
        world.draw(rng, n_out, False),
    )
    return Audit(clean_in, clean_out, clean_in + noise_in, clean_out + noise_out)


def ever_refuted(world: World, pairs: int, audits: int, seed: int) -> Iterator[Row]:
    """Share of audits in which the truth is refuted at any time: what anytime-valid means.

    A bound exceeds the truth at some time only if the evidence against the truth reaches 1/α.
    """
    rng = np.random.default_rng(seed)
    clean_in, clean_out = (world.draw(rng, audits * pairs, inside)[0] for inside in (True, False))
    inside, outside = _values(world, Audit(clean_in, clean_out, clean_in, clean_out), world.worst)
    true_mean = float(np.mean(_values(world, draw_audit(world, rng, 10**6, 2), world.worst)[0]))
    for method, payoffs in (
        ("pair_e_process, at any time", pair_payoffs(inside, outside, world.truth, DELTA)),
        ("betting lower limit, at any time", (inside - true_mean) / true_mean),
    ):
        wealth = np.zeros((audits, pairs))
        for bet in BETS:
            factors = np.log1p(bet * payoffs.reshape(audits, pairs))
            wealth += np.exp(np.cumsum(factors, axis=1)) / BETS.size
        share = float((wealth.max(axis=1) >= 1 / ALPHA).mean())
        yield Row(method, "bound", world.name, pairs, pairs, share, _allowed(audits))


def _allowed(audits: int) -> float:
    return ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / audits)


@cache
def worlds() -> tuple[World, ...]:
    """All worlds of the full table."""
    made: list[World] = []
    for epsilon in EPSILONS:
        made += [gaussian_world(epsilon), bit_world(epsilon), rounded_world(epsilon)]
        made += map(partial(vote_world, epsilon), (0.01, 0.05))
    return tuple(made)
