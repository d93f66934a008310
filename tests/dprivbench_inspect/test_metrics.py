import json
import math
import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from dprivbench_inspect.metrics import (
    Counts,
    Outcome,
    by_epoch,
    by_group,
    constant_rows,
    count,
    mean_of_groups,
    over_epochs,
    over_questions,
    pair_accuracy,
    planned_accuracy,
    pooled,
)
from dprivbench_inspect.summaries import published_summary


def outcomes(labels, verdicts, **fields):
    rows = zip(labels, verdicts, strict=True)
    return [Outcome(f"q{i}", label, v, **fields) for i, (label, v) in enumerate(rows)]


def graded(scores_by_question):
    """True claims: 1 is a yes, 0 a no; rows are questions, columns epochs."""
    return [
        Outcome(f"q{i}", "yes", "yes" if score else "no", epoch)
        for i, row in enumerate(scores_by_question)
        for epoch, score in enumerate(row, start=1)
    ]


def f1(counts):
    return counts.f1


def accuracy(counts):
    return counts.accuracy


def public(shared, operation):
    cases = json.loads((shared / "cases" / "cases.json").read_text(encoding="utf-8"))["cases"]
    return [c for c in cases if c["kind"] == "b" and c["input"]["op"] == operation]


def same(value, expected):
    """Equal as the public cases mean it: null is undefined."""
    return math.isnan(value) if expected is None else value == pytest.approx(expected, rel=1e-6)


# Known answers, worked out by hand.
def test_precision_recall_and_f1_of_yes_and_of_no():
    counts = Counts(holds_yes=2, holds_no=2, fails_no=6)
    assert (counts.precision, counts.recall, counts.f1) == (1, 0.5, 2 / 3)
    other = counts.other_class()
    assert (other.precision, other.recall, other.f1) == (0.75, 1, 6 / 7)
    assert counts.macro_f1 == pytest.approx((2 / 3 + 6 / 7) / 2)
    assert counts.balanced_accuracy == 0.75


def test_no_verdict_is_wrong_and_misses_the_claim_but_is_no_other_verdict():
    # Holds: yes, none. Fails: no, none.
    counts = count(outcomes(["yes", "yes", "no", "no"], ["yes", None, "no", None]))
    assert (counts.accuracy, counts.accuracy_answered, counts.answered) == (0.5, 1, 2)
    assert (counts.precision, counts.recall, counts.f1) == (1, 0.5, 2 / 3)
    assert counts.balanced_accuracy == 0.5
    # The paper's code makes a false yes of the last one: 1 of 2 said, 1 of 2 found.
    opposite = counts.none_as_opposite()
    assert (opposite.precision, opposite.recall, opposite.f1) == (0.5, 0.5, 0.5)
    assert opposite.accuracy == counts.accuracy


def test_without_a_denominator_there_is_no_number():
    nothing = Counts()
    for value in (nothing.accuracy, nothing.precision, nothing.recall, nothing.f1):
        assert math.isnan(value)
    silent = Counts(holds_none=3)
    assert (silent.accuracy, silent.recall, silent.f1) == (0, 0, 0)
    assert math.isnan(silent.precision)
    assert math.isnan(silent.accuracy_answered)
    assert math.isnan(Counts(fails_no=3).f1)
    assert math.isnan(pair_accuracy([]))


def test_always_yes_and_always_no_on_the_official_questions():
    rows = constant_rows(Counts(holds_yes=42, fails_none=83))
    assert rows["yes"].f1 == pytest.approx(84 / 167)
    assert rows["yes"].precision == pytest.approx(0.336)
    assert rows["yes"].recall == 1
    assert rows["no"].accuracy == pytest.approx(0.664)
    assert rows["no"].f1 == 0


def test_interval_over_epochs_is_the_papers():
    # Accuracies 1/2, 1, 1/2: mean 2/3, sd sqrt(1/12), 1.96 · sd / sqrt(3).
    rows = graded([[1, 1, 1], [0, 1, 0]])
    estimate = over_epochs(rows, accuracy)
    assert estimate == pytest.approx((2 / 3, 1.96 * math.sqrt(1 / 12) / math.sqrt(3)))
    one = over_epochs(graded([[1], [0]]), accuracy)
    assert one.mean == 0.5
    assert math.isnan(one.half_width)


