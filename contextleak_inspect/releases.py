"""A planned audit → what its auditor will see, for each ε that the defense may claim."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from contextleak_inspect.calibration import FloatArray, Neighbouring, randomized_response
from contextleak_inspect.config import DEFAULT_EPSILON, PRIVATE_DEFENSES, Defense
from contextleak_inspect.mixtures import best_accuracy, true_epsilon
from contextleak_inspect.power import threshold_tests
from contextleak_inspect.rao_blackwell import label_probability
from contextleak_inspect.theory import CurvePoint, esa_curve, label_rr_curve, rnm_curve
from contextleak_inspect.vote_laws import VoteLaw, vote_law

_MOST_SHARDS = 1000  # more would fill the memory


@dataclass(frozen=True, kw_only=True)
class Planned:
    """An audit to come.

    Attributes:
        show: ε in nats that the lower bound has to reach.
        defense: Name of the defense.
        claimed: Values of ε that its noise may be calibrated for; without meaning for heuristics.
        delta: δ of the guarantee.
        ensemble: Number of shards m.
        false_votes: Chance of a shard without the canary to answer as if it were there.
        misses: Chance of the shard with the canary not to do so.
        level: Whether the noisy aggregate is seen, or only the label (rnm).
        neighbouring: Which neighbours the noise is calibrated for; exemplars are replaced.
        distance: Between the two output embeddings (esa).
        cos_angle: Cosine between their difference and the detector's direction (esa).
        n_options: What label_rr may release: the labels, and that a reply holds none.
        target_fpr: FPR of the fixed_rank threshold.
        power: Chance with which ε is to be shown.
        confidence: Probability with which the bound holds.
    """

    show: float
    defense: Defense = "rnm"
    claimed: tuple[float, ...] = DEFAULT_EPSILON
    delta: float = 1e-5
    ensemble: int = 10
    false_votes: float = 0.0
    misses: float = 0.0
    level: Literal["aggregate", "label"] = "aggregate"
    neighbouring: Neighbouring = "replace_one"
    distance: float = math.sqrt(2)
    cos_angle: float = 1.0
    n_options: int = 3
    target_fpr: float = 0.1
    power: float = 0.8
    confidence: float = 0.95

    def __post_init__(self) -> None:
        """Only what can be planned; other arguments are checked where they are used."""
        if not 0 < self.show < math.inf:
            raise ValueError(f"the ε to show must be positive and finite, got {self.show}")
        for name in ("power", "confidence", "target_fpr"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be in (0, 1), got {getattr(self, name)}")
        if self.ensemble > _MOST_SHARDS:
            raise ValueError(f"ensemble {self.ensemble} is above {_MOST_SHARDS}, the most planned")
        if self.defense == "zero_shot":
            raise ValueError("zero_shot uses no private exemplar, so there is nothing to show")
        if self.defense == "ksa":
            raise ValueError("keyword aggregation has no closed form; run a pilot audit instead")
        if self.defense in PRIVATE_DEFENSES and not self.claimed:
            raise ValueError(f"{self.defense} needs at least one claimed ε, such as 1,2,4,8,inf")
        if self.level == "label" and self.defense != "rnm":
            raise ValueError(f"level 'label' belongs to rnm, got defense {self.defense!r}")


class Release(NamedTuple):
    """What is attacked at one claimed ε.

    Attributes:
        claimed: ε of the noise; None for a heuristic defense.
        law: Votes for the canary's answer in both worlds.
        tests: Chance of a hit for each way to cut and each number of votes, (tests, m + 1).
        truth: The most that any attack can show at δ.
        accuracy: Best balanced accuracy.
        scores: A score with many thresholds, not one bit.
        gaussian: With Gaussian noise on it.
        noisy: With known noise of some kind, which can be integrated out.
    """

    claimed: float | None
    law: VoteLaw
    tests: FloatArray
    truth: float
    accuracy: float
    scores: bool
    gaussian: bool
    noisy: bool


def releases(planned: Planned) -> Iterator[Release]:
    """One release per claimed ε, or a single one for a heuristic defense."""
    p = planned
    one_answer = p.defense not in PRIVATE_DEFENSES or p.defense == "label_rr"
    law = vote_law(1 if one_answer else p.ensemble, false_votes=p.false_votes, misses=p.misses)
    if p.defense not in PRIVATE_DEFENSES:
        yield Release(
            claimed=None,
            law=law,
            tests=np.array([[0.0, 1.0]]),
            truth=true_epsilon(law, math.inf, p.delta).value,
            accuracy=best_accuracy(law, math.inf),
            scores=False,
            gaussian=False,
            noisy=False,
        )
        return
    for claimed in p.claimed:
        point, tests = _attack(p, law, claimed)
        scores = p.level == "aggregate" and p.defense != "label_rr"
        yield Release(
            claimed=claimed,
            law=law,
            tests=tests,
            truth=point.epsilon,
            accuracy=point.accuracy,
            scores=scores,
            gaussian=scores and math.isfinite(point.mu),
            noisy=math.isfinite(claimed),
        )


def _attack(p: Planned, law: VoteLaw, claimed: float) -> tuple[CurvePoint, FloatArray]:
    """The point on theory's curve, and the tests among which an attack may choose."""
    if p.defense == "label_rr":
        [point] = label_rr_curve([claimed], n_options=p.n_options, law=law, delta=p.delta)
        keep, other = randomized_response(claimed, p.n_options)
        return point, np.array([[other, keep]])  # a hit is the canary's label, as in an audit
    if p.defense == "esa":
        [point] = esa_curve(
            [claimed],
            delta=p.delta,
            law=law,
            distance=p.distance,
            cos_angle=p.cos_angle,
            calibrated=p.neighbouring,
        )
        return point, threshold_tests(law, point.mu)
    votes = partial(rnm_curve, [claimed], delta=p.delta, law=law, calibrated=p.neighbouring)
    if p.level == "label":
        [point] = votes(level="label")
        k = np.arange(law.canary_in.size)
        counts = np.stack([k, k[::-1], 0 * k], axis=-1)
        return point, label_probability(counts, point.sigma, target=0)[np.newaxis]
    [point] = votes()
    return point, threshold_tests(law, point.mu)
