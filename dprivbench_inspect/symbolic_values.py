"""Trees → numbers, for many data sets at once; and what their form proves."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from dprivbench_inspect.latex_tokens import ReadingError
from dprivbench_inspect.latex_tree import LOOPS, Node, symbols

Array = NDArray[np.float64]
MAX_CELLS = 40_000_000  # numbers computed for one function, about a second of work
MAX_LOOPS = 4
_LOOPS = frozenset(LOOPS.values())
_NEUTRAL = {"sum": 0.0, "prod": 1.0, "max_of": -np.inf, "min_of": np.inf}
_REDUCE: dict[str, Callable[[Array], Array]] = {
    "sum": lambda a: a.sum(axis=0),
    "prod": lambda a: a.prod(axis=0),
    "max_of": lambda a: a.max(axis=0),
    "min_of": lambda a: a.min(axis=0),
}
_OPERATIONS: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "neg": np.negative,
    "abs": np.abs,
    "mod": np.mod,
    "floor": lambda a: np.floor(a + 1e-12),
    "ceil": lambda a: np.ceil(a - 1e-12),
    "max": np.maximum,
    "min": np.minimum,
    "and": np.multiply,
    "lt": lambda a, b: (a < b).astype(float),
    "le": lambda a, b: (a <= b).astype(float),
    "gt": lambda a, b: (a > b).astype(float),
    "ge": lambda a, b: (a >= b).astype(float),
    "eq": lambda a, b: (a == b).astype(float),
    "ne": lambda a, b: (a != b).astype(float),
}
_CALLS: dict[str, Callable[[Array], Array]] = {
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
    "sign": np.sign,
}
CONSTANTS = {"e": np.e, r"\pi": np.pi}


class Work:
    """Counts what is computed, so that every question ends; the same on every machine."""

    def __init__(self, cells: int = MAX_CELLS):
        self.left = cells

    def spend(self, cells: int) -> None:
        """Raise `ReadingError` once all is spent."""
        self.left -= cells + 500  # 500: what one operation costs before its first number
        if self.left < 0:
            raise ReadingError("the function takes too much work to search")


def evaluate(node: Node, values: Mapping[str, float | Array], data: Array, work: Work) -> Array:
    """The formula for each data set.

    Args:
        node: What to evaluate.
        values: The count, constants and parameters by name; one number, or one a data set.
        data: One data set a column, shape (n, data sets). Without data: shape (n, 1).
        work: Limit on the size of all this.

    Raises:
        ReadingError: A symbol has no value, an entry does not exist, or `work` is spent.
    """
    names: dict[str, Array] = {name: np.asarray(value) for name, value in values.items()}
    with np.errstate(all="ignore"):
        result = _value(node, names, data, np.asarray(True), 0, work)
    return np.broadcast_to(result, (data.shape[1],))


def _value(
    node: Node,
    names: Mapping[str, Array],
    data: Array,
    used: NDArray[np.bool_],
    depth: int,
    work: Work,
) -> Array:
    """Value with one leading axis for each enclosing sum; `used` marks the terms that count."""
    if node.op == "num":
        return np.asarray(node.value)
    if node.op == "sym":
        if node.name in names:
            return names[node.name]
        if node.name in CONSTANTS:
            return np.asarray(CONSTANTS[node.name])
        raise ReadingError(f"nothing says what {node.name} is")
    if node.op in _LOOPS:
        return _loop(node, names, data, used, depth, work)
    args = [_value(arg, names, data, used, depth, work) for arg in node.args]
    if node.op in {"entry", "order"}:
        rows = np.sort(data, axis=0) if node.op == "order" else data
        result = rows[_rows(args[0], used, len(data)), np.arange(data.shape[1])]
    elif node.op == "call" and node.name in _CALLS:
        result = _CALLS[node.name](args[0])
    elif node.op in _OPERATIONS:
        result = _OPERATIONS[node.op](*args)
    else:
        raise ReadingError(f"nothing says what {node.name or node.op} is")
    work.spend(result.size)
    return result


def _rows(index: Array, used: NDArray[np.bool_], n: int) -> NDArray[np.intp]:
    rows = np.rint(index)
    wrong = (np.abs(rows - index) > 1e-9) | (rows < 1) | (rows > n)
    if np.any(wrong & used):
        bad = np.broadcast_to(index, np.broadcast_shapes(index.shape, used.shape))[wrong & used]
        raise ReadingError(f"entry {bad.flat[0]:g} of {n} is asked for")
    return np.where(wrong, 0, rows - 1).astype(np.intp)


def _loop(
    node: Node,
    names: Mapping[str, Array],
    data: Array,
    used: NDArray[np.bool_],
    depth: int,
    work: Work,
) -> Array:
    if depth and not any(names[name].ndim > 1 for name in symbols(node) & names.keys()):
        depth, used = 0, np.asarray(True)  # no outer index in it, so once is enough
    body, low, high, condition = node.args
    first = _value(low, names, data, used, depth, work)
    last = _value(high, names, data, used, depth, work)
    if uses_data(low) or uses_data(high) or not np.all(np.isfinite(last - first)):
        raise ReadingError("a sum whose range depends on the data")
    size = int(np.max(last)) - int(np.min(first)) + 1
    if size <= 0 and node.op in {"max_of", "min_of"}:
        raise ReadingError("a maximum or minimum of nothing")
    if depth >= MAX_LOOPS:
        raise ReadingError(f"more than {MAX_LOOPS} sums in one another")
    work.spend(max(size, 0) * used.size * data.shape[1])  # before it is computed
    index = (np.min(first) + np.arange(max(size, 0))).reshape(-1, *(1,) * (depth + 1))
    inner = {**names, node.name: index}
    chosen = (index >= first) & (index <= last + 1e-9) & used
    if condition.op != "num":
        met = _value(condition, inner, data, chosen, depth + 1, work) != 0
        chosen = chosen & met
    value = _value(body, inner, data, chosen, depth + 1, work)
    value = np.where(chosen, value, _NEUTRAL[node.op])
    return _REDUCE[node.op](value)


def uses_data(node: Node) -> bool:
    """Whether an entry stands anywhere in it."""
    return node.op in {"entry", "order", "vector"} or any(map(uses_data, node.args))


def is_sum_over_entries(node: Node) -> bool:
    """Whether its form alone shows f(x) = Σ h_i(x_i): proof that only one term changes."""
    if not uses_data(node) or _one_entry(node, frozenset()) is not None:
        return True
    if node.op in {"add", "sub", "neg"}:
        return all(map(is_sum_over_entries, node.args))
    if node.op == "mul":
        left, right = node.args
        return (not uses_data(left) and is_sum_over_entries(right)) or (
            not uses_data(right) and is_sum_over_entries(left)
        )
    if node.op == "div":
        return not uses_data(node.args[1]) and is_sum_over_entries(node.args[0])
    if node.op == "sum":
        body, low, high, condition = node.args
        if uses_data(low) or uses_data(high):
            return False
        if uses_data(condition):
            return _one_entry(Node("mul", (body, condition)), frozenset()) is not None
        return is_sum_over_entries(body)
    return False


def _one_entry(node: Node, bound: frozenset[str]) -> frozenset[Node] | None:
    """Indices of the entries in it (at most one, fixed from outside), or None if there are more."""
    if node.op == "entry":
        index = node.args[0]
        if uses_data(index) or symbols(index) & bound:
            return None
        return frozenset({index})
    if node.op in {"order", "vector"}:
        return None
    inner = bound | {node.name} if node.op in _LOOPS else bound
    found = frozenset[Node]()
    for arg in node.args:
        part = _one_entry(arg, inner)
        if part is None:
            return None
        found |= part
    return found if len(found) <= 1 else None


def is_between_0_and_1(node: Node) -> bool:
    """Whether its form alone shows that all values lie in [0, 1], for entries in [0, 1]."""
    match node.op:
        case "num":
            return 0 <= node.value <= 1
        case "entry" | "order" | "lt" | "le" | "gt" | "ge" | "eq" | "ne" | "and":
            return True
        case "prod" | "max_of" | "min_of":
            return is_between_0_and_1(node.args[0])
        case "mul" | "max" | "min":
            return all(map(is_between_0_and_1, node.args))
        case "sub":  # 1 - a, and largest minus smallest
            left, right = node.args
            if left.op == "num":
                return left.value == 1 and is_between_0_and_1(right)
            spread = (left.op, right.op, left.args) == ("max_of", "min_of", right.args)
            return spread and is_between_0_and_1(left)
        case "pow":
            base, exponent = node.args
            return is_between_0_and_1(base) and exponent.op == "num" and exponent.value > 0
        case "mod":  # an integer modulo 2
            return node.args[1] == Node("num", value=2.0) and _is_whole(node.args[0])
        case _:
            return False


def _is_whole(node: Node) -> bool:
    if node.op == "num":
        return node.value == int(node.value)
    if node.op in {"add", "sub", "mul", "neg"}:
        return all(map(_is_whole, node.args))
    if node.op == "sum":
        return _is_whole(node.args[0])
    return node.op in {"lt", "le", "gt", "ge", "eq", "ne", "and", "floor", "ceil"}