def test_clustered_interval_with_unequal_numbers_of_epochs():
    # Residuals from the mean 3/4, summed by question: 2 - 3/2, 0 - 3/4, 1 - 3/4; G/(G-1) = 3/2.
    rows = [
        Outcome("a", "yes", "yes", 1),
        Outcome("a", "yes", "yes", 2),
        Outcome("b", "yes", "no", 1),
        Outcome("c", "yes", "yes", 1),
    ]
    expected = math.sqrt(1.5 * (0.5**2 + 0.75**2 + 0.25**2)) / 4
    assert over_questions(rows) == pytest.approx((0.75, 1.96 * expected))


def test_pairs_of_category_1_share_mechanism_and_function():
    def row(mechanism, function, label, verdict, epoch=1):
        return Outcome(f"{mechanism}-{function}-{label}", label, verdict, epoch,
                       mechanism=mechanism, function_id=function)  # fmt: skip

    rows = [
        *(row("laplace", 1, "yes", "yes"), row("laplace", 1, "no", "no")),  # both right
        *(row("laplace", 2, "yes", "yes"), row("laplace", 2, "no", "yes")),
        *(row("expo_mech", 1, "yes", None), row("expo_mech", 1, "no", "no")),
        *(row("laplace", 1, "yes", "no", 2), row("laplace", 1, "no", "no", 2)),
        row("expo_mech", 3, "yes", "yes"),  # alone
    ]
    assert pair_accuracy(rows) == 0.25


def test_pairs_of_category_2_are_a_claim_and_each_of_its_false_siblings():
    rows = [
        Outcome("svt-01", "yes", "yes"),
        Outcome("svt-02", "no", "no", sibling="svt-01"),
        Outcome("svt-03", "no", "yes", sibling="svt-01"),
        Outcome("svt-04", "no", "no", sibling="svt-99"),  # its sibling was not asked
        Outcome("svt-05", "no", "no"),
    ]
    assert pair_accuracy(rows) == 0.5


def test_a_constant_answer_gets_no_pair_right():
    for verdict in ("yes", "no", None):
        rows = [Outcome("a", "yes", verdict), Outcome("b", "no", verdict, sibling="a")]
        assert pair_accuracy(rows) == 0


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match=r"maybe.*not yes, no or None"):
        count([Outcome("a", "yes", "maybe")])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="3 replies were planned, but there are 4"):
        planned_accuracy(Counts(holds_yes=4), 3)


# The public cases.
def test_public_classification(shared):
    cases = public(shared, "classification_metrics")
    assert len(cases) == 3
    for case in cases:
        counts = count(outcomes(case["input"]["gold"], case["input"]["pred"]))
        constant = constant_rows(counts).values()
        ours = {
            "n": counts.n,
            "n_parsed": counts.answered,
            "unparsed_rate": 1 - counts.answered / counts.n,
            "accuracy_all": counts.accuracy,
            "accuracy_parsed": counts.accuracy_answered,
            "precision_yes": counts.precision,
            "recall_yes": counts.recall,
            "f1_yes": counts.f1,
            "precision_no": counts.other_class().precision,
            "recall_no": counts.other_class().recall,
            "f1_no": counts.other_class().f1,
            "macro_f1": counts.macro_f1,
            "majority_baseline_accuracy": max(row.accuracy for row in constant),
        }
        wrong = case["expected"].pop("not", {})
        for name, expected in case["expected"].items():
            assert same(ours[name], expected), (case["id"], name)
        for name, value in wrong.items():
            assert ours[name] != pytest.approx(value, rel=1e-3), (case["id"], name)


def test_public_standard_errors(shared):
    cases = public(shared, "stderr")
    assert len(cases) == 2
    for case in cases:
        mean, half_width = over_questions(graded(case["input"]["scores_by_question"]))
        assert same(mean, case["expected"]["mean"]), case["id"]
        assert same(half_width / 1.96, case["expected"]["stderr"]), case["id"]


def test_public_groups(shared):
    (case,) = public(shared, "grouped_accuracy")
    rows = [
        Outcome(str(i), "yes", "yes" if row["correct"] else "no", topic=row["topic"])
        for i, row in enumerate(case["input"]["rows"])
    ]
    groups = by_group(rows, "topic")
    expected = case["expected"]
    assert {g: c.accuracy for g, c in groups.items()} == {g: expected[g] for g in ("a", "b")}
    assert pooled(groups).accuracy == expected["all_samples"]
    assert mean_of_groups(groups, accuracy) == expected["mean_of_groups"]
    # Order of completion does not matter, and a group without outcomes keeps its row.
    for case in public(shared, "grouped_keys"):
        for order in case["input"]["completion_orders"]:
            rows = [Outcome(topic, "yes", "yes", topic=topic) for topic in order]
            assert list(by_group(rows, "topic")) == sorted(order)
    empty = by_group([], "topic", groups=["svt"])
    assert list(empty) == ["svt"]
    assert empty["svt"].n == 0
    assert math.isnan(empty["svt"].accuracy)


