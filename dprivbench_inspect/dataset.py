"""Questions from where they lie (bundled, the Hub, a path) → samples for Inspect."""

import logging
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import yaml
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser

from dprivbench_inspect.attribution_prompts import CAUSE_INSTRUCTION, cause_prompt
from dprivbench_inspect.attribution_sample import labelled_questions, labelled_replies
from dprivbench_inspect.label_audit import audit_of
from dprivbench_inspect.questions import Question, questions_hash, read_questions
from dprivbench_inspect.release import (
    HUB_DATASET,
    Part,
    config_names,
    is_release_file,
    read_release,
    release_differences,
    release_questions,
)
from dprivbench_inspect.versions import ASKED, STAMP

if TYPE_CHECKING:  # sympy is slow to import
    from dprivbench_inspect.calibration import NoiseQuestion
    from dprivbench_inspect.generate import Variant

_Record = TypeVar("_Record")
_logger = logging.getLogger(__name__)
_FIELDS = {
    "mechanisms": "mechanism",
    "functions": "function_id",
    "topics": "topic",
    "subjects": "subject",
}


class Loaded(NamedTuple):
    """Questions and where they come from."""

    questions: list[Question]
    source: str
    revision: str | None  # the commit of a Hub dataset
    differences: list[str]  # from the release as known here; empty for questions of our own
    paraphrase: bool = False  # whether these are other wordings of questions with the same ids


def load_questions(
    category: int,
    source: str = "bundled",
    revision: str | None = None,
    variant: "Variant | Literal['paraphrase']" = "pairs",
    *,
    allow_unreviewed: bool = False,
) -> Loaded:
    """All questions of one category.

    Args:
        category: 1 or 2.
        source: "bundled"; "hub"; or a path: a folder in the public release's layout, one of its
            files, or a file in our form (.jsonl, .json, .yaml).
        revision: Commit, tag or branch of the Hub dataset; None takes its newest.
        variant: Which of the bundled questions. Category 1: "pairs" or "graded"; Category 2:
            "pairs", which are all of them, or "paraphrase", the true claims in other words.
        allow_unreviewed: Take a file with paraphrases that no person has read.

    Raises:
        FileNotFoundError: The path does not exist, or a folder lacks a file.
        ConnectionError: The Hub could not be reached, or refused.
        ValueError: A record is broken (says file and record number), nothing of the category is
            there, nobody has read a paraphrase, or `revision` or `variant` does not belong to this
            source or category.
    """
    if revision is not None and source != "hub":
        raise ValueError(f"revision {revision!r} belongs to source=hub, got source={source!r}")
    if variant != "pairs" and source != "bundled":
        raise ValueError(f"variant {variant!r} belongs to source=bundled, got source={source!r}")
    if variant != "pairs" and variant != ("graded" if category == 1 else "paraphrase"):
        raise ValueError(f"category {category} has no variant {variant!r}")
    differences: list[str] = []
    if source == "bundled":
        questions = _bundled(category, variant)
    elif source == "hub":
        questions, revision = _from_hub(category, revision)
        differences = release_differences(questions, category)
    else:
        path = Path(source).expanduser()  # a shell leaves the ~ of source=~/… alone
        if not path.exists():
            raise FileNotFoundError(f"source {source!r} is neither bundled, hub nor a path here")
        if path.is_dir():
            questions = read_release(path, category)
            differences = release_differences(questions, category)
        elif is_release_file(path):
            questions = read_release(path, category)
        else:
            questions = _of_category(category, read_questions(path), source)
    unread = [question.id for question in questions if question.reviewed is False]
    if unread and not allow_unreviewed:
        raise ValueError(
            f"{source}: nobody has reviewed {unread}; read each against its original and set "
            "reviewed: true, or take them as they are with -T allow_unreviewed=true"
        )
    if not questions:
        raise ValueError(f"source {source!r} holds no question of category {category}")
    if differences:
        _logger.warning(
            "%s differs from the release as this package knows it: %s",
            source,
            "; ".join(differences),
        )
    paraphrase = variant == "paraphrase" or any(q.reviewed is not None for q in questions)
    return Loaded(questions, source, revision, differences, paraphrase)


def keep(questions: Sequence[_Record], **wanted: Collection[object] | None) -> list[_Record]:
    """The questions that have one of the wanted values in each field, in their order.

    Args:
        questions: Records with these fields.
        wanted: Values to keep of `mechanisms`, `functions`, `topics` or `subjects`; None keeps all.

    Raises:
        ValueError: Nothing is wanted, a wanted value is not there (lists those that are), or no
            question has it together with what is wanted of the other fields.
    """
    kept = list(questions)
    chosen = {name: values for name, values in wanted.items() if values is not None}
    for name, values in chosen.items():
        field = _FIELDS[name]
        known = sorted({getattr(q, field) for q in questions})
        unknown = [value for value in values if value not in known]
        if unknown or not values:
            what = f"{unknown} are not in this source" if unknown else "is an empty list"
            raise ValueError(f"{name} {what}; choose from {known}")
        kept = [q for q in kept if getattr(q, field) in values]
    for name, values in chosen.items():
        found = {getattr(q, _FIELDS[name]) for q in kept}
        if alone := [value for value in values if value not in found]:
            others = " and ".join(f"{n} {list(v)}" for n, v in chosen.items() if n != name)
            raise ValueError(
                f"no question has {name} {alone} together with {others}; leave out one or the other"
            )
    return kept


