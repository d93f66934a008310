"""Labels and verdicts → accuracy, F1, pairs right on both sides, and their intervals.

The positive class is yes, always. A reply without a verdict is wrong for accuracy and misses the
claim for recall, but is no verdict of the other class: it touches precision nowhere.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from dprivbench_inspect.parsing import How
from dprivbench_inspect.questions import Label

GroupField = Literal["mechanism", "topic", "subject", "perturbation", "error_pattern"]
GROUP_FIELDS: tuple[GroupField, ...] = (
    "mechanism",
    "topic",
    "subject",
    "perturbation",
    "error_pattern",
)


class Outcome(NamedTuple):
    """One question in one epoch: its label, the verdict, how it was found, and its groups."""

    question_id: str
    label: Label
    verdict: Label | None
    epoch: int = 1
    how: How = "box"
    reason: str | None = None
    truncated: bool = False
    mechanism: str | None = None
    function_id: int | None = None
    topic: str | None = None
    subject: str | None = None
    perturbation: str | None = None
    error_pattern: str | None = None
    sibling: str | None = None
    audit: str | None = None  # what label_audit.py makes of an official question
    audited_label: Label | None = None  # None where the question is left out, or not official

    @property
    def right(self) -> bool:
        """Whether the verdict is the label."""
        return self.verdict == self.label


class Estimate(NamedTuple):
    """A mean and the half-width of its 95 % interval (1.96 standard errors), nan where unknown."""

    mean: float
    half_width: float


class Counts(NamedTuple):
    """How many claims that hold and that fail got a yes, a no, or no verdict.

    Statistics are nan where their denominator is zero.
    """

    holds_yes: int = 0
    holds_no: int = 0
    holds_none: int = 0
    fails_yes: int = 0
    fails_no: int = 0
    fails_none: int = 0

    @property
    def n(self) -> int:
        """All claims."""
        return sum(self)

    @property
    def answered(self) -> int:
        """Claims with a verdict."""
        return self.n - self.holds_none - self.fails_none

    @property
    def accuracy(self) -> float:
        """Right verdicts over all claims."""
        return ratio(self.holds_yes + self.fails_no, self.n)

    @property
    def accuracy_answered(self) -> float:
        """Right verdicts over claims with a verdict."""
        return ratio(self.holds_yes + self.fails_no, self.answered)

    @property
    def precision(self) -> float:
        """Claims that hold, of those said to hold."""
        return ratio(self.holds_yes, self.holds_yes + self.fails_yes)

    @property
    def recall(self) -> float:
        """Claims said to hold, of all that hold, those without a verdict included."""
        return ratio(self.holds_yes, self.holds_yes + self.holds_no + self.holds_none)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 where one of them is 0 or has no denominator.

        nan only where no claim holds and none is said to.
        """
        said = self.holds_yes + self.fails_yes
        return ratio(2 * self.holds_yes, said + self.holds_yes + self.holds_no + self.holds_none)

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the recall among claims that hold and among those that fail."""
        return (self.recall + self.other_class().recall) / 2

    @property
    def macro_f1(self) -> float:
        """Mean of the F1 of yes and the F1 of no."""
        return (self.f1 + self.other_class().f1) / 2

    def other_class(self) -> "Counts":
        """The same with no as the positive class: its precision, recall and F1 are those of no."""
        return Counts(
            self.fails_no,
            self.fails_yes,
            self.fails_none,
            self.holds_no,
            self.holds_yes,
            self.holds_none,
        )

    def none_as_opposite(self) -> "Counts":
        """As the paper's code counts: no verdict becomes the verdict opposite to the label."""
        return Counts(
            self.holds_yes,
            self.holds_no + self.holds_none,
            0,
            self.fails_yes + self.fails_none,
            self.fails_no,
            0,
        )


Statistic = Callable[[Counts], float]
_Cells = Counter[tuple[Label, Label | None]]


def count(outcomes: Iterable[Outcome]) -> Counts:
    """Counts of labels against verdicts.

    Raises:
        ValueError: A label or verdict is neither yes nor no.

    >>> count([Outcome("a", "yes", "yes"), Outcome("b", "no", None)]).accuracy
    0.5
    """
    return _counts(Counter((outcome.label, outcome.verdict) for outcome in outcomes))


def over_epochs(outcomes: Iterable[Outcome], statistic: Statistic) -> Estimate:
    """Mean of a statistic over epochs and 1.96 standard errors of that mean, as in the paper.

    Says how much a rerun on the same questions moves the number; with one epoch, nothing.

    >>> twice = [Outcome("a", "yes", "yes", epoch=1), Outcome("a", "yes", "no", epoch=2)]
    >>> over_epochs(twice, lambda counts: counts.accuracy)
    Estimate(mean=0.5, half_width=0.98)
    """
    return mean_of([statistic(counts) for counts in by_epoch(outcomes).values()])


def over_questions(outcomes: Iterable[Outcome]) -> Estimate:
    """Accuracy and 1.96 standard errors, clustered by question.

    Says how much another draw of questions would move the number; epochs of one question are not
    taken for independent. With as many epochs for each question, this is the standard error of
    the questions' means. nan with fewer than two questions. Source: arXiv:2411.00640.
    """
    return rate_over_questions((outcome.question_id, outcome.right) for outcome in outcomes)


