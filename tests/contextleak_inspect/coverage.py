"""How often each method exceeds the truth: exact enumeration for counts, simulation otherwise."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri
from scipy.stats import binom, norm

from contextleak_inspect.betting import BETS
from contextleak_inspect.calibration import FloatArray, gdp_mu
from contextleak_inspect.rates import lower_limits, unclipped_epsilon
from contextleak_inspect.sequential import pair_payoffs
from contextleak_inspect.thresholds import (
    fixed_rank_fpr_upper,
)
from contextleak_inspect.tradeoffs import dp_tpr
from tests.contextleak_inspect.audit_methods import METHODS, NEED_COINS, trial_values
from tests.contextleak_inspect.worlds import DELTA, World, draw_audit

ALPHA = 0.05
ROUNDING = 1e-9


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


def ever_refuted(world: World, pairs: int, audits: int, seed: int) -> Iterator[Row]:
    """Share of audits in which the truth is refuted at any time: what anytime-valid means.

    A bound exceeds the truth at some time only if the evidence against the truth reaches 1/α.
    """
    rng = np.random.default_rng(seed)
    many = draw_audit(world, rng, audits * pairs, audits * pairs)
    inside, outside = trial_values(world, many, world.worst)
    more = draw_audit(world, rng, 10**6, 1)
    true_mean = float(trial_values(world, more, world.worst)[0].mean())
    for method, payoffs in (
        ("e_process, at any time", pair_payoffs(inside, outside, world.truth, DELTA)),
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
