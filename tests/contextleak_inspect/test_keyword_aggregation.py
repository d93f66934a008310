import itertools
import math
from collections import Counter

import numpy as np
import pytest

from contextleak_inspect.keyword_aggregation import (
    joint_keywords,
    joint_loss_bounds,
    most_counted,
    ptr_keywords,
    ptr_proposal,
    word_counts,
)

WORDS = ("a", "b", "c", "d")
EPSILONS = (0.5, 2.0, 8.0)


def list_law(counts, k, epsilon, sensitivity=2.0):
    """The exponential mechanism as it is defined, list by list."""
    top = sorted(counts.values(), reverse=True)
    lists = list(itertools.permutations(counts, k))
    loss = np.array([max(top[i] - counts[w] for i, w in enumerate(words)) for words in lists])
    weights = np.exp(-epsilon * (loss - loss.min()) / (2 * sensitivity))
    return dict(zip(lists, weights / weights.sum(), strict=True))


def mixture_law(counts, k, epsilon):
    """The same law, from the bounds on the loss that the sampler draws."""
    known = np.array(list(counts.values()), float)
    top = np.sort(known)[::-1][:k]
    bounds, chances = joint_loss_bounds(known, k, epsilon, "replace_one")
    law = Counter()
    for bound, chance in zip(bounds, chances, strict=True):
        within = [
            words
            for words in itertools.permutations(counts, k)
            if all(counts[w] >= top[i] - bound for i, w in enumerate(words))
        ]
        for words in within:
            law[words] += chance / len(within)
    return law


def neighbours(m, n_words=4):
    """Counts of m replies over a few words, before and after one reply is replaced."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        held = rng.integers(2, size=(m, n_words))
        new = held.copy()
        new[0] = rng.integers(2, size=n_words)
        yield tuple(dict(zip(WORDS, rows.sum(0).tolist(), strict=True)) for rows in (held, new))
    # The worst case: some counts rise while others fall.
    yield {"a": 3, "b": 3, "c": 2, "d": 2}, {"a": 2, "b": 2, "c": 3, "d": 3}


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_sampler_draws_lists_by_the_exponential_mechanism(epsilon, k):
    counts = {"a": 5, "b": 3, "c": 3, "d": 0}
    exact, mixture = list_law(counts, k, epsilon), mixture_law(counts, k, epsilon)
    assert all(abs(exact[words] - mixture[words]) < 1e-12 for words in exact)
    rng, n = np.random.default_rng(1), 4000
    seen = Counter(joint_keywords(counts, WORDS, k, epsilon, rng) for _ in range(n))
    for words, p in exact.items():
        assert abs(seen[words] / n - p) < 4.5 * math.sqrt(p * (1 - p) / n) + 1e-3


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_neighbours_lists_differ_by_at_most_e_to_the_epsilon(epsilon):
    worst = 0.0
    for before, after in neighbours(4):
        for k in (1, 2, 3):
            p, q = mixture_law(before, k, epsilon), mixture_law(after, k, epsilon)
            worst = max(worst, *(abs(math.log(p[w] / q[w])) for w in p))
    assert epsilon / 2 < worst <= epsilon + 1e-9


# A reply that held c, d and f is replaced by one that holds a, b and e.
def test_the_sensitivity_of_an_added_reply_would_break_the_claim():
    before = dict(zip("abcdef", [0, 4, 2, 2, 3, 2], strict=True))
    after = dict(zip("abcdef", [1, 5, 1, 1, 4, 1], strict=True))

    def worst(sensitivity):
        laws = [list_law(counts, 3, 1.0, sensitivity) for counts in (before, after)]
        return max(abs(math.log(laws[0][words] / laws[1][words])) for words in laws[0])

    assert worst(2.0) < 1.0 < 1.5 < worst(1.0)


def ptr_law(counts, k, epsilon, delta):
    """Chance of each release, the empty one included."""
    lengths, passes = ptr_proposal(counts, k, epsilon, delta, "replace_one")
    law = Counter({(): float(lengths @ (1 - passes))})
    for length, chance in enumerate((lengths * passes).tolist(), start=1):
        law[tuple(sorted(most_counted(counts, length)))] += chance
    return law


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [1e-5, 0.01, 0.2])
def test_propose_test_release_keeps_epsilon_and_delta(epsilon, delta):
    worst = -1.0
    cases = [*neighbours(4), *neighbours(9)]
    cases += [({"a": n, "b": 1}, {"a": n - 1, "b": 2}) for n in (2, 3, 4, 8)]
    for pair in cases:
        for before, after in (pair, pair[::-1]):
            p, q = (ptr_law(c, 3, epsilon, delta) for c in (before, after))
            excess = sum(max(0.0, p[w] - math.exp(epsilon) * q[w]) for w in p)
            worst = max(worst, excess)
    assert 0.01 * delta < worst <= delta * (1 + 1e-9)


def test_the_sampler_releases_as_its_law_says():
    counts, rng, n = {"a": 9, "b": 8, "c": 1}, np.random.default_rng(2), 3000
    law = ptr_law(counts, 2, 6.0, 1e-3)
    seen = Counter(ptr_keywords(counts, 2, 6.0, 1e-3, rng) for _ in range(n))
    for words, p in law.items():
        assert abs(seen[words] / n - p) < 4.5 * math.sqrt(p * (1 - p) / n) + 1e-3


def test_without_noise_the_most_counted_words_come_out():
    rng, counts = np.random.default_rng(0), {"a": 1, "b": 4, "c": 2}
    assert joint_keywords(counts, WORDS, 2, math.inf, rng) == ("b", "c")
    assert ptr_keywords(counts, 1, math.inf, 1e-5, rng) == ("b",)
    assert ptr_keywords({"a": 2, "b": 2}, 1, math.inf, 1e-5, rng) == ()
    assert ptr_keywords({}, 3, math.inf, 1e-5, rng) == ()


def test_a_reply_counts_once_a_word():
    assert word_counts(["Ice, ice!", "", "ICE [snow]"]) == {"ice": 2, "snow": 1}


def test_words_beyond_the_vocabulary_never_come_out():
    rng = np.random.default_rng(0)
    for _ in range(50):
        released = joint_keywords({"secret": 10}, WORDS, 2, 100.0, rng)
        assert len(set(released)) == 2
        assert set(released) <= set(WORDS)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda r: joint_keywords({}, ("a", "a"), 1, 1.0, r), "holds a word twice"),
        (lambda r: joint_keywords({}, ("a",), 2, 1.0, r), "from 1 to the vocabulary's 1"),
        (lambda r: joint_keywords({}, ("a",), 1, -1.0, r), "at least 0, got -1"),
        (lambda r: ptr_keywords({}, 0, 1.0, 0.1, r), "at least 1 word, got 0"),
        (lambda r: ptr_keywords({}, 1, 0.0, 0.1, r), "positive, got 0"),
        (lambda r: ptr_keywords({}, 1, 1.0, 0.0, r), "delta must be in"),
    ],
)
def test_wrong_arguments_are_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call(np.random.default_rng(0))
