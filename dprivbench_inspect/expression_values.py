"""Formulas without data → numbers, in floating point or to forty digits, at many places at once."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dprivbench_inspect.latex_tokens import ReadingError
from dprivbench_inspect.latex_tree import Node

Array = NDArray[np.float64]
DIGITS = 40
CONSTANTS = {"e": np.e, r"\pi": np.pi}
_Operations = Mapping[str, Callable[..., Any]]

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "neg": np.negative,
    "abs": np.abs,
    "max": np.maximum,
    "min": np.minimum,
}
_FLOATS: dict[str, Callable[..., Any]] = {
    **_ARITHMETIC,
    "floor": np.floor,
    "ceil": np.ceil,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arctan": np.arctan,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
}
# The same in mpmath, where it has another name.
_MPMATH = {"log": "ln", "arctan": "atan", "arcsin": "asin", "arccos": "acos"}


def evaluate(tree: Node, values: Mapping[str, Array]) -> Array:
    """The formula at every place.

    Args:
        tree: What to evaluate.
        values: Letter → its value at every place, shape (places,).

    Raises:
        ReadingError: An operation is unknown, or a part has no value or one too large to compute.
    """
    known = {**{name: np.asarray(value) for name, value in CONSTANTS.items()}, **values}
    with np.errstate(all="ignore"):
        result = _value(tree, known, np.float64, _FLOATS)
    return np.broadcast_to(result, np.broadcast_shapes(*(np.shape(of) for of in values.values())))


def precise_excess(tree: Node, target: Node, values: Mapping[str, Array]) -> Array:
    """Value over the target's value, less 1, at every place, right to about forty digits.

    Computed in a context of its own: the number of digits of `mpmath.mp` is that of the whole
    process, and sympy or another reply that is graded in another thread changes it.

    Args:
        tree: A formula for which `evaluate` gives a number at every place, so no part is too large.
        target: Another one.
        values: As for `evaluate`.
    """
    from mpmath import MPContext

    own = MPContext()
    own.dps = DIGITS
    calls = {
        name: np.frompyfunc(getattr(own, _MPMATH.get(name, name)), 1, 1)
        for name in _FLOATS.keys() - _ARITHMETIC.keys()
    }
    known: dict[str, Any] = {
        name: np.array([own.mpf(x) for x in of], dtype=object) for name, of in values.items()
    }
    known |= {"e": np.asarray(+own.e), r"\pi": np.asarray(+own.pi)}
    parts = (
        _value(t, known, lambda x: own.mpf(repr(x)), {**_ARITHMETIC, **calls})
        for t in (tree, target)
    )
    quotient = np.divide(*parts)
    shape = np.shape(next(iter(values.values())))
    return np.broadcast_to(np.asarray(quotient - 1).astype(np.float64), shape)


def _value(
    node: Node, values: Mapping[str, Any], number: Callable[[float], Any], operations: _Operations
) -> Any:
    if node.op == "sym":
        return values[node.name]
    if node.op == "num":
        result = np.asarray(number(node.value))
    else:
        operation = operations.get(node.name if node.op == "call" else node.op)
        if operation is None:
            raise ReadingError(f"{node.name or node.op}, which no noise is made of")
        result = operation(*(_value(arg, values, number, operations) for arg in node.args))
    if np.asarray(result).dtype == np.float64 and not np.all(np.isfinite(result)):
        raise ReadingError("a part without a value, or with one too large to compute")
    return result
