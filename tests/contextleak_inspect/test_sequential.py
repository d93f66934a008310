import math

import numpy as np
import pytest

from contextleak_inspect.bounds import Setting
from contextleak_inspect.sequential import (
    epsilon_from_guesses,
    epsilon_from_pairs,
    guess_log_wealth,
    pair_ceiling,
    pair_log_wealth,
    pair_payoffs,
)
from tests.contextleak_inspect.test_betting import slow_log_wealth

SCAN = np.arange(0, 6, 0.01)


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.01, 0.3])
def test_pair_evidence_is_that_of_the_formula(delta: float) -> None:
    rng = np.random.default_rng(1)
    inside, outside = rng.random(30), rng.random(30) * 0.3
    for epsilon in (0.0, 1.0, 3.0):
        grow = math.exp(epsilon)
        payoffs = (inside - grow * outside - delta) / (grow + delta)
        assert pair_log_wealth(inside, outside, epsilon=epsilon, delta=delta) == pytest.approx(
            slow_log_wealth(payoffs), abs=1e-9
        )


def test_no_epsilon_makes_a_payoff_break_the_bank() -> None:
    inside, outside = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    for delta in (0.0, 0.5):
        for epsilon in (0.0, 5.0, 800.0, math.inf):
            assert np.all(pair_payoffs(inside, outside, epsilon, delta) >= -1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-3, 0.05, 0.2])
def test_the_pair_bound_lies_just_below_the_first_epsilon_not_refuted(
    delta: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 400))
    inside = (rng.random(n) < 0.7) * rng.choice([1.0, 0.9, 0.5], n)
    outside = (rng.random(n) < 0.04) * 1.0
    evidence = np.array([
        pair_log_wealth(inside, outside, epsilon=e, delta=delta) - math.log(20) for e in SCAN
    ])
    first = SCAN[np.argmax(evidence < 0)]
    found = epsilon_from_pairs(inside, outside, delta=delta)
    assert max(0.0, first - 0.01) - 1e-6 <= found.value <= first
    assert found.value <= found.ceiling


def evidence(hits: int, blanks: int, epsilon: float, delta: float) -> float:
    inside = np.repeat([1.0, 0.0], [hits, blanks])
    return pair_log_wealth(inside, np.zeros(inside.size), epsilon=epsilon, delta=delta)


def test_evidence_that_comes_back_after_a_dip_does_not_count() -> None:
    # 6,778 hits and 74,445 blanks against nothing, δ = 0.07735: evidence is 17.69 at ε = 0, 17.56
    # at 0.21, higher again and at 17.6 for the last time at 2.67. At a target of 17.6 the first ε
    # that is not refuted lies below 0.21; a root finder alone returns 2.67.
    counts, delta, target = (6778, 74_445), 0.077348, 17.6
    assert evidence(*counts, 0.0, delta) > target > evidence(*counts, 0.21, delta)
    assert evidence(*counts, 2.5, delta) > target > evidence(*counts, 2.7, delta)
    inside = np.repeat([1.0, 0.0], counts)
    bound = epsilon_from_pairs(
        inside, np.zeros(inside.size), delta=delta, confidence=1 - math.exp(-target)
    )
    assert 0 < bound.value < 0.21
    assert evidence(*counts, bound.value, delta) == pytest.approx(target, abs=1e-3)


def test_evidence_against_a_larger_epsilon_only_is_no_bound() -> None:
    # 2,000 hits and 16,627 blanks, δ = 0.1: 2.89 < ln 20 at ε = 0, above ln 20 later.
    assert evidence(2000, 16_627, 0.0, 0.1) < math.log(20)
    assert max(evidence(2000, 16_627, e, 0.1) for e in np.arange(0.1, 3, 0.1)) > math.log(20)
    inside = np.repeat([1.0, 0.0], [2000, 16_627])
    assert epsilon_from_pairs(inside, np.zeros(inside.size), delta=0.1).value == 0.0


def test_the_running_time_order_does_not_matter_for_the_final_bound() -> None:
    rng = np.random.default_rng(3)
    inside, outside = rng.random(50), rng.random(50) * 0.1
    order = rng.permutation(50)
    assert epsilon_from_pairs(inside, outside, delta=1e-5).value == pytest.approx(
        epsilon_from_pairs(inside[order], outside[order], delta=1e-5).value, abs=1e-8
    )


def test_pairs_that_show_nothing_are_below_zero_unclipped() -> None:
    bound = epsilon_from_pairs(np.full(50, 0.1), np.full(50, 0.5), delta=1e-5)
    assert bound.value == 0.0
    assert -5 < bound.unclipped < 0
    assert epsilon_from_pairs([0.0], [1.0], delta=0.0).unclipped == -math.inf


def test_the_pair_ceiling_is_what_perfect_pairs_show() -> None:
    perfect = epsilon_from_pairs(np.ones(200), np.zeros(200), delta=1e-5)
    assert perfect.value == pytest.approx(perfect.ceiling, abs=1e-7)
    assert pair_ceiling(0, 0.0, math.log(20)) == 0.0
    # 20 = (1 + 0.95 e^-ε)^n needs about e^ε = 0.95 n / ln 20 with the best single bet.
    assert pair_ceiling(10**6, 0.0, math.log(20)) == pytest.approx(math.log(0.95e6 / 3), abs=0.4)


def test_every_pair_needs_both_worlds() -> None:
    with pytest.raises(ValueError, match="3 values with the canary and 2 without"):
        epsilon_from_pairs([1, 1, 1], [0, 0], delta=0.0)


def test_a_threshold_that_depends_on_the_pairs_as_a_whole_is_refused() -> None:
    for rule in ("fixed_rank", "grid", "dkw", "same_data"):
        with pytest.raises(ValueError, match=rule):
            epsilon_from_pairs([1], [0], delta=0.0, threshold_rule=rule)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=rule):
            epsilon_from_guesses(
                [1],
                fair_coins=True,
                delta=0.0,
                threshold_rule=rule,  # type: ignore[arg-type]
            )


def test_guess_bound_lies_where_its_evidence_crosses() -> None:
    correct = np.repeat([1.0, 0.0], [80, 20])
    bound = epsilon_from_guesses(correct, fair_coins=True, delta=1e-3)
    at = [
        guess_log_wealth(correct, epsilon=bound.value + step, delta=1e-3) - math.log(20)
        for step in (-1e-6, 1e-6)
    ]
    assert at[0] > 0 > at[1]
    assert (bound.n, bound.n_in, bound.n_out) == (100, None, None)
    best = epsilon_from_guesses(np.ones(100), fair_coins=True, delta=1e-3)
    assert best.value == pytest.approx(bound.ceiling)


def test_guesses_need_fair_coins() -> None:
    with pytest.raises(ValueError, match="fair coin"):
        epsilon_from_guesses([1, 0], fair_coins=False, delta=0.0)


def test_the_setting_is_passed_through() -> None:
    setting = Setting("final_output", "add_remove")
    bound = epsilon_from_guesses([1, 0], fair_coins=True, delta=0.0, setting=setting)
    assert (bound.observation, bound.neighbouring) == setting[:2]