def rate_over_questions(marked: Iterable[tuple[str, float]]) -> Estimate:
    """Mean mark of replies and 1.96 standard errors, clustered as in `over_questions`.

    Args:
        marked: Question of each reply, and its mark: whether something is so, or a share.
    """
    marks, n = defaultdict[str, float](float), Counter[str]()
    for question, mark in marked:
        n[question] += 1
        marks[question] += mark
    return _clustered([(marks[question], n[question]) for question in n])


def by_epoch(outcomes: Iterable[Outcome]) -> dict[int, Counts]:
    """Counts of each epoch, in order."""
    pairs: defaultdict[int, _Cells] = defaultdict(Counter)
    for outcome in outcomes:
        pairs[outcome.epoch][outcome.label, outcome.verdict] += 1
    return {epoch: _counts(pairs[epoch]) for epoch in sorted(pairs)}


def by_group(
    outcomes: Iterable[Outcome], field: GroupField, groups: Sequence[str] = ()
) -> dict[str, Counts]:
    """Counts of each group, in alphabetical order whatever the order of the outcomes.

    Args:
        outcomes: Those without a value in `field` are left out.
        field: The field of `Outcome` to group by.
        groups: Groups that get a row even where no outcome is in them.
    """
    pairs: defaultdict[str, _Cells] = defaultdict(Counter)
    for outcome in outcomes:
        if (group := getattr(outcome, field)) is not None:
            pairs[group][outcome.label, outcome.verdict] += 1
    return {group: _counts(pairs[group]) for group in sorted({*pairs, *groups})}


def pooled(groups: Mapping[str, Counts]) -> Counts:
    """The sum of the groups' counts: every outcome weighs the same."""
    return Counts(*map(sum, zip(*groups.values(), strict=True))) if groups else Counts()


def mean_of_groups(groups: Mapping[str, Counts], statistic: Statistic) -> float:
    """Mean of the groups' statistics: every group weighs the same, however small."""
    return mean_of([statistic(counts) for counts in groups.values()]).mean


def pair_accuracy(outcomes: Sequence[Outcome]) -> float:
    """Share of pairs, a claim that holds and a false sibling in one epoch, both judged rightly.

    A pair shares mechanism and function (Category 1), or the false one names the true one as its
    sibling (Category 2); a true claim is in as many pairs as it has false siblings. nan without
    pairs. A model that says the same to both is right on none.
    """
    marks = pair_marks(outcomes)
    return ratio(sum(both for _, _, both in marks), len(marks))


def pair_marks(outcomes: Sequence[Outcome]) -> list[tuple[tuple[object, ...], int, bool]]:
    """Pairs of `pair_accuracy`: what names the true claim, the epoch, whether both are right."""
    keyed = [(_pair(o), o.epoch, o) for o in outcomes]
    holds = {(pair, epoch): o.right for pair, epoch, o in keyed if o.label == "yes"}
    return [
        (pair, epoch, o.right and holds[pair, epoch])
        for pair, epoch, o in keyed
        if o.label == "no" and (pair, epoch) in holds
    ]


def constant_rows(counts: Counts) -> dict[Label, Counts]:
    """What always yes and always no would have got on the same questions.

    >>> rows = constant_rows(Counts(holds_no=42, fails_no=83))
    >>> round(rows["yes"].f1, 3), round(rows["no"].accuracy, 3)
    (0.503, 0.664)
    """
    holds = counts.holds_yes + counts.holds_no + counts.holds_none
    fails = counts.n - holds
    return {
        "yes": Counts(holds_yes=holds, fails_yes=fails),
        "no": Counts(holds_no=holds, fails_no=fails),
    }


def planned_accuracy(counts: Counts, planned: int) -> float:
    """Right verdicts over all replies that were planned: those that errored count as wrong.

    Raises:
        ValueError: Fewer planned than there are.
    """
    if planned < counts.n:
        raise ValueError(f"{planned} replies were planned, but there are {counts.n}")
    return ratio(counts.holds_yes + counts.fails_no, planned)


def _pair(outcome: Outcome) -> tuple[object, ...]:
    if outcome.function_id is not None:
        return outcome.mechanism, outcome.function_id
    return (outcome.question_id if outcome.label == "yes" else outcome.sibling,)


def _counts(pairs: _Cells) -> Counts:
    if unknown := pairs.keys() - _CELLS:
        raise ValueError(f"labels and verdicts {sorted(map(str, unknown))} are not yes, no or None")
    return Counts(*(pairs[cell] for cell in _CELLS))


_CELLS: list[tuple[Label, Label | None]] = [
    ("yes", "yes"),
    ("yes", "no"),
    ("yes", None),
    ("no", "yes"),
    ("no", "no"),
    ("no", None),
]


def ratio(part: float, whole: float) -> float:
    """The quotient, nan where the whole is zero."""
    return part / whole if whole else math.nan


def mean_of(values: Sequence[float]) -> Estimate:
    """Mean and 1.96 standard errors of independent values; the error of one value is unknown."""
    n = len(values)
    mean = ratio(math.fsum(values), n)
    if n < 2:
        return Estimate(mean, math.nan)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return Estimate(mean, 1.96 * math.sqrt(variance / n))


def _clustered(clusters: Sequence[tuple[float, int]]) -> Estimate:
    """Mean of right over all, 1.96 standard errors; each cluster is (right, all)."""
    n, g = sum(size for _, size in clusters), len(clusters)
    mean = ratio(sum(right for right, _ in clusters), n)
    if g < 2:
        return Estimate(mean, math.nan)
    squares = math.fsum((right - mean * size) ** 2 for right, size in clusters)
    return Estimate(mean, 1.96 * math.sqrt(squares * g / (g - 1)) / n)
