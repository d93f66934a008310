"""Theorem records, ours or the release's; what a question rests on; which questions are hard."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dprivbench_inspect.files import parse_json, read_text
from dprivbench_inspect.questions import Question, Reference

_DATA = Path(__file__).parent / "data"
THEOREMS = _DATA / "theorems.yaml"
# The hard track of the release, by its question ids. Source: erchiw/DPriv-Bench at 48f86ab.
_OFFICIAL = (6, 15, 28, 39, 47, 66, 74, 91, 92, 106, 109, 110, 113, 124, 125, 127, 129, 131)
OFFICIAL_HARD_IDS = tuple(f"cate_2-{number}" for number in _OFFICIAL)
HARD_BELOW = 0.8  # accuracy of the paper's two best models on a topic
_FOLDER, _LINKS, _ABOUT = "difficult_question", "question_theorem_link.json", "meta_info_theorem"


class Theorem(BaseModel):
    """One statement of the literature that a model may be shown and may cite by its id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    kind: Literal["theorem", "definition"] = "theorem"
    special: bool = Field(default=False, description="made for one algorithm or kind of noise")
    title: str = Field(min_length=1)
    statement: str = Field(min_length=1)
    reference: Reference | None = None


class Link(BaseModel):
    """What a true claim and all false ones made from it rest on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    claim: str
    theorems: tuple[str, ...] = Field(min_length=1)
    related: str | None = Field(default=None, description="a true claim on another algorithm")


class Library(NamedTuple):
    """Theorems by id, and links by the id of the claim."""

    theorems: Mapping[str, Theorem]
    links: Mapping[str, Link]

    def link(self, question: Question) -> Link | None:
        """The link of a question; a claim and its siblings share one, which tells no label."""
        return self.links.get(question.id) or self.links.get(question.sibling or "")


def read_theorems(path: Path = THEOREMS) -> Library:
    """The library in a file of our form.

    Raises:
        ValueError: A record is broken, an id stands twice, or a link names no theorem here.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        theorems = [Theorem.model_validate(record) for record in data["theorems"]]
        links = [Link.model_validate(record) for record in data["links"]]
    except (yaml.YAMLError, KeyError, TypeError, ValidationError) as error:
        raise ValueError(f"{path}: {error}") from error
    return _library(theorems, links, str(path))


def find_release_theorems(*folders: Path) -> Path | None:
    """The folder `difficult_question` of the release in, or beside, one of these; or None."""
    places = [
        place
        for folder in folders
        for place in (folder, folder / _FOLDER, folder.parent / _FOLDER)
        if (place / _LINKS).is_file()
    ]
    return places[0] if places else None


def read_release_theorems(folder: Path) -> Library:
    """The library in the release's layout: theorem/<id>.tex, a file of links, one about each.

    The statements stay as they stand there. Two of them have known faults: 4 contradicts the
    labels of questions 91 and 92, and 1 has a typo.

    Raises:
        FileNotFoundError: A file is missing.
        ValueError: A file is not in that form, or names a theorem without a text.
    """
    about, links = _json(folder / f"{_ABOUT}.json"), _json(folder / _LINKS)
    theorems = []
    try:
        kinds = {int(record["theorem_id"]): bool(record.get("is_definition")) for record in about}
        found = [
            Link(
                claim=f"cate_2-{int(record['question_id'])}",
                theorems=tuple(_release_id(kinds, n) for n in str(record["theorem_id"]).split(",")),
            )
            for record in links
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{folder}: not in the release's form ({error!r})") from error
    for number, definition in kinds.items():
        kind: Literal["theorem", "definition"] = "definition" if definition else "theorem"
        file = folder / "theorem" / f"{number}.tex"
        if not file.is_file():
            raise FileNotFoundError(f"{file} is missing; {_ABOUT}.json names theorem {number}")
        theorems.append(
            Theorem(
                id=f"{kind}-{number}",
                kind=kind,
                title=kind.capitalize(),
                statement=read_text(file).strip(),
            )
        )
    return _library(theorems, found, str(folder))


def hard_questions(questions: Sequence[Question], library: Library) -> list[Question]:
    """The hard ones among official questions, or among our own, in their order.

    Of the official ones these are the release's own 18. Of ours it is a rule that needs no run:
    the claim rests on a theorem made for its algorithm or its kind of data-dependent noise
    (`Theorem.special`), and the paper's two best models average below `HARD_BELOW` on the topic
    (arXiv:2604.15851, Table 10). Siblings go together.
    """
    if any(question.id.startswith("cate_2-") for question in questions):
        return [question for question in questions if question.id in OFFICIAL_HARD_IDS]
    averages = _topic_averages()
    return [
        question
        for question in questions
        if averages.get(question.topic or "", 1.0) < HARD_BELOW
        and (link := library.link(question)) is not None
        and any(library.theorems[name].special for name in link.theorems)
    ]


def _topic_averages() -> dict[str, float]:
    results = json.loads((_DATA / "paper_results.json").read_text(encoding="utf-8"))
    topics = results["category_2_topic_accuracy"]["topics"]
    return {topic: float(row["average"]) for topic, row in topics.items()}


def _library(theorems: Sequence[Theorem], links: Sequence[Link], where: str) -> Library:
    for kind, ids in (("theorem", [t.id for t in theorems]), ("link", [x.claim for x in links])):
        if twice := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"{where}: {kind} {twice} stand more than once")
    known = {theorem.id: theorem for theorem in theorems}
    for link in links:
        if missing := [name for name in link.theorems if name not in known]:
            raise ValueError(f"{where}: {link.claim} rests on {missing}, which are not there")
    return Library(known, {link.claim: link for link in links})


def _release_id(kinds: Mapping[int, bool], number: str) -> str:
    return f"{'definition' if kinds.get(int(number)) else 'theorem'}-{int(number)}"


def _json(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; the release's theorems need it")
    records = parse_json(read_text(path), str(path))
    if not isinstance(records, list):
        raise ValueError(f"{path}: expected a list, got {type(records).__name__}")
    return records
