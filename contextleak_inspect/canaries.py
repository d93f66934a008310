"""Canaries: make the text that is planted, put it among the exemplars, check that it is there."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import yaml

from contextleak_inspect.config import AuditConfig, stream
from contextleak_inspect.private_data import DATA, Exemplar, PrivateData, texts_that_hold

UNIGRAM_WORDS = 16
NGRAM, NGRAMS = 3, 5
ATTEMPTS = 100
ABSENT = "[]"  # what a text query asks for where the canary is not there


class Canary(NamedTuple):
    """The planted exemplar (x_c, y_c), and the answer that stands for its absence."""

    kind: str
    text: str
    answer: str
    other: str

    @property
    def exemplar(self) -> Exemplar:
        """As it stands in the context."""
        return Exemplar(self.text, self.answer)

    @property
    def head(self) -> str:
        """The part that a completion query gives away: the first third, by characters or words."""
        words = self.text.split(" ")
        if len(words) == 1:
            return self.text[: len(self.text) // 3]
        return " ".join(words[: max(1, len(words) // 3)])

    @property
    def tail(self) -> str:
        """The rest, which only the context can tell."""
        return self.text[len(self.head) :].strip()


def make_canary(config: AuditConfig, data: PrivateData) -> Canary:
    """The canary of an audit: one for all its trials, another for another seed.

    Raises:
        ValueError: `canary_label` is no label of the data, or the data are too small for the kind,
            or hold the canary already.
    """
    rng = stream(config.seed, "canary", config.canary)
    for attempt in range(ATTEMPTS):
        text = _canary_text(config, data, rng, attempt)
        if not texts_that_hold(text, data.pool):
            return Canary(config.canary, text, *_answers(config, data, text))
    raise ValueError(f"{data.name} holds every {config.canary!r} canary tried; use another kind")


def _canary_text(
    config: AuditConfig, data: PrivateData, rng: np.random.Generator, attempt: int
) -> str:
    match config.canary:
        case "hex":
            return rng.bytes(32).hex()
        case "unigram":
            return " ".join(_sample(rare_words(data), UNIGRAM_WORDS, rng, "rare words"))
        case "ngram":
            return _ngrams(data, rng)
        case "false_fact":
            facts = _words()["false_facts"]
            return facts[(config.seed + attempt) % len(facts)]
        case "structured":
            syllables = _words()["name_syllables"]
            name = "".join(rng.choice(syllables, size=3)).capitalize()
            template = str(rng.choice(_words()[f"structured_{config.task}"]))
            number = str(rng.integers(100, 1000))
            return template.replace("<name>", name).replace("<number>", number)


def rare_words(data: PrivateData) -> list[str]:
    """Words of the private texts from the rarest up, the longer first among equals.

    Only words of four letters and more; at most four times the number that a canary needs.
    """
    counts = Counter(
        word for e in data.pool for word in re.findall(r"[^\W\d_]{4,}", e.text.casefold())
    )
    ranked = sorted(counts, key=lambda word: (counts[word], -len(word), word))
    return ranked[: 4 * UNIGRAM_WORDS]


def _ngrams(data: PrivateData, rng: np.random.Generator) -> str:
    """Runs of three words, each from another private text: locally fluent, as a whole unseen."""
    long_enough = [words for e in data.pool if len(words := e.text.split()) >= NGRAM]
    parts = []
    for words in _sample(long_enough, NGRAMS, rng, f"texts of {NGRAM} words"):
        start = int(rng.integers(len(words) - NGRAM + 1))
        parts += words[start : start + NGRAM]
    return " ".join(parts)


def _sample(values: Sequence[Any], size: int, rng: np.random.Generator, what: str) -> list[Any]:
    if len(values) < size:
        raise ValueError(f"the canary needs {size} {what}, the data hold {len(values)}")
    return [values[i] for i in rng.choice(len(values), size=size, replace=False)]


def _answers(config: AuditConfig, data: PrivateData, text: str) -> tuple[str, str]:
    """(y_c, the other answer): the rarest label and the most frequent of the rest.

    Ties go to the first label in the alphabet. In generation y_c is the canary itself, and the
    other answer empty brackets.
    """
    if config.task == "generation":
        return text, ABSENT
    counts = Counter(exemplar.answer for exemplar in data.pool)
    answer = config.canary_label or min(counts, key=lambda label: (counts[label], label))
    if answer not in counts:
        raise ValueError(f"canary_label {answer!r} is no label of {data.name}: {data.labels}")
    del counts[answer]
    return answer, min(counts, key=lambda label: (-counts[label], label))


def plant(
    exemplars: Sequence[Exemplar], slots: Sequence[int], canary: Canary
) -> tuple[Exemplar, ...]:
    """The same exemplars with those at `slots` replaced by the canary; number and order stay."""
    planted = list(exemplars)
    for slot in slots:
        planted[slot] = canary.exemplar
    return tuple(planted)


def check_planted(exemplars: Sequence[Exemplar], canary: Canary, times: int) -> None:
    """The canary stands whole in exactly so many exemplars.

    Raises:
        ValueError: It stands in more or fewer.
    """
    found = texts_that_hold(canary.text, exemplars)
    if found != times:
        raise ValueError(f"the canary stands in {found} exemplars, must stand in {times}")


@cache
def _words() -> dict[str, list[str]]:
    """Sentences and syllables that canaries are made from."""
    path = DATA / "canary_words.yaml"
    words: dict[str, list[str]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return words
