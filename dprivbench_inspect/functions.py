"""The function bank: LaTeX, the same in sympy and in numpy, the sensitivity and why.

Neighbours differ in the value of one entry. Sensitivities and pairs hold for every n >= 3.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import sympy as sp
import yaml
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict

Exact = Any  # a sympy expression; sympy has no types of its own
Reals = NDArray[np.float64]
Text = Annotated[str, BeforeValidator(str)]  # YAML reads a bare 1 as a number

# What may stand in a sensitivity beside a rational coefficient: LaTeX, and the same for sympy.
SENSITIVITY_FACTORS = {
    "1": "1",
    r"\ln 2": "log(2)",
    r"\ln(1+a)": "log(1+a)",
    r"\pi": "pi",
    r"\sqrt{2}": "sqrt(2)",
    "e": "E",
    "e-1": "E-1",
    "e+1": "E+1",
    "1-e^{-1}": "1-exp(-1)",
    "e+n-1": "E+n-1",
    "n": "n",
    "n-1": "n-1",
    "2n-1": "2*n-1",
}


class Pair(BaseModel):
    """Two neighbours that attain the sensitivity, written in n and the entry's index j from 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rest: Text
    row: Text
    high: Text
    low: Text


class Neighbours(NamedTuple):
    """Two data sets of n exact numbers that differ in entry `row`, counted from 1."""

    high: tuple[Exact, ...]
    low: tuple[Exact, ...]
    row: int


