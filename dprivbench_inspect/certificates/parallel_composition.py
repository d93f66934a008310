"""Parallel composition: the printed split runs on two neighbours, then losses are read off."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dprivbench_inspect.divergences import (
    Array,
    Certificate,
    Measured,
    laplace,
    log_ratio,
    product,
    renyi_discrete,
    renyi_gaussian,
)


def laplace_corner(shifts: Sequence[float], scales: Sequence[float]) -> Measured:
    """Log of P(E)/Q(E) of independent Laplace releases for the corner E beyond all centres.

    This is the largest log ratio of the pair: the sum of |shift| / scale. Scale 0 is no noise.
    """
    one, other = Measured(1.0, 0.0), Measured(1.0, 0.0)
    for shift, scale in zip(shifts, scales, strict=True):
        if scale == 0:
            if shift:
                return Measured(math.inf, 0.0)
            continue
        size = abs(shift)  # a mirrored coordinate has the same ratio
        a, b = laplace(size, scale).mass(size, math.inf), laplace(0, scale).mass(size, math.inf)
        one = Measured(one.value * a, one.error + 1e-14 * one.value * a)
        other = Measured(other.value * b, other.error + 1e-14 * other.value * b)
    return log_ratio(one, other)


def counts_by_cell(
    claim: Callable[[Sequence[float]], float],
    relation: str = "insert",
    cells_a_record: int = 1,
    guarantee: str = "insert",
) -> Certificate:
    """Every cell releases a noisy signed count (values 1 and -1), made for its guarantee.

    Under insertions a signed count moves by 1, so the scale is 1/ε_j. Where mechanisms are private
    for data sets of equal size only, a cell may print its size (all values 1) without noise.
    """
    epsilons = [1.0, 0.5]
    negative = -1.0 if guarantee == "insert" else 1.0
    before = [0.0, 0.0]

    def insert(into: list[float], cell: int, value: float) -> list[float]:
        touched = range(cell, cell + cells_a_record)
        return [x + value * (i in touched) for i, x in enumerate(into)]

    if relation == "insert":
        pairs = [(before, insert(before, 0, 1.0)), (before, insert(before, 1, 1.0))]
    else:  # r against another record, in another cell or in the same one
        pairs = [
            (insert(before, 0, 1.0), insert(before, 1, 1.0)),
            (insert(before, 0, negative), insert(before, 0, 1.0)),
        ]
    scales = [1 / e for e in epsilons] if guarantee == "insert" else [0.0, 0.0]
    losses = [
        laplace_corner([y - x for x, y in zip(one, other, strict=True)], scales)
        for one, other in pairs
    ]
    pair = f"{relation} one record, noisy counts in two cells with ε₁=1, ε₂=0.5"
    return Certificate(claim(epsilons), *max(losses), "ε", pair)


def blocks(order: Callable[[list[int]], list[int]]) -> Certificate:
    """Of k = 4 blocks of one entry, block j answers "is it j?" by randomised response at ε = 1."""
    epsilon, k = 1.0, 4
    keep = 1 / (1 + math.exp(-epsilon))
    one, other = order([1, 2, 3, 4]), order([1, 2, 3, 0])

    def answer(block: int, j: int) -> Array:
        return np.array([keep, 1 - keep] if block == j else [1 - keep, keep])

    answers = [(answer(one[j], j + 1), answer(other[j], j + 1)) for j in range(k)]
    measured = renyi_discrete(*product(*answers), math.inf)
    return Certificate(epsilon, *measured, "ε at ε=1", "list 1,2,3,4 against 1,2,3,0, b=1")


def histogram(listed: Callable[[int], bool]) -> Certificate:
    """Two bins, counts (5, 0) against (5, 1); outcomes are "not listed" or a noisy count."""
    epsilon = 1.0
    z = np.arange(-40, 47)

    def law(count: int) -> Array:
        noisy = np.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(z - float(count)))
        return np.concatenate([[0.0], noisy]) if listed(count) else np.eye(1, len(z) + 1)[0]

    pairs = [(law(5), law(5)), (law(0), law(1))]
    directions = [pairs, [(b, a) for a, b in pairs]]
    measured = max(
        Measured(sum(renyi_discrete(a, b, math.inf).value for a, b in side), 1e-11)
        for side in directions
    )
    return Certificate(epsilon, *measured, "ε at ε=1", "insert a record into an empty bin")


def rounds_of_counts(claim: Callable[[int, float], float]) -> Certificate:
    """T = 3 rounds of Gaussian counts of variance 1/(2ρ); the new record is in one cell a round."""
    rounds, cells, rho = 3, 4, 0.2
    shift = np.zeros((rounds, cells))
    shift[np.arange(rounds), [0, 2, 1]] = 1.0
    sigma = math.sqrt(1 / (2 * rho))
    distance = float(np.linalg.norm(shift))
    curve = [(renyi_gaussian(a, distance, sigma, sigma), a) for a in (1.5, 2.0, 8.0, 64.0)]
    value, error = max((d.value / a, d.error / a) for d, a in curve)
    return Certificate(claim(rounds, rho), value, error, "ρ at T=3, ρ=0.2", "insert one record")


def split_then_count(split: str) -> Certificate:
    """Split at 1/4 or 3/4, then two Laplace counts of scale 2/ε; X = {1/4, 3/4} against {3/4}."""
    epsilon = 1.0
    points = (0.25, 0.75)
    data = [[0.25, 0.75], [0.75]]
    if split == "private":  # randomised response at ε/2 on "is the smallest record below 1/2?"
        keep = 1 / (1 + math.exp(-epsilon / 2))
        laws = [(keep, 1 - keep) if min(x) < 0.5 else (1 - keep, keep) for x in data]
    else:
        laws = [(float(min(x) == points[0]), float(min(x) == points[1])) for x in data]
    losses = []
    for i, t in enumerate(points):
        counts = [(sum(r <= t for r in x), sum(r > t for r in x)) for x in data]
        of_counts = laplace_corner([a - b for a, b in zip(*counts, strict=True)], [2 / epsilon] * 2)
        for one, other in ((laws[0][i], laws[1][i]), (laws[1][i], laws[0][i])):
            if one > 0:
                of_split = log_ratio(Measured(one, 0.0), Measured(other, 0.0))
                losses.append(
                    Measured(of_split.value + of_counts.value, of_split.error + of_counts.error)
                )
    return Certificate(epsilon, *max(losses), "ε at ε=1", "X = {1/4, 3/4} against {3/4}")


def users(assigned_by: str) -> Certificate:
    """Noisy numbers of users in each of k = 3 parts; the new user has records of three dates."""
    epsilon, k = 1.0, 3
    records = [("new", date) for date in range(k)]
    parts = {(0 if assigned_by == "user" else date) for _, date in records}
    shifts = [float(j in parts) for j in range(k)]
    measured = laplace_corner(shifts, [1 / epsilon] * k)
    return Certificate(epsilon, *measured, "ε at ε=1", "insert a user with records of three dates")


def ordered_values(key: Callable[[Array], Array]) -> Certificate:
    """L1 distance of the ordered lists over neighbours, times ε; seeded search and a staircase."""
    epsilon, n = 1.0, 6
    rng = np.random.default_rng(0)
    sides = np.array([(-1.0) ** i for i in range(n)])
    staircase = 0.5 + sides * np.linspace(0.40, 0.49, n)
    moved = np.concatenate([[0.5 + 0.5 * (-1.0) ** n], staircase[1:]])  # first becomes last
    neighbours = [(staircase, moved), (np.zeros(n), np.array([0.0] * (n - 1) + [1.0]))]
    for _ in range(2000):
        x = rng.uniform(0, 1, n)
        other = x.copy()
        other[rng.integers(n)] = rng.uniform()
        neighbours.append((x, other))
    worst = 0.0
    for pair_of_lists in neighbours:
        lists = [v[np.argsort(key(v), kind="stable")] for v in pair_of_lists]
        worst = max(worst, float(np.abs(lists[0] - lists[1]).sum()))
    pair = "worst of a staircase around 1/2 and 2000 random neighbours, n=6"
    return Certificate(epsilon, epsilon * worst, 1e-12, "ε at ε=1", pair)


def _largest(epsilons: Sequence[float]) -> float:
    return max(epsilons)


def _twice_the_largest(epsilons: Sequence[float]) -> float:
    return 2 * max(epsilons)


CERTIFICATES: dict[str, Callable[[], Certificate]] = {
    "parallel_composition-01": partial(counts_by_cell, _largest),
    "parallel_composition-02": partial(counts_by_cell, _largest, relation="replace"),
    "parallel_composition-03": partial(counts_by_cell, _largest, cells_a_record=2),
    "parallel_composition-04": partial(counts_by_cell, lambda e: sum(e) / len(e)),
    "parallel_composition-05": partial(counts_by_cell, _twice_the_largest, relation="replace"),
    "parallel_composition-06": partial(counts_by_cell, sum, relation="replace"),
    "parallel_composition-07": partial(
        counts_by_cell, _twice_the_largest, relation="replace", guarantee="equal size"
    ),
    "parallel_composition-08": partial(blocks, list),
    "parallel_composition-09": partial(blocks, sorted),
    "parallel_composition-10": partial(histogram, lambda count: count >= 0),
    "parallel_composition-11": partial(histogram, lambda count: count > 0),
    "parallel_composition-12": partial(rounds_of_counts, lambda t, rho: t * rho),
    "parallel_composition-13": partial(rounds_of_counts, lambda t, rho: rho),
    "parallel_composition-14": partial(split_then_count, "private"),
    "parallel_composition-15": partial(split_then_count, "smallest record"),
    "parallel_composition-16": partial(users, "user"),
    "parallel_composition-17": partial(users, "date"),
    "parallel_composition-18": partial(ordered_values, lambda v: v),
    "parallel_composition-19": partial(ordered_values, lambda v: np.abs(v - 0.5)),
}
