import math

import numpy as np
import pytest

from contextleak_inspect.calibration import analytic_sigma, vote_sensitivity
from contextleak_inspect.mechanisms import noisy_histogram, noisy_max, vote_difference
from contextleak_inspect.rao_blackwell import (
    flip_probability_upper,
    hit_probability,
    label_probability,
    rao_blackwell_rate,
)

COUNTS = np.array([[6, 3, 1, 0], [4, 4, 1, 1], [0, 0, 5, 5], [3, 3, 3, 1]])


def test_the_rate_is_the_mean_over_the_noise():
    # 0, 0, 1, 0, 2 votes of 10: each noisy difference drawn 100,000 times
    votes, m, sigma, threshold = [0, 0, 1, 0, 2], 10, 1.5289938, -7.2
    rng = np.random.default_rng(1)
    histogram = np.tile([[m - k, k, 0] for k in votes], (100_000, 1))
    scores = vote_difference(noisy_histogram(histogram, sigma, rng), 1, 0)
    rate = rao_blackwell_rate(votes, m, sigma, threshold)
    assert abs(np.mean(scores > threshold) - rate) < 4 * math.sqrt(0.25 / scores.size)


def test_the_cut_is_strict_without_noise_and_the_score_zero_without_data():
    assert hit_probability([-1.0, 0.0, 1.0], 0.0, 0.0).tolist() == [0.0, 0.0, 1.0]
    assert hit_probability([-9.0, 9.0], math.inf, 0.0).tolist() == [0.0, 0.0]
    assert hit_probability([-9.0, 9.0], math.inf, -0.5).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("noise", [0.0, 1.0, math.inf])
def test_a_failed_trial_has_no_chance_of_a_hit(noise):
    assert np.isnan(hit_probability([math.nan, 1.0], noise, 0.5)).tolist() == [True, False]


@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.5, 20.0])
@pytest.mark.parametrize("target", [0, 1, 2])
def test_label_probabilities_are_those_of_the_drawn_labels(sigma, target):
    n = 50_000
    rng = np.random.default_rng(2)
    exact = label_probability(COUNTS, sigma, target)
    for counts, probability in zip(COUNTS, exact, strict=True):
        labels = noisy_max(noisy_histogram(np.tile(counts, (n, 1)), sigma, rng), rng)
        error = math.sqrt(probability * (1 - probability) / n) + 1e-9
        assert abs(np.mean(labels == target) - probability) < 4 * error


@pytest.mark.parametrize("sigma", [0.0, 1e-3, 0.3, 1.5, 1e3, math.inf])
def test_label_probabilities_add_up_to_one(sigma):
    total = sum(label_probability(COUNTS, sigma, target) for target in range(3))
    assert total == pytest.approx(np.ones(4), abs=1e-13)


def test_three_options_with_one_out_of_reach_are_two():
    two = label_probability([[4, 6, 0]], 1.5, 1)
    three = label_probability([[4, 6, -1000, 0]], 1.5, 1)
    assert three == pytest.approx(two, abs=1e-13)


# Gains of integrating the noise out, over drawing it once a trial (10 subsets, false votes and
# misses at rate q, TPR at the true FPR of 0.1): infinite at q = 0; 254 to 260 at ε = 1 and 21
# at ε = 4 for q = 0.01; between 50 and 60, and 5, for q = 0.05.
@pytest.mark.parametrize(
    ("epsilon", "q", "gain"), [(1.0, 0.01, 257), (4.0, 0.01, 21), (1.0, 0.05, 57), (4.0, 0.05, 5)]
)
def test_the_variance_left_is_that_of_the_answers(epsilon, q, gain):
    rng = np.random.default_rng(3)
    sigma = analytic_sigma(epsilon, 1e-5, vote_sensitivity())
    noise, n = math.sqrt(2) * sigma, 400_000
    outside = rng.binomial(10, q, n)
    inside = rng.binomial(9, q, n) + rng.binomial(1, 1 - q, n)
    threshold = np.quantile(2 * outside - 10 + noise * rng.standard_normal(n), 0.9)
    given_the_votes = hit_probability(2 * inside - 10, noise, threshold)
    tpr = given_the_votes.mean()
    assert tpr * (1 - tpr) / given_the_votes.var() == pytest.approx(gain, rel=0.12)


def test_no_answer_varies_no_variance_is_left():
    assert np.ptp(hit_probability(2 * np.ones(50) - 10, 3.0, -7.0)) == 0.0


def test_repeats_without_a_flip_bound_the_flip_rate():
    # at the limit, 20 repeats show no flip with probability exactly alpha
    assert (1 - flip_probability_upper(20, 0.05)) ** 20 == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rao_blackwell_rate([], 10, 1.0, 0.0), "at least one trial, got none"),
        (lambda: rao_blackwell_rate([11], 10, 1.0, 0.0), r"votes must lie in 0..10"),
        (lambda: hit_probability([0.0], -1.0, 0.0), r"noise must be at least 0, got -1.0"),
        (lambda: label_probability([[1, 0, 0]], -1.0, 0), r"sigma must be at least 0, got -1.0"),
        (lambda: flip_probability_upper(0, 0.05), "repeats must be at least 1, got 0"),
        (lambda: flip_probability_upper(20, 1.0), r"alpha must be in \(0, 1\), got 1.0"),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
