"""Results for the smallest noise → shares of each, with intervals, over all and per mechanism."""

from collections.abc import Sequence
from typing import NamedTuple

from dprivbench_inspect.expressions import RESULTS, Result
from dprivbench_inspect.metrics import Estimate, mean_of, rate_over_questions


class NoiseAnswer(NamedTuple):
    """One question for the smallest noise in one epoch, and what the answer is worth."""

    question_id: str
    mechanism: str
    result: Result
    epoch: int = 1


def noise_summary(answers: Sequence[NoiseAnswer]) -> dict[str, float]:
    """Share of each result under the names a reader sees; the first, "equal", is the headline.

    An unreadable answer counts in every denominator. ± is 1.96 standard errors: over questions
    clustered by question, over epochs of the epochs' means; nan where unknown.

    >>> noise_summary([NoiseAnswer("a", "laplace", "equal")])["too little"]
    0.0
    """
    by_epoch: dict[int, list[bool]] = {}
    for answer in answers:
        by_epoch.setdefault(answer.epoch, []).append(answer.result == "equal")
    epochs = mean_of([sum(right) / len(right) for right in by_epoch.values()])
    summary = {"equal": epochs.mean, "equal ± over epochs": epochs.half_width}
    for result in RESULTS:
        share = _share(answers, result)
        name = result.replace("_", " ")
        summary |= {name: share.mean, f"{name} ± over questions": share.half_width}
    for mechanism in dict.fromkeys(answer.mechanism for answer in answers):
        own = [answer for answer in answers if answer.mechanism == mechanism]
        shares = {result.replace("_", " "): _share(own, result) for result in RESULTS}
        summary |= {f"{mechanism}: {name}": share.mean for name, share in shares.items()}
        summary[f"{mechanism}: equal ± over questions"] = shares["equal"].half_width
    return summary | {"replies": float(len(answers))}


def _share(answers: Sequence[NoiseAnswer], result: Result) -> Estimate:
    return rate_over_questions((answer.question_id, answer.result == result) for answer in answers)
