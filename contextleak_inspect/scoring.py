"""One trial's votes → what the defense releases at each ε, and its membership scores."""

import math
from functools import cache, lru_cache
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from contextleak_inspect.bounds import Observation, Scope, Setting
from contextleak_inspect.calibration import (
    Neighbouring,
    analytic_sigma,
    classical_sigma,
    embedding_sensitivity,
    randomized_response,
    vote_sensitivity,
)
from contextleak_inspect.config import (
    GAUSSIAN_DEFENSES,
    PRIVATE_DEFENSES,
    UNPARSED,
    AuditConfig,
    World,
    audit_config,
)
from contextleak_inspect.mechanisms import (
    count_votes,
    noise_rng,
    noisy_histogram,
    noisy_max,
    randomized_labels,
)
from contextleak_inspect.rao_blackwell import label_probability
from contextleak_inspect.text_releases import (
    ORTHOGONAL,
    clean_score,
    keyword_chance,
    names_canary,
    noisy_texts,
    release_keywords,
    speaks_for_canary,
    text_chance,
)
from contextleak_inspect.votes import TrialVotes

# What the auditor sees: of votes the noisy histogram or the label that wins; of texts the noisy
# mean embedding, the released text or keywords; the reply of a defense without noise, or (grey-box)
# the model's own log-probabilities.
Level = Literal["histogram", "label", "embedding", "text", "keywords", "reply", "log-probability"]
OBSERVATIONS: dict[Level, Observation] = {
    "histogram": "noisy_aggregate",
    "label": "final_output",
    "embedding": "noisy_aggregate",
    "text": "final_output",
    "keywords": "noisy_aggregate",
    "reply": "final_output",
    "log-probability": "clean_votes",
}


_LEVELS: dict[str, tuple[Level, ...]] = {
    "rnm": ("histogram", "label"),
    "label_rr": ("label",),
    "esa": ("embedding", "text"),
    "ksa": ("keywords",),
}


class Row(NamedTuple):
    """One line of an audit's table: a level of observation, at a claimed ε if there is one."""

    level: Level
    epsilon: float | None

    @property
    def name(self) -> str:
        """Key in the log and heading in the viewer, such as "ε=8 histogram"."""
        return (
            self.level if self.epsilon is None else f"ε={epsilon_text(self.epsilon)} {self.level}"
        )

    @property
    def one_bit(self) -> bool:
        """The score is 0 or 1, so there is one threshold and nothing to choose."""
        return self.level in {"label", "text", "keywords", "reply"}


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


def epsilon_text(epsilon: float) -> str:
    """ε as short as it can be told apart: 8, 0.1, inf."""
    short = f"{epsilon:g}"
    return short if float(short) == epsilon else repr(epsilon)


def audit_rows(config: AuditConfig) -> tuple[Row, ...]:
    """The rows of an audit: levels of observation times claimed ε, or a single one.

    >>> [row.name for row in audit_rows(AuditConfig(epsilon="1,inf"))]
    ['ε=1 histogram', 'ε=inf histogram', 'ε=1 label', 'ε=inf label']
    """
    if config.membership == "logprob":
        return (Row("log-probability", None),)
    if config.defense not in PRIVATE_DEFENSES:
        return (Row("reply", None),)
    levels = _LEVELS[config.defense]
    return tuple(Row(level, epsilon) for level in levels for epsilon in config.epsilon)


def row_setting(config: AuditConfig, row: Row) -> Setting:
    """Observation level, neighbours (the attack replaces an exemplar) and scope of a row."""
    scope: Scope = "conditional_on_answers" if config.calls == "frozen" else "mechanism"
    return Setting(OBSERVATIONS[row.level], "replace_one", scope)


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


@cache
def vote_sigma(epsilon: float, delta: float, neighbouring: Neighbouring, calibration: str) -> float:
    """Standard deviation of the noise on each count of votes at one claimed ε."""
    sigma = analytic_sigma if calibration == "analytic" else classical_sigma
    return sigma(epsilon, delta, vote_sensitivity(neighbouring))


@cache
def embedding_sigma(
    m: int, epsilon: float, delta: float, neighbouring: Neighbouring, calibration: str
) -> float:
    """Standard deviation of the noise on each coordinate of the mean embedding, at one ε."""
    sigma = analytic_sigma if calibration == "analytic" else classical_sigma
    return sigma(epsilon, delta, embedding_sensitivity(m, neighbouring))


def row_sigma(config: AuditConfig, row: Row) -> float:
    """σ of a row of `rnm` or `esa`; nan for the others."""
    if config.defense not in GAUSSIAN_DEFENSES or row.epsilon is None:
        return math.nan
    noise = (row.epsilon, config.delta, config.neighbouring, config.noise_calibration)
    if config.defense == "rnm":
        return vote_sigma(*noise)
    return embedding_sigma(config.ensemble, *noise)


def score_noise(config: AuditConfig, row: Row) -> float | None:
    """Standard deviation of the noise in a row's score, if it is Gaussian: √2 σ, or m σ̄ of esa."""
    if row.level == "histogram":
        return math.sqrt(2) * row_sigma(config, row)
    return config.ensemble * row_sigma(config, row) if row.level == "embedding" else None


def perfect_scores(config: AuditConfig) -> tuple[float, float]:
    """Clean score without and with the canary, of a model that never errs.

    Vote difference; or, of embeddings, 0 and the distance of two orthogonal replies.
    """
    if config.defense == "esa":
        return 0.0, ORTHOGONAL
    planted = (config.ensemble - 1) // 2 if config.vote_balance == "tied" else 0
    out = float(2 * planted - config.ensemble)
    return out, out + 2


def fixed_threshold(config: AuditConfig, row: Row) -> float:
    """The threshold that theory gives before any trial: half-way between the perfect scores.

    With `fixed_fpr`, where a model that never errs has that FPR; half-way where there is no noise.
    """
    if row.level in {"histogram", "embedding"}:
        out, inside = perfect_scores(config)
        noise = score_noise(config, row) or 0.0
        if config.fixed_fpr is not None and 0 < noise < math.inf:
            return out + noise * float(-ndtri(config.fixed_fpr))
        return (out + inside) / 2
    return 0.5 if row.one_bit else 0.0


def fixed_grid(config: AuditConfig, row: Row) -> list[float]:
    """Thresholds given before any trial: one between any two numbers of votes, or replies."""
    if row.level == "embedding":
        return [ORTHOGONAL * (k + 0.5) for k in range(config.ensemble)]
    if row.level == "histogram":
        return [float(2 * k + 1 - config.ensemble) for k in range(config.ensemble)]
    return [fixed_threshold(config, row)]


def rescored(
    config: AuditConfig,
    *,
    epsilon: object = None,
    delta: object = None,
    neighbouring: object = None,
    threshold: object = None,
    confidence: object = None,
) -> AuditConfig:
    """The same answers under another claim: what may change without asking the model again.

    Args:
        config: The audit as it ran.
        epsilon: As the field of `AuditConfig`, and so the others; None keeps what it ran with.
        delta: δ of the claim and of the bounds.
        neighbouring: What the noise is calibrated for.
        threshold: Threshold rule.
        confidence: Probability that a bound holds.

    Raises:
        ValueError: The settings do not fit the audit.
    """
    changes = {
        "epsilon": epsilon,
        "delta": delta,
        "neighbouring": neighbouring,
        "threshold": threshold,
        "confidence": confidence,
    }
    given = {name: value for name, value in changes.items() if value is not None}
    if given.get("threshold", "fixed") != "fixed":
        given["fixed_fpr"] = None
    return audit_config(config.record() | given) if given else config


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
