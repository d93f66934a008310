"""Outcomes → the numbers a run shows, under the names a reader sees in viewer, log and tables."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from dprivbench_inspect.label_audit import with_audited_labels
from dprivbench_inspect.metrics import (
    GROUP_FIELDS,
    Counts,
    Outcome,
    Statistic,
    by_epoch,
    by_group,
    constant_rows,
    mean_of,
    mean_of_groups,
    over_epochs,
    over_questions,
    pair_accuracy,
    pooled,
    ratio,
)

AUDITED = "audited labels: "  # before the name of a number that is not about the official labels


def _accuracy(counts: Counts) -> float:
    return counts.accuracy


# The paper's columns, each computed per epoch.
_BY_EPOCH: dict[str, Statistic] = {
    "F1": lambda counts: counts.f1,
    "precision": lambda counts: counts.precision,
    "recall": lambda counts: counts.recall,
}


def accuracy_summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The numbers a run is compared by, under the names a reader sees; the first is the headline.

    Precision, recall and F1 are means over epochs, as in the paper; the others pool the epochs,
    which is the same number wherever every epoch is complete.
    """
    epochs = by_epoch(outcomes)
    total = pooled({str(epoch): counts for epoch, counts in epochs.items()})
    accuracy = mean_of([counts.accuracy for counts in epochs.values()])
    constant = constant_rows(total)
    summary = {
        "accuracy": total.accuracy,
        "accuracy ± over epochs": accuracy.half_width,
        "accuracy ± over questions": over_questions(outcomes).half_width,
        "accuracy of answered": total.accuracy_answered,
    }
    for name, statistic in _BY_EPOCH.items():
        estimate = mean_of([statistic(counts) for counts in epochs.values()])
        summary |= {name: estimate.mean, f"{name} ± over epochs": estimate.half_width}
    return summary | {
        "F1 of pooled epochs": total.f1,
        "macro F1 of pooled epochs": total.macro_f1,
        "balanced accuracy": total.balanced_accuracy,
        "pair accuracy": pair_accuracy(outcomes),
        "always yes: accuracy": constant["yes"].accuracy,
        "always yes: F1": constant["yes"].f1,
        "always no: accuracy": constant["no"].accuracy,
        "replies": float(total.n),
    }


def audited_summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The numbers of `accuracy_summary` again, under audited labels and without disputed questions.

    Each name starts with `AUDITED`. Empty where no question is an official one of Category 2.
    """
    if not any(outcome.audit for outcome in outcomes):
        return {}
    kept = with_audited_labels(outcomes)
    left_out = {o.question_id for o in outcomes} - {o.question_id for o in kept}
    numbers = accuracy_summary(kept) | {"questions left out": float(len(left_out))}
    return {AUDITED + name: value for name, value in numbers.items()}


def rate_summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Shares of all replies: without verdict and why, cut short, and what decided the verdict."""
    n = len(outcomes)
    reasons = Counter(o.reason for o in outcomes if o.verdict is None)
    how = Counter(o.how for o in outcomes)
    return {
        "no verdict": ratio(sum(reasons.values()), n),
        "no verdict: no response": ratio(reasons["no_response"], n),
        "no verdict: refusal": ratio(reasons["refusal"], n),
        "no verdict: truncated": ratio(reasons["truncated"], n),
        "no verdict: contradictory": ratio(reasons["contradictory"], n),
        "no verdict: invalid format": ratio(reasons["invalid_format"], n),
        "no verdict: judge unreadable": ratio(reasons["judge_unreadable"], n),
        "truncated": ratio(sum(o.truncated for o in outcomes), n),
        "truncated without verdict": ratio(
            sum(o.truncated and o.verdict is None for o in outcomes), n
        ),
        "decided by box": ratio(how["box"], n),
        "decided by judge": ratio(how["judge"], n),
    }


def group_summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Accuracy per mechanism, topic, subject, perturbation and error pattern that occur.

    Beside each field's groups stand the mean of groups and, for mechanisms, the half-width over
    epochs that the paper prints; the pooled accuracy is the run's own.
    """
    summary: dict[str, float] = {}
    for field in GROUP_FIELDS:
        name = field.replace("_", " ")
        groups = by_group(outcomes, field)
        for group, counts in groups.items():
            summary[f"{name} {group}"] = counts.accuracy
        if field == "mechanism":
            for group in groups:
                own = (o for o in outcomes if o.mechanism == group)
                summary[f"{name} {group} ± over epochs"] = over_epochs(own, _accuracy).half_width
        if groups:
            summary[f"mean over {name}s"] = mean_of_groups(groups, _accuracy)
    return summary


def published_summary(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Means over epochs as the paper's code computes them, for comparison with its tables only.

    No verdict becomes the opposite of the label, in precision and F1 too, and a statistic
    without denominator is 0. Source: the release erchiw/DPriv-Bench at 48f86ab.
    """
    epochs = [counts.none_as_opposite() for counts in by_epoch(outcomes).values()]
    summary: dict[str, float] = {}
    for name, statistic in {"accuracy": _accuracy, **_BY_EPOCH}.items():
        values = (statistic(counts) for counts in epochs)
        estimate = mean_of([0.0 if math.isnan(value) else value for value in values])
        summary |= {
            f"paper's {name}": estimate.mean,
            f"paper's {name} ± over epochs": estimate.half_width,
        }
    return summary
