"""Outcomes → shares with 95 % intervals over questions, for every number that a table shows."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from dprivbench_inspect.metrics import (
    Counts,
    Outcome,
    by_epoch,
    mean_of,
    pair_marks,
)


class Share(NamedTuple):
    """A share as a table shows it.

    Attributes:
        value: Mean over epochs of each epoch's share; nan without a denominator.
        half_width: 1.96 standard errors over epochs, as the paper prints; nan with one epoch.
        low: Lower end of the 95 % interval over questions, around the pooled share.
        high: Its upper end.
        numerator: Of the share, all epochs together.
        n: Denominator, all epochs together.
    """

    value: float
    half_width: float
    low: float
    high: float
    numerator: float
    n: float


class _Statistic(NamedTuple):
    """A share of replies: what one reply adds to numerator and denominator; of one epoch."""

    weigh: Callable[[Outcome], tuple[float, float]]
    of_epoch: Callable[[Counts], float]


def share(outcomes: Iterable[Outcome], name: str) -> Share:
    """Accuracy, precision, recall or F1 of some outcomes, with both intervals.

    The value is the mean over epochs, as in the paper; numerator, n and the interval over questions
    are of the pooled replies, which is the same number wherever every epoch is complete, but for
    precision and F1.

    Args:
        outcomes: Replies, one a question and epoch.
        name: "accuracy", "accuracy of answered", "precision", "recall" or "F1".

    >>> round(share([Outcome("a", "yes", "yes"), Outcome("b", "no", None)], "accuracy").low, 3)
    0.002
    """
    outcomes = list(outcomes)
    statistic = STATISTICS[name]
    over_epochs = mean_of([statistic.of_epoch(counts) for counts in by_epoch(outcomes).values()])
    pooled = ratio_over_questions((o.question_id, *statistic.weigh(o)) for o in outcomes)
    return pooled._replace(value=over_epochs.mean, half_width=over_epochs.half_width)


def pair_share(outcomes: Sequence[Outcome]) -> Share:
    """Pairs right on both sides; pairs of one true claim are not independent of each other."""
    marks = pair_marks(outcomes)
    epochs: dict[int, list[bool]] = defaultdict(list)
    for _, epoch, both in marks:
        epochs[epoch].append(both)
    over_epochs = mean_of([sum(both) / len(both) for both in epochs.values()])
    pooled = ratio_over_questions((str(pair), float(both), 1.0) for pair, _, both in marks)
    return pooled._replace(value=over_epochs.mean, half_width=over_epochs.half_width)


def ratio_over_questions(replies: Iterable[tuple[str, float, float]]) -> Share:
    """Sum of numerators over sum of denominators, with its 95 % interval over questions.

    Wilson's interval at the number of independent replies that would have the same variance;
    that variance is linearised and clustered by question, so epochs of a question and the
    overlap of numerator and denominator are taken for what they are, and Student's t allows for
    few questions. Where the replies show no variance, all right or all wrong, their number is
    taken to be that of the questions. nan with fewer than two questions in the denominator.
    Sources: Korn and Graubard's effective size as in
    PMC6690503, clusters as in arXiv:2411.00640.

    Args:
        replies: Question, and what the reply adds to numerator and denominator.

    >>> both = ratio_over_questions([("a", 1, 1), ("b", 0, 1)])
    >>> both.value, both.n
    (0.5, 2.0)
    """
    sums: dict[str, tuple[float, float]] = {}
    for question, above, below in replies:
        a, b = sums.get(question, (0.0, 0.0))
        sums[question] = a + above, b + below
    clusters = [(a, b) for a, b in sums.values() if b > 0]
    count, n, g = (
        math.fsum(a for a, _ in clusters),
        math.fsum(b for _, b in clusters),
        len(clusters),
    )
    value = count / n if n else math.nan
    if g < 2:
        return Share(value, math.nan, math.nan, math.nan, count, n)
    squares = math.fsum((a - value * b) ** 2 for a, b in clusters)
    variance = squares * g / (g - 1) / n**2
    spread = value * (1 - value)
    size = min(spread / variance, n) if spread > 0 and variance > 0 else float(g)
    return Share(value, math.nan, *_wilson(value, size, _student(g - 1)), count, n)


def _wilson(value: float, n: float, z: float) -> tuple[float, float]:
    centre = (value + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(value * (1 - value) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


@cache
def _student(freedom: int) -> float:
    """97.5 % quantile of Student's t."""
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(freedom, 0.975))


def _hits(outcome: Outcome) -> float:
    return float(outcome.label == "yes" and outcome.verdict == "yes")


STATISTICS = {
    "accuracy": _Statistic(lambda o: (float(o.right), 1.0), lambda counts: counts.accuracy),
    "accuracy of answered": _Statistic(
        lambda o: (float(o.right), float(o.verdict is not None)),
        lambda counts: counts.accuracy_answered,
    ),
    "precision": _Statistic(
        lambda o: (_hits(o), float(o.verdict == "yes")), lambda counts: counts.precision
    ),
    "recall": _Statistic(
        lambda o: (_hits(o), float(o.label == "yes")), lambda counts: counts.recall
    ),
    "F1": _Statistic(
        lambda o: (2 * _hits(o), float(o.verdict == "yes") + float(o.label == "yes")),
        lambda counts: counts.f1,
    ),
}
