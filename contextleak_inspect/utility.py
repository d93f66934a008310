"""What a defense costs: answers → accuracy or ROUGE-1, with intervals."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contextleak_inspect.betting import betting_bounds
from contextleak_inspect.bounds import alpha_at, unit_values
from contextleak_inspect.calibration import FloatArray, randomized_response
from contextleak_inspect.mechanisms import count_votes
from contextleak_inspect.rao_blackwell import label_probability
from contextleak_inspect.rates import clopper_pearson

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer


class Utility(NamedTuple):
    """Mean over questions, in [0, 1], with limits that hold together at the asked confidence."""

    mean: float
    lower: float
    upper: float
    n: int


def rouge1(reference: str, text: str) -> float:
    """F1 of the words that two texts share, in [0, 1], by the package rouge-score with stemming.

    >>> round(rouge1("The boiler knocks.", "Jon's boilers knock"), 2)
    0.57
    """
    return float(_scorer().score(reference, text)["rouge1"].fmeasure)


def mean_utility(values: ArrayLike, confidence: float = 0.95) -> Utility:
    """Mean of one value in [0, 1] per question.

    Limits are Clopper-Pearson's where every value is 0 or 1, and by betting otherwise, which holds
    for any distribution on [0, 1]. Questions count, never noise draws.

    Args:
        values: One per question, shape (n,), n at least 1.
        confidence: Chance that both limits hold.
    """
    array = unit_values(values, "values")
    each = alpha_at(confidence) / 2
    ones = np.isin(array, (0.0, 1.0)).all()
    limits = (
        clopper_pearson(int(array.sum()), array.size, each) if ones else betting_bounds(array, each)
    )
    return Utility(float(array.mean()), limits.lower, limits.upper, array.size)


def right_answers(votes: ArrayLike, labels: Sequence[int]) -> FloatArray:
    """1 where one reply's label is the true one, shape (n,); an unread reply is wrong.

    >>> right_answers([0, 1, -1], [0, 0, 1]).tolist()
    [1.0, 0.0, 0.0]
    """
    return np.asarray(np.asarray(votes) == np.asarray(labels), dtype=float)


def majority_right(
    votes: ArrayLike, labels: Sequence[int], n_labels: int, sigma: float
) -> FloatArray:
    """Chance that the noisy majority is the true label, noise integrated out, shape (n,).

    Args:
        votes: Each shard's vote on each question, shape (n, m).
        labels: True labels, shape (n,).
        n_labels: Number of labels.
        sigma: Standard deviation of the noise on each count; 0 is a majority with fair ties.
    """
    counts = count_votes(votes, n_labels)
    return np.array([
        float(label_probability(histogram, sigma, label))
        for histogram, label in zip(counts, labels, strict=True)
    ])


def randomized_right(
    votes: ArrayLike, labels: Sequence[int], n_labels: int, epsilon: float
) -> FloatArray:
    """Chance that k-ary randomized response of one reply gives the true label, shape (n,).

    An unread reply is an option of its own.
    """
    keep, other = randomized_response(epsilon, n_labels + 1)
    return np.where(right_answers(votes, labels) > 0, keep, other)


def chosen_rouge(rouges: ArrayLike, choices: ArrayLike) -> float:
    """Mean ROUGE-1 of the candidates that noise draws chose, one question.

    Args:
        rouges: ROUGE-1 of each candidate, shape (n_candidates,).
        choices: Index of the chosen candidate in each draw, shape (draws,).
    """
    return float(np.asarray(rouges, dtype=float)[np.asarray(choices)].mean())


@cache
def _scorer() -> "RougeScorer":
    from rouge_score.rouge_scorer import RougeScorer  # imports nltk, which takes a second

    return RougeScorer(["rouge1"], use_stemmer=True)
