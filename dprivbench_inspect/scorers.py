"""Replies → scores; scores of all epochs → metrics."""

from collections.abc import Sequence
from operator import is_
from typing import Any, NamedTuple

from inspect_ai.model import (
    ChatMessageSystem,
    ChatMessageUser,
    ModelOutput,
    get_model,
    model_roles,
)
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    metric,
    scorer,
)
from inspect_ai.solver import TaskState

from dprivbench_inspect.metrics import Outcome
from dprivbench_inspect.parsing import (
    CUT_SHORT,
    How,
    paper_extraction,
    parse_judge,
    read_reply,
    visible_text,
)
from dprivbench_inspect.prompts import JUDGE_INSTRUCTION, judge_prompt
from dprivbench_inspect.questions import Label
from dprivbench_inspect.refusals import ArgumentError
from dprivbench_inspect.summaries import (
    accuracy_summary,
    audited_summary,
    group_summary,
    published_summary,
    rate_summary,
)
from dprivbench_inspect.versions import ASKED, one_set, told

JUDGE_ROLE = "grader"
GRADING = 1  # moves when the same reply may get another verdict; stands in each score's metadata
# Inspect's own words for the reasons that it has a word for.
_INSPECT_REASONS = {
    "invalid_format": "invalid_response_format",
    "judge_unreadable": "grader_failed",
}


class _Decision(NamedTuple):
    """The verdict on one reply, what decided it, and what there is to say about it."""

    verdict: Label | None
    how: How
    reason: str | None
    explanation: str
    metadata: dict[str, Any]


@metric(scores="unreduced")
def claim_accuracy() -> Metric:
    """Accuracy and F1 with their intervals, pairs, and what a constant answer would get."""

    def compute(scores: list[SampleScore]) -> Value:
        return accuracy_summary(_latest.outcomes_of(scores))

    return compute


@metric(scores="unreduced")
def claim_rates() -> Metric:
    """Shares of replies without verdict, by reason; cut short; decided by box or judge."""

    def compute(scores: list[SampleScore]) -> Value:
        return rate_summary(_latest.outcomes_of(scores))

    return compute


@metric(scores="unreduced")
def claim_groups() -> Metric:
    """Accuracy per mechanism, topic, subject, perturbation and error pattern."""

    def compute(scores: list[SampleScore]) -> Value:
        return group_summary(_latest.outcomes_of(scores))

    return compute


@metric(scores="unreduced")
def audited_labels() -> Metric:
    """The numbers of `claim_accuracy` under the audited labels; for official questions only."""

    def compute(scores: list[SampleScore]) -> Value:
        return audited_summary(_latest.outcomes_of(scores))

    return compute


@metric(scores="unreduced")
def published_numbers() -> Metric:
    """Accuracy, F1, precision and recall as the paper's code counts them."""

    def compute(scores: list[SampleScore]) -> Value:
        return published_summary(_latest.outcomes_of(scores))

    return compute


@scorer(metrics=[claim_accuracy(), claim_rates(), claim_groups(), audited_labels()])
def verdict(synonyms: bool = False) -> Scorer:
    """Compare the boxed verdict with the label; no verdict is counted, never left out.

    Where no box holds an answer and a model is bound to the role `grader`, that model reads
    question and reply and says what the reply concludes. Without such a model nobody is asked:
    the model under test never grades itself.

    Args:
        synonyms: Read true, 1, y and their like in a box too.

    Raises:
        ArgumentError: synonyms is neither true nor false; raised at the first reply, since Inspect
            takes a ValueError before that for a scorer that it does not know.
    """

    async def score(state: TaskState, target: Target) -> Score:
        if not isinstance(synonyms, bool):
            raise ArgumentError(f"synonyms is true or false, got {synonyms!r}")
        label = _label(target, state)
        decision = await _decide(state, synonyms)
        return _score(decision, label, state)

    return score


@scorer(metrics=[published_numbers()])
def paper_verdict() -> Scorer:
    """The verdict as the paper's code extracts it, beside `verdict` for its tables' sake only.

    Its judge, which runs only on replies that hold neither "yes" nor "no" as letters, is left out.
    """

    async def score(state: TaskState, target: Target) -> Score:
        found = paper_extraction(reply_content(state.output))
        decision = _Decision(
            found,
            "box" if found else "none",
            None if found else "invalid_format",
            "The paper's rule: letters in the last box, then in the whole reply.",
            {},
        )
        return _score(decision, _label(target, state), state)

    return score


def outcomes_of(scores: Sequence[SampleScore]) -> list[Outcome]:
    """Outcomes from the scores of `verdict` or `paper_verdict`, one a question and epoch.

    Everything is read from value, metadata and the sample's metadata, so a rescored log or one
    that was edited counts the same way. Scores of other scorers are left out.
    """
    found = [
        outcome_of(s.sample_id, s.score.value, s.score.metadata, s.sample_metadata) for s in scores
    ]
    return [outcome for outcome in found if outcome is not None]


