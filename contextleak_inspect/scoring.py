"""One trial's votes → what the defense releases at each ε, and its membership scores."""

import math
from functools import cache
from typing import Literal, NamedTuple, get_args

import numpy as np

from contextleak_inspect.bounds import Observation, Scope, Setting
from contextleak_inspect.calibration import (
    Neighbouring,
    analytic_sigma,
    classical_sigma,
    randomized_response,
    vote_sensitivity,
)
from contextleak_inspect.config import PRIVATE_DEFENSES, UNPARSED, AuditConfig, World, audit_config
from contextleak_inspect.mechanisms import (
    count_votes,
    noise_rng,
    noisy_histogram,
    noisy_max,
    randomized_labels,
)
from contextleak_inspect.rao_blackwell import label_probability
from contextleak_inspect.votes import TrialVotes

# What the auditor sees: the noisy histogram, the label that wins, the reply of a defense without
# noise, or (grey-box) the model's own log-probabilities.
Level = Literal["histogram", "label", "reply", "log-probability"]
OBSERVATIONS: dict[Level, Observation] = {
    "histogram": "noisy_aggregate",
    "label": "final_output",
    "reply": "final_output",
    "log-probability": "clean_votes",
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
        return self.level in {"label", "reply"}


class Seen(NamedTuple):
    """What the auditor has of one world of a trial, in one row.

    Attributes:
        score: Membership score, higher means canary in; nan where the trial failed.
        clean: Before known noise: the clean score ("histogram"), or the chance of a hit ("label").
            nan where the trial failed or no noise of known law is added.
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
    levels: list[Level] = ["histogram", "label"] if config.defense == "rnm" else ["label"]
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


def row_sigma(config: AuditConfig, row: Row) -> float:
    """σ of a row of `rnm`; nan for the others."""
    if config.defense != "rnm" or row.epsilon is None:
        return math.nan
    return vote_sigma(row.epsilon, config.delta, config.neighbouring, config.noise_calibration)


def score_noise(config: AuditConfig, row: Row) -> float | None:
    """Standard deviation of the noise in the score of a row, if it is Gaussian: √2 σ."""
    return math.sqrt(2) * row_sigma(config, row) if row.level == "histogram" else None


def perfect_scores(config: AuditConfig) -> tuple[float, float]:
    """Clean vote difference without and with the canary, of a model that never errs."""
    planted = (config.ensemble - 1) // 2 if config.vote_balance == "tied" else 0
    out = float(2 * planted - config.ensemble)
    return out, out + 2


def fixed_threshold(config: AuditConfig, row: Row) -> float:
    """The threshold that theory gives before any trial: half-way between the perfect scores."""
    if row.level == "histogram":
        return sum(perfect_scores(config)) / 2
    return 0.5 if row.one_bit else 0.0


def fixed_grid(config: AuditConfig, row: Row) -> list[float]:
    """Thresholds given before any trial: one between any two numbers of votes."""
    if row.level == "histogram":
        return [float(2 * k + 1 - config.ensemble) for k in range(config.ensemble)]
    return [fixed_threshold(config, row)]


def rescored(
    config: AuditConfig,
    *,
    epsilons: object = None,
    delta: object = None,
    sensitivity: object = None,
    threshold_rule: object = None,
    confidence: object = None,
) -> AuditConfig:
    """The same answers under another claim: what may change without asking the model again.

    Args:
        config: The audit as it ran.
        epsilons: Claimed ε, as `AuditConfig.epsilon` takes them.
        delta: δ of the claim and of the bounds.
        sensitivity: What the noise is calibrated for: "replace_one" (√2 votes) or "add_remove"
            (1 vote), or that number.
        threshold_rule: As `AuditConfig.threshold`.
        confidence: Probability that a bound holds.

    Raises:
        ValueError: The settings do not fit the audit.
    """
    changes = {
        "epsilon": epsilons,
        "delta": delta,
        "neighbouring": None if sensitivity is None else _neighbouring(sensitivity),
        "threshold": threshold_rule,
        "confidence": confidence,
    }
    given = {name: value for name, value in changes.items() if value is not None}
    return audit_config(config.record() | given) if given else config


def _neighbouring(sensitivity: object) -> str:
    if sensitivity in get_args(Neighbouring):
        return str(sensitivity)
    try:
        number = float(str(sensitivity))
    except ValueError:
        number = math.nan
    for name in get_args(Neighbouring):
        if math.isclose(number, vote_sensitivity(name), rel_tol=1e-3):
            return str(name)
    raise ValueError(
        f"sensitivity {sensitivity!r} is of no neighbours; use 'replace_one' (√2 ≈ 1.4142 votes) "
        "or 'add_remove' (1 vote)"
    )


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
        chance = float(label_probability(counts, sigma, record.answer))
        difference = float(noisy[record.answer] - noisy[record.other])
        histograms.append((Seen(difference, clean), None))
        winners.append((Seen(float(label == record.answer), chance), label))
    return [*histograms, *winners]


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
