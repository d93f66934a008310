import math

import numpy as np
import pytest

from contextleak_inspect.calibration import analytic_sigma, gdp_mu, vote_sensitivity
from contextleak_inspect.canary_effect import esa_mu, rnm_label_rates, rnm_mu
from contextleak_inspect.mechanisms import (
    noisy_histogram,
    noisy_max,
    noisy_mean,
    projection,
    randomized_labels,
    unit_embeddings,
)
from contextleak_inspect.mixtures import best_accuracy
from contextleak_inspect.theory import (
    esa_curve,
    label_rr_curve,
    rnm_curve,
)
from contextleak_inspect.tradeoffs import gdp_accuracy
from contextleak_inspect.vote_laws import vote_law

DELTA = 1e-5
EXACT = vote_law(10)
TRIALS = 20_000
# Expected curves of the auditing notes (δ = 1e-5, replace-one, model without errors): ε, accuracy,
# TPR at FPR 0.1, ln((TPR - δ)/0.1), accuracy by the label's count only, and by the label only
TABLE = [
    (1, 0.55331, 0.15541, 0.44084, 0.5378, 0.5259),
    (2, 0.59901, 0.21770, 0.77788, 0.5704, 0.5082),
    (4, 0.67813, 0.36069, 1.28281, 0.6282, 0.5001),
    (8, 0.79758, 0.64969, 1.87131, 0.7221, 0.5000),
    (10, 0.84140, 0.76390, 2.03325, 0.7603, 0.5000),
    (math.inf, 1.0, 1.0, 2.30258, 1.0, 0.5),
]


@pytest.mark.parametrize(("epsilon", "accuracy", "tpr", "plug_in", "by_count", "by_label"), TABLE)
def test_expected_curves(epsilon, accuracy, tpr, plug_in, by_count, by_label):
    [votes] = rnm_curve([epsilon], delta=DELTA, law=EXACT)
    [embeddings] = esa_curve([epsilon], delta=DELTA, law=EXACT, distance=2.0)
    for point in (votes, embeddings):
        assert point.accuracy == pytest.approx(accuracy, abs=6e-6)
        assert point.tpr == pytest.approx(tpr, abs=6e-6)
        assert point.plug_in == pytest.approx(plug_in, abs=1.1e-5)
        assert point.epsilon == pytest.approx(epsilon)
    [count] = rnm_curve([epsilon], delta=DELTA, law=EXACT, score="count")
    assert count.accuracy == pytest.approx(by_count, abs=6e-5)
    [label] = rnm_curve([epsilon], delta=DELTA, law=EXACT, level="label")
    assert label.accuracy == pytest.approx(by_label, abs=6e-5)


def test_the_number_of_shards_does_not_enter_without_errors():
    curves = [rnm_curve([4.0], delta=DELTA, law=vote_law(m))[0].accuracy for m in (1, 2, 5, 10, 20)]
    assert np.ptp(curves) < 1e-12


def test_noise_for_an_added_vote_is_too_little_when_exemplars_are_replaced():
    [point] = rnm_curve([4.0], delta=DELTA, law=EXACT, calibrated="add_remove")
    assert point.epsilon == pytest.approx(5.99, abs=0.005)
    # the right pairing attains its claim by the count alone
    added = vote_law(10, neighbouring="add_remove")
    [point] = rnm_curve([4.0], delta=DELTA, law=added, calibrated="add_remove", score="count")
    assert point.epsilon == pytest.approx(4.0)


def test_outputs_that_do_not_oppose_each_other_cannot_reach_the_claim():
    points = esa_curve([4.0, 8.0], delta=DELTA, law=EXACT, distance=math.sqrt(2))
    assert [point.epsilon for point in points] == pytest.approx([2.69, 5.30], abs=0.005)
    [added] = esa_curve(
        [4.0],
        delta=DELTA,
        law=vote_law(10, neighbouring="add_remove"),
        distance=1.0,
        calibrated="add_remove",
    )
    assert added.epsilon == pytest.approx(4.0)


def test_a_detector_at_an_angle_sees_the_cosine_of_the_step():
    rng, m, sigma = np.random.default_rng(7), 5, 0.3
    present, absent = np.eye(8)[0], np.eye(8)[1]
    direction = unit_embeddings((present - absent) / math.sqrt(2) + np.eye(8)[2])  # 45 degrees
    worlds = [
        projection(
            noisy_mean(np.tile([changed] + [absent] * (m - 1), (TRIALS, 1, 1)), sigma, rng),
            direction,
        )
        for changed in (present, absent)
    ]
    measured = (worlds[0].mean() - worlds[1].mean()) / sigma
    assert abs(measured - esa_mu(m, sigma, math.sqrt(2), math.sqrt(0.5))) < 4 * math.sqrt(
        2 / TRIALS
    )
    [at_angle] = esa_curve([4.0], delta=DELTA, law=EXACT, distance=2.0, cos_angle=0.5)
    [closer] = esa_curve([4.0], delta=DELTA, law=EXACT, distance=1.0)
    assert at_angle == closer


def test_epsilon_zero_releases_nothing():
    for curve in (
        rnm_curve([0.0], delta=DELTA, law=EXACT),
        rnm_curve([0.0], delta=DELTA, law=EXACT, level="label"),
        esa_curve([0.0], delta=DELTA, law=EXACT, distance=2.0),
        label_rr_curve([0.0], n_options=2),
    ):
        assert curve[0].accuracy == 0.5
        assert curve[0].tpr == pytest.approx(0.1)
        assert curve[0].epsilon == 0.0