def outcome_of(
    sample_id: str | int | None,
    value: object,
    left: dict[str, Any] | None,
    metadata: dict[str, Any] | None,
) -> Outcome | None:
    """The outcome that a score of `verdict` or `paper_verdict` holds; None for other scores.

    Args:
        sample_id: The question.
        value: Of the score.
        left: Metadata of the score.
        metadata: Of the sample.
    """
    own = left or {}
    if not isinstance(value, dict) or "label" not in own:
        return None
    about = (metadata or {}).get
    return Outcome(  # by position: metrics run again and again during an eval
        str(sample_id),
        own["label"],
        "yes" if value.get("yes") else "no" if value.get("no") else None,
        own.get("epoch", 1),
        own.get("how", "none"),
        own.get("reason"),
        own.get("truncated", False),
        about("mechanism"),
        about("function_id"),
        about("topic"),
        about("subject"),
        about("perturbation"),
        about("error_pattern"),
        about("sibling"),
        about("audit"),
        about("audited_label"),
    )


class _Latest:
    """The outcomes of the scores seen last.

    Inspect computes metrics again and again during an eval: it hands each of them the scores of
    the time before and some more. Reading each score once keeps our part of a run small.
    """

    def __init__(self) -> None:
        self._scores: list[SampleScore] = []
        self._outcomes: list[Outcome] = []
        self._asked: set[object] = set()

    def outcomes_of(self, scores: list[SampleScore]) -> list[Outcome]:
        """As the function `outcomes_of`; where the list goes on as the last one, what is new."""
        known = len(self._scores)
        if known > len(scores) or not all(map(is_, self._scores, scores)):
            known, self._scores, self._outcomes, self._asked = 0, [], [], set()
        self._outcomes += outcomes_of(scores[known:])
        self._asked.update((s.sample_metadata or {}).get(ASKED) for s in scores[known:])
        self._scores += scores[known:]
        one_set(self._asked)
        return self._outcomes


_latest = _Latest()


async def _decide(state: TaskState, synonyms: bool) -> _Decision:
    content = reply_content(state.output)
    reading = read_reply(content, reply_stop_reason(state.output), synonyms=synonyms)
    if reading.verdict:
        said = f"The last boxed answer says {reading.verdict}."
        return _Decision(reading.verdict, "box", None, said, {})
    alone = _Decision(None, "none", reading.reason, f"No verdict: {reading.reason}.", {})
    reply = visible_text(content)
    if not reply.strip() or not model_roles().get(JUDGE_ROLE):
        return alone
    judge = get_model(role=JUDGE_ROLE, required=True)
    answer = await judge.generate([
        ChatMessageSystem(content=JUDGE_INSTRUCTION),
        ChatMessageUser(content=judge_prompt(state.input_text, reply)),
    ])
    judged = parse_judge(reply_content(answer))
    about = {"judge": str(judge), "box_reason": reading.reason, "judged": judged}
    if judged == "yes" or judged == "no":
        return _Decision(judged, "judge", None, answer.completion, about)
    reason = reading.reason if judged == "none" else "judge_unreadable"
    return _Decision(None, "none", reason, answer.completion, about)


def _score(decision: _Decision, label: Label, state: TaskState) -> Score:
    """The score of one reply: numbers that may be averaged, and what the metrics read."""
    reason = decision.reason
    return Score(
        value={
            "correct": float(decision.verdict == label),
            "yes": float(decision.verdict == "yes"),
            "no": float(decision.verdict == "no"),
        },
        answer=decision.verdict,
        explanation=decision.explanation,
        reason=_INSPECT_REASONS.get(reason, reason) if reason else None,
        metadata={
            "epoch": state.epoch,
            "label": label,
            "how": decision.how,
            "reason": reason,
            "truncated": reply_stop_reason(state.output) in CUT_SHORT,
            "grading": GRADING,
            **decision.metadata,
            **told(state.metadata),
        },
    )


def _label(target: Target, state: TaskState) -> Label:
    if target.text == "yes":
        return "yes"
    if target.text == "no":
        return "no"
    raise ArgumentError(
        f"sample {state.sample_id!r} has target {target.text!r}; the label must be yes or no"
    )


def reply_content(output: ModelOutput) -> object:
    """Text or content blocks of the reply, None without one."""
    return output.choices[0].message.content if output.choices else None


def reply_stop_reason(output: ModelOutput) -> str | None:
    """Inspect's word for how the reply ended, None without one."""
    return output.choices[0].stop_reason if output.choices else None
