"""EpsilonBound: one audited number with everything a reader needs to judge it."""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contextleak_inspect.calibration import FloatArray, Neighbouring

Observation = Literal["noisy_aggregate", "final_output", "clean_votes"]
Scope = Literal["mechanism", "conditional_on_answers"]
ThresholdRule = Literal[
    "fixed",  # given before the trials
    "fixed_rank",  # a rank among the canary-out scores
    "holdout",  # chosen on other trials
    "grid",  # one of K given before the trials, error / K each
    "dkw",  # any, paid for by a band around both curves
    "predictable",  # may depend on earlier trials of the same run
    "same_data",  # maximised over the trials it is judged on
]
Kind = Literal[
    "bound",  # holds with probability `confidence`
    "model_based",  # holds if the release has the assumed trade-off curve
    "credible",  # posterior probability, no coverage promised
    "plug_in",  # a point estimate
    "optimistic",  # a maximum over the data it is computed from
]


class Setting(NamedTuple):
    """What was audited: where the auditor looks, who the neighbours are, what is random."""

    observation: Observation = "noisy_aggregate"
    neighbouring: Neighbouring = "replace_one"
    scope: Scope = "mechanism"


PAPER = Setting()  # the noisy release itself, one exemplar replaced


@dataclass(frozen=True)
class Outcomes:
    """Hits (scores strictly above the threshold) among the trials of one world.

    Under `fixed_rank` the canary-out hits are the rank, never the observed count: see
    `thresholds.fixed_rank_cut`.
    """

    hits: int
    trials: int
    threshold_rule: ThresholdRule = "fixed"

    def __post_init__(self) -> None:
        """Hits lie between 0 and the number of trials."""
        if not 0 <= operator.index(self.hits) <= operator.index(self.trials):
            raise ValueError(
                f"hits must lie between 0 and trials, got {self.hits} hits in {self.trials} trials"
            )


@dataclass(frozen=True, kw_only=True)
class EpsilonBound:
    """A lower bound on ε in nats, or what `kind` says it is instead.

    Attributes:
        value: The number to print, at least 0; 0 is no evidence of leakage, not a proof of privacy.
        unclipped: The same before the cut at 0; minus infinity where no ε at all is rejected.
        confidence: Probability with which the bound holds; None for a plug-in.
        kind: Only "bound" is a bound without further assumptions than those of its function.
        method: How it was computed.
        threshold_rule: How the threshold behind the hits came about.
        delta: δ of the guarantee under audit.
        n: Trials that entered.
        n_in: Trials with the canary; None where the method does not keep the worlds apart.
        n_out: Trials without it; None likewise.
        ceiling: Largest value the method can return for this n. A value at its ceiling asks for
            more trials; it does not say that the leakage ends there.
        observation: What the auditor saw. A bound does not carry over to a later stage.
        neighbouring: Which data sets count as neighbours.
        scope: "conditional_on_answers" speaks of the mechanism with its answers frozen.
    """

    value: float
    unclipped: float
    confidence: float | None
    kind: Kind
    method: str
    threshold_rule: ThresholdRule
    delta: float
    n: int
    n_in: int | None
    n_out: int | None
    ceiling: float
    observation: Observation
    neighbouring: Neighbouring
    scope: Scope


