"""One trial's votes → what the defense releases at each ε, and its membership scores."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from contextleak_inspect.calibration import randomized_response
from contextleak_inspect.config import UNPARSED, AuditConfig, World
from contextleak_inspect.mechanisms import (
    count_votes,
    noise_rng,
    noisy_histogram,
    noisy_max,
    randomized_labels,
)
from contextleak_inspect.rao_blackwell import label_probability
from contextleak_inspect.rows import Row, row_sigma, vote_sigma
from contextleak_inspect.text_releases import (
    clean_score,
    keyword_chance,
    names_canary,
    noisy_texts,
    release_keywords,
    speaks_for_canary,
    text_chance,
)
from contextleak_inspect.votes import TrialVotes


class Seen(NamedTuple):
    """What the auditor has of one world of a trial, in one row.

    Attributes:
        score: Membership score, higher means canary in; nan where the trial failed.
        clean: Before known noise: the clean score ("histogram", "embedding"), or for one bit the
            chance of a hit, an unbiased estimate of it for texts. nan where the trial failed or
            no noise of known law is added.
    """

    score: float
    clean: float


class Released(NamedTuple):
    """All rows of one trial, in the order of `audit_rows`, and the released labels by world."""

    seen: dict[World, tuple[Seen, ...]]
    labels: dict[World, tuple[int | None, ...]]


_Pair = tuple[Seen, int | None]  # a row, and the label that is released there


def release(record: TrialVotes, config: AuditConfig) -> Released:
    """Noise on one trial's votes, and the score of every row, in every world that was asked.

    Noise comes from the logged seed and a stream of its own per trial, world and ε: the same
    votes and settings give the same numbers, whenever and in whatever order.
    """
    seen: dict[World, tuple[Seen, ...]] = {}
    labels: dict[World, tuple[int | None, ...]] = {}
    for world in record.votes:
        pairs: list[_Pair]
        if config.membership == "logprob":
            # Without a listed token that decides, the log-odds are even.
            pairs = [(Seen(record.logprob_scores.get(world, 0.0), math.nan), None)]
        elif config.defense == "rnm":
            pairs = _noisy_votes(record, config, world)
        elif config.defense == "esa":
            pairs = [(seen, None) for seen in _noisy_embeddings(record, config, world)]
        elif config.defense == "ksa":
            pairs = [(_keywords(record, config, e, world), None) for e in config.epsilon]
        elif config.defense == "label_rr":
            pairs = [_flipped_label(record, epsilon, world) for epsilon in config.epsilon]
        else:
            pairs = [(Seen(float(record.hit(world)), math.nan), None)]
        if record.failed(world):
            pairs = [(Seen(math.nan, math.nan), None) for _ in pairs]
        seen[world] = tuple(pair[0] for pair in pairs)
        labels[world] = tuple(pair[1] for pair in pairs)
    return Released(seen, labels)


def _noisy_votes(record: TrialVotes, config: AuditConfig, world: World) -> list[_Pair]:
    """Rows of `rnm`: for each ε one noisy histogram, and the label that wins in it."""
    counts = count_votes(record.votes[world], len(record.labels))
    clean = float(counts[record.answer] - counts[record.other])
    histograms: list[_Pair] = []
    winners: list[_Pair] = []
    for epsilon in config.epsilon:
        if epsilon == 0:  # no private exemplar: nothing depends on the data
            histograms.append((Seen(0.0, 0.0), None))
            winners.append((Seen(0.0, 0.0), None))
            continue
        sigma = vote_sigma(epsilon, config.delta, config.neighbouring, config.noise_calibration)
        rng = _rng(record, epsilon, "rnm", world)
        noisy = noisy_histogram(counts, sigma, rng)
        label = int(noisy_max(noisy, rng))
        chance = _winning_chance(tuple(counts.tolist()), sigma, record.answer)
        difference = float(noisy[record.answer] - noisy[record.other])
        histograms.append((Seen(difference, clean), None))
        winners.append((Seen(float(label == record.answer), chance), label))
    return [*histograms, *winners]


@lru_cache(maxsize=1 << 14)
def _winning_chance(counts: tuple[int, ...], sigma: float, answer: int) -> float:
    """Chance that the canary's label wins; there are far fewer histograms than trials."""
    return float(label_probability(counts, sigma, answer))


def _noisy_embeddings(record: TrialVotes, config: AuditConfig, world: World) -> list[Seen]:
    """Rows of `esa`: for each ε one noisy mean, and the text that is nearest to it."""
    texts = record.embedded
    if texts is None:
        raise ValueError(f"trial {record.trial} has no embeddings: it is not of an audit of 'esa'")
    means, released = [], []
    for epsilon in config.epsilon:
        if epsilon == 0:
            means.append(Seen(0.0, 0.0))
            released.append(Seen(0.0, 0.0))
            continue
        sigma = row_sigma(config, Row("embedding", epsilon))
        drawn = noisy_texts(texts, world, sigma, _rng(record, epsilon, "esa", world))
        means.append(Seen(float(drawn.scores[0]), clean_score(texts, world)))
        chance = text_chance(texts, world, sigma, _rng(record, epsilon, "esa chance", world))
        released.append(Seen(float(speaks_for_canary(texts, drawn.choices)[0]), chance))
    return [*means, *released]


def _keywords(record: TrialVotes, config: AuditConfig, epsilon: float, world: World) -> Seen:
    """A row of `ksa`: whether the released words name the canary."""
    words = record.keywords
    if words is None:
        raise ValueError(f"trial {record.trial} has no words: it is not of an audit of 'ksa'")
    if epsilon == 0:
        return Seen(0.0, 0.0)
    released = release_keywords(words, world, config, epsilon, _rng(record, epsilon, "ksa", world))
    rng = _rng(record, epsilon, "ksa chance", world)
    chance = keyword_chance(words, world, config, epsilon, rng)
    return Seen(float(names_canary(words, config, released)), chance)


def _flipped_label(record: TrialVotes, epsilon: float, world: World) -> _Pair:
    """A row of `label_rr`; an unread reply is an option of its own, so that it has deniability."""
    if epsilon == 0:
        return Seen(0.0, 0.0), None
    [vote] = record.votes[world]
    options = len(record.labels) + 1
    true = vote if vote != UNPARSED else options - 1
    rng = _rng(record, epsilon, "label_rr", world)
    label = int(randomized_labels(true, options, epsilon, rng))
    chance = randomized_response(epsilon, options)
    hit = chance.keep if true == record.answer else chance.other
    return Seen(float(label == record.answer), hit), label


def _rng(record: TrialVotes, epsilon: float, mechanism: str, world: World) -> np.random.Generator:
    sample = f"{record.audit}-{record.trial:05d}"
    return noise_rng(record.seed, sample, epsilon, mechanism, canary_in=world == "in")
