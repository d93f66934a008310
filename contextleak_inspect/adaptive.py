"""Anytime-valid ε of an audit: bets on hits, with a threshold that earlier trials have chosen.

The first pairs use the threshold that theory gives for perfect answers. After 5, 10, 20, … pairs
it is chosen again from all pairs so far; so is the side, hits with the canary or misses without
it. Each pair's threshold depends on earlier pairs only, which is what an e-process allows.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from contextleak_inspect.betting import BETS, log_mean
from contextleak_inspect.bounds import EpsilonBound, Setting, alpha_at, epsilon_bound
from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.inversion import smallest_accepted
from contextleak_inspect.sequential import pair_ceiling, pair_payoffs

FIRST_BLOCK = 5
SAME_WORTH = 1e-9
_ceiling = lru_cache(maxsize=4096)(pair_ceiling)  # the same for all rows of an audit
# (pairs, thresholds of shape (t,), or (pairs, 1) for one each) → chance of a hit with and without
# the canary, shapes (pairs, t)
Chances = Callable[[slice, FloatArray], tuple[FloatArray, FloatArray]]


class Choice(NamedTuple):
    """Threshold, and whether misses are bet on, with the worlds swapped."""

    threshold: float
    misses: bool


class Goal(NamedTuple):
    """What the bets should show: as much as `pairs` allow, or ε = `stop_at` soon."""

    delta: float
    confidence: float
    pairs: int
    stop_at: float | None = None

    def worth(self, tpr: FloatArray, fpr: FloatArray) -> FloatArray:
        """Larger where these rates show more, any shape.

        For a given ε the mean payoff. Otherwise about the ε that the pairs can show: a bet wins
        -ln α within n pairs as long as e^-ε (TPR - δ) - FPR is at least -ln α / n.
        """
        if self.stop_at is not None:
            return np.asarray(math.exp(-self.stop_at) * (tpr - self.delta) - fpr)
        needed = -math.log(alpha_at(self.confidence)) / max(1, self.pairs)
        return np.asarray(np.log(np.maximum(tpr - self.delta, 1e-300)) - np.log(fpr + needed))


def choose(chance_in: FloatArray, chance_out: FloatArray, cuts: FloatArray, goal: Goal) -> Choice:
    """The most telling threshold and side for these pairs, chances of shape (pairs, cuts)."""
    tpr, fpr = chance_in.mean(axis=0), chance_out.mean(axis=0)
    worth = np.stack([goal.worth(tpr, fpr), goal.worth(1 - fpr, 1 - tpr)])
    # The first of equals, hits before misses: not whichever the last bit makes the largest.
    best = worth >= worth.max() - SAME_WORTH
    side, cut = np.unravel_index(int(np.argmax(best)), worth.shape)
    return Choice(float(cuts[cut]), bool(side))


def choices(
    pairs: int, first: Choice, cuts: FloatArray, past: Chances, goal: Goal
) -> list[tuple[slice, Choice]]:
    """Threshold and side of each block of pairs, blocks in order and doubling.

    Args:
        pairs: Number of pairs.
        first: Threshold and side of the first pairs.
        cuts: Thresholds to choose from, fixed before the trials; shape (t,).
        past: Chances of a hit from which later thresholds are chosen.
        goal: What the bets should show.
    """
    starts = [0]
    while (following := 2 * starts[-1] or FIRST_BLOCK) < pairs:
        starts.append(following)
    inside, outside = past(slice(0, starts[-1]), cuts)
    chosen = [first, *(choose(inside[:n], outside[:n], cuts, goal) for n in starts[1:])]
    blocks = map(slice, starts, [*starts[1:], pairs])
    return list(zip(blocks, chosen, strict=True))


def bets(chosen: Sequence[tuple[slice, Choice]], drawn: Chances) -> tuple[FloatArray, FloatArray]:
    """What is bet on in each pair: values in [0, 1] with the canary and without it, shape (pairs,).

    Args:
        chosen: Threshold and side of each block of pairs, as `choices` gives them.
        drawn: Chances or hits that are bet on.
    """
    sizes = [block.stop - block.start for block, _ in chosen]
    thresholds = np.repeat([choice.threshold for _, choice in chosen], sizes)
    misses = np.repeat([choice.misses for _, choice in chosen], sizes)
    pairs = slice(0, thresholds.size)
    inside, outside = (values[:, 0] for values in drawn(pairs, thresholds[:, np.newaxis]))
    return np.where(misses, 1 - outside, inside), np.where(misses, 1 - inside, outside)


def epsilon_running(
    values_in: FloatArray,
    values_out: FloatArray,
    *,
    delta: float,
    confidence: float,
    method: str,
    setting: Setting,
) -> EpsilonBound:
    """Largest bound in nats that `sequential.epsilon_from_pairs` reached after any pair so far.

    An ε is refuted once the evidence against it has reached 1/α at some time; the true one is
    so with probability at most α. The value never falls as pairs come. It is looked for from 0
    upwards, so `unclipped` is the same number.

    Args:
        values_in: f of each pair's trial with the canary, in [0, 1], in planned order.
        values_out: f of its trial without it; f may depend on earlier pairs.
        delta: δ of the guarantee, in [0, 1).
        confidence: Probability that the bound holds at every time.
        method: Name for the record.
        setting: What was audited.
    """
    target = -math.log(alpha_at(confidence))
    pairs = len(values_in)

    def most(payoffs: FloatArray) -> float:
        wealth = np.cumsum(np.log1p(BETS[:, np.newaxis] * payoffs), axis=1)
        return float(log_mean(wealth).max(initial=0.0)) - target

    def evidence(epsilon: float) -> float:
        return most(pair_payoffs(values_in, values_out, epsilon, delta))

    def floor(low: float, high: float) -> float:
        # A payoff rises or falls with ε all the way, so it is smallest at an end.
        ends = (pair_payoffs(values_in, values_out, end, delta) for end in (low, high))
        return most(np.minimum(*ends))

    return epsilon_bound(
        smallest_accepted(evidence, floor if delta > 0 else None, below_0=False),
        confidence=confidence,
        method=f"{method}, running maximum",
        threshold_rule="predictable",
        delta=delta,
        ceiling=_ceiling(pairs, delta, target),
        arms=(pairs, pairs),
        setting=setting,
    )
