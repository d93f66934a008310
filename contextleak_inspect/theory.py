"""Claimed ε → the best any attack can do: its accuracy, its TPR, and the ε it could show.

Heuristic defenses claim no ε and have no curve.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from contextleak_inspect.calibration import (
    Neighbouring,
    analytic_sigma,
    embedding_sensitivity,
    randomized_response,
    vote_sensitivity,
)
from contextleak_inspect.canary_effect import VoteScore, esa_mu, rnm_mu
from contextleak_inspect.mixtures import best_accuracy, best_tpr, true_epsilon
from contextleak_inspect.rao_blackwell import label_probability
from contextleak_inspect.rates import unclipped_epsilon
from contextleak_inspect.vote_laws import VoteLaw, vote_law

Level = Literal["histogram", "label"]


class CurvePoint(NamedTuple):
    """What no attack on this release can beat, at one claimed ε.

    Attributes:
        epsilon_claimed: ε that the noise was calibrated for.
        sigma: Standard deviation of the noise as added; nan for randomized response.
        mu: Step of the canary's vote over the noise of the score; infinity for a release
            without Gaussian noise of its own (a label).
        accuracy: Best balanced accuracy.
        tpr: Best TPR at `fpr`.
        fpr: FPR that `tpr` belongs to.
        plug_in: ln((TPR - δ) / FPR) there, the paper's empirical ε, at most ln((1 - δ) / FPR).
        epsilon: ε of the attacked pair at δ: the most that a bound may show in the long run.
        error: `epsilon` is exact up to this much, upward.
    """

    epsilon_claimed: float
    sigma: float
    mu: float
    accuracy: float
    tpr: float
    fpr: float
    plug_in: float
    epsilon: float
    error: float


def rnm_curve(
    epsilons: Sequence[float],
    *,
    delta: float,
    law: VoteLaw,
    calibrated: Neighbouring = "replace_one",
    score: VoteScore = "difference",
    level: Level = "histogram",
    fpr: float = 0.1,
) -> list[CurvePoint]:
    """Report-noisy-max between two options: the best any attack can do, a point per claimed ε.

    At the level of the histogram this is the best among tests of the score. The difference loses
    nothing when an exemplar is replaced, and the count when a vote is added to fixed others.

    Args:
        epsilons: Claimed ε; 0 is a release without private exemplars, infinity without noise.
        delta: δ of the claim, in (0, 1), and of the ε that is shown.
        law: Votes for the canary's answer in both worlds, from `vote_law`; it also says which
            neighbours are attacked.
        calibrated: Which neighbours σ was calibrated for; where they differ from the attacked
            ones, the curve lies above the claim.
        score: Difference of two counts, or the canary's count alone.
        level: Noisy histogram, or only the label that wins.
        fpr: FPR at which to read off the TPR, in (0, 1).

    Raises:
        ValueError: An argument is out of range, or the difference (or the label) is asked for
            where a vote is added: there the law of k alone does not fix it.
    """
    if law.neighbouring == "add_remove" and (score == "difference" or level == "label"):
        raise ValueError(
            "where a whole vote is added, take score='count' and level='histogram', "
            f"got score={score!r} and level={level!r}"
        )
    points = []
    for epsilon in epsilons:
        sigma = analytic_sigma(epsilon, delta, vote_sensitivity(calibrated))
        if level == "histogram":
            mu, seen = rnm_mu(sigma, score, law.neighbouring), law
        else:
            mu, seen = math.inf, _label_law(law, sigma)
        points.append(_point(epsilon, sigma, seen, mu, delta, fpr))
    return points


def esa_curve(
    epsilons: Sequence[float],
    *,
    delta: float,
    law: VoteLaw,
    distance: float,
    cos_angle: float = 1.0,
    calibrated: Neighbouring = "replace_one",
    fpr: float = 0.1,
) -> list[CurvePoint]:
    """Embedding space aggregation at the noisy mean, a point per claimed ε.

    Every shard gives one of two outputs, with the canary or without; `law` counts the former.
    Unit embeddings with non-negative cosine are at most √2 apart, so against noise for
    sensitivity 2/m no attack with such outputs gets past μ / √2.

    Args:
        epsilons: Claimed ε; 0 is a release without private exemplars, infinity without noise.
        delta: δ of the claim, in (0, 1), and of the ε that is shown.
        law: Outputs with the canary in both worlds, from `vote_law`.
        distance: Between the two output embeddings where an exemplar is replaced; the norm of
            the embedding, at most 1, where one is added.
        cos_angle: Cosine between that difference and the detector's direction.
        calibrated: Which neighbours σ was calibrated for.
        fpr: FPR at which to read off the TPR, in (0, 1).
    """
    m = law.canary_in.size - 1
    points = []
    for epsilon in epsilons:
        sigma = analytic_sigma(epsilon, delta, embedding_sensitivity(m, calibrated))
        points.append(
            _point(epsilon, sigma, law, esa_mu(m, sigma, distance, cos_angle), delta, fpr)
        )
    return points


def label_rr_curve(
    epsilons: Sequence[float],
    *,
    n_options: int,
    law: VoteLaw | None = None,
    delta: float = 0.0,
    fpr: float = 0.1,
) -> list[CurvePoint]:
    """k-ary randomized response of one label, a point per claimed ε.

    Args:
        epsilons: Claimed ε, for δ = 0.
        n_options: Number of labels, at least 2.
        law: Chance of the canary's label before the flip, m = 1, from `vote_law`; None is a
            model without errors. Another label than the canary's is the same one in both worlds.
        delta: δ at which ε is shown.
        fpr: FPR at which to read off the TPR, in (0, 1).
    """
    before = law or vote_law(1)
    if before.canary_in.size != 2:
        raise ValueError(f"law must be of m = 1 label, got m = {before.canary_in.size - 1}")
    points = []
    for epsilon in epsilons:
        keep, other = randomized_response(epsilon, n_options)
        # the other label, any third one, the canary's
        flipped = np.array([[keep, (n_options - 2) * other, other]])
        channel = np.concatenate([flipped, flipped[:, ::-1]])
        seen = VoteLaw(before.canary_in @ channel, before.canary_out @ channel)
        points.append(_point(epsilon, math.nan, seen, math.inf, delta, fpr))
    return points


def _label_law(law: VoteLaw, sigma: float) -> VoteLaw:
    """Law of the released label between two options: the other one, the canary's."""
    k = np.arange(law.canary_in.size)
    chance = label_probability(np.stack([k, k[::-1], 0 * k], axis=-1), sigma, target=0)
    tpr, fpr = float(law.canary_in @ chance), float(law.canary_out @ chance)
    return VoteLaw(np.array([1 - tpr, tpr]), np.array([1 - fpr, fpr]))


def _point(
    epsilon: float, sigma: float, law: VoteLaw, mu: float, delta: float, fpr: float
) -> CurvePoint:
    tpr = best_tpr(law, mu, fpr)
    truth = true_epsilon(law, mu, delta)
    return CurvePoint(
        epsilon_claimed=epsilon,
        sigma=sigma,
        mu=mu,
        accuracy=best_accuracy(law, mu),
        tpr=tpr,
        fpr=fpr,
        plug_in=unclipped_epsilon(tpr, fpr, delta=delta, two_sided=False),
        epsilon=truth.value,
        error=truth.error,
    )
