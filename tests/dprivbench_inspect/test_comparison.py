"""Two runs side by side: McNemar's exact test, and its form for several epochs."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binomtest

from dprivbench_inspect.comparison import compare, sign_flip_p_value
from dprivbench_inspect.metrics import Outcome
from dprivbench_inspect.questions import Label


def replies(rights: str, epoch: int = 1, label: Label = "yes") -> list[Outcome]:
    """One reply a letter: + is right, - is wrong, 0 has no verdict."""
    other: Label = "no" if label == "yes" else "yes"
    verdicts: dict[str, Label | None] = {"+": label, "-": other, "0": None}
    return [Outcome(f"q{i:03}", label, verdicts[r], epoch) for i, r in enumerate(rights)]


@pytest.mark.parametrize(("only_first", "only_second"), [(0, 5), (9, 2), (3, 3), (0, 0), (40, 61)])
def test_with_one_epoch_it_is_mcnemars_exact_test(only_first: int, only_second: int) -> None:
    first = "+" * only_first + "-" * only_second + "+-"
    second = "-" * only_first + "+" * only_second + "+-"
    found = compare(replies(first), replies(second))
    n = only_first + only_second
    expected = binomtest(only_first, n).pvalue if n else 1.0
    assert found.p_value == pytest.approx(expected, rel=1e-9)
    assert (found.only_first, found.only_second) == (only_first, only_second)
    assert (found.both_right, found.both_wrong, found.questions) == (1, 1, n + 2)


def test_with_epochs_it_counts_all_sign_patterns_of_the_questions() -> None:
    differences = [3, -1, 2, 0, 1, -3, 2]
    patterns = itertools.product([-1, 1], repeat=len(differences))
    sums = [abs(sum(s * abs(d) for s, d in zip(p, differences, strict=True))) for p in patterns]
    expected = sum(total >= abs(sum(differences)) for total in sums) / len(sums)
    assert sign_flip_p_value(differences) == pytest.approx(expected, rel=1e-12)


def test_epochs_that_only_repeat_each_other_add_no_evidence() -> None:
    # Five epochs of the same answers are six questions, not thirty.
    first = [o for epoch in range(1, 6) for o in replies("------", epoch)]
    second = [o for epoch in range(1, 6) for o in replies("++++++", epoch)]
    found = compare(first, second)
    assert found.p_value == pytest.approx(2 / 2**6)
    assert (found.pairs, found.questions) == (30, 6)


def test_the_test_keeps_its_level_when_epochs_hang_together() -> None:
    rng, rejected, runs = np.random.default_rng(5), 0, 400
    for _ in range(runs):
        ease = rng.beta(0.5, 0.5, size=40)  # the same in both runs: they are alike
        a, b = (rng.binomial(5, ease) for _ in range(2))
        rejected += sign_flip_p_value([int(d) for d in b - a]) < 0.05
    assert rejected / runs < 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_changed_answers_are_listed_also_where_both_are_wrong() -> None:
    found = compare(replies("+-0"), replies("--+"))
    assert [(c.question_id, c.first, c.second) for c in found.changes] == [
        ("q000", "yes", "no"),
        ("q002", None, "yes"),
    ]
    assert found.difference.mean == 0
    found = compare(replies("-"), replies("0"))
    assert len(found.changes) == 1
    assert found.both_wrong == 1


def test_replies_without_partner_are_counted_and_runs_without_common_questions_refused() -> None:
    assert compare(replies("++"), replies("+")).unpaired == 1
    with pytest.raises(ValueError, match="no question and epoch in common"):
        compare(replies("+", epoch=1), replies("+", epoch=2))


def test_other_labels_and_repeated_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="question q000: label 'yes' in the first run, 'no'"):
        compare(replies("+"), replies("+", label="no"))
    with pytest.raises(ValueError, match="q000 stands twice in epoch 1"):
        compare(replies("+") * 2, replies("+"))


def test_a_very_large_difference_has_a_p_value_above_zero() -> None:
    assert 0 < sign_flip_p_value([1] * 588) == pytest.approx(2.0**-587)