class Function(BaseModel):
    """One function on [0,1]^n with its tight sensitivity under replacing one entry, n >= 3."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: int
    latex: str
    conventions: str | None = None
    coefficient: Annotated[Fraction, BeforeValidator(Fraction)] = Fraction(1)
    numerator: str = "1"
    denominator: str = "1"
    constants: dict[str, list[Text]] = {}
    pair: Pair
    why: str

    def sensitivity(self, **values: Exact) -> Exact:
        """Δ as an exact sympy expression in n and the public constants.

        Args:
            values: Numbers to put in for n and the constants.

        >>> function(8).sensitivity(n=4)
        3/2
        """
        over, under = (
            _expression(SENSITIVITY_FACTORS[factor], values)
            for factor in (self.numerator, self.denominator)
        )
        return sp.Rational(self.coefficient.numerator, self.coefficient.denominator) * over / under

    def constant_values(self) -> list[dict[str, Exact]]:
        """Admissible values of the public constants; the first is the one the pair belongs to."""
        choices = zip(*self.constants.values(), strict=True)
        names = list(self.constants)
        return [dict(zip(names, map(sp.Rational, choice), strict=True)) for choice in choices] or [
            {}
        ]

    def neighbours(self, n: int) -> Neighbours:
        """The pair that attains Δ(n): f(high) - f(low) = Δ(n), at the first constants.

        Raises:
            ValueError: n is below 3.

        >>> function(25).neighbours(3)
        Neighbours(high=(1, 1, 1), low=(1, 0, 1), row=2)
        """
        if n < 3:
            raise ValueError(f"n must be at least 3, got {n}")
        values = {"n": sp.Integer(n), **self.constant_values()[0]}
        row = int(_expression(self.pair.row, values))
        rest = [
            _expression(self.pair.rest, {**values, "j": sp.Integer(j)}) for j in range(1, n + 1)
        ]
        high, low = (
            (*rest[: row - 1], _expression(end, values), *rest[row:])
            for end in (self.pair.high, self.pair.low)
        )
        return Neighbours(high, low, row)

    def exact(self, x: Sequence[Exact], constants: Mapping[str, Exact] | None = None) -> Exact:
        """Value f(x), exactly, in sympy.

        Args:
            x: n exact numbers; symbols too, where f needs no order among them.
            constants: Public constants; the first of `constant_values` if None.
        """
        c = self.constant_values()[0] if constants is None else constants
        return _EXACT[self.id](list(x), c)

    def floats(self, x: Reals, constants: Mapping[str, Exact] | None = None) -> Reals:
        """Values of f on many data sets, in floating point.

        Args:
            x: Data sets, shape (..., n).
            constants: As for `exact`.

        Returns:
            Values, shape (...).
        """
        c = self.constant_values()[0] if constants is None else constants
        values: Reals = np.asarray(
            _FLOATS[self.id](x, {name: float(value) for name, value in c.items()}), dtype=np.float64
        )
        return values


def _expression(text: str, values: Mapping[str, Exact]) -> Exact:
    symbols = {name: sp.Symbol(name, positive=True) for name in ("n", "j", "a", "b", "k")}
    return sp.sympify(text, locals={**symbols, **values})


@cache
def function_bank() -> dict[int, Function]:
    """The 49 functions by id, in order."""
    path = Path(__file__).parent / "data" / "functions.yaml"
    records = yaml.safe_load(path.read_text(encoding="utf-8"))
    functions = [Function.model_validate(record) for record in records if "id" in record]
    return {function.id: function for function in functions}


def function(number: int) -> Function:
    """Function of the bank by its id.

    Raises:
        ValueError: No function has this id.
    """
    bank = function_bank()
    if number not in bank:
        raise ValueError(f"no function {number}; choose from 1 to {max(bank)}")
    return bank[number]


def _indicator(condition: Exact) -> Exact:
    return sp.Integer(1) if condition else sp.Integer(0)


def _cyclic(x: Sequence[Exact]) -> list[tuple[Exact, Exact]]:
    return list(zip(x, [*x[1:], x[0]], strict=True))


def _neighbouring(x: Sequence[Exact]) -> list[tuple[Exact, Exact]]:
    return list(pairwise(x))


def _order(x: Sequence[Exact], numerator: int, denominator: int) -> Exact:
    """The ⌈numerator · n / denominator⌉-th smallest entry."""
    return sorted(x)[-(-numerator * len(x) // denominator) - 1]


def _exact_mean_differences(x: Sequence[Exact]) -> list[Exact]:
    mean = sum(x) / sp.Integer(len(x))
    return [t - mean for t in x]


_HALF = sp.Rational(1, 2)
# x: list of n exact numbers; c: public constants.
_EXACT: dict[int, Callable[[list[Exact], Mapping[str, Exact]], Exact]] = {
    1: lambda x, c: sum(x),
    2: lambda x, c: sp.prod(x),
    3: lambda x, c: sp.Max(*x),
    4: lambda x, c: sp.Min(*x),
    5: lambda x, c: sum(x) / sp.Integer(len(x)),
    6: lambda x, c: sp.sqrt(sum(t**2 for t in x)),
    7: lambda x, c: sum(sp.Abs(s - t) for s, t in _neighbouring(x)),
    8: lambda x, c: sum(sp.Abs(t) for t in _exact_mean_differences(x)),
    9: lambda x, c: sum(t**2 for t in _exact_mean_differences(x)),
    10: lambda x, c: sum((t - c["m"]) ** 2 for t in x),
    11: lambda x, c: sum(t**2 for t in x),
    12: lambda x, c: sum(t**3 for t in x),
    13: lambda x, c: sum(sp.sqrt(t) for t in x),
    14: lambda x, c: sum(sp.log(1 + t) for t in x),
    15: lambda x, c: sum(sp.exp(t) for t in x),
    16: lambda x, c: sum(sp.sin(sp.pi * t) for t in x),
    17: lambda x, c: sum(sp.cos(sp.pi * t) for t in x),
    18: lambda x, c: sum(sp.atan(t) for t in x),
    19: lambda x, c: sum(t * (1 - t) for t in x),
    20: lambda x, c: sum(t**2 * (1 - t) ** 2 for t in x),
    21: lambda x, c: _order(x, 1, 2),
    22: lambda x, c: _order(x, 3, 4) - _order(x, 1, 4),
    23: lambda x, c: sum(_indicator(t > _HALF) for t in x),
    24: lambda x, c: sum(_indicator(c["a"] <= t and t <= c["b"]) for t in x),
    25: lambda x, c: sum(s * t for s, t in _neighbouring(x)),
    26: lambda x, c: sum(x[i] * x[j] for j in range(len(x)) for i in range(j)),
    27: lambda x, c: sum(x[2 * i] - x[2 * i + 1] for i in range(len(x) // 2)),
    28: lambda x, c: sum(x) ** 2,
    29: lambda x, c: sum(i * t for i, t in enumerate(x, start=1)),
    30: lambda x, c: _indicator(sum(x) > sp.Integer(len(x)) / 2),
    31: lambda x, c: sum(_indicator(t > sp.Rational(7, 10)) for t in x),
    32: lambda x, c: sp.prod(_indicator(t > c["tau"]) for t in x),
    33: lambda x, c: _indicator(x[0] > x[1]),
    34: lambda x, c: sum(_indicator(t > _HALF) for t in x) % 2,
    35: lambda x, c: sp.log(1 + sum(t**2 for t in x)),
    36: lambda x, c: sp.sqrt(sum((s - t) ** 2 for s, t in _cyclic(x))),
    37: lambda x, c: sum(t**2 for t in x) / (1 + sum(x)),
    38: lambda x, c: sp.exp(-sum(t**2 for t in x)),
    39: lambda x, c: sum(1 / (1 + t**2) for t in x),
    40: lambda x, c: sum(1 / (1 + sp.exp(-t)) for t in x),
    41: lambda x, c: sum(t * sp.exp(t) for t in x) / sum(sp.exp(t) for t in x),
    42: lambda x, c: sum(sp.Abs(t - _HALF) for t in x),
    43: lambda x, c: sum((s - t) ** 2 for s, t in _neighbouring(x)),
    44: lambda x, c: sum(reversed(x)),  # the permutation that reverses; any other gives the same
    45: lambda x, c: 1 + sum(_indicator(t < x[int(c["k"]) - 1]) for t in x),
    46: lambda x, c: sum(x[1::2]),
    47: lambda x, c: sum(t / sp.Integer(i) for i, t in enumerate(x, start=1)),
    48: lambda x, c: -sum(t * sp.log(t + c["a"]) for t in x),
    49: lambda x, c: sum(sp.Abs(t - sp.Rational(i, len(x))) for i, t in enumerate(x, start=1)),
}


def _index(x: Reals) -> Reals:
    return np.arange(1.0, x.shape[-1] + 1)


def _centred(x: Reals) -> Reals:
    centred: Reals = x - x.mean(axis=-1, keepdims=True)
    return centred


def _floats_order(x: Reals, share: Fraction) -> Reals:
    ordered: Reals = np.sort(x, axis=-1)[..., math.ceil(share * x.shape[-1]) - 1]
    return ordered


def _softmax(x: Reals) -> Reals:
    weights: Reals = np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
    return weights


# x: shape (..., n); c: public constants.
_FLOATS: dict[int, Callable[[Reals, Mapping[str, float]], ArrayLike]] = {
    1: lambda x, c: x.sum(-1),
    2: lambda x, c: x.prod(-1),
    3: lambda x, c: x.max(-1),
    4: lambda x, c: x.min(-1),
    5: lambda x, c: x.mean(-1),
    6: lambda x, c: np.linalg.norm(x, axis=-1),
    7: lambda x, c: np.abs(np.diff(x)).sum(-1),
    8: lambda x, c: np.abs(_centred(x)).sum(-1),
    9: lambda x, c: x.shape[-1] * x.var(-1),
    10: lambda x, c: ((x - c["m"]) ** 2).sum(-1),
    11: lambda x, c: (x**2).sum(-1),
    12: lambda x, c: (x**3).sum(-1),
    13: lambda x, c: np.sqrt(x).sum(-1),
    14: lambda x, c: np.log1p(x).sum(-1),
    15: lambda x, c: np.exp(x).sum(-1),
    16: lambda x, c: np.sin(np.pi * x).sum(-1),
    17: lambda x, c: np.cos(np.pi * x).sum(-1),
    18: lambda x, c: np.arctan(x).sum(-1),
    19: lambda x, c: (x * (1 - x)).sum(-1),
    20: lambda x, c: (x**2 * (1 - x) ** 2).sum(-1),
    21: lambda x, c: _floats_order(x, Fraction(1, 2)),
    22: lambda x, c: _floats_order(x, Fraction(3, 4)) - _floats_order(x, Fraction(1, 4)),
    23: lambda x, c: (x > 0.5).sum(-1),
    24: lambda x, c: ((c["a"] <= x) & (x <= c["b"])).sum(-1),
    25: lambda x, c: (x[..., :-1] * x[..., 1:]).sum(-1),
    26: lambda x, c: (x.sum(-1) ** 2 - (x**2).sum(-1)) / 2,
    27: lambda x, c: x[..., :-1:2].sum(-1) - x[..., 1::2].sum(-1),
    28: lambda x, c: x.sum(-1) ** 2,
    29: lambda x, c: x @ _index(x),
    30: lambda x, c: x.sum(-1) > x.shape[-1] / 2,
    31: lambda x, c: (x > 0.7).sum(-1),
    32: lambda x, c: (x > c["tau"]).all(-1),
    33: lambda x, c: x[..., 0] > x[..., 1],
    34: lambda x, c: (x > 0.5).sum(-1) % 2,
    35: lambda x, c: np.log1p((x**2).sum(-1)),
    36: lambda x, c: np.linalg.norm(x - np.roll(x, -1, axis=-1), axis=-1),
    37: lambda x, c: (x**2).sum(-1) / (1 + x.sum(-1)),
    38: lambda x, c: np.exp(-(x**2).sum(-1)),
    39: lambda x, c: (1 / (1 + x**2)).sum(-1),
    40: lambda x, c: (1 / (1 + np.exp(-x))).sum(-1),
    41: lambda x, c: (_softmax(x) * x).sum(-1),
    42: lambda x, c: np.abs(x - 0.5).sum(-1),
    43: lambda x, c: (np.diff(x) ** 2).sum(-1),
    44: lambda x, c: x.sum(-1),
    45: lambda x, c: 1 + (x < x[..., [int(c["k"]) - 1]]).sum(-1),
    46: lambda x, c: x[..., 1::2].sum(-1),
    47: lambda x, c: (x / _index(x)).sum(-1),
    48: lambda x, c: -(x * np.log(x + c["a"])).sum(-1),
    49: lambda x, c: np.abs(x - _index(x) / x.shape[-1]).sum(-1),
}
