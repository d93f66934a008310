"""Every method, as a function of a world and one audit of it."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from contextleak_inspect.betting import epsilon_betting
from contextleak_inspect.bounds import EpsilonBound, Outcomes
from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.credible import epsilon_credible
from contextleak_inspect.estimators import (
    epsilon_best_of,
    epsilon_either_direction,
    epsilon_from_accuracy,
    epsilon_lower_bound,
)
from contextleak_inspect.gaussian_model import epsilon_if_gaussian
from contextleak_inspect.point_estimates import (
    empirical_epsilon_paper,
    epsilon_best_threshold_optimistic,
)
from contextleak_inspect.rao_blackwell import hit_probability
from contextleak_inspect.roc import epsilon_dkw
from contextleak_inspect.sequential import epsilon_from_guesses, epsilon_from_pairs
from contextleak_inspect.thresholds import (
    fixed_cut,
    fixed_rank_cut,
    grid_cuts,
    holdout_cut,
    missing_against_auditor,
)
from tests.contextleak_inspect.worlds import DELTA, Audit, World

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


def trial_values(world: World, audit: Audit, threshold: float) -> tuple[FloatArray, FloatArray]:
    """Hit probabilities, or hits where there is no noise to integrate out."""
    return (
        hit_probability(audit.clean_in, world.noise, threshold),
        hit_probability(audit.clean_out, world.noise, threshold),
    )


def _pairs(world: World, audit: Audit, threshold: float) -> tuple[FloatArray, FloatArray]:
    """The same, one pair a step."""
    n = min(audit.clean_in.size, audit.clean_out.size)
    inside, outside = trial_values(world, audit, threshold)
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
    return _sorted_betting(*(np.sort(v).tobytes() for v in trial_values(world, audit, threshold)))


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
    "e_process": lambda w, a: _paired(w, a, w.high),
    "e_process, worst threshold": lambda w, a: _paired(w, a, w.worst),
    "accuracy_e_process": lambda w, a: _guesses(_right(w, a), a.scores_in.size + a.scores_out.size),
    "gaussian": lambda w, a: _gaussian(*_rank(a), answers_vary=w.answers_vary),
    "credible": lambda w, a: _credible(*_fixed(w, a, w.middle)),
    "best threshold": lambda w, a: epsilon_best_threshold_optimistic(
        a.scores_in, a.scores_out, delta=DELTA
    ),
    "paper": lambda w, a: empirical_epsilon_paper(a.scores_in, a.scores_out, delta=DELTA),
}
NEED_COINS = ("accuracy, holdout", "accuracy_e_process")
