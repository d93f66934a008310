"""The rows of an audit: levels of observation times claimed ε, and what theory fixes for each."""

import math
from functools import cache
from typing import Literal, NamedTuple

from scipy.special import ndtri

from contextleak_inspect.bounds import Observation, Scope, Setting
from contextleak_inspect.calibration import (
    Neighbouring,
    analytic_sigma,
    classical_sigma,
    embedding_sensitivity,
    vote_sensitivity,
)
from contextleak_inspect.config import (
    GAUSSIAN_DEFENSES,
    PRIVATE_DEFENSES,
    AuditConfig,
    audit_config,
)
from contextleak_inspect.text_releases import ORTHOGONAL

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
