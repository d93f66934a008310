"""The hard track: its questions, and the statements that each prompt shows."""

import hashlib
import importlib
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from inspect_ai.dataset import Sample

from dprivbench_inspect.dataset import Loaded, load_questions, of_one_set, question_to_sample
from dprivbench_inspect.questions import Question
from dprivbench_inspect.retrieval import Embed, retrieve
from dprivbench_inspect.theorems import (
    Library,
    find_release_theorems,
    hard_questions,
    read_release_theorems,
    read_theorems,
)

Help = Literal["theorems", "related", "retrieval", "none"]
DEFAULT_K = 5  # statements that a search gives


class Track(NamedTuple):
    """What is asked: the samples, the questions behind them, and where these come from."""

    samples: list[Sample]
    questions: list[Question]
    loaded: Loaded


def hard_track(
    help: Help,
    loaded: Loaded,
    theorems: Path | None = None,
    *,
    k: int = DEFAULT_K,
    distractors: int = 0,
    embed: Embed | None = None,
) -> Track:
    """The hard questions among those loaded, each with its statements in the metadata.

    A sample's metadata hold `statements` (id, title, statement as the prompt shows them), `shown`
    (their ids) and `right` (ids of what the question rests on, or of the related claim).

    Args:
        help: What is shown; see `dprivbench_hard`.
        loaded: Questions of Category 2.
        theorems: Folder in which, or beside which, the release's theorems lie.
        k: How many statements a search gives.
        distractors: How many other theorems stand among the right ones.
        embed: For a search by embeddings.

    Raises:
        ValueError: None of the questions is hard, an option does not belong to this kind of help,
            there are fewer theorems than asked for, or the release's theorems are not there.
    """
    if distractors and help != "theorems":
        raise ValueError(f"distractors={distractors} belongs to help=theorems, got help={help}")
    if k != DEFAULT_K and help != "retrieval":
        raise ValueError(f"k={k} belongs to help=retrieval, got help={help}")
    if embed is not None and help != "retrieval":
        raise ValueError(f"an embedder belongs to help=retrieval, got help={help}")
    ours = read_theorems()
    questions = hard_questions(loaded.questions, ours)
    if not questions:
        raise ValueError(
            f"source {loaded.source!r} holds none of the official hard questions and no question "
            "that a link in theorems.yaml makes hard; use source=bundled, hub or a path to either"
        )
    official = questions[0].id.startswith("cate_2-")
    library = ours
    if official and help in {"theorems", "retrieval"}:
        library = _release_library(loaded, theorems)
    elif theorems is not None:
        raise ValueError(
            f"theorems={theorems} belongs to official questions with help=theorems or "
            f"help=retrieval, got source={loaded.source} with help={help}; leave it out"
        )
    if help == "retrieval" and k > len(library.theorems):
        raise ValueError(f"k={k}, but there are {len(library.theorems)} theorems to search")
    claims = load_questions(2).questions if help == "related" else []
    found: list[list[str]] = [[] for _ in questions]
    if help == "retrieval":
        texts = [question.question for question in questions]
        found = retrieve(texts, list(library.theorems.values()), k, embed)
    samples = []
    for question, near in zip(questions, found, strict=True):
        if help == "related":
            shown = [_related(question, ours, claims)]
            right = [shown[0]["id"]]
        else:
            shown, right = _theorems(help, question, library, near, distractors)
        sample = question_to_sample(question)
        sample.metadata = (sample.metadata or {}) | {
            "help": help,
            "right": right,
            "shown": [statement["id"] for statement in shown],
            "statements": shown,
        }
        samples.append(sample)
    return Track(of_one_set(samples, questions), questions, loaded)


def find_embedder(name: str) -> Embed:
    """The function called package.module:function.

    Raises:
        ValueError: The name is not of that form, the module cannot be imported, or there is no
            such function in it.
    """
    module, _, function = name.partition(":")
    if not module or not function:
        raise ValueError(
            f"embedder {name!r} is not of the form package.module:function, as my_vectors:embed"
        )
    try:
        within = importlib.import_module(module)
    except Exception as error:  # a module of the caller's may raise anything
        raise ValueError(
            f"embedder {name!r}: importing {module} failed with {type(error).__name__}: {error}; "
            "it must be installed, or lie in a folder that PYTHONPATH names"
        ) from error
    if not hasattr(within, function):
        raise ValueError(f"embedder {name!r}: module {module} has no {function!r}")
    embed: Embed = getattr(within, function)
    if not callable(embed):
        kind = type(embed).__name__
        raise ValueError(f"embedder {name!r}: {function!r} is of type {kind}, not a function")
    return embed


def _theorems(
    help: Help, question: Question, library: Library, found: list[str], distractors: int
) -> tuple[list[dict[str, str]], list[str]]:
    """Statements to show, and ids of those that are right; `found` is what the search found."""
    link = library.link(question)
    right = list(link.theorems) if link else []
    if help != "none" and not right:
        raise ValueError(f"no link says on which theorems {question.id} rests")
    names = found
    if help == "theorems":
        names = _among_others(question, library, right, distractors)
    shown = [library.theorems[name] for name in names]
    return [{"id": t.id, "title": t.title, "statement": t.statement} for t in shown], right


def _among_others(question: Question, library: Library, right: list[str], n: int) -> list[str]:
    """The right ids among n others, drawn and ordered alike for a claim and its siblings."""
    others = [name for name in library.theorems if name not in right]
    if n > len(others):
        raise ValueError(f"distractors={n}, but there are {len(others)} other theorems")
    if not n:
        return right
    family = (question.sibling or question.id).encode()
    rng = random.Random(hashlib.sha256(family).hexdigest())
    names = right + rng.sample(others, n)
    rng.shuffle(names)
    return names


def _related(question: Question, library: Library, claims: Sequence[Question]) -> dict[str, str]:
    """A true claim of ours on another algorithm: the linked one, for official ones by topic."""
    link = library.link(question)
    if link is not None and link.related is not None:
        claim = next(q for q in claims if q.id == link.related)
    else:
        claim = next(q for q in claims if q.label == "yes" and q.topic == question.topic)
    return {
        "id": claim.id,
        "title": "A claim on another algorithm, and why it holds",
        "statement": f"{claim.question.strip()}\n\nIt is. {claim.explanation}",
    }


def _release_library(loaded: Loaded, theorems: Path | None) -> Library:
    folders = [theorems] if theorems else []
    if loaded.source != "hub":
        folders.append(Path(loaded.source).expanduser())
    found = find_release_theorems(*folders)
    if found is None:
        raise ValueError(
            f"no theorems of the release in or beside {[str(folder) for folder in folders]}; the "
            "Hub dataset has none, its Git repository has them in difficult_question/: name a copy "
            "with -T theorems=<folder>, or ask with help=related or help=none"
        )
    return read_release_theorems(found)
