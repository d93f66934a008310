"""Which canary and query an attack should use: two error rates per candidate → its best accuracy.

A shard's answer enters an audit only through how often it is wrong: q, false votes without the
canary, and r, misses with it. So a candidate costs two calls per context, one with the canary and
one without, where a whole trial would cost m. Whatever is chosen here was chosen on these very
contexts: report it on fresh ones only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from contextleak_inspect.bounds import alpha_at
from contextleak_inspect.calibration import (
    analytic_sigma,
    embedding_sensitivity,
    vote_sensitivity,
)
from contextleak_inspect.canary_effect import esa_mu, rnm_mu
from contextleak_inspect.config import AuditConfig, CanaryKind
from contextleak_inspect.mixtures import best_accuracy
from contextleak_inspect.queries import Query
from contextleak_inspect.rates import Limits, clopper_pearson
from contextleak_inspect.vote_laws import vote_law
from contextleak_inspect.votes import ErrorRates

CLASSIFICATION_EPSILON = (10.0,)
GENERATION_EPSILON = tuple(float(epsilon) for epsilon in range(1, 11))


@dataclass(frozen=True)
class Objective:
    """What a candidate is judged by: best accuracy of an audit, mean over claimed ε.

    Attributes:
        epsilon: Claimed ε; the paper's choice is 10 for classification, 1 to 10 for generation.
            Empty for one prompt without noise.
        ensemble: Number of shards m.
        delta: δ of the claims.
        distance: Between the embeddings of the two replies; None for votes.
    """

    epsilon: tuple[float, ...]
    ensemble: int
    delta: float
    distance: float | None = None

    def __str__(self) -> str:
        """In words, as reports name it."""
        if not self.epsilon:
            return "accuracy of one reply"
        values = ", ".join(f"{epsilon:g}" for epsilon in self.epsilon)
        return f"best accuracy at ε = {values}"


class Candidate(NamedTuple):
    """A canary kind and a query, with the error rates that were counted for them."""

    canary: CanaryKind
    query: Query
    rates: ErrorRates


def objective_of(config: AuditConfig, distance: float = 2**0.5) -> Objective:
    """The paper's objective for an audit's defense and number of shards.

    Args:
        config: The audit that the query is for.
        distance: Between the two replies' embeddings (esa); orthogonal if nothing is known.

    Raises:
        ValueError: The defense's outcome is not fixed by two rates.
    """
    if config.defense in {"llm_judge", "output_filter", "label_rr", "ksa", "zero_shot"}:
        raise ValueError(
            f"a query is searched on the model's own replies, which {config.defense!r} changes; "
            "search with 'rnm', 'esa', 'none', 'faux_secrets' or 'keywords', then audit that one"
        )
    if config.defense == "rnm":
        return Objective(CLASSIFICATION_EPSILON, config.ensemble, config.delta)
    if config.defense == "esa":
        return Objective(GENERATION_EPSILON, config.ensemble, config.delta, distance)
    return Objective((), 1, config.delta)


@lru_cache(maxsize=4096)
def predicted_accuracy(objective: Objective, q: float, r: float) -> float:
    """Best accuracy of any attack on the noisy aggregate, mean over ε, at these error rates.

    Exact for shards that err independently; see `theory`. It falls in q and in r. From q + r = 1
    on the query points the wrong way, and an audit, whose score looks one way, is at one half.

    Args:
        objective: What is audited.
        q: Chance of a shard without the canary to answer as if it were there.
        r: Chance of the shard with the canary not to do so.
    """
    if q + r >= 1:
        return 0.5
    if not objective.epsilon:
        return (2 - q - r) / 2
    law = vote_law(objective.ensemble, false_votes=q, misses=r)
    total = 0.0
    for epsilon in objective.epsilon:
        if objective.distance is None:
            mu = rnm_mu(analytic_sigma(epsilon, objective.delta, vote_sensitivity()))
        else:
            sensitivity = embedding_sensitivity(objective.ensemble)
            sigma = analytic_sigma(epsilon, objective.delta, sensitivity)
            mu = esa_mu(objective.ensemble, sigma, objective.distance)
        total += best_accuracy(law, mu)
    return total / len(objective.epsilon)


def predicted(objective: Objective, rates: ErrorRates) -> float:
    """The prediction at counted rates: too good for the winner among many, if these chose it."""
    return predicted_accuracy(objective, rates.q, rates.r)


def predicted_limits(
    objective: Objective, rates: ErrorRates, confidence: float = 0.95, cells: int = 1
) -> Limits:
    """Limits for the prediction from exact limits for both rates.

    For contexts that had no part in choosing the candidate. With several cells each gets its
    share of the error, so that all their intervals hold together, whichever is looked at.

    Args:
        objective: What is audited.
        rates: Counts on contexts independent of each other.
        confidence: Chance that the interval, or all `cells` intervals, hold.
        cells: Number of candidates that are compared.
    """
    each = alpha_at(confidence) / (4 * cells)
    false = clopper_pearson(rates.false_votes, rates.clean, each)
    missed = clopper_pearson(rates.misses, rates.planted, each)
    return Limits(
        predicted_accuracy(objective, false.upper, missed.upper),
        predicted_accuracy(objective, false.lower, missed.lower),
    )


def best_candidate(objective: Objective, candidates: Sequence[Candidate]) -> Candidate:
    """The candidate with the highest prediction; the first of equals.

    Raises:
        ValueError: There is none.
    """
    if not candidates:
        raise ValueError("there is no candidate to choose from")
    return max(candidates, key=lambda candidate: predicted(objective, candidate.rates))
