"""attribution(): why a wrong reply is wrong; and the check of a grader on hand-labelled replies."""

from collections.abc import Sequence
from typing import Any

from anyio import to_thread
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, get_model, model_roles
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from dprivbench_inspect.attribution import (
    CAUSES,
    Attributed,
    Cause,
    Finding,
    agreement,
    attribution_summary,
    bank_sensitivity,
    cause_in_category_1,
    cause_in_category_2,
    parse_cause,
)
from dprivbench_inspect.attribution_prompts import CAUSE_INSTRUCTION, cause_prompt
from dprivbench_inspect.parsing import read_reply, visible_text
from dprivbench_inspect.questions import Label
from dprivbench_inspect.refusals import from_task
from dprivbench_inspect.scorers import JUDGE_ROLE, reply_content, reply_stop_reason
from dprivbench_inspect.versions import told

ATTRIBUTION_GRADING = 1  # moves when the same reply may get another cause


@metric(scores="unreduced")
def causes() -> Metric:
    """Shares of the causes among wrong replies, by rules and by grader, and their agreement."""

    def compute(scores: list[SampleScore]) -> Value:
        summary: dict[str, float] = {}
        for category, replies in attributed_of(scores).items():
            summary |= attribution_summary(category, replies)
        return summary or {"wrong replies": 0.0}

    return compute


@scorer(metrics=[causes()])
def attribution() -> Scorer:
    """Find the cause of each wrong verdict; replies without a verdict have none to explain.

    Rules read the reply. Where a model is bound to the role `grader`, it sorts every wrong reply
    too, and both causes are kept. The verdict is that of `verdict` where the sample has its score
    (`inspect score --action append`), and the boxed one otherwise.
    """

    async def score(state: TaskState, target: Target) -> Score:
        reply = visible_text(reply_content(state.output))
        verdict = _verdict(state)
        function_id = state.metadata.get("function_id")
        category = 1 if function_id is not None else 2
        about: dict[str, Any] = {
            "epoch": state.epoch,
            "category": category,
            "attribution": ATTRIBUTION_GRADING,
            **told(state.metadata),
        }
        if verdict is None or verdict == target.text:
            return _score(None, None, False, "right, or no verdict", about)
        if function_id is None:
            rules = cause_in_category_2(reply)
        else:
            rules = await to_thread.run_sync(_category_1, reply, int(function_id))
        if not model_roles().get(JUDGE_ROLE):
            return _score(rules.cause, None, False, rules.why, about)
        grader = get_model(role=JUDGE_ROLE, required=True)
        facts = str(state.metadata.get("explanation") or f"The right answer is {target.text}.")
        answer = await grader.generate([
            ChatMessageSystem(content=CAUSE_INSTRUCTION),
            ChatMessageUser(content=cause_prompt(category, state.input_text, facts, reply)),
        ])
        said = visible_text(reply_content(answer))
        about |= {"grader": str(grader), "rules_why": rules.why}
        return _score(rules.cause, parse_cause(said, category), True, said, about)

    return score


def attributed_of(scores: Sequence[SampleScore]) -> dict[int, list[Attributed]]:
    """Wrong replies by category, from the scores of `attribution`; others are left out."""
    replies: dict[int, list[Attributed]] = {}
    for sample_score in scores:
        value, own = sample_score.score.value, sample_score.score.metadata or {}
        if not isinstance(value, dict) or "attribution" not in own or not value.get("wrong"):
            continue
        replies.setdefault(own["category"], []).append(
            Attributed(own["by_rules"], own["by_grader"], bool(own["grader_asked"]))
        )
    return replies


@metric(scores="unreduced")
def cause_agreement() -> Metric:
    """How often a grader finds the cause that a reader found, by category; kappa beside it."""

    def compute(scores: list[SampleScore]) -> Value:
        summary: dict[str, float] = {}
        for category in (1, 2):
            own = [
                (about["by_hand"], about["by_grader"])
                for about in (score.score.metadata or {} for score in scores)
                if about.get("category") == category
            ]
            summary |= agreement(f"category {category}, grader and hand", own)
        return summary

    return compute


@scorer(metrics=[cause_agreement()])
def labelled_cause() -> Scorer:
    """Compare the cause in a grader's last line with the one found by hand."""

    async def score(state: TaskState, target: Target) -> Score:
        category, why = (
            from_task(state.metadata, key, "labelled_cause", "dprivbench_grader_check")
            for key in ("category", "why")
        )
        said = parse_cause(visible_text(reply_content(state.output)), category)
        return Score(
            value={"same": float(said == target.text)},
            answer=said,
            explanation=str(why),
            reason=None if said else "invalid_response_format",
            metadata={
                "category": category,
                "by_hand": target.text,
                "by_grader": said,
                **told(state.metadata),
            },
        )

    return score


def _category_1(reply: str, function_id: int) -> Finding:
    return cause_in_category_1(reply, *bank_sensitivity(function_id))


def _verdict(state: TaskState) -> Label | None:
    scored = (state.scores or {}).get("verdict")
    if scored is not None and isinstance(scored.value, dict):
        return "yes" if scored.value.get("yes") else "no" if scored.value.get("no") else None
    return read_reply(reply_content(state.output), reply_stop_reason(state.output)).verdict


def _score(
    by_rules: Cause | None,
    by_grader: Cause | None,
    grader_asked: bool,
    explanation: str,
    about: dict[str, Any],
) -> Score:
    """A score whose value marks the cause: the grader's where there is one, else the rules'."""
    cause = by_grader or by_rules
    wrong = explanation != "right, or no verdict"
    known = [cause for own in CAUSES.values() for cause in own]
    return Score(
        value={"wrong": float(wrong), **{name: float(name == cause) for name in known}},
        answer=cause,
        explanation=explanation,
        metadata={
            **about,
            "by_rules": by_rules,
            "by_grader": by_grader,
            "grader_asked": grader_asked,
        },
    )
