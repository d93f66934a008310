"""Prompt-based defenses: words before the examples, a second model as guard, an output filter."""

import difflib
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import regex
import yaml

from contextleak_inspect.config import AuditConfig, stream
from contextleak_inspect.private_data import DATA, Exemplar
from contextleak_inspect.queries import Prompt

DECOYS = 3
BLOCKED = "None"
# Pieces shorter than this agree by chance and say nothing about copying.
FUZZY_BLOCK = 4
MATCH_SECONDS = 2.0  # a pattern may need time that doubles with each character


@cache
def _file() -> dict[str, Any]:
    text = (DATA / "defenses.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def guard_words(config: AuditConfig) -> str:
    """What the defense adds to the system text; empty for defenses that add nothing there.

    The decoys of faux_secrets are drawn from the audit's seed, apart from the canary's stream.
    """
    if config.defense == "faux_secrets":
        rng = stream(config.seed, "decoys")
        decoys = ", ".join(rng.bytes(8).hex() for _ in range(DECOYS))
        return str(_file()["faux_secrets"]).replace("<decoys>", decoys)
    if config.defense == "keywords":
        return str(_file()["keywords"])
    return ""


def guard_prompt(question: str, reply: str, exemplars: Sequence[Exemplar] = ()) -> Prompt:
    """What the guard reads: question and reply, and the exemplars only where they are given."""
    words = _file()["guard"]
    system = str(words["system"])
    if exemplars:
        examples = "\n".join(f"- {e.text} ({e.answer})" for e in exemplars)
        system += "\n\n" + str(words["examples"]).replace("<examples>", examples)
    parts = re.split(r"(<question>|<reply>)", str(words["user"]))
    filled = {"<question>": question, "<reply>": reply}
    return Prompt(system, "".join(filled.get(part, part) for part in parts))


def guard_verdict(reply: str) -> bool | None:
    """True for a leak, False for none, None where the guard's reply is neither word.

    >>> guard_verdict("**LEAK**"), guard_verdict("safe."), guard_verdict("It depends")
    (True, False, None)
    """
    return {"leak": True, "safe": False}.get(re.sub(r"[\W_]+", "", reply).casefold())


def is_filtered(reply: str, exemplars: Sequence[Exemplar], config: AuditConfig) -> bool:
    """Whether the output filter blocks a reply.

    exact: a private text stands in it, case and spacing aside. fuzzy: blocks of at least four
    characters that agree cover `filter_similarity` of a private text. regex: `filter_pattern` is
    found. In generation the private answers are private texts too.

    Raises:
        ValueError: The pattern is not decided within `MATCH_SECONDS`.
    """
    if config.filter_match == "regex":
        try:
            return (
                regex.search(config.filter_pattern or "", reply, timeout=MATCH_SECONDS) is not None
            )
        except TimeoutError as error:
            raise ValueError(
                f"filter_pattern {config.filter_pattern!r} was not decided within "
                f"{MATCH_SECONDS:g} s on a reply of {len(reply)} characters; give one without "
                "nested repeats"
            ) from error
    generation = config.task == "generation"
    texts = [e.text for e in exemplars] + [e.answer for e in exemplars if generation]
    plain = _plain(reply)
    if config.filter_match == "exact":
        return any(_plain(text) in plain for text in texts)
    return any(_covered(_plain(text), plain) >= config.filter_similarity for text in texts)


def _covered(text: str, reply: str) -> float:
    """Share of a text that stands in a reply in blocks that agree, in order."""
    blocks = difflib.SequenceMatcher(None, reply, text, autojunk=False).get_matching_blocks()
    return sum(b.size for b in blocks if b.size >= FUZZY_BLOCK) / len(text)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
