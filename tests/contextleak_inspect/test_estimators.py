import math

import numpy as np
import pytest

from contextleak_inspect.bounds import Outcomes, Setting
from contextleak_inspect.calibration import gdp_delta
from contextleak_inspect.estimators import (
    accuracy_to_epsilon,
    delta_lower_bound,
    epsilon_best_of,
    epsilon_either_direction,
    epsilon_from_accuracy,
    epsilon_lower_bound,
)
from contextleak_inspect.rates import clopper_pearson
from contextleak_inspect.tradeoffs import dp_accuracy

# Randomized response is the worst case of pure DP, so ln(TPR / FPR) is exactly ε.
TRUE_EPSILON, TPR, FPR = 1.0, math.e / (1 + math.e), 1 / (1 + math.e)

# (tp, n_in, fp, n_out, δ, ε): public faults and their right answers.
PUBLIC_CASES = {
    "all right: microsoft/responsible-ai-toolbox-privacy#7": (100, 100, 0, 100, 0.0, 3.281346349),
    "chance: google-deepmind/jax_privacy#270": (101, 200, 99, 200, 0.0, 0.0),
    "δ used: microsoft/responsible-ai-toolbox-privacy#1": (90, 100, 10, 100, 0.05, 1.479536282),
    "always in: karpathy/nanochat#349": (70, 70, 30, 30, 0.0, 0.0),
    "not capped: facebookresearch/PrivacyGuard#6": (5000, 5000, 0, 5000, 0.0, 7.21150154),
}


@pytest.mark.parametrize("case", PUBLIC_CASES.values(), ids=PUBLIC_CASES)
def test_public_faults_are_not_repeated(
    case: tuple[int, int, int, int, float, float],
) -> None:
    tp, n_in, fp, n_out, delta, epsilon = case
    bound = epsilon_lower_bound(Outcomes(tp, n_in), Outcomes(fp, n_out), delta=delta)
    assert bound.value == pytest.approx(epsilon, rel=1e-6)
    assert math.isfinite(bound.value)
    assert (bound.n_in, bound.n_out, bound.n) == (n_in, n_out, n_in + n_out)


def test_a_chance_level_attack_keeps_its_negative_number_in_the_record() -> None:
    bound = epsilon_lower_bound(Outcomes(101, 200), Outcomes(99, 200), delta=0.0)
    assert bound.unclipped == pytest.approx(-0.2672324309)


def test_bound_approaches_the_true_epsilon_from_below() -> None:
    n = 1_000_000
    bound = epsilon_lower_bound(
        Outcomes(round(TPR * n), n), Outcomes(round(FPR * n), n), delta=0.0
    ).value
    assert TRUE_EPSILON - 0.02 < bound < TRUE_EPSILON


def test_an_empty_world_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match="no out-trials: 12 with the canary, 0 without"):
        epsilon_lower_bound(Outcomes(12, 12), Outcomes(0, 0), delta=0.0)


@pytest.mark.parametrize(("n", "ceiling"), [(25, 1.84), (50, 2.57), (100, 3.28), (500, 4.91)])
def test_every_record_says_the_most_its_trials_can_show(n: int, ceiling: float) -> None:
    perfect = epsilon_lower_bound(Outcomes(n, n), Outcomes(0, n), delta=0.0)
    poor = epsilon_lower_bound(Outcomes(1, n), Outcomes(n, n), delta=0.0)
    assert perfect.value == perfect.ceiling == poor.ceiling == pytest.approx(ceiling, abs=0.005)


def test_the_ceiling_at_a_rank_keeps_the_rank() -> None:
    outside = Outcomes(10, 100, "fixed_rank")
    perfect = epsilon_lower_bound(Outcomes(100, 100, "fixed_rank"), outside, delta=0.0)
    assert perfect.value == perfect.ceiling
    half = epsilon_lower_bound(Outcomes(50, 100, "fixed_rank"), outside, delta=0.0)
    assert half.ceiling == perfect.ceiling


def test_both_worlds_need_the_same_rule() -> None:
    with pytest.raises(ValueError, match="same threshold"):
        epsilon_lower_bound(Outcomes(1, 2, "fixed"), Outcomes(1, 2, "holdout"), delta=0.0)


def test_the_best_of_twenty_queries_is_paid_for() -> None:
    # aidotse/LeakPro#438: 0.132 without a correction.
    best = (Outcomes(34, 50), Outcomes(16, 50))
    alone = epsilon_lower_bound(*best, delta=0.0)
    assert alone.value == pytest.approx(0.1322169139)
    corrected = epsilon_best_of([best] + [(Outcomes(25, 50), Outcomes(25, 50))] * 19, delta=0.0)
    assert corrected.value == 0.0
    assert corrected.method == "clopper_pearson, best of 20"
    assert corrected.confidence == 0.95


