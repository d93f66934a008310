import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprivbench_inspect.metrics import Outcome
from dprivbench_inspect.summaries import (
    accuracy_summary,
    group_summary,
    published_summary,
    rate_summary,
)
from tests.dprivbench_inspect.test_metrics import ROWS, graded, outcomes

SUMMARIES = [accuracy_summary, rate_summary, group_summary, published_summary]


def test_rates_count_reasons_cuts_and_who_decided():
    rows = [
        Outcome("a", "yes", "yes", how="box", truncated=True),
        Outcome("b", "yes", None, how="none", reason="truncated", truncated=True),
        Outcome("c", "no", None, how="none", reason="judge_unreadable"),
        Outcome("d", "no", "no", how="judge"),
    ]
    rates = rate_summary(rows)
    assert rates["no verdict"] == 0.5
    assert rates["no verdict: truncated"] == rates["no verdict: judge unreadable"] == 0.25
    assert (rates["truncated"], rates["truncated without verdict"]) == (0.5, 0.25)
    assert (rates["decided by box"], rates["decided by judge"]) == (0.25, 0.25)
    reasons = [value for name, value in rates.items() if name.startswith("no verdict: ")]
    assert sum(reasons) == rates["no verdict"]


def test_groups_are_named_sorted_and_told_from_the_pool():
    rows = outcomes(["yes"] * 9, ["yes"] * 9, topic="svt") + outcomes(["no"], ["yes"], topic="pate")
    summary = group_summary(rows)
    assert summary == {"topic pate": 0, "topic svt": 1, "mean over topics": 0.5}
    assert accuracy_summary(rows)["accuracy"] == 0.9
    assert list(group_summary(rows[::-1])) == list(summary)


def test_a_mechanism_carries_the_papers_interval():
    rows = [row._replace(mechanism="laplace") for row in graded([[1, 1], [1, 0]])]
    assert group_summary(rows)["mechanism laplace ± over epochs"] == pytest.approx(1.96 * 0.25)


def test_the_papers_numbers_have_no_gaps():
    rows = outcomes(["yes", "no"], ["no", "no"])
    assert published_summary(rows)["paper's precision"] == 0
    assert math.isnan(accuracy_summary(rows)["precision"])


def test_mean_of_epochs_and_pooled_f1_are_told_apart():
    # Epoch 1: F1 1. Epoch 2: no yes at all, F1 0. Pooled: 1 of 2 claims found, 2/3.
    rows = [
        Outcome("a", "yes", "yes", 1),
        Outcome("b", "no", "no", 1),
        Outcome("a", "yes", "no", 2),
        Outcome("b", "no", "no", 2),
    ]
    summary = accuracy_summary(rows)
    assert summary["F1"] == 0.5
    assert summary["F1 of pooled epochs"] == pytest.approx(2 / 3)


@settings(max_examples=200, deadline=None)
@given(ROWS, st.randoms())
def test_no_summary_fails_or_depends_on_the_order(rows, rng):
    shuffled = rng.sample(rows, len(rows))
    for summary in SUMMARIES:
        first, second = summary(rows), summary(shuffled)
        assert list(first) == list(second)
        assert all(isinstance(value, float) for value in first.values())
        if summary is not accuracy_summary:  # a reply that stands twice may be in either pair
            assert first == pytest.approx(second, nan_ok=True)
    names = [name for summary in SUMMARIES for name in summary(rows)]
    assert len(names) == len(set(names))