def epsilon_bound(
    unclipped: float,
    *,
    confidence: float | None,
    method: str,
    threshold_rule: ThresholdRule,
    delta: float,
    ceiling: float,
    arms: tuple[int, int] | None = None,
    n: int | None = None,
    kind: Kind = "bound",
    setting: Setting = PAPER,
) -> EpsilonBound:
    """The record for a number that one of the methods found.

    Args:
        unclipped: The method's ε in nats, below 0 where there is no evidence.
        confidence: As in `EpsilonBound`, like all that follow.
        method: Name of the method.
        threshold_rule: Rule behind the hits.
        delta: δ of the guarantee.
        ceiling: Largest value possible at this n.
        arms: Trials with and without the canary.
        n: Number of trials, where the worlds are not kept apart.
        kind: What the number is.
        setting: What was audited.

    Raises:
        ValueError: The number is infinite or not a number: no finite run shows that.
    """
    if math.isnan(unclipped) or unclipped == math.inf:
        raise ValueError(f"{method} gave ε = {unclipped}, which no finite run can show")
    return EpsilonBound(
        value=max(0.0, float(unclipped)),
        unclipped=float(unclipped),
        confidence=confidence,
        kind=kind,
        method=method,
        threshold_rule=threshold_rule,
        delta=delta,
        n=sum(arms) if arms else n or 0,
        n_in=arms[0] if arms else None,
        n_out=arms[1] if arms else None,
        ceiling=float(ceiling),
        **setting._asdict(),
    )


def rounded_down(epsilon: float) -> str:
    """A lower bound with two decimals that still holds as it is printed.

    >>> rounded_down(0.299), rounded_down(0.1 + 0.2)
    ('0.29', '0.30')
    """
    return f"{math.floor(100 * epsilon + 1e-7) / 100:.2f}" if math.isfinite(epsilon) else "inf"


def confidence_at(alpha: float) -> float:
    """Confidence of a bound that fails with probability α: 1 - α."""
    check_alpha(alpha)
    return 1 - alpha


def alpha_at(confidence: float) -> float:
    """Error probability that a confidence leaves: 1 - confidence."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence}")
    return 1 - confidence


def check_alpha(alpha: float) -> None:
    """Error probabilities lie strictly between 0 and 1."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie strictly between 0 and 1, got {alpha}")


def check_delta(delta: float) -> None:
    """δ lies in [0, 1)."""
    if not 0 <= delta < 1:
        raise ValueError(f"delta must lie in [0, 1), got {delta}")


def arm_sizes(canary_in: Outcomes, canary_out: Outcomes) -> tuple[int, int]:
    """Trials of both worlds.

    Raises:
        ValueError: A world is empty, or the two worlds were cut by different rules.
    """
    sizes = (canary_in.trials, canary_out.trials)
    if 0 in sizes:
        empty = " and ".join(
            name for name, size in zip(("in-trials", "out-trials"), sizes, strict=True) if not size
        )
        raise ValueError(f"no {empty}: {sizes[0]} with the canary, {sizes[1]} without; run more")
    if canary_in.threshold_rule != canary_out.threshold_rule:
        raise ValueError(
            "both worlds need the same threshold, got rules "
            f"{canary_in.threshold_rule!r} and {canary_out.threshold_rule!r}"
        )
    return sizes


def check_rule(rule: ThresholdRule, allowed: Sequence[ThresholdRule], method: str) -> None:
    """A method takes only threshold rules that it can pay for.

    Raises:
        ValueError: The rule is not one of them.
    """
    if rule not in allowed:
        raise ValueError(f"{method} needs a threshold by {' or '.join(allowed)}, got {rule!r}")


def unit_values(values: ArrayLike, name: str) -> FloatArray:
    """Values in [0, 1] as a float array, shape (n,), n at least 1.

    Raises:
        ValueError: Not one-dimensional, empty, outside [0, 1] or not a number.
    """
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a non-empty list, got shape {array.shape}")
    if not np.all((array >= 0) & (array <= 1)):
        raise ValueError(f"{name} must lie in [0, 1], got {array.min()} to {array.max()}")
    return array


def score_array(scores: ArrayLike, name: str) -> FloatArray:
    """Membership scores as a float array, shape (n,), n at least 1; infinite ones are allowed.

    Raises:
        ValueError: Not one-dimensional, empty, or a score is not a number.
    """
    array = np.asarray(scores, dtype=float)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a non-empty list, got shape {array.shape}")
    if np.isnan(array).any():
        raise ValueError(
            f"{name} holds {int(np.isnan(array).sum())} scores that are not a number; a refusal "
            "scores 0, and a trial that failed goes through missing_against_auditor"
        )
    return array