def test_public_f1_by_topic_and_pooled(shared):
    (case,) = public(shared, "f1_topics_vs_pooled")
    rows = []
    for topic, answers in case["input"]["topics"].items():
        rows += outcomes(answers["gold"], answers["pred"], topic=topic)
    groups = by_group(rows, "topic")
    expected = case["expected"]
    assert {topic: counts.f1 for topic, counts in groups.items()} == expected["f1_yes_by_topic"]
    assert same(pooled(groups).f1, expected["pooled_f1_yes"])
    assert same(mean_of_groups(groups, f1), expected["mean_topic_f1_yes"])


def test_public_errors_stay_in_the_denominator(shared):
    (case,) = public(shared, "accuracy_with_errors")
    right = len(case["input"]["correct"])
    counts = count(outcomes(["yes"] * right, ["yes"] * right))
    assert counts.accuracy == case["expected"]["accuracy_scored"]
    planned = right + case["input"]["n_error"]
    assert planned_accuracy(counts, planned) == case["expected"]["accuracy_all"]


# A second implementation, and properties.
ROWS = st.lists(
    st.builds(
        Outcome,
        question_id=st.sampled_from("abcdef"),
        label=st.sampled_from(["yes", "no"]),
        verdict=st.sampled_from(["yes", "no", None]),
        epoch=st.integers(1, 3),
        how=st.sampled_from(["box", "judge", "none"]),
        mechanism=st.sampled_from([None, "laplace", "expo_mech"]),
        topic=st.sampled_from([None, "svt"]),
        sibling=st.sampled_from([None, "a"]),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_agrees_with_scikit_learn(rows):
    counts = count(rows)
    # A reply without verdict is a class of its own there: neither yes nor no.
    labels, verdicts = [o.label for o in rows], [o.verdict or "none" for o in rows]
    for one, label in ((counts, "yes"), (counts.other_class(), "no")):
        for ours, theirs in (
            (one.precision, precision_score),
            (one.recall, recall_score),
            (one.f1, f1_score),
        ):
            if rows and label in labels + verdicts:
                value = theirs(labels, verdicts, labels=[label], average="macro", zero_division=0)
                assert (0 if math.isnan(ours) else ours) == pytest.approx(value)
    # The paper's code, for one epoch.
    opposite = {"yes": "no", "no": "yes"}
    filled = [o.verdict or opposite[o.label] for o in rows]
    if rows:
        paper = published_summary([o._replace(epoch=1) for o in rows])
        value = f1_score(labels, filled, pos_label="yes", average="binary", zero_division=0)
        assert paper["paper's F1"] == pytest.approx(value)


@settings(max_examples=100, deadline=None)
@given(ROWS)
def test_counts_of_epochs_and_groups_add_up(rows):
    epochs = {str(epoch): counts for epoch, counts in by_epoch(rows).items()}
    assert pooled(epochs) == count(rows)
    assert pooled(by_group(rows, "mechanism")).n == sum(o.mechanism is not None for o in rows)


def test_intervals_cover():
    # 40 questions of random difficulty, 3 epochs: the clustered interval holds the true mean in
    # about 95 % of runs; standard error of that share over 1000 runs is 0.7 %.
    rng = random.Random(1)
    covered, runs = 0, 1000
    for _ in range(runs):
        rates = [rng.betavariate(1, 1) for _ in range(40)]
        rows = graded([[rng.random() < rate for _ in range(3)] for rate in rates])
        mean, half_width = over_questions(rows)
        covered += abs(mean - 0.5) <= half_width
    assert 0.92 < covered / runs < 0.97


def test_half_width_agrees_with_the_standard_library():
    values = [[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 0]]
    means = [statistics.mean(column) for column in zip(*values, strict=True)]
    expected = 1.96 * statistics.stdev(means) / math.sqrt(len(means))
    assert over_epochs(graded(values), accuracy).half_width == pytest.approx(expected)
