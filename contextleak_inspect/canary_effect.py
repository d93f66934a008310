"""What the canary moves in a release, over the noise there: μ of the membership score."""

import math
from typing import Literal, NamedTuple

from contextleak_inspect.calibration import Neighbouring
from contextleak_inspect.rao_blackwell import label_probability

VoteScore = Literal["difference", "count"]


class Rates(NamedTuple):
    """Chance of a hit without the canary and with it."""

    fpr: float
    tpr: float


def rnm_mu(
    sigma: float, score: VoteScore = "difference", neighbouring: Neighbouring = "replace_one"
) -> float:
    """Step of the canary's vote in the membership score, over the score's noise.

    A replaced exemplar moves a vote: 2 / (√2 σ) in the difference, 1 / σ in the count alone. An
    added vote: 1 / (√2 σ) in the difference, 1 / σ in the count.
    """
    if not sigma >= 0:
        raise ValueError(f"sigma must be at least 0, got {sigma}")
    step = 2.0 if score == "difference" and neighbouring == "replace_one" else 1.0
    noise = math.sqrt(2) * sigma if score == "difference" else sigma
    return step / noise if noise > 0 else math.inf


def rnm_label_rates(m: int, k_absent: int, k_present: int, sigma: float) -> Rates:
    """Chance that the noisy max of two options is the canary's, for exact votes in both worlds.

    Φ((2k - m) / (√2 σ)) with k of m votes for it; a tie without noise is a fair draw.
    """
    for name, k in (("k_absent", k_absent), ("k_present", k_present)):
        if not 0 <= k <= m:
            raise ValueError(f"{name} must lie in 0..{m} votes, got {k}")
    counts = [[k, m - k, 0] for k in (k_absent, k_present)]
    fpr, tpr = label_probability(counts, sigma, target=0).tolist()
    return Rates(fpr, tpr)


def esa_mu(m: int, sigma: float, distance: float, cos_angle: float = 1.0) -> float:
    """Step of the canary's embedding along the detector's direction, over its noise.

    (distance / m) · cos(angle) / σ.

    Args:
        m: Number of shards.
        sigma: Standard deviation of the noise on each coordinate of the mean.
        distance: Norm of the difference of the two output embeddings, in [0, 2].
        cos_angle: Cosine between that difference and the detector's direction, in [0, 1].

    Raises:
        ValueError: An argument is out of range. A negative cosine is a detector that points the
            wrong way: turn it by calibration calls, not afterwards.
    """
    if m < 1:
        raise ValueError(f"m must be at least 1 shard, got {m}")
    if not 0 <= distance <= 2:
        raise ValueError(f"distance of unit embeddings must be in [0, 2], got {distance}")
    if not 0 <= cos_angle <= 1:
        raise ValueError(f"cos_angle must be in [0, 1], got {cos_angle}")
    if not sigma >= 0:
        raise ValueError(f"sigma must be at least 0, got {sigma}")
    step = distance / m * cos_angle
    if sigma == 0:
        return math.inf if step > 0 else 0.0
    return step / sigma
