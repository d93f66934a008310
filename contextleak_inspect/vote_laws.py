"""How often each number of shards votes for the canary's answer, in both worlds."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from contextleak_inspect.calibration import FloatArray, Neighbouring


class VoteLaw(NamedTuple):
    """Probability of k votes for the canary's answer in each world, each of shape (m + 1,)."""

    canary_in: FloatArray
    canary_out: FloatArray
    neighbouring: Neighbouring = "replace_one"


def outcome_law(canary_in: FloatArray, canary_out: FloatArray) -> VoteLaw:
    """The law of any outcomes, as if of votes: in the order of their likelihood ratio.

    Args:
        canary_in: Probability of each outcome with the canary, shape (n_outcomes,).
        canary_out: Probability of the same outcomes without it.
    """
    rising = np.argsort(np.arctan2(canary_in, canary_out))
    return VoteLaw(canary_in[rising], canary_out[rising])


def poisson_binomial_pmf(p: ArrayLike) -> FloatArray:
    """Probabilities of 0..n successes in n independent draws with chances p, shape (n + 1,).

    Raises:
        ValueError: A chance is outside [0, 1].

    >>> poisson_binomial_pmf([0.5, 0.5]).tolist()
    [0.25, 0.5, 0.25]
    """
    chances = np.asarray(p, dtype=float)
    if not np.all((chances >= 0) & (chances <= 1)):
        raise ValueError(f"p must lie in [0, 1], got {chances.tolist()}")
    pmf = np.ones(1)
    for chance in chances:
        pmf = np.convolve(pmf, [1 - chance, chance])
    return pmf


def vote_law(
    m: int,
    *,
    false_votes: float = 0.0,
    misses: float = 0.0,
    clean_votes: Sequence[float] | None = None,
    neighbouring: Neighbouring = "replace_one",
) -> VoteLaw:
    """Laws of the votes for the canary's answer when m shards answer independently.

    The m - 1 unchanged shards vote the same way in both worlds. The changed one votes for the
    canary's answer with chance 1 - `misses` where the canary is in; where it is out with chance
    `false_votes` if an exemplar was replaced, and not at all if a whole vote was added.

    Args:
        m: Number of shards, at least 1.
        false_votes: Chance of a shard without the canary to vote for the canary's answer.
        misses: Chance of the shard with the canary not to do so.
        clean_votes: Chance of each unchanged shard, m - 1 of them, where they differ: near-tied
            votes have half of them near 1. None takes `false_votes` for all.
        neighbouring: Whether an exemplar is replaced, or a whole vote added.

    Raises:
        ValueError: A rate is outside [0, 1], or `clean_votes` are not m - 1.

    >>> vote_law(2, misses=0.25).canary_in.tolist()
    [0.25, 0.75, 0.0]
    """
    for name, rate in (("false_votes", false_votes), ("misses", misses)):
        if not 0 <= rate <= 1:
            raise ValueError(f"{name} must lie in [0, 1], got {rate}")
    if m < 1:
        raise ValueError(f"m must be at least 1 shard, got {m}")
    unchanged = [false_votes] * (m - 1) if clean_votes is None else list(clean_votes)
    if len(unchanged) != m - 1:
        raise ValueError(
            f"clean_votes must be m - 1 = {m - 1} chances, one an unchanged shard, "
            f"got {len(unchanged)}"
        )
    absent = false_votes if neighbouring == "replace_one" else 0.0
    return VoteLaw(
        poisson_binomial_pmf([*unchanged, 1 - misses]),
        poisson_binomial_pmf([*unchanged, absent]),
        neighbouring,
    )
