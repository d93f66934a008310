import math
import socket

import numpy as np
import pytest

from contextleak_inspect.calibration import analytic_sigma, vote_sensitivity
from contextleak_inspect.mechanisms import UNPARSED, count_votes, noisy_histogram, noisy_max
from contextleak_inspect.utility import (
    chosen_rouge,
    majority_right,
    mean_utility,
    randomized_right,
    right_answers,
    rouge1,
)


@pytest.mark.parametrize(
    ("reference", "text", "f1"),
    [
        ("the cat sat", "the cat sat", 1.0),
        ("the cat sat", "", 0.0),
        ("the cat sat", "a dog ran", 0.0),
        ("the cat sat", "The cat.", 4 / 5),  # 2 of 2 words right, 2 of 3 found
        ("boats sail", "boat sails", 1.0),  # stems
        ("a a b", "a b b", 2 / 3),  # each word as often as it stands in both
    ],
)
def test_rouge_is_the_f1_of_shared_words(reference, text, f1):
    assert rouge1(reference, text) == pytest.approx(f1)


def test_rouge_needs_no_download(monkeypatch):
    def no_network(*_, **__):
        raise AssertionError("tried to reach the network")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    assert rouge1("Two boats were sailing.", "Two boats sailed.") == pytest.approx(6 / 7)


# Clopper-Pearson for 7 of 10 at 95 %: 0.3475, 0.9333.
def test_shares_have_exact_limits_and_means_betting_limits():
    share = mean_utility([1] * 7 + [0] * 3)
    assert (share.mean, share.n) == (0.7, 10)
    assert (round(share.lower, 4), round(share.upper, 4)) == (0.3475, 0.9333)
    scores = mean_utility(np.linspace(0.2, 0.8, 40))
    assert 0.2 < scores.lower < 0.5 < scores.upper < 0.8
    with pytest.raises(ValueError, match="non-empty"):
        mean_utility([])


def test_limits_of_a_mean_cover_it():
    rng, missed = np.random.default_rng(0), 0
    for _ in range(200):
        missed += not (u := mean_utility(rng.beta(0.4, 0.6, size=40))).lower <= 0.4 <= u.upper
    assert missed <= 18  # 5 % are allowed; 18 of 200 or more happen with chance 0.01


def test_unread_replies_are_wrong_and_never_dropped():
    assert right_answers([0, UNPARSED, 1], [0, 0, 0]).tolist() == [1, 0, 0]
    assert majority_right([[UNPARSED] * 3], [0], 2, 0.0).tolist() == [0.5]  # a fair tie at 0


def test_noisy_majorities_integrate_what_the_sampler_draws():
    rng = np.random.default_rng(4)
    votes = rng.integers(-1, 3, size=(6, 10))
    labels = [0, 1, 2, 0, 1, 2]
    sigma = analytic_sigma(4.0, 1e-5, vote_sensitivity())
    exact = majority_right(votes, labels, 3, sigma)
    n = 20_000
    for row, label, chance in zip(votes, labels, exact, strict=True):
        counts = np.tile(count_votes(row, 3), (n, 1))
        hit = (noisy_max(noisy_histogram(counts, sigma, rng), rng) == label).mean()
        assert abs(hit - chance) < 4 * math.sqrt(0.25 / n)


def test_randomized_response_keeps_or_gives_any_other_label():
    keep = math.exp(2) / (math.exp(2) + 2)
    found = randomized_right([0, 1, UNPARSED], [0, 0, 0], 2, 2.0)
    assert found == pytest.approx([keep, (1 - keep) / 2, (1 - keep) / 2])


def test_a_candidates_rouge_counts_as_often_as_it_is_chosen():
    assert chosen_rouge([0.0, 1.0], [0, 1, 1, 1]) == 0.75
