"""Every bound exceeds the truth in at most 5 % of audits; what is not a bound is shown to exceed.

A small grid; `python -m tests.benchmarks.coverage` writes the full table.
"""

import math

import numpy as np
import pytest
from scipy.stats import binom

from contextleak_inspect.bounds import Outcomes
from contextleak_inspect.credible import epsilon_credible
from contextleak_inspect.estimators import epsilon_lower_bound
from contextleak_inspect.thresholds import fixed_rank_cut
from tests.contextleak_inspect.audit_methods import METHODS
from tests.contextleak_inspect.coverage import (
    enumerated,
    enumerated_gaussian,
    epsilon_table,
    ever_refuted,
    simulated,
)
from tests.contextleak_inspect.worlds import (
    EPSILONS,
    bit_world,
    gaussian_world,
    rounded_world,
    vote_world,
)

ARMS = [(25, 25), (25, 100), (200, 60)]
NOT_BOUNDS = ("gaussian", "credible", "best threshold", "paper")
SIMULATED = tuple(
    method for method in METHODS if method not in NOT_BOUNDS and method != "clopper_pearson, fixed"
)


def test_the_enumerated_table_is_the_function_cell_by_cell() -> None:
    n_in, n_out = 12, 9
    table = epsilon_table(np.arange(13.0), np.arange(10.0), n_in, n_out, 0.01, two_sided=True)
    for hits in range(n_in + 1):
        for alarms in range(n_out + 1):
            bound = epsilon_lower_bound(Outcomes(hits, n_in), Outcomes(alarms, n_out), delta=0.01)
            assert bound.unclipped == pytest.approx(table[hits, alarms], rel=1e-12)


@pytest.mark.parametrize("arms", ARMS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_count_based_bounds_cover_by_enumeration(arms: tuple[int, int], epsilon: float) -> None:
    rows = [
        *enumerated(*arms, epsilon, 0.0),
        *enumerated(*arms, epsilon, 0.01),
        *enumerated_gaussian(*arms, epsilon),
    ]
    assert len(rows) == 11
    assert all(row.exceeded <= row.allowed for row in rows), rows


@pytest.mark.parametrize(
    ("world", "arms"),
    [
        (gaussian_world(0.0), (60, 60)),
        (bit_world(1.0), (40, 90)),
        (rounded_world(4.0), (60, 60)),
        (vote_world(10.0, 0.01), (90, 40)),
        (vote_world(1.0, 0.05), (25, 25)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_score_based_bounds_cover_by_simulation(world, arms) -> None:  # type: ignore[no-untyped-def]
    rows = list(simulated(world, *arms, audits=200, seed=1, methods=SIMULATED))
    assert all(row.kind == "bound" for row in rows)
    assert all(row.exceeded <= row.allowed for row in rows), rows


@pytest.mark.parametrize(
    "world",
    [
        bit_world(0.0),
        bit_world(1.0),
        rounded_world(1.0),
        vote_world(4.0, 0.05),
        vote_world(10.0, 0.01),
    ],
    ids=lambda world: world.name,
)
def test_bets_cover_at_every_time_by_simulation(world) -> None:  # type: ignore[no-untyped-def]
    rows = list(ever_refuted(world, pairs=150, audits=2000, seed=2))
    assert all(row.exceeded <= row.allowed for row in rows), rows


def test_the_wealth_that_bets_use_is_not_needlessly_small() -> None:
    # Pairs at the very edge of (1, δ)-DP are refuted about as often as α allows, not almost never.
    row = next(iter(ever_refuted(bit_world(1.0), pairs=2000, audits=2000, seed=3)))
    assert row.exceeded > 0.005


def test_a_harmless_system_looks_harmless() -> None:
    # google-deepmind/jax_privacy#270, #362: 2,000 audits, 3,000 trials a world, uniform scores.
    # The best threshold on the same scores reports leakage in 10.4 % of them.
    rng = np.random.default_rng(7)
    positive = 0
    for _ in range(2000):
        cut = fixed_rank_cut(*rng.random((2, 3000)))
        positive += epsilon_lower_bound(cut.canary_in, cut.canary_out, delta=0.0).value > 0
    assert positive / 2000 <= 0.06


def test_the_credible_value_covers_less_than_it_says() -> None:
    # ε = 3 and 50 trials a world at the worst rates, enumerated: its docstring says 22 %.
    n, rate = 50, 1 / (1 + math.exp(3))
    hits, alarms = (binom.pmf(np.arange(n + 1), n, p) for p in (1 - rate, rate))
    exceeded = sum(
        hits[tp] * alarms[fp]
        for tp in range(n + 1)
        for fp in range(n + 1)
        if hits[tp] * alarms[fp] > 1e-6
        and epsilon_credible(Outcomes(tp, n), Outcomes(fp, n), delta=0.0).value > 3
    )
    assert exceeded == pytest.approx(0.2165, abs=1e-3)


def test_what_is_no_bound_exceeds_the_truth() -> None:
    # 3,000 trials a world without leakage: the best threshold is too high in about 10 %.
    null = gaussian_world(0.0)
    best = next(iter(simulated(null, 3000, 3000, 800, 4, ("best threshold",))))
    assert best.kind == "optimistic"
    assert best.exceeded > 0.05 + 3 * math.sqrt(0.05 * 0.95 / 800)
    # The paper's plug-in is positive in about half of such audits.
    paper = next(iter(simulated(null, 100, 100, 300, 5, ("paper",))))
    assert paper.kind == "plug_in"
    assert paper.exceeded > 0.3
    # Votes that vary make the release a mixture: the Gaussian value overshoots in every run.
    model = next(iter(simulated(vote_world(10.0, 0.01), 500, 500, 100, 6, ("gaussian",))))
    assert model.kind == "model_based"
    assert model.exceeded > 0.9
