"""Questions of the task itself, without any attack, and private examples to ask them over."""

from dataclasses import dataclass
from typing import NamedTuple

from contextleak_inspect.config import DATA_SUFFIXES, AuditConfig, config_hash, stream
from contextleak_inspect.defenses import guard_words
from contextleak_inspect.private_data import Exemplar, PrivateData, read_private_data
from contextleak_inspect.queries import Prompt, system_text, task_input

# Shares of a user's file, which names no parts, for validation and test; the rest is private pool.
HELD_OUT = {"validation": 0.2, "test": 0.3}


class Question(NamedTuple):
    """One question: its text, the right label or reference text, and a context for it."""

    number: int
    text: str
    answer: str
    exemplars: tuple[Exemplar, ...]


@dataclass(frozen=True)
class Questions:
    """All questions of one part, with the labels to choose from (none for texts).

    `id` changes with any question, private example or setting that a model is asked under.
    """

    config: AuditConfig
    part: str
    name: str
    sha256: str
    id: str
    labels: tuple[str, ...]
    questions: tuple[Question, ...]


def utility_questions(config: AuditConfig, part: str) -> Questions:
    """The questions of a part, each with its own draw of exemplars from the private pool.

    No question is among the exemplars: parts are those of the data set; a user's file is dealt
    into pool, validation and test by the seed.

    Raises:
        ValueError: The part is unknown, the data are too few for it, a text is example and question
            at once, or a question has a label that no example has.
    """
    if str(part) not in HELD_OUT:
        raise ValueError(f"part {part!r} is none of {sorted(HELD_OUT)}")
    pool, asked = _parts(config, part)
    if len(pool) < config.n_exemplars:
        raise ValueError(
            f"{len(pool)} private examples are left beside the questions, a context needs "
            f"{config.n_exemplars}; lower n_exemplars or bring more data"
        )
    if shared := {e.text for e in pool}.intersection(e.text for e in asked):
        raise ValueError(f"{min(shared)!r:.80} is a private example and a question; remove one")
    data = PrivateData(part, tuple(asked))
    labels = () if config.task == "generation" else PrivateData("", pool).labels
    if labels and (unknown := {e.answer for e in asked}.difference(labels)):
        raise ValueError(
            f"questions have the labels {sorted(unknown)}, which no private example has; "
            f"those have {list(labels)}"
        )
    return Questions(
        config,
        part,
        config.source,
        data.sha256,
        config_hash(config, part, data.sha256, PrivateData("", tuple(pool)).sha256),
        labels,
        tuple(
            Question(i, e.text, e.answer, _drawn(config, pool, part, i))
            for i, e in enumerate(asked)
        ),
    )


def _parts(config: AuditConfig, part: str) -> tuple[tuple[Exemplar, ...], tuple[Exemplar, ...]]:
    pool = read_private_data(config).pool
    if not config.source.endswith(DATA_SUFFIXES):
        return pool, read_private_data(config, part).pool
    order = [pool[i] for i in stream(config.seed, "parts").permutation(len(pool))]
    first = round(HELD_OUT["validation"] * len(pool))
    second = first + round(HELD_OUT["test"] * len(pool))
    return tuple(order[second:]), tuple(
        order[:first] if part == "validation" else order[first:second]
    )


def _drawn(
    config: AuditConfig, pool: tuple[Exemplar, ...], part: str, number: int
) -> tuple[Exemplar, ...]:
    rng = stream(config.seed, "utility", part, number)
    return tuple(pool[i] for i in rng.choice(len(pool), config.n_exemplars, replace=False))


def question_prompt(
    questions: Questions, question: Question, exemplars: tuple[Exemplar, ...], defense: str = "none"
) -> Prompt:
    """The question over some exemplars, with the words of a prompt-based defense."""
    config = questions.config
    words = guard_words(config.model_copy(update={"defense": defense}))
    return Prompt(
        system_text(config.task, questions.labels, exemplars, words),
        task_input(config.task, question.text),
    )


def keyword_prompt(questions: Questions, question: Question, keywords: tuple[str, ...]) -> Prompt:
    """The question with released keywords in the place of examples: nothing private but these."""
    prompt = question_prompt(questions, question, ())
    if not keywords:
        return prompt
    hint = "Words that a good answer may use: " + ", ".join(keywords)
    return prompt._replace(system=f"{prompt.system}\n\n{hint}")
