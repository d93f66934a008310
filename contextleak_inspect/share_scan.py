"""What may be left in a shared log: words of a published list; and what must never be."""

import contextlib
import getpass
import json
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ALLOWED = Path(__file__).parent / "data" / "share_fields.yaml"
PLACEHOLDER = re.compile(r"private-[0-9a-f]{12}(\.[a-z]{2,5})?")
# Patterns of secrets and of places on a machine.
KEY = re.compile(
    r"\b(?:sk|pk|rk)-[\w-]{16,}|\bhf_\w{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_\w{20,}|"
    r"\bgithub_pat_\w{20,}|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{30,}|\bgsk_\w{20,}|\br8_\w{20,}|"
    r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+|-----BEGIN [A-Z ]*PRIVATE KEY-----|"
    r"\b[Bb]earer [\w.~+/-]{16,}|://[^\s/:@]+:[^\s/@]+@"
)
PLACE = re.compile(
    r"(?<![\w.])/(?:home|Users|root|mnt|media|tmp|var|opt|srv|data|scratch|workspace|work)/"
    r"[^\s\"'<>|]+|\b[A-Za-z]:\\{1,2}Users\\{1,2}[^\s\"'<>|]+|(?<!\w)~/[^\s\"'<>|]+"
)
_USER_IN_PATH = re.compile(r"(?:/home/|/Users/|[A-Za-z]:\\{1,4}Users\\{1,4})([\w.@-]+)")
# Names that say nothing of a person.
_COMMON = frozenset({"root", "user", "admin", "ubuntu", "runner", "localhost", "shared", "public"})
_LETTERS = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"[+-]?\d{1,6}(\.\d{1,17})?(e[+-]?\d{1,3})?%?(, ?\d{1,6}(\.\d{1,17})?)*")
_DIGITS = re.compile(r"\d+(?:\.\d{1,17})?")
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


@dataclass(frozen=True)
class Private:
    """What is looked for in every text: names of people and machines, and pieces of canaries."""

    names: frozenset[str]
    pieces: frozenset[str]

    def found(self, text: str) -> str | None:
        """Why a text is private, None if nothing of it is."""
        folded = text.casefold()
        if any(piece in folded for piece in self.pieces):
            return "a piece of a canary"
        if KEY.search(text):
            return "something like a key"
        if PLACE.search(text):
            return "a path"
        if self.names and _names_pattern(self.names).search(text):
            return "the name of a user or machine"
        return None

    def spans(self, text: str) -> Iterator[str]:
        """The private parts of a text: keys, paths and names."""
        patterns = [KEY, PLACE, *([_names_pattern(self.names)] if self.names else [])]
        for pattern in patterns:
            yield from (match.group() for match in pattern.finditer(text))


NOBODY = Private(frozenset(), frozenset())  # without the original only keys and paths can be found


@cache
def _names_pattern(names: frozenset[str]) -> re.Pattern[str]:
    listed = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(f"(?<![^\\W_])(?:{listed})(?![^\\W_])", re.IGNORECASE)


@cache
def published_words() -> frozenset[str]:
    """The words of the list, and of the names of fields: all that `knows` accepts."""
    listed = yaml.safe_load(ALLOWED.read_text(encoding="utf-8"))
    words = set(_LETTERS.findall(" ".join([listed["note"], *listed["words"]]).casefold()))

    def names(rule: object) -> None:
        if isinstance(rule, Mapping):
            for key, below in rule.items():
                words.update(_LETTERS.findall(key.casefold()))
                names(below)

    names(listed)
    return frozenset(words)


def knows(text: str) -> bool:
    """Whether a text consists of published words, numbers of at most 6 digits and placeholders.

    >>> knows("canary in: ε=1 label private-0123456789ab"), knows("canary of Ann"), knows("5551234")
    (True, False, False)
    """
    rest = PLACEHOLDER.sub(" ", text)
    if any(len(digits.split(".")[0]) > 6 for digits in _DIGITS.findall(rest)):
        return False
    letters = _LETTERS.findall(rest.casefold())
    if not letters and any(c.isdigit() for c in rest):
        return _NUMBER.fullmatch(rest.strip()) is not None
    return published_words().issuperset(letters)


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


def own_names(texts: Iterable[str]) -> frozenset[str]:
    """Names of this user and machine, and of users in the paths of texts.

    Names that are also published words, or that say nothing of a person, are left out; in paths
    they are found all the same.
    """
    names = {Path.home().name, socket.gethostname(), socket.gethostname().partition(".")[0]}
    with contextlib.suppress(KeyError, OSError):  # a user without a name
        names.add(getpass.getuser())
    for text in texts:
        names.update(_USER_IN_PATH.findall(text))
    folded = {name.casefold().strip(".-") for name in names}
    return frozenset(
        name
        for name in folded - _COMMON - published_words()
        if len(name) > 2 and not name.isdigit()
    )


def canary_pieces(canary: str) -> frozenset[str]:
    """Pieces of a canary, of which every longer fragment holds one.

    Without spaces a fragment of 15 characters holds a piece of 8, otherwise one of 31 holds a piece
    of 16. A shorter canary is looked for whole.
    """
    folded = canary.casefold()
    size = 16 if " " in folded.strip() else 8
    if len(folded) <= size:
        return frozenset({folded}) if len(folded) > 3 and not knows(folded) else frozenset()
    starts = range(0, len(folded) - size + 1, size)
    return frozenset(folded[start : start + size] for start in starts) | {folded[-size:]}


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
