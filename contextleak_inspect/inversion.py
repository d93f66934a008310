"""A test for every ε → the smallest ε that the data do not reject."""

import math
from collections.abc import Callable

from scipy.optimize import brentq

TOLERANCE = 1e-9  # in nats, always on the safe side
_FAR_BELOW = -16.0


def smallest_accepted(
    evidence: Callable[[float], float],
    floor: Callable[[float, float], float] | None = None,
    *,
    below_0: bool = True,
) -> float:
    """Smallest ε that is not rejected, in nats: below 0 where ε = 0 already is not.

    If the true ε is rejected with probability at most α, so is everything below this value. Where
    evidence may rise and fall again, the steps from 0 upwards are taken only across intervals
    whose every ε is proved rejected, so the value can be too small by `TOLERANCE`, never too large.

    Args:
        evidence: ε → a number at or above 0 where ε is rejected; below 0 for large ε.
        floor: (a, b) → a number that evidence does not fall below on [a, b]. None says that
            evidence only falls with ε.
        below_0: Whether to look below 0; without it the answer there is 0.
    """
    if evidence(0.0) < 0:
        return _largest_rejected_below_0(evidence) if below_0 else 0.0
    high = 1.0
    while evidence(high) >= 0:
        high *= 2
    crossing = float(brentq(evidence, 0.0, high, xtol=1e-13))
    if floor is None:
        return crossing
    cleared, share = 0.0, 0.999
    while (step := share * (crossing - cleared)) > TOLERANCE:
        if floor(cleared, cleared + step) >= 0:
            cleared += step
        else:
            share /= 2
    return cleared


def _largest_rejected_below_0(evidence: Callable[[float], float]) -> float:
    """Where evidence, continued to negative ε, crosses 0: for unclipped values only."""
    low = 0.0
    while low > _FAR_BELOW:
        low, high = low - 0.5, low
        if evidence(low) >= 0:
            return float(brentq(evidence, low, high, xtol=1e-13))
    return -math.inf
