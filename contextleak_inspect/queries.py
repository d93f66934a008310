"""Queries that ask after the canary; exemplars and query as one prompt."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contextleak_inspect.canaries import Canary
from contextleak_inspect.config import LABEL_DEFENSES, AuditConfig, TaskKind
from contextleak_inspect.private_data import DATA, Exemplar

Reads = Literal["label", "canary", "tail"]


class Query(BaseModel):
    """One query: its words, and what in a reply says that the canary was there.

    `<canary>`, `<head>`, `<answer>` and `<other>` are filled in from the canary; braces and
    anything else stay as they are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    task: TaskKind
    reads: Reads
    text: str = Field(min_length=1)
    begun: str = Field(default="", description="the reply's beginning, for servers that take one")
    provenance: dict[str, Any] = Field(
        default_factory=dict, description="how a searched query was found"
    )

    def fill(self, canary: Canary, part: Literal["text", "begun"] = "text") -> str:
        """The user turn that asks after this canary, or the beginning of the reply to it."""
        return _fill(
            self.text if part == "text" else self.begun,
            canary=canary.text,
            head=canary.head,
            answer=canary.answer,
            other=canary.other,
        )


class Prompt(NamedTuple):
    """What a model reads: the system text holds the exemplars, the user turn the query.

    `begun`, where not empty, is the beginning of the reply.
    """

    system: str
    user: str
    begun: str = ""


@lru_cache(maxsize=4096)
def _fill(template: str, **values: str) -> str:
    """One pass, so that a value which holds a placeholder stays as it is."""
    return re.sub(r"<(\w+)>", lambda match: values.get(match.group(1), match.group(0)), template)


def read_query(config: AuditConfig) -> Query:
    """The query that the audit names: one of ours, or a file in the same form.

    Raises:
        ValueError: Unknown name, broken file, another task's query, a query whose answer is a text
            although the defense releases labels, or one that was searched under the audit's seed.
    """
    if config.query.endswith((".yaml", ".yml")):
        query = read_query_file(Path(config.query))
    else:
        known = {q.name: q for q in bundled_queries() if q.task == config.task}
        if config.query not in known:
            raise ValueError(
                f"query {config.query!r} is none of {sorted(known)}, nor a file that ends in .yaml"
            )
        query = known[config.query]
    if query.task != config.task:
        raise ValueError(f"query {query.name!r} is for {query.task}, the audit for {config.task}")
    if query.reads != "label" and config.defense in LABEL_DEFENSES:
        labels = sorted(q.name for q in bundled_queries() if q.reads == "label")
        raise ValueError(
            f"query {query.name!r} asks for a text, and {config.defense!r} releases labels only; "
            f"use one of {labels}"
        )
    if config.seed in query.provenance.get("seeds", ()):
        raise ValueError(
            f"query {query.name!r} was searched with the canary and contexts of seed "
            f"{config.seed}; audit it under another seed"
        )
    return query


def read_query_file(path: Path) -> Query:
    """A query from a YAML file with the fields of `Query`.

    Raises:
        ValueError: The file is missing, no YAML mapping, or a field is missing or unknown.
    """
    try:
        fields = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(f"{path}: no such query file") from error
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: {error}") from error
    try:
        return Query.model_validate(fields)
    except ValidationError as error:
        details = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in error.errors()
        )
        raise ValueError(f"{path}: {details}; a query has {sorted(Query.model_fields)}") from error


@cache
def _file() -> dict[str, Any]:
    text = (DATA / "queries.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content


@cache
def bundled_queries() -> tuple[Query, ...]:
    """Our queries, for both tasks."""
    return tuple(Query.model_validate(fields) for fields in _file()["queries"])


def system_text(
    task: TaskKind, labels: Sequence[str], exemplars: Sequence[Exemplar], guard: str = ""
) -> str:
    """What the model is told before the query.

    Args:
        task: Kind of task.
        labels: Labels to choose from; unused in generation.
        exemplars: Private examples in order; none for zero-shot.
        guard: A prompt defense's words, placed before the examples.
    """
    form = _file()["forms"][task]
    parts = [_fill(form["instruction"], labels=", ".join(labels)), guard]
    if exemplars:
        parts.append(form["examples_title"])
        parts += [_fill(form["exemplar"], text=e.text, answer=e.answer) for e in exemplars]
    return "\n\n".join(part for part in parts if part)


def task_input(task: TaskKind, text: str) -> str:
    """A user turn that asks the task itself, without any attack."""
    return _fill(_file()["forms"][task]["input"], text=text)


def estimate_tokens(text: str) -> int:
    """A cautious estimate of the number of tokens: about 1.4 times a word-piece tokenizer's count.

    A word costs a token per four letters, begun ones included; a run of letters mixed with digits,
    a number and every other character cost a token per character.

    >>> estimate_tokens("The ferry leaves at 6.")
    8
    """
    tokens = 0
    for run in re.findall(r"\w+|[^\w\s]", text):
        plain_word = run.isascii() and run.isalpha()
        tokens += -(-len(run) // 4) if plain_word else len(run.encode())
    return tokens


def check_window(prompt: Prompt, window: int, reply: int = 64) -> None:
    """The prompt and a short reply fit the model's context window, so nothing is cut.

    Raises:
        ValueError: They may not fit; the canary could be lost without a word.
    """
    needed = sum(map(estimate_tokens, prompt)) + reply
    if needed > window:
        raise ValueError(
            f"a prompt may need {needed} tokens and the context window holds {window}: the canary "
            "could be cut off unseen. Use fewer exemplars, a larger ensemble or another model"
        )