def test_near_tied_votes_let_the_label_alone_reach_the_optimum():
    tied = vote_law(11, clean_votes=[1.0] * 5 + [0.0] * 5)
    for point in rnm_curve([1.0, 4.0, 10.0], delta=DELTA, law=tied, level="label"):
        assert point.accuracy == pytest.approx(gdp_accuracy(gdp_mu(point.epsilon_claimed, DELTA)))


def test_errors_lower_the_curve_and_the_label_never_shows_more_than_the_histogram():
    erring = vote_law(10, false_votes=0.05, misses=0.05)
    epsilons = [1.0, 4.0, 10.0, math.inf]
    exact = rnm_curve(epsilons, delta=DELTA, law=EXACT)
    lower = rnm_curve(epsilons, delta=DELTA, law=erring)
    label = rnm_curve(epsilons, delta=DELTA, law=erring, level="label")
    for one, other in [(exact, lower), (lower, label)]:
        assert all(a.accuracy > b.accuracy for a, b in zip(one, other, strict=True))
        assert all(a.tpr > b.tpr for a, b in zip(one, other, strict=True))
        assert all(a.epsilon > b.epsilon for a, b in zip(one, other, strict=True))
    assert lower[-1].accuracy == pytest.approx(0.7836, abs=5e-5)


def test_randomized_response_shows_exactly_its_epsilon():
    for k in (2, 5):
        for point in label_rr_curve([0.5, 1.0, 4.0, math.inf], n_options=k):
            assert point.epsilon == pytest.approx(point.epsilon_claimed)
    # with two labels and errors: hit rates 0.9 keep + 0.1 flip against the reverse
    [point] = label_rr_curve([1.0], n_options=2, law=vote_law(1, false_votes=0.1, misses=0.1))
    keep = math.e / (1 + math.e)
    tpr = 0.9 * keep + 0.1 * (1 - keep)
    assert point.accuracy == pytest.approx(tpr)
    assert point.epsilon == pytest.approx(math.log(tpr / (1 - tpr)))


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize(("m", "k"), [(10, 0), (11, 5)])
def test_simulated_labels_lie_on_the_curve(epsilon, m, k):
    rng = np.random.default_rng(4)
    sigma = analytic_sigma(epsilon, DELTA, vote_sensitivity())
    measured = [
        np.mean(
            noisy_max(noisy_histogram(np.tile([v, m - v, 0], (TRIALS, 1)), sigma, rng), rng) == 0
        )
        for v in (k, k + 1)
    ]
    for share, rate in zip(measured, rnm_label_rates(m, k, k + 1, sigma), strict=True):
        assert abs(share - rate) < 4 * math.sqrt(rate * (1 - rate) / TRIALS)


def test_simulated_randomized_labels_lie_on_the_curve():
    rng = np.random.default_rng(6)
    inside, outside = (randomized_labels(np.full(TRIALS, y), 4, 1.0, rng) for y in (0, 1))
    # best guess: in at the canary's label, out at the other one, a coin at the rest
    measured = (np.mean(inside == 0) - np.mean(outside == 0)) / 2
    measured = 0.5 + measured / 2 + (np.mean(outside == 1) - np.mean(inside == 1)) / 4
    [point] = label_rr_curve([1.0], n_options=4)
    assert abs(measured - point.accuracy) < 4 * math.sqrt(0.25 / (2 * TRIALS))


def test_both_scores_of_the_histogram_have_their_step():
    assert rnm_mu(2.0) == pytest.approx(math.sqrt(2) / 2)
    assert rnm_mu(2.0, "count") == 0.5
    assert rnm_mu(2.0, "difference", "add_remove") == pytest.approx(1 / (2 * math.sqrt(2)))
    assert rnm_mu(2.0, "count", "add_remove") == 0.5
    assert rnm_mu(0.0) == math.inf
    assert esa_mu(10, 0.0, 0.0) == 0.0
    assert esa_mu(10, 0.0, 1.0) == math.inf


def test_the_label_count_alone_is_worse_by_a_factor_of_root_two_even_with_errors():
    law = vote_law(10, false_votes=0.05, misses=0.05)
    [point] = rnm_curve([4.0], delta=DELTA, law=law, score="count")
    assert point.accuracy == pytest.approx(
        best_accuracy(law, gdp_mu(4.0, DELTA) / math.sqrt(2)), abs=1e-9
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rnm_mu(-1.0), r"sigma must be at least 0, got -1.0"),
        (lambda: rnm_label_rates(10, 11, 1, 1.0), r"k_absent must lie in 0..10 votes, got 11"),
        (lambda: esa_mu(10, 0.1, 2.5), r"distance of unit embeddings must be in \[0, 2\], got 2.5"),
        (lambda: esa_mu(10, 0.1, 1.0, -0.5), r"cos_angle must be in \[0, 1\], got -0.5"),
        (lambda: esa_mu(0, 0.1, 1.0), "m must be at least 1 shard, got 0"),
        (
            lambda: rnm_curve([1.0], delta=DELTA, law=vote_law(3, neighbouring="add_remove")),
            "take score='count' and level='histogram', got score='difference'",
        ),
        (
            lambda: label_rr_curve([1.0], n_options=2, law=EXACT),
            "law must be of m = 1 label, got m = 10",
        ),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
