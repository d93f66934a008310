"""Time and memory of every bound but the one-run ones: 100,000 trials at each of seven ε.

python tests/benchmarks/estimators_speed.py [trials]
"""

import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray

from contextleak_inspect.betting import epsilon_betting
from contextleak_inspect.calibration import gdp_mu
from contextleak_inspect.credible import epsilon_credible
from contextleak_inspect.estimators import (
    delta_lower_bound,
    epsilon_best_of,
    epsilon_either_direction,
    epsilon_from_accuracy,
    epsilon_lower_bound,
)
from contextleak_inspect.gaussian_model import epsilon_if_gaussian
from contextleak_inspect.point_estimates import (
    best_threshold_optimistic,
    empirical_epsilon_paper,
    epsilon_best_threshold_optimistic,
)
from contextleak_inspect.rao_blackwell import hit_probability
from contextleak_inspect.rates import accuracy
from contextleak_inspect.roc import auc, epsilon_dkw, tpr_at_fpr
from contextleak_inspect.sequential import epsilon_from_guesses, epsilon_from_pairs
from contextleak_inspect.thresholds import fixed_cut, fixed_rank_cut, grid_cuts, holdout_cut

EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
DELTA = 1e-5


def calls(
    mu: float, clean: NDArray[np.float64], scores: NDArray[np.float64]
) -> dict[str, Callable[[], object]]:
    """Everything an audit prints at one ε, by name; rows of the arrays: with, without canary."""
    (inside, outside), high, part = scores, mu / 2 + 1, scores.shape[1] // 3
    cut = fixed_cut(inside, outside, high)
    pair = (cut.canary_in, cut.canary_out)
    grid = np.linspace(0, 3, 10).tolist()
    parts = (inside[:part], outside[:part], inside[part:], outside[part:])
    values = hit_probability(clean, 1.0, high)
    hits = (scores > high).astype(float)
    right = np.concatenate([inside > mu / 2, outside <= mu / 2]).astype(float)
    return {
        "fixed": lambda: epsilon_lower_bound(*fixed_cut(inside, outside, high)[1:3], delta=DELTA),
        "fixed_rank": lambda: epsilon_lower_bound(
            *fixed_rank_cut(inside, outside)[1:3], delta=DELTA
        ),
        "holdout": lambda: epsilon_lower_bound(*holdout_cut(*parts)[1:3], delta=DELTA),
        "grid of 10": lambda: epsilon_best_of(
            [c[1:3] for c in grid_cuts(inside, outside, grid)], delta=DELTA
        ),
        "either direction": lambda: epsilon_either_direction(*pair, delta=DELTA),
        "dkw": lambda: epsilon_dkw(inside, outside, delta=DELTA),
        "accuracy": lambda: accuracy(*pair),
        "accuracy bound": lambda: epsilon_from_accuracy(*pair, fair_coins=True, delta=DELTA),
        "gaussian": lambda: epsilon_if_gaussian(*pair, answers_vary=True, delta=DELTA),
        "hockey stick": lambda: delta_lower_bound(*pair, epsilon=1.0),
        "credible": lambda: epsilon_credible(*pair, delta=DELTA),
        "auc": lambda: auc(inside, outside),
        "tpr_at_fpr": lambda: tpr_at_fpr(inside, outside, 0.1),
        "best threshold": lambda: best_threshold_optimistic(inside, outside),
        "paper": lambda: empirical_epsilon_paper(inside, outside, delta=DELTA),
        "epsilon at best threshold": lambda: epsilon_best_threshold_optimistic(
            inside, outside, delta=DELTA
        ),
        "betting": lambda: epsilon_betting(*values, delta=DELTA),
        "pairs, probabilities": lambda: epsilon_from_pairs(*values, delta=DELTA),
        "pairs, hits": lambda: epsilon_from_pairs(*hits, delta=DELTA),
        "guesses": lambda: epsilon_from_guesses(right, fair_coins=True, delta=DELTA),
    }


def main(trials: int) -> None:
    """Print seconds of processor time a method, over all seven ε, their sum and peak memory."""
    rng, seconds = np.random.default_rng(0), defaultdict[str, float](float)
    for epsilon in EPSILONS:
        mu = gdp_mu(epsilon, DELTA)
        # Answers that vary continuously: no value comes twice, the worst case for the bets.
        clean = 0.3 * rng.standard_normal((2, trials // 2)) + np.array([[mu], [0.0]])
        for name, call in calls(mu, clean, clean + rng.standard_normal(clean.shape)).items():
            start = time.process_time()
            call()
            seconds[name] += time.process_time() - start
    for name, spent in sorted(seconds.items(), key=lambda item: -item[1]):
        print(f"{name:26} {spent:7.3f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    total = sum(seconds.values())
    print(f"{trials:,} trials x {len(EPSILONS)} ε: {total:.2f} s of one core, peak {peak:.0f} MB")
    print("goal: 2 s and 500 MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
