"""How much f on [0,1]^n moves when one entry is replaced: proved by its form, or searched.

Nothing here knows a function by name. Three ways, told apart in `Sensitivity.proof`:

- "term": the form of f shows f(x) = Σ h_i(x_i). Then Δ is the widest range of an h_i. That is a
  proof up to the range of h_i, a function of one number, which is searched on a grid and refined.
- "range": the form shows 0 <= f <= 1 and a pair of neighbours with difference 1 is found. Proof.
- "search": neighbours over structured data sets (constant, stepped, alternating, sorted, all 0/1
  vectors for small n, seeded random ones), the best improved by pattern search. The pair found
  proves that Δ is no smaller; that it is no larger is numeric evidence only.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from dprivbench_inspect.symbolic_tokens import ReadingError
from dprivbench_inspect.symbolic_tree import Node, symbols
from dprivbench_inspect.symbolic_values import (
    CONSTANTS,
    Array,
    Work,
    evaluate,
    is_between_0_and_1,
    is_sum_over_entries,
    uses_data,
)

SIZES = (3, 4, 5, 6, 7, 8, 12, 25)
_SEED = 20260415
_ALL_VECTORS_UP_TO = 5
_NEAR = 1e-9  # beside a threshold
_STEPS = [0.25**k for k in range(1, 18)]


class Pair(NamedTuple):
    """Neighbours: `rest` holds the other entries, and entry `row` goes from `high` to `low`."""

    rest: tuple[float, ...]
    row: int
    high: float
    low: float


class Point(NamedTuple):
    """Δ for one n and one choice of the public constants, and the pair that shows it."""

    n: int
    constants: tuple[tuple[str, float], ...]
    delta: float
    pair: Pair


class Sensitivity(NamedTuple):
    """Δ at each n and choice of constants that was tried."""

    points: tuple[Point, ...]
    proof: Literal["term", "range", "search"]


def sensitivity(
    function: Node,
    count: str,
    choices: Sequence[Mapping[str, float]],
    indices: frozenset[str] = frozenset(),
    smallest: int = 3,
) -> Sensitivity:
    """Δ of f under replacing one entry, for several n.

    Args:
        function: f; its symbols are `count`, those of `choices` and `indices`.
        count: Name of n.
        choices: Values of the public constants to try.
        indices: Public constants that name an entry; first, second and last are tried.
        smallest: Least n that is meant.

    Raises:
        ReadingError: f is not finite on [0,1]^n, uses something undefined or is too much work.
    """
    separate, work = is_sum_over_entries(function), Work()
    points: list[Point] = []
    for n in _sizes(function, smallest):
        for chosen in choices:
            for places in product(*[sorted({1.0, 2.0, float(n)})] * len(indices)):
                constants = {**chosen, **dict(zip(sorted(indices), places, strict=True))}
                values = {**constants, count: float(n)}
                delta, pair = _widest_move(function, n, values, separate, work)
                points.append(Point(n, tuple(chosen.items()), delta, pair))
    proof: Literal["term", "range", "search"] = "term" if separate else "search"
    deltas = [largest(points, n) for n in sorted({point.n for point in points})]
    if proof == "search" and is_between_0_and_1(function) and min(deltas) >= 1:
        proof = "range"
    return Sensitivity(tuple(points), proof)


def largest(points: Sequence[Point], n: int) -> float:
    """Δ at n for the worst constants."""
    return max(point.delta for point in points if point.n == n)


def _sizes(function: Node, smallest: int) -> list[int]:
    """The n to try; beyond the numbers in f, which may be thresholds for a count."""
    extra = {int(value) + 3 for value in _numbers(function) if 2 < value <= 60}
    return sorted(
        {n for n in SIZES if n >= smallest} | {smallest} | {n for n in extra if n >= smallest}
    )


def _numbers(node: Node) -> set[float]:
    own = {node.value} if node.op == "num" else set()
    return own.union(*map(_numbers, node.args))


def _widest_move(
    function: Node, n: int, values: Mapping[str, float], separate: bool, work: Work
) -> tuple[float, Pair]:
    grid = _grid(function, values, 60 if separate else 12 if n <= 8 else 4)
    rows = np.arange(n) if separate or n <= 8 else np.array([0, 1, n // 2, n - 1])
    rests = np.zeros((n, 1)) if separate else _rests(n, grid)
    shape = (rests.shape[1], len(rows), len(grid))
    data = np.broadcast_to(rests[:, :, None, None], (n, *shape)).copy()
    for place, row in enumerate(rows):
        data[row, :, place, :] = grid
    reached = _values(function, values, data.reshape(n, -1), work).reshape(shape)
    moves = reached.max(axis=2) - reached.min(axis=2)
    order = np.argsort(-moves, axis=None, kind="stable")[: 1 if separate else 3]
    best = (-1.0, Pair((), 1, 0.0, 0.0))
    for place in order:
        k, r = np.unravel_index(place, moves.shape)
        high, low = grid[reached[k, r].argmax()], grid[reached[k, r].argmin()]
        start = np.array([*rests[:, k], high, low])
        found = _improve(function, values, start, int(rows[r]), separate, work)
        if found[0] > best[0]:
            best = found
    return best


def _grid(function: Node, values: Mapping[str, float], cells: int) -> Array:
    """Values for one entry: even steps, and both sides of every constant that stands in f."""
    constants = [
        float(evaluate(node, values, np.zeros((1, 1)), Work())[0])
        for node in _fixed_parts(function, frozenset(values))
    ]
    marks = np.array([c + step for c in constants for step in (-_NEAR, 0, _NEAR)])
    marks = marks[(marks >= 0) & (marks <= 1)]
    return np.unique(np.concatenate([np.linspace(0, 1, cells + 1), marks]))


def _fixed_parts(node: Node, known: frozenset[str]) -> set[Node]:
    """Largest parts without data whose symbols all have values."""
    if not uses_data(node) and symbols(node) <= known | CONSTANTS.keys() and node.op != "call":
        return {node}
    return set[Node]().union(*(_fixed_parts(arg, known) for arg in node.args))


def _rests(n: int, grid: Array) -> Array:
    """Data sets to start from, one a column."""
    steps = np.arange(1, n + 1)
    columns = [
        np.full(n, value) for value in ({0.0, 0.5, 1.0} | set(grid[:: max(1, len(grid) // 8)]))
    ]
    columns += [(steps > k).astype(float) for k in range(1, n)]
    columns += [(steps <= k).astype(float) for k in range(1, n)]
    columns += [steps % 2 * 1.0, (steps + 1) % 2 * 1.0, steps / (n + 1), steps[::-1] / (n + 1)]
    for row in (0, 1, n // 2, n - 1):
        for inside, outside in ((1.0, 0.0), (0.0, 1.0)):
            column = np.full(n, outside)
            column[row] = inside
            columns.append(column)
    rng = np.random.default_rng(_SEED + n)
    columns += [*rng.random((6, n)), *rng.integers(0, 2, (6, n)).astype(float)]
    if n <= _ALL_VECTORS_UP_TO:
        columns += [np.array(bits, dtype=float) for bits in product((0, 1), repeat=n)]
    return np.unique(np.array(columns).T, axis=1)


def _improve(
    function: Node, values: Mapping[str, float], start: Array, row: int, separate: bool, work: Work
) -> tuple[float, Pair]:
    """Pattern search from one pair: move one number at a time, by ever smaller steps.

    `start` is the data set, then the value before and the value after.
    """
    n = len(start) - 2
    free = [n, n + 1] if separate else [place for place in range(n + 2) if place != row]
    state, best = start, -1.0
    for step in _STEPS:
        for _ in range(8):
            moved = np.repeat(state[None, :], 2 * len(free) + 1, axis=0)
            for k, place in enumerate(free):
                moved[2 * k, place] += step
                moved[2 * k + 1, place] -= step
            moved = moved.clip(0, 1)
            before, after = moved[:, :n].copy(), moved[:, :n].copy()
            before[:, row], after[:, row] = moved[:, n], moved[:, n + 1]
            both = _values(function, values, np.concatenate([before, after]).T, work)
            differences = both[: len(moved)] - both[len(moved) :]
            # The last row has not moved: it wins ties, or rounding would drive the search.
            differences[-1] += 1e-15 * abs(differences[-1])
            place = len(moved) - 1 - int(np.argmax(differences[::-1]))
            if best >= 0 and differences[place] <= best * (1 + 1e-14):
                break
            improved = place != len(moved) - 1
            best, state = float(differences[place]), moved[place]
            if not improved:
                break
    pair = Pair(tuple(map(float, np.delete(state[:n], row))), row + 1, *map(float, state[n:]))
    return best, pair


def _values(function: Node, values: Mapping[str, float], data: Array, work: Work) -> Array:
    """Values of f for each column, continued to entries that are 0 where it has a limit there."""
    result = evaluate(function, values, data, work)
    if np.all(np.isfinite(result)):
        return result
    result, again = (
        evaluate(function, values, data.clip(tiny, 1), work) for tiny in (1e-300, 1e-250)
    )
    if not np.all(np.isfinite(result)) or not np.allclose(result, again, rtol=1e-9, atol=1e-12):
        raise ReadingError("f is not finite everywhere on [0,1]^n")
    return result
