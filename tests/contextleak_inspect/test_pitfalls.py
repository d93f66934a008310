"""The twenty known ways to get an audit wrong: a check that ours passes and each mistake fails.

Every test names a property, holds it against our function, and puts the mistake back to see the
same check fail.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

from contextleak_inspect.betting import epsilon_betting
from contextleak_inspect.bounds import Outcomes
from contextleak_inspect.calibration import (
    analytic_sigma,
    classical_sigma,
    embedding_sensitivity,
    gaussian_delta,
    gaussian_epsilon,
    gdp_epsilon,
    gdp_mu,
    vote_sensitivity,
)
from contextleak_inspect.estimators import epsilon_best_of, epsilon_lower_bound
from contextleak_inspect.gaussian_model import epsilon_if_gaussian, mu_lower_bound
from contextleak_inspect.mechanisms import (
    canary_direction,
    noise_rng,
    noisy_histogram,
    noisy_mean,
    projection,
)
from contextleak_inspect.point_estimates import empirical_epsilon_paper
from contextleak_inspect.rates import accuracy, clopper_pearson, epsilon_from_rates
from contextleak_inspect.subsampling import subsampled_gaussian_epsilon
from contextleak_inspect.thresholds import fixed_cut, fixed_rank_cut
from contextleak_inspect.tradeoffs import dp_tpr
from tests.contextleak_inspect.worlds import vote_world

DELTA = 1e-5
ALLOWED = 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)  # for 1,000 audits


def only_ours_passes(check: Callable[[Any], None], ours: Any, *mistakes: Any) -> None:
    """The check holds for ours, and for none of the mistakes."""
    check(ours)
    for mistake in mistakes:
        with pytest.raises(AssertionError):
            check(mistake)


def test_01_logarithms_are_natural() -> None:
    def check(epsilon: Callable[[float, float], float]) -> None:
        assert epsilon(math.e / (1 + math.e), 1 / (1 + math.e)) == pytest.approx(1)

    only_ours_passes(
        check,
        lambda tpr, fpr: epsilon_from_rates(tpr, fpr, delta=0.0),
        lambda tpr, fpr: math.log2(tpr / fpr),
        lambda tpr, fpr: math.log10(tpr / fpr),
    )


def test_02_delta_is_subtracted_and_before_the_logarithm() -> None:
    def check(epsilon: Callable[[float, float, float], float]) -> None:
        for true_epsilon, delta in [(1.0, 0.05), (2.0, 1e-3)]:
            tpr = dp_tpr(0.05, true_epsilon, delta)  # the worst that (ε, δ) allows
            assert epsilon(tpr, 0.05, delta) == pytest.approx(true_epsilon)

    only_ours_passes(
        check,
        lambda tpr, fpr, delta: epsilon_from_rates(tpr, fpr, delta=delta, two_sided=False),
        lambda tpr, fpr, delta: math.log(tpr / fpr),
        lambda tpr, fpr, delta: math.log(tpr / fpr) - delta,
    )


def test_03_a_tpr_below_delta_is_zero_and_not_nan() -> None:
    def check(epsilon: Callable[[float, float, float], float]) -> None:
        assert epsilon(0.05, 0.01, 0.1) == 0.0

    def mistake(tpr: float, fpr: float, delta: float) -> float:
        with np.errstate(invalid="ignore"):
            return float(np.maximum(0.0, np.log((tpr - delta) / fpr)))

    only_ours_passes(
        check,
        lambda tpr, fpr, delta: epsilon_from_rates(tpr, fpr, delta=delta, two_sided=False),
        mistake,
    )


def test_04_no_false_alarm_is_not_infinite_leakage() -> None:
    def check(bound: Callable[[Outcomes, Outcomes], float]) -> None:
        for n in (1, 100, 5000):
            assert math.isfinite(bound(Outcomes(n, n), Outcomes(0, n)))
        # Responsible-AI-toolbox#7: 100 of 100 against 0 of 100.
        assert bound(Outcomes(100, 100), Outcomes(0, 100)) == pytest.approx(3.281346349)

    only_ours_passes(
        check,
        lambda i, o: epsilon_lower_bound(i, o, delta=0.0).value,
        lambda i, o: epsilon_from_rates(i.hits / i.trials, o.hits / o.trials, delta=0.0),
    )


def test_05_an_fpr_set_to_a_tenth_is_not_known_to_be_a_tenth() -> None:
    def check(bound: Callable[[np.ndarray, np.ndarray], float]) -> None:
        rng = np.random.default_rng(5)
        null = (rng.standard_normal((2, 100)) for _ in range(1000))
        assert np.mean([bound(*scores) > 0 for scores in null]) <= ALLOWED

    def exact_fpr(inside: np.ndarray, outside: np.ndarray) -> float:
        cut = fixed_rank_cut(inside, outside)
        return math.log(clopper_pearson(cut.canary_in.hits, 100, 0.05).lower / 0.1)

    only_ours_passes(
        check,
        lambda i, o: epsilon_lower_bound(*fixed_rank_cut(i, o)[1:3], delta=0.0).value,
        lambda i, o: empirical_epsilon_paper(i, o, delta=0.0).value,
        exact_fpr,
    )


def test_06_two_limits_share_the_error_and_each_is_one_sided() -> None:
    n, tpr, fpr = 200, 0.8, 0.2

    def both_hold(limit: Callable[[int], tuple[float, float]]) -> float:
        chances = [binom.pmf(np.arange(n + 1), n, rate) for rate in (tpr, fpr)]
        lower, upper = np.array([limit(hits) for hits in range(n + 1)]).T
        return float(chances[0][lower <= tpr].sum() * chances[1][upper >= fpr].sum())

    def check(limit: Callable[[int], tuple[float, float]]) -> None:
        assert 0.95 <= both_hold(limit) < 0.97  # neither too rarely nor needlessly often

    only_ours_passes(
        check,
        lambda hits: clopper_pearson(hits, n, 0.05 / 2),
        lambda hits: clopper_pearson(hits, n, 0.05),  # error not halved
        lambda hits: clopper_pearson(hits, n, 0.05 / 2, sides=2),  # halved twice
    )
    halved = clopper_pearson(100, 100, 0.025).lower / clopper_pearson(0, 100, 0.025).upper
    found = epsilon_lower_bound(Outcomes(100, 100), Outcomes(0, 100), delta=0.0).value
    assert found == pytest.approx(math.log(halved))


def test_07_replacing_an_exemplar_moves_two_counts() -> None:
    def check(sensitivity: float) -> None:
        sigma = analytic_sigma(4.0, DELTA, sensitivity)
        # One vote leaves a class and another gains it: the histograms lie √2 apart.
        apart = float(np.linalg.norm(np.array([9, 1]) - np.array([10, 0])))
        assert gaussian_epsilon(sigma, DELTA, apart) <= 4.0 + 1e-9

    only_ours_passes(check, vote_sensitivity("replace_one"), 1.0)
    leaked = gaussian_epsilon(analytic_sigma(4.0, DELTA, 1.0), DELTA, math.sqrt(2))
    assert leaked == pytest.approx(5.99, abs=0.005)


def test_08_sigma_is_a_standard_deviation_and_divided_by_m_once() -> None:
    m, dim, epsilon = 10, 4000, 2.0
    sigma = analytic_sigma(epsilon, DELTA, embedding_sensitivity(m))
    same = np.tile(np.eye(dim)[0], (m, 1))

    def check(release: Callable[[float, np.random.Generator], np.ndarray]) -> None:
        noise = (release(sigma, np.random.default_rng(8)) - same[0]).std()
        assert gaussian_epsilon(float(noise), DELTA, 2 / m) == pytest.approx(epsilon, rel=0.1)

    def scaled(factor: Callable[[float], float]) -> Callable[..., np.ndarray]:
        return lambda s, rng: same[0] + factor(s) * rng.standard_normal(dim)

    only_ours_passes(
        check,
        lambda s, rng: noisy_mean(same, s, rng),
        scaled(math.sqrt),  # σ taken for a variance
        scaled(lambda s: s / m),  # noise of the mean divided by m again
    )
    histogram = noisy_histogram(np.zeros(dim), 3.0, np.random.default_rng(8))
    assert histogram.std() == pytest.approx(3.0, rel=0.05)


def test_09_embeddings_are_normalised_before_their_mean() -> None:
    m = 10
    one, other = np.ones((m, 3)), np.ones((m, 3))
    other[0] = -1e3  # the canary's embedding, as long as it likes

    def check(mean: Callable[[np.ndarray], np.ndarray]) -> None:
        apart = np.linalg.norm(mean(one) - mean(other))
        assert apart <= embedding_sensitivity(m) + 1e-12

    only_ours_passes(
        check,
        lambda e: noisy_mean(e, 0.0, np.random.default_rng(0)),
        lambda e: e.mean(axis=0),
    )


def test_10_every_trial_and_world_has_its_own_noise() -> None:
    epsilon, n = 4.0, 300
    mu = gdp_mu(epsilon, DELTA)
    Draw = Callable[[int, int, bool], float]

    def check(noise: Draw) -> None:
        exceeded = 0
        for audit in range(60):
            inside, outside = (
                [mu * world + noise(audit, trial, world) for trial in range(n)]
                for world in (True, False)
            )
            cut = fixed_cut(inside, outside, mu / 2)
            bound = epsilon_lower_bound(cut.canary_in, cut.canary_out, delta=DELTA).value
            exceeded += bound > epsilon
        assert exceeded / 60 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 60)

    only_ours_passes(
        check,
        lambda audit, trial, world: float(
            noise_rng(audit, trial, epsilon, "rnm", canary_in=world).standard_normal()
        ),
        # One seed for all trials of an audit: the same noise n times.
        lambda audit, trial, world: float(np.random.default_rng(audit).standard_normal()),
    )
    both = [
        noise_rng(0, 7, epsilon, "rnm", canary_in=world).standard_normal()
        for world in (True, False)
    ]
    assert both[0] != both[1]


def test_11_a_detector_is_trained_on_other_trials() -> None:
    dim, n = 200, 40

    def check(calibration: Callable[[np.ndarray, np.random.Generator], np.ndarray]) -> None:
        rng, positive = np.random.default_rng(11), 0
        for _ in range(100):
            inside, outside = rng.standard_normal((2, n, dim))  # nothing leaks
            direction = canary_direction(calibration(inside, rng), calibration(outside, rng))
            cut = fixed_rank_cut(projection(inside, direction), projection(outside, direction))
            positive += epsilon_lower_bound(cut.canary_in, cut.canary_out, delta=0.0).value > 0
        assert positive / 100 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 100)

    only_ours_passes(
        check,
        lambda trials, rng: rng.standard_normal(trials.shape),
        lambda trials, rng: trials,
    )


def test_12_a_cached_answer_is_one_draw() -> None:
    world, threshold = vote_world(10.0, 0.05), 0.5 * gdp_mu(10.0, DELTA)  # at least one vote
    false = 1 - 0.95**10
    truth = epsilon_from_rates(1 - 0.95**9 * 0.05, false, delta=DELTA)

    def check(sample: Callable[[np.ndarray], np.ndarray]) -> None:
        rng, exceeded = np.random.default_rng(12), 0
        for _ in range(100):
            votes = (sample(world.draw(rng, 50, inside)[0]) for inside in (True, False))
            values = [(v > threshold).astype(float) for v in votes]
            exceeded += epsilon_betting(*values, delta=DELTA).value > truth
        assert exceeded / 100 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 100)

    only_ours_passes(check, lambda votes: votes, lambda votes: np.repeat(votes, 100))


def test_13_refusals_score_zero_and_are_not_dropped() -> None:
    # Hit, refusal or neither; every pair of chances within a factor 2: the release is (ln 2, 0)-DP.
    inside, outside = np.array([0.10, 0.59, 0.31]), np.array([0.05, 0.33, 0.62])
    assert np.abs(np.log(inside / outside)).max() == pytest.approx(math.log(2))

    def check(kept: Callable[[np.ndarray], np.ndarray]) -> None:
        n, rng = 40_000, np.random.default_rng(13)
        scores = [kept(rng.choice([1.0, math.nan, 0.0], n, p=law)) for law in (inside, outside)]
        cut = fixed_cut(*scores, 0.5)
        bound = epsilon_lower_bound(cut.canary_in, cut.canary_out, delta=0.0)
        assert bound.value <= math.log(2)

    only_ours_passes(check, lambda s: np.where(np.isnan(s), 0.0, s), lambda s: s[~np.isnan(s)])


def test_14_unequal_arms_need_balanced_accuracy() -> None:
    def check(share: Callable[[Outcomes, Outcomes], float]) -> None:
        always_in = share(Outcomes(70, 70), Outcomes(30, 30))
        assert always_in <= 0.5  # Φ(μ/2) at μ = 0

    only_ours_passes(check, lambda i, o: accuracy(i, o).balanced, lambda i, o: accuracy(i, o).raw)


def test_15_the_best_of_many_queries_is_not_the_only_one() -> None:
    n, queries = 50, 60
    chance = binom.pmf(np.arange(n + 1), n, 0.5)
    cells = [
        (hits, alarms, chance[hits] * chance[alarms])
        for hits in range(n + 1)
        for alarms in range(hits)  # fewer hits than false alarms show nothing to anybody
        if chance[hits] * chance[alarms] > 1e-8
    ]

    def check(bound: Callable[[Outcomes, Outcomes], float]) -> None:
        # Nothing leaks: chance that any of sixty independent queries shows something.
        positive = sum(
            weight for h, a, weight in cells if bound(Outcomes(h, n), Outcomes(a, n)) > 0
        )
        assert 1 - (1 - positive) ** queries <= 0.05

    nothing = [(Outcomes(25, n), Outcomes(25, n))] * (queries - 1)
    only_ours_passes(
        check,
        lambda i, o: epsilon_best_of([(i, o), *nothing], delta=0.0).value,
        lambda i, o: epsilon_lower_bound(i, o, delta=0.0).value,
    )


def test_16_the_classical_sigma_gives_too_little_noise_above_eight() -> None:
    def check(sigma: Callable[[float, float, float], float]) -> None:
        for epsilon in (0.5, 4.0, 8.0, 10.0, 20.0):
            noise = sigma(epsilon, DELTA, 1.0)
            assert gaussian_delta(noise, epsilon, 1.0) <= DELTA * (1 + 1e-6)

    with pytest.warns(UserWarning, match="proved for epsilon up to 1"):
        only_ours_passes(check, analytic_sigma, classical_sigma)


def test_17_noise_amplified_by_subsampling_is_not_enough_for_a_canary_in_every_prompt() -> None:
    claimed, queries = 8.0, 10

    def check(sigma: float) -> None:
        # The canary is in the prompt of all queries: no subsampling hides it.
        assert gaussian_epsilon(sigma, DELTA, 1.0, queries) <= claimed * (1 + 1e-9)

    amplified = 0.6  # enough for ε = 8 if each query used 2.7 % of the data
    assert subsampled_gaussian_epsilon(amplified, 0.027, queries, DELTA) < claimed
    only_ours_passes(check, analytic_sigma(claimed, DELTA, 1.0, queries), amplified)


def test_18_the_clamp_is_a_maximum_with_zero_not_over_axis_zero() -> None:
    rates = np.array([0.1, 0.2, 0.9]), np.array([0.5, 0.4, 0.1])

    def check(epsilon: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
        assert epsilon(*rates) == pytest.approx([0.0, 0.0, math.log(9)])

    only_ours_passes(
        check,
        lambda tpr, fpr: epsilon_from_rates(tpr, fpr, delta=0.0, two_sided=False),
        lambda tpr, fpr: np.max(np.log(tpr / fpr), 0),
    )


def test_19_a_negative_mu_is_not_leakage_in_the_other_direction() -> None:
    reverse = (Outcomes(5, 50), Outcomes(45, 50))

    def check(epsilon: Callable[[float], float]) -> None:
        assert epsilon(mu_lower_bound(*reverse).unclipped) == 0.0

    only_ours_passes(
        check,
        lambda mu: epsilon_if_gaussian(*reverse, answers_vary=False, delta=DELTA).value,
        lambda mu: gdp_epsilon(abs(mu), DELTA),
    )
    assert mu_lower_bound(*reverse).unclipped < ndtri(0.5)


def test_20_the_value_below_the_floor_is_kept() -> None:
    def check(bound: Callable[..., Any]) -> None:
        weak, weaker = (
            bound(Outcomes(hits, 200), Outcomes(99, 200), delta=0.0) for hits in (101, 90)
        )
        assert weak.value == weaker.value == 0.0
        assert weaker.unclipped < weak.unclipped < 0

    def hidden(*args: Any, **kwargs: Any) -> Any:
        bound = epsilon_lower_bound(*args, **kwargs)
        return dataclasses.replace(bound, unclipped=bound.value)

    only_ours_passes(check, epsilon_lower_bound, hidden)


def test_each_of_the_twenty_has_its_test() -> None:
    numbers = {name[5:7] for name in globals() if name.startswith("test_") and name[5].isdigit()}
    assert numbers == {f"{number:02}" for number in range(1, 21)}
