"""Intervals over questions: against Inspect's own, and by coverage in simulated runs."""

import math

import numpy as np
import pytest
from inspect_ai.scorer import SampleScore, Score, ci_wilson

from dprivbench_inspect.intervals import pair_share, ratio_over_questions, share
from dprivbench_inspect.metrics import Outcome


def test_a_share_has_the_same_interval_as_inspects_clustered_wilson() -> None:
    rng = np.random.default_rng(3)
    rights = rng.random((30, 4)) < rng.beta(1, 1, size=(30, 1))
    scores = [
        SampleScore(
            score=Score(value=float(right)), sample_id=f"q{q}", sample_metadata={"q": f"q{q}"}
        )
        for q, row in enumerate(rights)
        for right in row
    ]
    theirs = ci_wilson(cluster="q")(scores)
    ours = ratio_over_questions(
        (f"q{q}", float(right), 1.0) for q, row in enumerate(rights) for right in row
    )
    assert isinstance(theirs, dict)
    assert (ours.low, ours.high) == pytest.approx((theirs["lower"], theirs["upper"]))
    assert ours.n == 120


def test_all_right_is_no_certainty_and_epochs_do_not_make_it_one() -> None:
    once = share([Outcome(f"q{i}", "yes", "yes") for i in range(20)], "accuracy")
    five = [Outcome(f"q{i}", "yes", "yes", epoch) for i in range(20) for epoch in range(1, 6)]
    assert once.value == once.high == 1.0
    assert once.low == share(five, "accuracy").low == pytest.approx(0.820, abs=0.001)


def test_one_question_has_no_interval_and_nothing_has_no_share() -> None:
    one = share([Outcome("a", "yes", "yes")], "accuracy")
    assert one.value == 1.0
    assert math.isnan(one.low)
    nothing = share([Outcome("a", "no", "no"), Outcome("b", "no", "no")], "precision")
    assert math.isnan(nothing.value)
    assert (nothing.numerator, nothing.n) == (0, 0)


def test_values_are_means_over_epochs_with_the_papers_half_width() -> None:
    epochs = [("yes", "yes"), ("yes", "no")], [("yes", "no"), ("yes", "no")]
    outcomes = [
        Outcome(f"q{i}", label, verdict, epoch)  # type: ignore[arg-type]
        for epoch, rows in enumerate(epochs, start=1)
        for i, (label, verdict) in enumerate(rows)
    ]
    found = share(outcomes, "recall")
    assert (found.value, found.numerator, found.n) == (0.25, 1, 4)
    assert found.half_width == pytest.approx(1.96 * 0.25)


@pytest.mark.parametrize("name", ["accuracy", "precision", "recall", "F1"])
def test_intervals_cover_what_other_questions_would_give(name: str) -> None:
    rng = np.random.default_rng(11)

    def draw(questions: int) -> list[Outcome]:
        holds = rng.random(questions) < 0.35
        chance = np.where(holds, rng.beta(2, 1, questions), rng.beta(1, 2, questions))
        says_yes = rng.random((3, questions)) < chance
        return [
            Outcome(f"q{q}", "yes" if holds[q] else "no", "yes" if yes else "no", epoch)
            for epoch, row in enumerate(says_yes, start=1)
            for q, yes in enumerate(row)
        ]

    truth = share(draw(40_000), name).value
    runs = [share(draw(80), name) for _ in range(250)]
    covered = sum(run.low <= truth <= run.high for run in runs) / len(runs)
    assert 0.90 <= covered <= 0.99


def test_pairs_of_one_true_claim_are_one_cluster() -> None:
    family = [
        Outcome("t", "yes", "yes"),
        *(Outcome(f"f{i}", "no", "no", sibling="t") for i in (1, 2)),
    ]
    found = pair_share(family)
    assert (found.value, found.numerator, found.n) == (1.0, 2, 2)
    assert math.isnan(found.low)