def test_the_best_of_one_is_that_one_and_of_none_an_error() -> None:
    cell = (Outcomes(40, 50), Outcomes(3, 50))
    assert epsilon_best_of([cell], delta=0.0).value == epsilon_lower_bound(*cell, delta=0.0).value
    with pytest.raises(ValueError, match="no cells"):
        epsilon_best_of([], delta=0.0)


def test_either_direction_costs_half_of_the_error() -> None:
    forward = (Outcomes(48, 50), Outcomes(2, 50))
    backward = (Outcomes(2, 50), Outcomes(48, 50))
    both = [epsilon_either_direction(*pair, delta=0.0).value for pair in (forward, backward)]
    assert both[0] == pytest.approx(both[1])
    assert both[0] == epsilon_lower_bound(*forward, delta=0.0, confidence=0.975).value
    assert epsilon_lower_bound(*backward, delta=0.0).value == 0.0
    rank = Outcomes(2, 50, "fixed_rank")
    with pytest.raises(ValueError, match="fixed_rank"):
        epsilon_either_direction(rank, rank, delta=0.0)


def test_delta_bound_refutes_a_claim_and_agrees_with_the_epsilon_bound() -> None:
    pair = (Outcomes(450, 500), Outcomes(50, 500))
    epsilon = epsilon_lower_bound(*pair, delta=1e-3, two_sided=False).value
    assert delta_lower_bound(*pair, epsilon=epsilon).value == pytest.approx(1e-3, abs=1e-12)
    assert delta_lower_bound(*pair, epsilon=epsilon + 0.1).value < 1e-3
    beyond = delta_lower_bound(*pair, epsilon=math.inf)
    assert (beyond.value, beyond.unclipped) == (0.0, -math.inf)
    two = delta_lower_bound(*pair, epsilon=1.0, two_sided=True)
    assert two.value >= delta_lower_bound(*pair, epsilon=1.0).value
    with pytest.raises(ValueError, match="epsilon"):
        delta_lower_bound(*pair, epsilon=-1.0)


def test_delta_bound_approaches_the_gaussian_curve_from_below() -> None:
    # At ε the best event of a μ-Gaussian pair is s > ε/μ + μ/2.
    n, mu, epsilon = 4_000_000, 1.0, 1.0
    rng = np.random.default_rng(8)
    threshold = epsilon / mu + mu / 2
    hits = (int((rng.normal(shift, 1, n) > threshold).sum()) for shift in (mu, 0.0))
    bound = delta_lower_bound(*(Outcomes(h, n) for h in hits), epsilon=epsilon).value
    assert 0 < gdp_delta(epsilon, mu) - bound < 2e-3


def test_accuracy_needs_fair_coins_and_an_independent_threshold() -> None:
    pair = (Outcomes(45, 50), Outcomes(5, 50))
    with pytest.raises(ValueError, match="fair coin"):
        epsilon_from_accuracy(*pair, fair_coins=False, delta=0.0)
    for rule in ("fixed_rank", "grid", "same_data", "dkw"):
        ranked = Outcomes(45, 50, rule)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=rule):
            epsilon_from_accuracy(ranked, ranked, fair_coins=True, delta=0.0)


def test_accuracy_bound_takes_all_trials_together() -> None:
    bound = epsilon_from_accuracy(Outcomes(45, 52), Outcomes(3, 48), fair_coins=True, delta=1e-3)
    lower = clopper_pearson(90, 100, 0.05).lower
    assert bound.value == pytest.approx(math.log((lower - 1e-3) / (1 - lower)))
    assert (bound.n_in, bound.n_out) == (52, 48)
    lucky = epsilon_from_accuracy(Outcomes(12, 12), Outcomes(0, 0), fair_coins=True, delta=0.0)
    assert lucky.value == lucky.ceiling > 0
    with pytest.raises(ValueError, match="a trial"):
        epsilon_from_accuracy(Outcomes(0, 0), Outcomes(0, 0), fair_coins=True, delta=0.0)


def test_accuracy_and_epsilon_are_inverse() -> None:
    for epsilon, delta in [(0.0, 0.0), (1.0, 1e-5), (4.0, 0.01)]:
        assert accuracy_to_epsilon(dp_accuracy(epsilon, delta), delta=delta) == pytest.approx(
            epsilon, abs=1e-12
        )


def test_the_setting_is_passed_through() -> None:
    setting = Setting("final_output", "add_remove", "conditional_on_answers")
    bound = epsilon_lower_bound(Outcomes(1, 2), Outcomes(1, 2), delta=0.0, setting=setting)
    assert (bound.observation, bound.neighbouring, bound.scope) == setting
