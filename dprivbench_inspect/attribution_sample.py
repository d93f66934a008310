"""Hand-labelled wrong replies, and how often the rules find their cause."""

from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from dprivbench_inspect.attribution import (
    CAUSES,
    Cause,
    agreement,
    bank_sensitivity,
    cause_in_category_1,
    cause_in_category_2,
)
from dprivbench_inspect.questions import Question, read_questions

_DATA = Path(__file__).parent / "data"
Category = Literal[1, 2]


class LabelledReply(BaseModel):
    """A wrong reply to a bundled question, and the cause that a reader gave it, with the reason."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str
    reply: str
    cause: Cause
    why: str

    @property
    def category(self) -> Category:
        """The category whose causes these are."""
        return 1 if self.cause in CAUSES[1] else 2


@cache
def labelled_replies() -> tuple[LabelledReply, ...]:
    """All of them, in the order of the file."""
    records = yaml.safe_load((_DATA / "attribution_sample.yaml").read_text(encoding="utf-8"))
    return tuple(LabelledReply.model_validate(record) for record in records if "id" in record)


@cache
def labelled_questions() -> dict[str, Question]:
    """The bundled questions that the replies are about, by id."""
    wanted = {reply.question for reply in labelled_replies()}
    files = [_DATA / "category_1.jsonl", *sorted((_DATA / "category_2").glob("*.yaml"))]
    return {q.id: q for file in files for q in read_questions(file) if q.id in wanted}


def cause_by_rules(reply: LabelledReply) -> Cause | None:
    """What the rules say of a labelled reply."""
    question = labelled_questions()[reply.question]
    if question.function_id is None:
        return cause_in_category_2(reply.reply).cause
    return cause_in_category_1(reply.reply, *bank_sensitivity(question.function_id)).cause


def rules_on_sample(category: Category) -> dict[str, float]:
    """Agreement of rules and hand on one category; a reply the rules cannot sort is a miss."""
    pairs = [(r.cause, cause_by_rules(r)) for r in labelled_replies() if r.category == category]
    return agreement("rules and hand", pairs)
