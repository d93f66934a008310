"""Question: one record as it stands in the data files, and the reader that refuses a broken one."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from dprivbench_inspect.files import parse_json, parse_yaml, read_text

# Stands in every bundled data file, so that a training set that holds them can be found out.
DO_NOT_TRAIN = (
    "Evaluation data, not for training: "
    "dprivbench-inspect do-not-train canary f36e3298-2c4c-4444-b4f0-96acb4cb7025"
)
Label = Literal["yes", "no"]
Perturbation = Literal["none", "algorithm", "assumption", "conclusion"]
ErrorPattern = Literal[
    "stronger_claim",  # stronger than what is valid
    "broken_step",  # one step of the implementation is wrong
    "miscalibration",  # noise or sensitivity
    "assumption_change",  # an assumption or the neighbouring relation
    "unprivatised_component",  # depends on the data, gets no noise
    "public_private_boundary",  # something taken as public is private
    "impossible",  # no mechanism of this kind can, or the wrong privacy notion
    "literature_error",  # stood like this in a publication
]


class Topic(NamedTuple):
    """One of the 18 topics of Category 2: its names and its official number of questions."""

    release_name: str
    paper_name: str
    subject: str
    official_yes: int
    official_no: int


_ACCOUNTING, _ML, _STATISTICS, _ADAPTIVE = (
    "Accounting and Composition",
    "DP-ML",
    "DP-statistics",
    "Data-Adaptive",
)
# Names and counts: arXiv:2604.15851, Table 1, and the public release erchiw/DPriv-Bench.
TOPICS: dict[str, Topic] = {
    "accounting": Topic("Accounting", "Privacy Accounting", _ACCOUNTING, 5, 7),
    "subsampling": Topic(
        "Amplification by Subsampling",
        "Privacy Amplification via Subsampling",
        _ACCOUNTING,
        2,
        3,
    ),
    "selection": Topic("DP selection: expoMech", "Private Selection", _STATISTICS, 2, 3),
    "dp_gd": Topic("DP-GD", "DP Gradient Descent", _ML, 1, 12),
    "dp_ols": Topic("DP-OLS", "DP Linear Regression", _ML, 1, 5),
    "hyperparameter_tuning": Topic(
        "Hyperparameter-tuning", "DP Hyperparameter Optimization", _ML, 1, 5
    ),
    "pate": Topic("PATE", "Private Aggregation of Teacher Ensembles (PATE)", _ML, 1, 2),
    "ptr": Topic("PTR", "Propose-Test-Release (PTR)", _ADAPTIVE, 2, 2),
    "parallel_composition": Topic(
        "Parallel Composition", "Parallel Composition", _ACCOUNTING, 6, 8
    ),
    "svt": Topic("SVT", "Sparse Vector Technique", _ACCOUNTING, 3, 5),
    "sequential_composition": Topic(
        "Sequential or Adaptive Composition",
        "Sequential/Adaptive Composition",
        _ACCOUNTING,
        3,
        4,
    ),
    "smooth_sensitivity": Topic("Smooth_sensitivity", "Smooth Sensitivity", _ADAPTIVE, 2, 1),
    "dp_adam": Topic("dp-adam", "DP Adam", _ML, 1, 2),
    "dp_sgd": Topic("dp-sgd", "DP Stochastic Gradient Descent", _ML, 3, 6),
    "mean_estimation": Topic("mean estimation", "Mean Estimation", _STATISTICS, 5, 10),
    "objective_perturbation": Topic("objective perturbation", "Objective Perturbation", _ML, 1, 3),
    "output_perturbation": Topic("output perturbation", "Output Perturbation", _ML, 1, 2),
    "quantile": Topic("quantile", "Quantile Estimation", _STATISTICS, 2, 3),
}
# What is left of a macro when JSON or YAML reads its single backslash as an escape: \theta, \beta…
_EATEN_BACKSLASH = re.compile(
    r"[\x00\x07\x08\x0b\x0c]"
    r"|\t(?=heta|au\b|ext|imes|ilde|frac|riangle|op?\b)"
    r"|\r(?=ho\b|ight|angle|m\b)|\n(?=abla\b|eq\b)"
)
SUBJECTS: tuple[str, ...] = tuple(dict.fromkeys(topic.subject for topic in TOPICS.values()))


class Reference(BaseModel):
    """Where the true claim is proved, or the false one refuted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    authors: str
    year: int
    link: str = Field(description="arXiv id as arXiv:…, DOI as doi:…, or a web address")
    theorem: str = Field(description="theorem, section or algorithm in it")


