"""Which official labels stand: the audit's records, and outcomes under the labels it leaves.

Nothing is overwritten. An official question keeps its label; beside it stands what the audit says.
"""

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dprivbench_inspect.metrics import Outcome
from dprivbench_inspect.questions import Label, Question

LABEL_AUDIT = Path(__file__).parent / "data" / "label_audit.yaml"
Dispute = Literal["reading_dependent", "ill_posed", "no_question"]


class Evidence(BaseModel):
    """A program of certificates/label_audit.py, and what it must come to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    shows: Label


class AuditRecord(BaseModel):
    """What there is to say about one official question of Category 2."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^cate_2-[0-9]+$")
    upstream_label: Label
    verdict: Label | Dispute
    argument: str = Field(min_length=1)
    comment_wrong: bool = Field(default=False, description="of the release, about its own label")
    certificates: tuple[Evidence, ...] = ()

    @model_validator(mode="after")
    def _is_supported(self) -> Self:
        if self.verdict in {"yes", "no"}:
            against = [e.name for e in self.certificates if e.shows != self.verdict]
            if against:
                raise ValueError(f"certificates {against} do not show the verdict {self.verdict!r}")
            if self.verdict != self.upstream_label and not self.certificates:
                raise ValueError("a label is called false without a certificate")
            if not self.comment_wrong and not self.certificates:
                raise ValueError("a label that stands needs a wrong comment or a certificate")
        return self


class Audit(NamedTuple):
    """What the audit makes of one question: a word for it, and the label, None where left out."""

    status: Literal["unchallenged", "label_false", "label_right", "outdated"] | Dispute
    label: Label | None


def read_label_audit(path: Path = LABEL_AUDIT) -> dict[str, AuditRecord]:
    """Question id → record, in the file's order.

    Raises:
        ValueError: The file cannot be read, a record is broken or an id stands twice; says file and
            record number.
    """
    try:
        records = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(records, list):
        raise ValueError(f"{path}: expected a list of records, got {type(records).__name__}")
    audit: dict[str, AuditRecord] = {}
    for number, fields in enumerate(records, start=1):
        if isinstance(fields, dict) and set(fields) == {"do_not_train"}:
            continue
        try:
            record = AuditRecord.model_validate(fields)
        except ValidationError as error:
            details = "; ".join(
                f"{'.'.join(map(str, e['loc'])) or 'record'}: {e['msg']}, got {e['input']!r:.80}"
                for e in error.errors()
            )
            raise ValueError(f"{path}, record {number}: {details}") from error
        if record.id in audit:
            raise ValueError(f"{path}, record {number}: id {record.id!r} stands there already")
        audit[record.id] = record
    return audit


def audit_of(question: Question) -> Audit | None:
    """What the bundled audit makes of a question; None unless it is an official one of Category 2.

    A question whose label is no longer the one that was audited has been changed by the release:
    its record is outdated, and it is left out.
    """
    if question.category != 2 or question.release is None:
        return None
    record = _bundled().get(question.id)
    if record is None:
        return Audit("unchallenged", question.label)
    if record.upstream_label != question.label:
        return Audit("outdated", None)
    if record.verdict == "yes" or record.verdict == "no":
        right = record.verdict == question.label
        return Audit("label_right" if right else "label_false", record.verdict)
    return Audit(record.verdict, None)


def with_audited_labels(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The outcomes that have an audited label, under that label; the disputed ones are left out.

    >>> row = Outcome("cate_2-28", "yes", "no", audit="label_false", audited_label="no")
    >>> [o.right for o in with_audited_labels([row, row._replace(audited_label=None)])]
    [True]
    """
    return [
        outcome._replace(label=outcome.audited_label)
        for outcome in outcomes
        if outcome.audited_label is not None
    ]


@functools.cache
def _bundled() -> dict[str, AuditRecord]:
    return read_label_audit()
