"""Private selection: exact laws of what is chosen, on scores that move as far as they may."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from scipy import special

from dprivbench_inspect.divergences import Array, Certificate

EPSILON = 1.0  # and Δ = 1


def _largest_loss(one: Array, other: Array) -> float:
    """Largest |log ratio| of two laws given by their log probabilities."""
    here = np.isfinite(one) | np.isfinite(other)
    return float(np.abs(one[here] - other[here]).max())


def whole_score(lowest_move: float) -> Certificate:
    """Weights e^(εu): one of 200 candidates moves one way, the others the other way."""
    found = []
    for first, others in itertools.product((lowest_move, 0.0, 1.0), repeat=2):
        scores = np.zeros(200)
        moved = scores + np.append(first, np.full(199, others))
        loss = _largest_loss(
            special.log_softmax(EPSILON * scores), special.log_softmax(EPSILON * moved)
        )
        pair = f"200 equal scores; one moves by {first:g}, the others by {others:g}"
        found.append(Certificate(EPSILON, loss, 1e-12, "ε' at ε=1, Δ=1", pair))
    return max(found, key=lambda c: c.measured)


def _flip_law(scores: Array, orders: Sequence[tuple[int, ...]]) -> Array:
    """Log chance of each candidate when coins are flipped in one of the orders, all as likely."""
    heads = np.exp(EPSILON / 2 * (scores - scores.max()))
    chances = np.zeros(len(scores))
    for order in orders:
        left = 1.0
        for r in order:
            chances[r] += left * heads[r] / len(orders)
            left *= 1 - heads[r]
    with np.errstate(divide="ignore"):
        return np.log(chances)


def _moves(candidates: int) -> Iterator[tuple[Array, Array]]:
    """Scores on a small grid and on a neighbour, each moved by -1, 0 or 1."""
    for scores in itertools.product((0.0, -1.0, -6.0), repeat=candidates):
        for move in itertools.product((-1.0, 0.0, 1.0), repeat=candidates):
            yield np.array(scores), np.array(scores) + np.array(move)


def flips(order: str) -> Certificate:
    """Coins of e^(ε(u - u*)/2) in random or in public order, three candidates, exactly."""
    orders = list(itertools.permutations(range(3)))
    if order == "public":
        orders = orders[:1]
    found = []
    for scores, moved in _moves(3):
        loss = _largest_loss(_flip_law(scores, orders), _flip_law(moved, orders))
        pair = f"scores {scores.tolist()} against {moved.tolist()}"
        found.append(Certificate(EPSILON, loss, 1e-12, "ε' at ε=1, Δ=1", pair))
    return max(found, key=lambda c: c.measured)


def top_k(scale: Callable[[int], float], *, shows_scores: bool = False) -> Certificate:
    """The k largest of m = 3000 scores with Gumbel noise: drawn one by one without replacement.

    Where the noisy scores are shown: log density ratio at k values a good way below all scores.
    """
    m, found = 3000, []
    for k in (1, 3):
        before, after = np.zeros(m), np.ones(m)
        after[:k] = -1.0
        logs = []
        for scores in (before, after):
            weights = scores / scale(k)
            total = 0.0
            if shows_scores:
                values = -5 * scale(k) - np.arange(k)  # decreasing
                gaps = values / scale(k) - weights[:k]
                total = float((-gaps - np.exp(-gaps)).sum() - math.log(scale(k)) * k)
                total -= float(np.exp(weights[k:] - values[-1] / scale(k)).sum())
            else:
                for i in range(k):
                    total += float(weights[i] - special.logsumexp(weights[i:]))
            logs.append(total)
        pair = f"k={k}: the chosen fall by 1, all others of {m} rise by 1"
        loss = abs(logs[0] - logs[1])
        found.append(Certificate(EPSILON, loss, 1e-9 * (1 + loss), f"ε' at ε=1, k={k}", pair))
    return max(found, key=lambda c: c.measured)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "selection-01": partial(whole_score, 0.0),
    "selection-02": partial(whole_score, -1.0),
    "selection-03": partial(flips, "random"),
    "selection-04": partial(flips, "public"),
    "selection-05": partial(top_k, lambda k: 2 * k / EPSILON),
    "selection-06": partial(top_k, lambda k: 2 * math.sqrt(k) / EPSILON),
    "selection-07": partial(top_k, lambda k: 2 * k / EPSILON, shows_scores=True),
}
