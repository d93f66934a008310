"""Every text of a shared log is one that something vouches for, or a leak."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from contextleak_inspect.share_private import NOBODY, Private
from contextleak_inspect.share_words import knows

_NAME = re.compile(r"[\w+@-][\w.+:@-]*(/[\w+@-][\w.+:@-]*){0,3}")
_VERSION = re.compile(r"\d[\w.+-]{0,40}")
# Texts that a machine makes, each under its own names of fields.
_ID = re.compile(r"[2-9A-HJ-NP-Za-km-z]{22}|[0-9a-f]{7,40}|(contextleak-)?[0-9a-f]{8}(-\d{5,7})?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)")
_SHAPES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"id|\w+_ids?|uuid|commit|audit|name|sibling"), _ID),
    (re.compile(r"sha256|revision|\w+_hash"), re.compile(r"[0-9a-f]{7,64}")),
    (re.compile(r"created|timestamp|\w+_at"), _TIME),
    (re.compile(r"package_version|inspect_\w+|\w+_inspect"), _VERSION),
    (re.compile(r"marks|in|out"), re.compile(r"[vurbcwf]+")),
)
_NAMED = frozenset({
    "model",
    "embedding",
    "judge",
    "grader",
})
# Where texts about public questions may stand.
_PUBLIC_PLACES = frozenset({
    "id",
    "sample_ids",
    "sibling",
    "input",
    "target",
    "output",
    "messages",
    "answer",
    "explanation",
    "mechanism",
    "mechanisms",
    "topic",
    "topics",
    "subject",
    "subjects",
    "reference",
    "release",
    "sensitivity",
    "parameter",
    "constants",
    "why",
    "rules_why",
    "right",
    "shown",
    "other",
    "statements",
})


class Leak(NamedTuple):
    """A text that should not be there: where it stands, and why it should not."""

    place: str
    why: str


def is_name(text: str) -> bool:
    """Whether a text looks like the name of a model or version and not like a path.

    >>> is_name("openai/gpt-4o"), is_name("hf//home/ann/model"), is_name("hf/../model")
    (True, False, False)
    """
    if len(text) > 120 or not _NAME.fullmatch(text) or NOBODY.found(text):
        return False
    local = text.partition("/")[2]
    return not (local and Path(local).exists())


def is_machine_id(text: str) -> bool:
    """Whether a text has the form of an id that Inspect, git or our tasks make."""
    return _ID.fullmatch(text) is not None


def is_version(text: str) -> bool:
    """Whether a text looks like the version of a package."""
    return _VERSION.fullmatch(text) is not None


def leaks(value: Any, private: Private, *, public_texts: bool) -> Iterator[Leak]:
    """Every text in JSON that is private, or that nothing vouches for.

    Args:
        value: What was read from a shared log.
        private: What is private in the logs that it was made from; may be empty.
        public_texts: Whether it is about public questions, so that texts of questions and replies
            may stand in their places.
    """
    yield from _leaks(value, private, public_texts, ())


def _leaks(value: Any, private: Private, public: bool, path: tuple[str, ...]) -> Iterator[Leak]:
    if isinstance(value, dict):
        for key, below in value.items():
            if not knows(key) and not ("/" in key and is_name(key)):
                public_key = public and not _PUBLIC_PLACES.isdisjoint(path)
                if not public_key:
                    yield Leak(".".join((*path, "*")), "a key with a word that is not published")
            if why := private.found(key):
                yield Leak(".".join((*path, "*")), why)
            yield from _leaks(below, private, public, (*path, key))
    elif isinstance(value, list):
        for below in value:
            yield from _leaks(below, private, public, path)
    elif isinstance(value, str):
        if value.startswith("{"):
            try:
                inner = json.loads(value)
            except ValueError:
                pass
            else:
                yield from _leaks(inner, private, public, path)
                return
        if why := private.found(value):
            yield Leak(".".join(path), why)
        elif not _vouched(value, public, path):
            yield Leak(".".join(path), "a word that is not published")


def _vouched(text: str, public: bool, path: tuple[str, ...]) -> bool:
    if knows(text) or (public and not _PUBLIC_PLACES.isdisjoint(path)):
        return True
    key = path[-1] if path else ""
    if key in _NAMED and is_name(text):
        return True
    return any(field.fullmatch(key) and shape.fullmatch(text) for field, shape in _SHAPES)
