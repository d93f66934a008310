"""Check every sensitivity of the bank: one exact pair attains it, and no search goes beyond it."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import sympy as sp

from dprivbench_inspect.functions import Exact, Function, Reals, function_bank

# Values an entry is tried at, beside random ones; without constants f bends or jumps only here.
_LISTED = np.array([0.0, 0.1, 0.25, 0.4, 0.5, 0.501, 0.7, 0.701, 0.9, 1.0])
_RANDOM, _STARTS, _KEPT, _SWEEPS = 6, 400, 16, 2
_ROUNDING = 1e-9


class SensitivityEvidence(NamedTuple):
    """What one function does at one n, beside the sensitivity that the bank states."""

    function_id: int
    n: int
    stated: Exact
    attained: Exact  # by the bank's pair, exactly
    found: float  # the most that a search over neighbours moved f, over all tried constants
    allowed: float  # the stated sensitivity at the constants where `found` came closest to it
    pair: str

    @property
    def holds(self) -> bool:
        """Whether the pair attains what is stated and no neighbours were found beyond it."""
        tight = sp.simplify(self.attained - self.stated) == 0
        return tight and self.found <= self.allowed + _ROUNDING


def verify_sensitivities(
    sizes: Iterable[int] = range(3, 9), seed: int = 0
) -> Iterator[SensitivityEvidence]:
    """Evidence for the sensitivity of each function at each n, one after the other.

    Args:
        sizes: Values of n, each at least 3.
        seed: Of the search.
    """
    sizes = list(sizes)
    for function in function_bank().values():
        for n in sizes:
            yield check_sensitivity(function, n, np.random.default_rng([seed, function.id, n]))


def check_sensitivity(function: Function, n: int, rng: np.random.Generator) -> SensitivityEvidence:
    """Evidence for the stated sensitivity of one function at one n.

    Raises:
        ValueError: n is below 3.
    """
    pair = function.neighbours(n)
    searched = [
        (largest_move(function, n, constants, rng), _stated(function, n, constants))
        for constants in function.constant_values()
    ]
    found, allowed = max(searched, key=lambda both: both[0] - float(both[1]))
    return SensitivityEvidence(
        function_id=function.id,
        n=n,
        stated=_stated(function, n, function.constant_values()[0]),
        attained=function.exact(pair.high) - function.exact(pair.low),
        found=found,
        allowed=float(allowed),
        pair=f"x = {pair.high}, x' = {pair.low}",
    )


def largest_move(
    function: Function, n: int, constants: dict[str, Exact], rng: np.random.Generator
) -> float:
    """The most that replacing one entry moves f, over random data sets improved one by one.

    Starts from uniform, two-valued and listed entries; each row of each start goes through listed
    and random values; the best starts then have every other entry changed where that helps.
    """
    values = np.concatenate([_LISTED, rng.random(_RANDOM)])
    shape = (_STARTS, n)
    starts = np.concatenate([
        rng.random(shape),
        rng.integers(0, 2, shape).astype(np.float64),
        rng.choice(values, shape),
    ])
    best = 0.0
    for row in range(n):
        moves = _moves(function, starts, row, values, constants)
        top = np.argsort(moves)[-_KEPT:]
        data, moves = starts[top], moves[top]
        for _ in range(_SWEEPS):
            for entry in set(range(n)) - {row}:
                # Shape (values, data sets, n): every value in this one entry.
                tries = np.repeat(data[None], len(values), axis=0)
                tries[:, :, entry] = values[:, None]
                tried = _moves(function, tries, row, values, constants)
                better = tried.max(axis=0) > moves
                choice = tried.argmax(axis=0)
                data[better, entry] = values[choice[better]]
                moves = np.maximum(moves, tried.max(axis=0))
        best = max(best, float(moves.max()))
    return best


def _moves(
    function: Function, data: Reals, row: int, values: Reals, constants: dict[str, Exact]
) -> Reals:
    """Spread of f while one entry goes through the values; data has shape (..., n)."""
    changed = np.repeat(data[..., None, :], len(values), axis=-2)
    changed[..., row] = values
    spread: Reals = np.ptp(function.floats(changed, constants), axis=-1)
    return spread


def _stated(function: Function, n: int, constants: dict[str, Exact]) -> Exact:
    return function.sensitivity(n=sp.Integer(n), **constants)
