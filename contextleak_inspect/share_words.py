"""The published words: what texts of a shared log may consist of."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

import yaml

ALLOWED = Path(__file__).parent / "data" / "share_fields.yaml"
PLACEHOLDER = re.compile(r"private-[0-9a-f]{12}(\.[a-z]{2,5})?")
_LETTERS = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"[+-]?\d{1,6}(\.\d{1,17})?(e[+-]?\d{1,3})?%?(, ?\d{1,6}(\.\d{1,17})?)*")
_DIGITS = re.compile(r"\d+(?:\.\d{1,17})?")


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


@lru_cache(maxsize=1 << 14)
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
