"""Records of the public release (erchiw/DPriv-Bench) → questions, with its quirks survived.

Question texts stay as they stand there. What gives the answer away (comments, how a claim was
perturbed, the sensitivity) goes to `Question.release` and never into a prompt.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dprivbench_inspect.files import parse_json, read_text
from dprivbench_inspect.questions import TOPICS, Question, parse_questions

HUB_DATASET = "erchiw/DPriv-Bench"
N_FUNCTIONS = 49
# Our name of a mechanism → its part of the release: cate_1_<part>.
MECHANISM_PARTS = {
    "laplace": "Laplace_pureDP",
    "gaussian_gdp": "Gaussian_GDP",
    "gaussian_zcdp": "Gaussian_zCDP",
    "expo_mech": "ExpoMech_pureDP",
    "laplace_rnm": "LaplaceRNM_pureDP",
    "permute_flip": "PF_pureDP",
}
_TOPIC_SLUGS = {topic.release_name: slug for slug, topic in TOPICS.items()}
_PERTURBATIONS = {
    "atom": "none",
    "algorithm_perturbation": "algorithm",
    "assumption_perturbation": "assumption",
    "conclusion_perturbation": "conclusion",
}


class Part(NamedTuple):
    """One config of the release, loaded: its mechanism (None for Category 2) and its records."""

    mechanism: str | None
    records: Sequence[object]
    where: str


def config_names(category: int) -> Mapping[str, str | None]:
    """Config of the release → our name of its mechanism, None for Category 2."""
    if category == 1:
        return {f"cate_1_{part}": name for name, part in MECHANISM_PARTS.items()}
    return {"cate_2": None}


def release_questions(parts: Iterable[Part]) -> list[Question]:
    """Questions of one category from the records of its configs.

    Raises:
        ValueError: A record is broken; says file and record number.
    """
    questions: list[Question] = []
    for mechanism, records, where in parts:
        plain = []
        for number, record in enumerate(records, start=1):
            if not isinstance(record, dict):
                raise ValueError(
                    f"{where}, record {number}: expected a mapping, got {record!r:.80}"
                )
            known = {key: value for key, value in record.items() if not _is_nan(value)}
            if type(_plain_number(known.get("question_id"))) is not int:
                raise ValueError(
                    f"{where}, record {number}: question_id must be a whole number, "
                    f"got {record.get('question_id')!r}"
                )
            if mechanism is None and str(known.get("topic")) not in _TOPIC_SLUGS:
                raise ValueError(
                    f"{where}, record {number}: topic {record.get('topic')!r} is not one of "
                    f"{sorted(_TOPIC_SLUGS)}"
                )
            plain.append(_category_2(known) if mechanism is None else _category_1(known, mechanism))
        questions += parse_questions(plain, where)
    return _with_siblings(questions)


def read_release(path: Path, category: int) -> list[Question]:
    """Questions of one category from a folder in the release's layout, or from one of its files.

    Raises:
        FileNotFoundError: The folder lacks a file of the category.
        ValueError: A file or a record is broken, or a file is of the other category; says file
            and record number.
    """
    if path.is_file():
        mechanism = _mechanism_of(path)
        if (mechanism is None) != (category == 2):
            names = [f"…{part}.json" for part in MECHANISM_PARTS.values()]
            raise ValueError(
                f"{path} is not a file of category {category}; the release's files of category 1 "
                f"are told by their names {names}, any other holds category 2"
            )
        return release_questions([Part(mechanism, _read_records(path), str(path))])
    # In Git the release keeps them in data/, beside its theorems.
    places = [path / f"category_{category}", path / "data" / f"category_{category}"]
    folder = next((place for place in places if place.is_dir()), places[0])
    parts = []
    for config, mechanism in config_names(category).items():
        file = folder / f"{config}.json"
        if not file.is_file():
            raise FileNotFoundError(
                f"{file} is missing; a folder in the release's layout holds "
                f"category_{category}/<config>.json for each of {list(config_names(category))}"
            )
        parts.append(Part(mechanism, _read_records(file), str(file)))
    return release_questions(parts)


def is_release_file(path: Path) -> bool:
    """Whether the file holds records as the release writes them, which carry a question_id."""
    if path.suffix.lower() != ".json":
        return False
    records = _read_records(path)
    return any(isinstance(record, dict) and "question_id" in record for record in records)


def release_differences(questions: Sequence[Question], category: int) -> list[str]:
    """What is not as in the release that this package knows: numbers of questions and labels.

    Known are 49 functions x 6 mechanisms, each once true and once false (function k has the ids
    2k-1 and 2k), and the yes and no counts of the 18 topics. Source: arXiv:2604.15851, Table 1.
    """
    kind = "mechanism" if category == 1 else "topic"
    if category == 1:
        known = {(name, label): N_FUNCTIONS for name in MECHANISM_PARTS for label in ("yes", "no")}
    else:
        known = {
            (slug, label): count
            for slug, topic in TOPICS.items()
            for label, count in (("yes", topic.official_yes), ("no", topic.official_no))
        }
    found = Counter((str(getattr(q, kind)), str(q.label)) for q in questions)
    differences = [
        f"{kind} {name}: {found[name, label]} questions with label {label}, the release has "
        f"{known.get((name, label), 0)}"
        for name, label in sorted(known.keys() | found.keys())
        if found[name, label] != known.get((name, label), 0)
    ]
    if category == 1:
        differences += [
            f"{q.id}: label {q.label} of function {q.function_id}, where the release numbers "
            "function k's true claim 2k-1 and its false one 2k"
            for q in questions
            if _number(q) != 2 * (q.function_id or 0) - (q.label == "yes")
        ]
    return differences


def _category_1(record: dict[str, Any], mechanism: str) -> dict[str, Any]:
    return {
        "id": f"{mechanism}-{_plain_number(record['question_id'])}",
        "category": 1,
        "question": record.get("question"),
        "label": record.get("label"),
        "mechanism": mechanism,
        "function_id": record.get("function_id"),
        "release": {key: record.get(key) for key in ("function", "function_sens")},
    }


def _category_2(record: dict[str, Any]) -> dict[str, Any]:
    mode = record.get("negative_mode")
    links = [_without_token(link) for link in str(record.get("pdf_link") or "").split(";") if link]
    other = ("citation", "publish_year", "section_number", "related_question", "comments")
    return {
        "id": f"cate_2-{_plain_number(record['question_id'])}",
        "category": 2,
        "question": record.get("question_tex"),
        "label": record.get("label"),
        "topic": _TOPIC_SLUGS[record["topic"]],
        "subject": record.get("subject"),
        # Two perturbations at once fit no single group.
        "perturbation": "none" if mode is None else _PERTURBATIONS.get(str(mode)),
        "error_pattern": "literature_error" if mode == "natural_error" else None,
        "release": {key: record.get(key) for key in other}
        | {"negative_mode": mode, "pdf_links": links},
    }


def _with_siblings(questions: list[Question]) -> list[Question]:
    """Points each false claim of Category 1 to its true one, and a Category 2 one to its origin.

    Some numbers in `related_question` are left over from an older numbering. They are told apart
    by their topic: a claim and what it was made from share it.
    """
    topics = {q.id: q.topic for q in questions}
    pointed = []
    for q in questions:
        if q.category == 1:
            sibling = f"{q.mechanism}-{2 * (q.function_id or 0) - 1}" if q.label == "no" else None
        else:
            related = (q.release or {}).get("related_question")
            sibling = None if related is None else f"cate_2-{_plain_number(related)}"
        fits = sibling != q.id and sibling in topics and topics[sibling] == q.topic
        pointed.append(q.model_copy(update={"sibling": sibling}) if fits else q)
    return pointed


def _number(question: Question) -> int:
    return int(question.id.rsplit("-", 1)[1])


def _plain_number(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _without_token(link: str) -> str:
    """The address without the personal access token that a library's web page adds.

    >>> _without_token("https://dl.acm.org/doi/pdf/10.1145/1?casa_token=abc:def")
    'https://dl.acm.org/doi/pdf/10.1145/1'
    """
    return re.sub(r"[?&]casa_token=[^&;\s]*", "", link).strip()


def _mechanism_of(path: Path) -> str | None:
    for name, part in MECHANISM_PARTS.items():
        if path.stem.endswith(part):
            return name
    return None


def _read_records(path: Path) -> list[object]:
    records = parse_json(read_text(path), str(path))
    if not isinstance(records, list):
        raise ValueError(f"{path}: expected a list of records, got {type(records).__name__}")
    return records