class Question(BaseModel):
    """One claim about one mechanism, and whether it is true.

    Only `question` ever reaches a model under test. Everything else is for grading and reports.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    category: Literal[1, 2]
    question: str = Field(min_length=1)
    label: Label
    # Category 1
    mechanism: str | None = None
    function_id: int | None = None
    factor: float | None = Field(default=None, gt=0, description="noise over the needed noise")
    # Category 2
    topic: str | None = None
    subject: str | None = None
    perturbation: Perturbation | None = None
    error_pattern: ErrorPattern | None = None
    sibling: str | None = Field(default=None, description="id of the claim it was made from")
    reference: Reference | None = None
    explanation: str | None = None
    evidence: Literal["certificate", "citation"] | None = None
    reviewed: bool | None = Field(
        default=None, description="of a text that a model wrote: whether a person has read it"
    )
    # What the public release says beside its questions; gives the answer away.
    release: dict[str, Any] | None = None

    @field_validator("label", mode="before")
    @classmethod
    def _words_for_the_label(cls, value: object) -> object:
        """YAML reads a bare yes as true, the public release writes 1, people write Yes."""
        if isinstance(value, bool | int | float) and value in {0, 1}:
            return "yes" if value else "no"
        return value.strip().rstrip(".").lower() if isinstance(value, str) else value

    @field_validator("function_id", mode="before")
    @classmethod
    def _a_number(cls, value: object) -> object:
        if isinstance(value, bool):
            raise ValueError("Input should be a number")
        return value

    @field_validator("question")
    @classmethod
    def _keeps_its_backslashes(cls, value: str) -> str:
        if eaten := _EATEN_BACKSLASH.search(value):
            around = value[max(0, eaten.start() - 10) : eaten.end() + 10]
            raise ValueError(
                f"a control character stands near {around!r}, where a macro lost its backslash; "
                "write two backslashes in the file"
            )
        return value

    @model_validator(mode="after")
    def _fits_its_category(self) -> Self:
        needed = ("mechanism", "function_id") if self.category == 1 else ("topic", "subject")
        missing = [name for name in needed if getattr(self, name) is None]
        if missing:
            raise ValueError(f"a question of category {self.category} needs {missing}")
        if self.label == "yes" and self.error_pattern is not None:
            raise ValueError(f"error_pattern {self.error_pattern!r} on a claim that is true")
        return self


def parse_questions(records: Iterable[object], where: str) -> list[Question]:
    """Questions from plain records; ids are unique.

    Args:
        records: One mapping a question, with the fields of `Question`; a record of Category 2
            may leave `subject` out where the topic is one of `TOPICS`.
        where: File name for messages.

    Raises:
        ValueError: Records are broken or an id stands twice; says file and record numbers.
    """
    questions: list[Question] = []
    seen: dict[str, int] = {}
    broken: list[str] = []
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            broken.append(f"record {number}: expected a mapping, got {record!r:.80}")
            continue
        topic = TOPICS.get(str(record.get("topic")))
        fields = {"subject": topic.subject, **record} if topic else record
        try:
            question = Question.model_validate(fields)
        except ValidationError as error:
            broken.append(f"record {number}: {'; '.join(map(_what_is_wrong, error.errors()))}")
            continue
        if question.id in seen:
            broken.append(
                f"record {number}: id {question.id!r} stands in record {seen[question.id]} "
                "already; ids must be unique"
            )
        seen[question.id] = number
        questions.append(question)
    if broken:
        shown = "; and ".join(broken[:5])
        more = f"; and {len(broken) - 5} more" if len(broken) > 5 else ""
        raise ValueError(f"{where}, {shown}{more}")
    return questions


def _what_is_wrong(error: Any) -> str:
    field, message = ".".join(map(str, error["loc"])), error["msg"].removeprefix("Value error, ")
    if error["type"] == "missing":
        return f"{field} is missing"
    if error["type"] == "extra_forbidden":
        return f"{field} is no field of a question"
    return f"{field or 'record'}: {message}, got {error['input']!r:.80}"


def read_questions(path: Path) -> list[Question]:
    """Questions of one file in our form: .jsonl (a record a line), .json or .yaml (a list).

    A record that holds nothing but `do_not_train` is a notice, not a question.

    Raises:
        ValueError: The file cannot be read as such; says file and line or record number.
    """
    suffix, text = path.suffix.lower(), read_text(path)
    if suffix not in {".jsonl", ".json", ".yaml", ".yml"}:
        raise ValueError(f"{path}: expected a file .jsonl, .json or .yaml")
    if suffix == ".jsonl":
        return parse_questions(_without_notice(_json_lines(text, path)), str(path))
    records = parse_json(text, str(path)) if suffix == ".json" else parse_yaml(text, str(path))
    if not isinstance(records, list):
        kind = "nothing" if records is None else type(records).__name__
        raise ValueError(f"{path}: expected a list of questions, got {kind}")
    return parse_questions(_without_notice(records), str(path))


def _without_notice(records: Iterable[object]) -> Iterable[object]:
    return (r for r in records if not (isinstance(r, dict) and set(r) == {"do_not_train"}))


def _json_lines(text: str, path: Path) -> Iterable[object]:
    for number, line in enumerate(text.split("\n"), start=1):  # no other mark ends a line of JSON
        if line.strip():
            yield parse_json(line, f"{path}, line {number}")


def questions_hash(questions: Sequence[Question]) -> str:
    """SHA-256 of ids, texts and labels in order: equal only when the same was asked."""
    digest = hashlib.sha256()
    for question in questions:
        digest.update(json.dumps([question.id, question.question, question.label]).encode())
    return digest.hexdigest()