def question_dataset(questions: Sequence[Question], name: str) -> MemoryDataset:
    """Samples with the question's id, its text as input and its label as target."""
    samples = [question_to_sample(question) for question in questions]
    return MemoryDataset(of_one_set(samples, questions), name=name)


def of_one_set(samples: Sequence[Sample], questions: Sequence[Question]) -> list[Sample]:
    """The samples, each with the hash of all questions that are asked beside it.

    A retry takes over finished samples by id, whatever the file of questions holds by then; where
    those have another hash, `versions.one_set` refuses the run.
    """
    asked = questions_hash(questions)[:12]
    return [
        sample.model_copy(update={"metadata": (sample.metadata or {}) | {ASKED: asked}})
        for sample in samples
    ]


def question_to_sample(question: Question) -> Sample:
    """One sample; its metadata hold what metrics and readers need, and no prompt shows them."""
    return Sample(
        id=question.id,
        input=question.question,
        target=question.label,
        metadata=question.model_dump(
            exclude={"id", "category", "question", "label", "evidence"},
            exclude_none=True,
            mode="json",
        )
        | _audit(question)
        | STAMP,
    )


def noise_dataset(questions: Sequence["NoiseQuestion"], name: str) -> MemoryDataset:
    """Samples that ask for the smallest noise; the target is its LaTeX."""
    return MemoryDataset(
        [
            Sample(
                id=question.id,
                input=question.question,
                target=question.answer,
                metadata={
                    key: value
                    for key, value in question._asdict().items()
                    if key not in {"id", "question", "answer"}
                }
                | STAMP,
            )
            for question in questions
        ],
        name=name,
    )


def labelled_dataset(name: str) -> MemoryDataset:
    """Hand-labelled wrong replies as a grader gets them; the target is the cause."""
    questions = labelled_questions()
    samples = []
    for labelled in labelled_replies():
        question = questions[labelled.question]
        prompt = cause_prompt(
            labelled.category, question.question, question.explanation or "", labelled.reply
        )
        samples.append(
            Sample(
                id=labelled.id,
                input=[
                    ChatMessageSystem(content=CAUSE_INSTRUCTION),
                    ChatMessageUser(content=prompt),
                ],
                target=labelled.cause,
                metadata={"category": labelled.category, "why": labelled.why} | STAMP,
            )
        )
    return MemoryDataset(samples, name=name)


def _audit(question: Question) -> dict[str, Any]:
    audit = audit_of(question)
    return {"audit": audit.status, "audited_label": audit.label} if audit else {}


def provenance(loaded: Loaded, asked: Sequence[Question]) -> dict[str, Any]:
    """What a log says about the questions: source, revision, number and hash of those asked."""
    return {
        "source": loaded.source,
        "revision": loaded.revision,
        "n_questions": len(asked),
        "questions_hash": questions_hash(asked),
        **({"paraphrase": True} if loaded.paraphrase else {}),
        **({"differences_from_release": loaded.differences} if loaded.differences else {}),
    }


def _bundled(category: int, variant: "Variant | Literal['paraphrase']" = "pairs") -> list[Question]:
    if variant == "graded":
        from dprivbench_inspect.generate import generate_category_1  # sympy; slow to import

        return generate_category_1(variant)
    data = Path(__file__).parent / "data"
    if category == 1:
        return read_questions(data / "category_1.jsonl")
    files = sorted((data / "category_2").glob("*.yaml"))
    questions = [question for file in files for question in read_questions(file)]
    if variant == "pairs":
        return questions
    texts = {
        record["id"]: record["question"]
        for file in files
        for record in yaml.safe_load((data / "paraphrases" / file.name).read_text("utf-8"))
        if "id" in record
    }
    return [
        Question.model_validate(question.model_dump() | {"question": texts[question.id]})
        for question in questions
        if question.id in texts
    ]


def _of_category(category: int, questions: Sequence[Question], source: str) -> list[Question]:
    own = [question for question in questions if question.category == category]
    if own and (others := len(questions) - len(own)):
        _logger.warning(
            "%s: %d questions of category %d are not asked here, the %d of category %d are",
            source,
            others,
            3 - category,
            len(own),
            category,
        )
    return own


def _from_hub(category: int, revision: str | None) -> tuple[list[Question], str]:
    import datasets
    import huggingface_hub

    try:
        commit = huggingface_hub.HfApi().dataset_info(HUB_DATASET, revision=revision).sha
        parts = [
            Part(
                mechanism,
                datasets.load_dataset(HUB_DATASET, config, split="test", revision=commit).to_list(),
                f"{HUB_DATASET} {config}",
            )
            for config, mechanism in config_names(category).items()
        ]
    except Exception as error:  # the clients raise what their HTTP libraries raise
        refused = isinstance(error, huggingface_hub.errors.HfHubHTTPError)
        why = " ".join(str(error).split()) or repr(error)
        raise ConnectionError(
            f"the Hub {'refused' if refused else 'could not be reached for'} {HUB_DATASET} at "
            f"revision {revision or 'main'} ({type(error).__name__}: {why:.300}); use "
            "source=bundled for our questions, or source=<folder> with a copy of the release"
        ) from error
    if commit is None:
        raise ValueError(f"the Hub names no commit for {HUB_DATASET} at revision {revision!r}")
    return release_questions(parts), commit
