"""Sparse vector technique: exact probabilities of answer sequences, by quadrature over ρ.

Given the noise ρ of the threshold the answers are independent. In each pair of neighbours the
queries with answer ⊥ go up by one and those with answer ⊤ go down by one, or only one kind moves.
All thresholds are 0.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import stats

from dprivbench_inspect.divergences import Array, Certificate, Measured, log_ratio

EPSILON = 1.0


class Asked(NamedTuple):
    """Queries of one value on X and one on X', all answered alike."""

    above: bool
    value: float
    moved: float
    times: int = 1


def _probability(
    queries: Sequence[tuple[bool, float, int]], rho_scale: float, nu_scale: float, shown: float
) -> Measured:
    """Probability (up to a factor common to X and X') of the answers, as (⊤?, q(X), how often).

    Args:
        queries: Queries that share one draw of ρ.
        rho_scale: Scale of ρ.
        nu_scale: Scale of each query's noise; 0 for none.
        shown: Noisy value that was released at the last ⊤, or inf where only ⊤ is released.
    """
    if nu_scale == 0:
        low = max((v for above, v, _ in queries if not above), default=-math.inf)
        high = min((v for above, v, _ in queries if above), default=math.inf)
        rho = stats.laplace(0, rho_scale)
        return Measured(max(0.0, float(rho.cdf(high) - rho.cdf(low))), 0.0)

    def log_integrand(rho: Array) -> Array:
        total = stats.laplace.logpdf(rho, scale=rho_scale)
        for above, value, times in queries:
            noisy = stats.laplace(value, nu_scale)
            if not above:
                total = total + times * noisy.logcdf(rho)
            elif shown == math.inf:
                total = total + times * noisy.logsf(rho)
            else:
                total = total + np.where(rho <= shown, noisy.logpdf(shown), -math.inf)
        return np.asarray(total)

    width = 40 * max(rho_scale, nu_scale) + max(abs(v) for _, v, _ in queries)
    top = min(width, shown)
    kinks = [0.0, *(v for _, v, _ in queries)]
    ends = np.unique(np.clip([*kinks, *np.linspace(-width, top, 201)], -width, top))
    coarse, fine = (_gauss_legendre(log_integrand, ends, nodes) for nodes in (16, 32))
    return Measured(fine, abs(fine - coarse) + 1e-12 * fine)


def _gauss_legendre(log_integrand: Callable[[Array], Array], ends: Array, nodes: int) -> float:
    """Integral over pieces on which the integrand is smooth, `nodes` points a piece."""
    at, weights = np.polynomial.legendre.leggauss(nodes)
    half = np.diff(ends)[:, None] / 2
    values = np.exp(log_integrand((ends[:-1, None] + half) + half * at))
    return float((values * weights * half).sum())


def _loss(
    groups: Sequence[Sequence[Asked]], rho_scale: float, nu_scale: float, shown: float = math.inf
) -> Measured:
    """Log ratio of one answer sequence on X and X'; each group has a draw of ρ of its own."""
    value = error = 0.0
    for group, repeated in ((g, len(list(same))) for g, same in itertools.groupby(groups)):
        on_x = [(a.above, a.value, a.times) for a in group]
        on_moved = [(a.above, a.moved, a.times) for a in group]
        laws = [_probability(on, rho_scale, nu_scale, shown) for on in (on_x, on_moved)]
        part = log_ratio(*laws)
        value, error = value + repeated * part.value, error + repeated * part.error
    return Measured(value, error if math.isfinite(value) else 0.0)


def one_threshold(
    nu_scale: Callable[[int], float], *, stops: bool = True, shows_value: bool = False
) -> Certificate:
    """ρ ~ Lap(2/ε) once; c answers ⊤ (25 of them where nothing stops), 300 answers ⊥."""
    found = []
    for c in (1, 3):
        tops, scale = c if stops else 25, nu_scale(c)
        if scale == 0:
            asked, shown = [Asked(False, 0.0, 1.0), Asked(True, 1.0, 0.0)], math.inf
        elif shows_value:
            asked, shown = [Asked(False, 0.0, 1.0, 60), Asked(True, 0.0, 0.0)], -1.0
        else:
            asked, shown = [Asked(False, 0.0, 1.0, 300), Asked(True, -30.0, -31.0, tops)], math.inf
        measured = _loss([asked], 2 / EPSILON, scale, shown)
        pair = f"⊥ at {asked[0].times} queries that go from 0 to 1, then ⊤ at {asked[1].times}"
        found.append(Certificate(EPSILON, *measured, f"ε' at ε=1, c={c}", pair))
    return max(found, key=lambda x: x.measured)


def fresh_threshold(drawn: str) -> Certificate:
    """ρ ~ Lap(2c/ε), drawn again after each ⊤ or before each query; ν ~ Lap(4c/ε)."""
    found = []
    for c in (1, 3):
        if drawn == "after each top":
            groups = [[Asked(False, 0.0, 1.0, 300), Asked(True, -30.0 * c, -30.0 * c - 1)]] * c
        else:
            groups = [[Asked(False, 0.0, 1.0)]] * 60 * c
        measured = _loss(groups, 2 * c / EPSILON, 4 * c / EPSILON)
        text = "300 ⊥ and one ⊤, c times" if drawn == "after each top" else f"{60 * c} times ⊥"
        pair = f"{text}; ⊥ at queries that go from 0 to 1, ⊤ at queries that fall by 1"
        found.append(Certificate(EPSILON, *measured, f"ε' at ε=1, c={c}", pair))
    return max(found, key=lambda x: x.measured)


def halved_noise(moves: str) -> Certificate:
    """ρ ~ Lap(2/ε), ν ~ Lap(2c/ε), where an inserted record raises queries only, or moves them."""
    found = []
    for c in (1, 3):
        up_below, up_above = Asked(False, 0.0, 1.0, 300), Asked(True, -31.0, -30.0, c)
        cases = [[up_below, Asked(True, -30.0, -30.0, c)], [up_above], [up_below, up_above]]
        cases += [[Asked(a.above, a.moved, a.value, a.times) for a in case] for case in cases]
        if moves == "both ways":
            cases = [[up_below, Asked(True, -30.0, -31.0, c)]]
        for case in cases:
            measured = _loss([case], 2 / EPSILON, 2 * c / EPSILON)
            moved = [f"{a.times} {'⊤' if a.above else '⊥'} {a.value:g}→{a.moved:g}" for a in case]
            found.append(
                Certificate(EPSILON, *measured, f"ε' at ε=1, c={c}", "queries: " + ", ".join(moved))
            )
    return max(found, key=lambda x: x.measured)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "svt-01": partial(one_threshold, lambda c: 4 * c / EPSILON),
    "svt-02": partial(one_threshold, lambda c: 4 / EPSILON),
    "svt-03": partial(one_threshold, lambda c: 4 * c / EPSILON, shows_value=True),
    "svt-04": partial(one_threshold, lambda c: 0.0),
    "svt-05": partial(one_threshold, lambda c: 4 * c / EPSILON, stops=False),
    "svt-06": partial(fresh_threshold, "after each top"),
    "svt-07": partial(fresh_threshold, "before each query"),
    "svt-08": partial(halved_noise, "up"),
    "svt-09": partial(halved_noise, "both ways"),
}
