"""Keyword aggregation: replies → words per shard → counts → a few words, released with an ε.

Each shard counts once for every word of its reply, so a replaced exemplar moves any number of
counts, each by at most 1 and some up while others go down: ℓ∞ sensitivity 1, no useful ℓ1 or ℓ2
sensitivity. Both mechanisms here use the counts in that way only. The words then prompt the model
anew without private exemplars, which is post-processing. Source of the scheme: arXiv:2305.01639.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from contextleak_inspect.calibration import FloatArray, Neighbouring

Counts = Mapping[str, int]


class Proposal(NamedTuple):
    """Propose-test-release at work: chances of each list length, and of passing its test.

    Attributes:
        length: Chance that 1, 2, …, k words are proposed, shape (k,).
        passes: Chance that the test of that length is passed, shape (k,).
    """

    length: FloatArray
    passes: FloatArray


def words_of(reply: str) -> frozenset[str]:
    """The words of one reply, each once, without case and punctuation.

    >>> sorted(words_of("[Ice, ice baby]"))
    ['baby', 'ice']
    """
    return frozenset(re.findall(r"\w+", reply.casefold()))


def word_counts(replies: Iterable[str]) -> dict[str, int]:
    """In how many replies each word stands, words in alphabetical order."""
    counts = Counter(word for reply in replies for word in words_of(reply))
    return dict(sorted(counts.items()))


def joint_keywords(
    counts: Counts,
    vocabulary: Sequence[str],
    k: int,
    epsilon: float,
    rng: np.random.Generator,
    *,
    neighbouring: Neighbouring = "replace_one",
) -> tuple[str, ...]:
    """Different words of a public vocabulary, most counted first if the noise allows it: ε-DP.

    The exponential mechanism over all lists of k words, where a list's loss is the largest amount
    by which the i-th largest count exceeds the count of its i-th word. The loss changes by at most
    2 where an exemplar is replaced, by 1 where a whole reply is added. Exact sampling: a bound on
    the loss is drawn first, then a list within it uniformly. Source: arXiv:2201.12333.

    Args:
        counts: Replies that hold each word; words outside the vocabulary are left out.
        vocabulary: Words that the public knows without the private data, each once.
        k: Number of words to release.
        epsilon: ε of this release at δ = 0; infinity gives a list without loss.
        rng: Source of the noise.
        neighbouring: Which data sets count as neighbours.

    Raises:
        ValueError: The vocabulary holds a word twice or fewer than k, or ε is negative.
    """
    known = _known_counts(counts, vocabulary, k)
    bounds, chances = joint_loss_bounds(known, k, epsilon, neighbouring)
    loss = bounds[int(rng.choice(bounds.size, p=chances))]
    floors = np.sort(known)[::-1][:k] - loss
    order = np.argsort(-known, kind="stable")
    allowed = np.searchsorted(-known[order], -floors, side="right")
    chosen: list[int] = []
    free: list[int] = []
    reached = 0
    for size in allowed.tolist():
        free += order[reached:size].tolist()
        reached = size
        chosen.append(free.pop(int(rng.integers(len(free)))))
    return tuple(vocabulary[i] for i in chosen)


def joint_loss_bounds(
    known: FloatArray, k: int, epsilon: float, neighbouring: Neighbouring
) -> tuple[FloatArray, FloatArray]:
    """Possible bounds t on a list's loss, and the chance with which each is drawn.

    With a = ε / (2 Δ), e^(-a u) is the sum over t ≥ u of e^(-a t) - e^(-a (t+1)), the last term
    whole. So to draw t in proportion to its term times the number of lists with loss ≤ t, and
    then one of these lists, draws each list in proportion to e^(-a u).
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon}")
    top = np.sort(known)[::-1][:k]
    losses = np.arange(int(top[0]) + 1, dtype=float)
    if math.isinf(epsilon):
        return losses[:1], np.ones(1)
    rate = epsilon / (2 * _loss_sensitivity(neighbouring))
    rising = np.sort(known)
    with np.errstate(divide="ignore"):
        lists = np.array([
            np.log(known.size - np.searchsorted(rising, top - loss) - np.arange(k)).sum()
            for loss in losses
        ])
        terms = -rate * losses + np.append(np.full(losses.size - 1, np.log(-np.expm1(-rate))), 0.0)
    logs = lists + terms
    weights = np.exp(logs - logs.max())
    return losses, weights / weights.sum()


def ptr_keywords(
    counts: Counts,
    k: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    neighbouring: Neighbouring = "replace_one",
) -> tuple[str, ...]:
    """The most counted words if they stand far enough above the rest, else nothing: (ε, δ)-DP.

    Propose: a length from 1 to k, by the exponential mechanism on the gap below it, with ε/2.
    Test: the gap in units of replaced exemplars plus Laplace noise of ε/2 must pass a threshold
    which it passes with chance at most δ where one replacement could change the words. Release:
    the words, in alphabetical order. They need no vocabulary: any word may come out.

    Args:
        counts: Replies that hold each word.
        k: Largest number of words to release.
        epsilon: ε of this release; infinity releases whenever the gap is not 0.
        delta: Its δ, in (0, 1).
        rng: Source of the noise.
        neighbouring: Which data sets count as neighbours.

    Raises:
        ValueError: k is below 1, ε not positive, or δ out of range.
    """
    proposal = ptr_proposal(counts, k, epsilon, delta, neighbouring)
    length = 1 + int(rng.choice(k, p=proposal.length))
    if rng.random() >= proposal.passes[length - 1]:
        return ()
    return tuple(sorted(most_counted(counts, length)))


def ptr_proposal(
    counts: Counts, k: int, epsilon: float, delta: float, neighbouring: Neighbouring
) -> Proposal:
    """Chances of each proposed length and of passing its test, in closed form."""
    if k < 1:
        raise ValueError(f"k must be at least 1 word, got {k}")
    if not epsilon > 0:
        raise ValueError(f"epsilon must be positive, got {epsilon}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1), got {delta}")
    falling = np.sort(np.append(np.fromiter(counts.values(), float), np.zeros(k + 1)))[::-1]
    # Replacements that are needed to close the gap below the first, second, … word.
    distances = (falling[:k] - falling[1 : k + 1]) / (2 if neighbouring == "replace_one" else 1)
    if math.isinf(epsilon):
        best = distances == distances.max()
        return Proposal(best / best.sum(), np.asarray(distances > 0, dtype=float))
    half = epsilon / 2
    weights = np.exp(half * (distances - distances.max()) / 2)
    threshold = 1 + math.log(1 / (2 * delta)) / half
    above = distances - threshold
    tail = np.exp(-half * np.abs(above)) / 2
    return Proposal(weights / weights.sum(), np.where(above > 0, 1 - tail, tail))


def most_counted(counts: Counts, length: int) -> list[str]:
    """The words with the largest counts; the first in the alphabet among equals."""
    return sorted(counts, key=lambda word: (-counts[word], word))[:length]


def _loss_sensitivity(neighbouring: Neighbouring) -> float:
    return 2.0 if neighbouring == "replace_one" else 1.0


def _known_counts(counts: Counts, vocabulary: Sequence[str], k: int) -> FloatArray:
    if len(set(vocabulary)) < len(vocabulary):
        raise ValueError("the vocabulary holds a word twice; give each once")
    if not 1 <= k <= len(vocabulary):
        raise ValueError(f"k must be from 1 to the vocabulary's {len(vocabulary)} words, got {k}")
    return np.array([counts.get(word, 0) for word in vocabulary], dtype=float)
