"""What must never be left in a shared log: keys, paths, names of people, pieces of canaries."""

import contextlib
import getpass
import re
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from contextleak_inspect.share_words import knows, published_words

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


@dataclass(frozen=True)
class Private:
    """What is looked for in every text: names of people and machines, and pieces of canaries."""

    names: frozenset[str]
    pieces: frozenset[str]

    def found(self, text: str) -> str | None:
        """Why a text is private, None if nothing of it is."""
        return _found(self, text)

    def spans(self, text: str) -> Iterator[str]:
        """The private parts of a text: keys, paths and names."""
        patterns = [KEY, PLACE, *([_names_pattern(self.names)] if self.names else [])]
        for pattern in patterns:
            yield from (match.group() for match in pattern.finditer(text))


@lru_cache(maxsize=1 << 14)  # a log repeats its settings in every sample
def _found(private: Private, text: str) -> str | None:
    folded = text.casefold()
    if any(piece in folded for piece in private.pieces):
        return "a piece of a canary"
    if KEY.search(text):
        return "something like a key"
    if PLACE.search(text):
        return "a path"
    if private.names and _names_pattern(private.names).search(text):
        return "the name of a user or machine"
    return None


NOBODY = Private(frozenset(), frozenset())  # without the original only keys and paths can be found


@cache
def _names_pattern(names: frozenset[str]) -> re.Pattern[str]:
    listed = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(f"(?<![^\\W_])(?:{listed})(?![^\\W_])", re.IGNORECASE)


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
