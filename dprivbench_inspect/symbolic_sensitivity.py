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

from dprivbench_inspect.latex_tokens import ReadingError
from dprivbench_inspect.latex_tree import Node, numbers, symbols
from dprivbench_inspect.symbolic_values import (
    CONSTANTS,
    Array,
    Work,
    evaluate,
    is_between_0_and_1,
    is_sum_over_entries,
    uses_data,
)

SIZES = (3, 4, 5, 6, 7, 8, 11, 16)
SIZES_OF_SUMS = (3, 4, 5, 6, 7, 8, 12, 25)
_SEED = 20260415
_ALL_VECTORS_UP_TO = 5
_NEAR = 1e-9  # beside a threshold
_CELLS, _CELLS_ALONE = (12, 4), (240, 60)  # steps of the grid for few and for many entries
_MOST_FOR_ALL = 32  # grid points up to which all data sets of three entries are tried
_SLANTED = 12
_STEPS = [0.125**k for k in range(1, 12)]


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
    before: dict[object, Pair] = {}  # the best pair of the last n, by constants
    usual = SIZES_OF_SUMS if separate else SIZES
    last, left = 0, work.left
    for n in _sizes(function, smallest, usual):
        cost, left = left - work.left, work.left
        if last and n > 8 and n in usual and cost * (n / last) ** 3 > left:
            continue  # a double or triple sum; the smaller n must do
        last = n
        for chosen in choices:
            for places in product(*[("first", "second", "last")] * len(indices)):
                at = {"first": 1.0, "second": 2.0, "last": float(n)}
                named = dict(zip(sorted(indices), (at[place] for place in places), strict=True))
                case = (tuple(chosen.items()), places)
                values = {**chosen, **named, count: float(n)}
                delta, pair = _widest_move(function, n, values, separate, before.get(case), work)
                before[case] = pair
                points.append(Point(n, tuple(chosen.items()), delta, pair))
    proof: Literal["term", "range", "search"] = "term" if separate else "search"
    deltas = [largest(points, n) for n in sorted({point.n for point in points})]
    if proof == "search" and is_between_0_and_1(function) and min(deltas) >= 1:
        proof = "range"
    return Sensitivity(tuple(points), proof)


def largest(points: Sequence[Point], n: int) -> float:
    """Δ at n for the worst constants."""
    return max(point.delta for point in points if point.n == n)


def _sizes(function: Node, smallest: int, usual: Sequence[int]) -> list[int]:
    """The n to try; beyond the numbers in f, which may be thresholds for a count."""
    extra = {int(value) + 3 for value in numbers(function) if 2 < value <= 60}
    first = range(smallest, smallest + 6)
    return sorted({n for n in {*first, *usual, *extra} if n >= smallest})


def _widest_move(
    function: Node,
    n: int,
    values: Mapping[str, float],
    separate: bool,
    before: Pair | None,
    work: Work,
) -> tuple[float, Pair]:
    """Δ at n: the best starts, each improved."""
    grid = _grid(function, values, _CELLS_ALONE[n > 5] if separate else _CELLS[n > 8])
    all_pairs = n == 3 and len(grid) <= _MOST_FOR_ALL and not separate
    rests = np.zeros((n, 1)) if separate else _rests(n, grid)
    found: list[tuple[float, Pair]] = []
    for row in range(n) if separate or n <= 8 else (0, 1, n // 2, n - 1):
        if all_pairs:
            pairs = np.stack([axis.ravel() for axis in np.meshgrid(grid, grid)])
            rests = np.insert(pairs, row, 0, axis=0)
        found.append(_widest_on_grid(function, values, rests, grid, row, work))
    found.sort(key=lambda start: -start[0])
    starts = [pair for _, pair in found[: 2 if separate else 6 if n <= 8 else 3]]
    if before and not separate:
        starts += _longer(before, n)
    return _improve(function, values, starts, separate, work)


def _widest_on_grid(
    function: Node, values: Mapping[str, float], rests: Array, grid: Array, row: int, work: Work
) -> tuple[float, Pair]:
    """The widest move of one row among these data sets, one a column."""
    columns = rests.shape[1]
    data = np.repeat(rests, len(grid), axis=1)
    data[row] = np.tile(grid, columns)
    reached = _values(function, values, data, work).reshape(columns, len(grid))
    moves = reached.max(axis=1) - reached.min(axis=1)
    best = int(np.argmax(moves))
    high, low = grid[reached[best].argmax()], grid[reached[best].argmin()]
    return float(moves[best]), _pair(np.delete(rests[:, best], row), row, high, low)


def _pair(rest: Array, row: int, high: float, low: float) -> Pair:
    return Pair(tuple(map(float, rest)), row + 1, float(high), float(low))


def _longer(pair: Pair, n: int) -> list[Pair]:
    """A pair for fewer entries, filled up to n with zeros, ones or the entry at that end."""
    missing = n - 1 - len(pair.rest)
    if missing <= 0 or not pair.rest:
        return []
    pairs = []
    for value in {0.0, 1.0, pair.rest[-1]}:
        pairs.append(pair._replace(rest=(*pair.rest, *[value] * missing)))
    for value in {0.0, 1.0, pair.rest[0]} if n <= 8 else ():
        rest = (*[value] * missing, *pair.rest)
        pairs.append(pair._replace(rest=rest, row=pair.row + missing))
    return pairs


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
    for row in {0, 1 % n, n // 2, n - 1}:
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
    function: Node, values: Mapping[str, float], starts: Sequence[Pair], separate: bool, work: Work
) -> tuple[float, Pair]:
    """Pattern search from each start: move one or a few numbers, by ever smaller steps."""
    n = len(starts[0].rest) + 1
    rows = np.array([start.row - 1 for start in starts])
    # Per start: the data set (at its row anything), then that entry before and after.
    state = np.array([
        [*start.rest[:row], 0.0, *start.rest[row:], start.high, start.low]
        for start, row in zip(starts, rows, strict=True)
    ])  # fmt: skip
    moves = np.concatenate([np.eye(n + 2), -np.eye(n + 2), np.zeros((1, n + 2))])
    if separate:
        moves = moves[[n, n + 1, 2 * n + 2, 2 * n + 3, 2 * n + 4]]
    else:  # several at a time as well, along ridges
        slanted = np.random.default_rng(_SEED).integers(-1, 2, (_SLANTED, n + 2))
        moves = np.concatenate([slanted, moves])
    every = np.arange(len(starts))
    for step in _STEPS:
        for _ in range(8):
            moved = (state[:, None, :] + step * moves).clip(0, 1)
            high, low = moved[:, :, :n].copy(), moved[:, :, :n].copy()
            high[every, :, rows], low[every, :, rows] = moved[:, :, n], moved[:, :, n + 1]
            both = _values(function, values, np.stack([high, low]).reshape(-1, n).T, work)
            difference = both.reshape(2, len(starts), len(moves))
            reached = difference[0] - difference[1]
            # The last one has not moved. It wins all but true gains, or rounding would decide.
            reached[:, -1] += 1e-14 * np.abs(reached[:, -1])
            best = reached.argmax(axis=1)
            gains = reached[every, best] > reached[:, -1]
            state = np.where(gains[:, None], moved[every, best], state)
            if not gains.any():
                break
    final = reached[:, -1] / (1 + 1e-14)
    best_start = int(final.argmax())
    row, end = int(rows[best_start]), state[best_start]
    return float(final[best_start]), _pair(np.delete(end[:n], row), row, end[n], end[n + 1])


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
