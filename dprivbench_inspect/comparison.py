"""Outcomes of two runs on the same questions → what changed, and whether by more than chance."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dprivbench_inspect.metrics import Estimate, Outcome, rate_over_questions
from dprivbench_inspect.questions import Label


class Change(NamedTuple):
    """One question in one epoch on which two runs gave different verdicts."""

    question_id: str
    epoch: int
    label: Label
    first: Label | None
    second: Label | None


class Comparison(NamedTuple):
    """Two runs, paired by question and epoch.

    Attributes:
        both_right: Pairs right in both runs.
        only_first: Pairs right in the first only.
        only_second: Pairs right in the second only.
        both_wrong: Pairs wrong in both.
        questions: Questions among the pairs.
        unpaired: Replies of either run without a partner.
        difference: Accuracy of the second minus that of the first, ± clustered by question.
        p_value: Of `sign_flip_p_value`: chance of a difference this large if the runs were alike.
        changes: Verdicts that differ, right or wrong, in order of question and epoch.
    """

    both_right: int
    only_first: int
    only_second: int
    both_wrong: int
    questions: int
    unpaired: int
    difference: Estimate
    p_value: float
    changes: list[Change]

    @property
    def pairs(self) -> int:
        """Replies that have a partner in the other run."""
        return self.both_right + self.only_first + self.only_second + self.both_wrong


def compare(first: Iterable[Outcome], second: Iterable[Outcome]) -> Comparison:
    """Paired comparison of two runs.

    Raises:
        ValueError: No question and epoch stands in both, one stands twice in a run, or its label
            differs between the runs.
    """
    ours, theirs = _by_key(first), _by_key(second)
    keys = sorted(ours.keys() & theirs.keys())
    if not keys:
        raise ValueError("the two runs have no question and epoch in common")
    cells = Counter[tuple[bool, bool]]()
    differences = defaultdict[str, int](int)
    marks, changes = [], []
    for key in keys:
        a, b = ours[key], theirs[key]
        if a.label != b.label:
            raise ValueError(
                f"question {a.question_id}: label {a.label!r} in the first run, {b.label!r} in the "
                "second; compare runs under the same labels"
            )
        cells[a.right, b.right] += 1
        step = int(b.right) - int(a.right)
        differences[a.question_id] += step
        marks.append((a.question_id, float(step)))
        if a.verdict != b.verdict:
            changes.append(Change(a.question_id, a.epoch, a.label, a.verdict, b.verdict))
    return Comparison(
        cells[True, True],
        cells[True, False],
        cells[False, True],
        cells[False, False],
        len(differences),
        len(ours) + len(theirs) - 2 * len(keys),
        rate_over_questions(marks),
        sign_flip_p_value(list(differences.values())),
        changes,
    )


def sign_flip_p_value(differences: Sequence[int]) -> float:
    """Exact two-sided p-value that differences of questions have no direction.

    If two runs are alike, the sign of each question's difference is a fair coin, whatever its
    size and however alike the epochs of one question are. The p-value is the chance that the
    signed sizes add up to at least the sum seen. With one epoch every difference is -1, 0 or 1
    and this is McNemar's exact test. Source: Fisher, The Design of Experiments (1935), section 21.

    Args:
        differences: Right replies of the second run minus those of the first, per question.

    >>> sign_flip_p_value([1, 1, 1, 1, 1, 0])
    0.0625
    """
    sizes = [abs(difference) for difference in differences if difference]
    seen = abs(sum(differences))
    total = sum(sizes)
    chances = np.zeros(2 * total + 1)  # of each sum from -total to total
    chances[total] = 1.0
    for size in sizes:
        up, down = np.zeros_like(chances), np.zeros_like(chances)
        up[size:], down[: len(down) - size] = chances[: len(chances) - size], chances[size:]
        chances = (up + down) / 2
    sums = np.abs(np.arange(-total, total + 1))
    return min(1.0, math.fsum(chances[sums >= seen]))


def _by_key(outcomes: Iterable[Outcome]) -> dict[tuple[str, int], Outcome]:
    found: dict[tuple[str, int], Outcome] = {}
    for outcome in outcomes:
        key = outcome.question_id, outcome.epoch
        if key in found:
            raise ValueError(f"question {key[0]} stands twice in epoch {key[1]} of one run")
        found[key] = outcome
    return found
