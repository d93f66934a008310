"""Formulas as trees, and a few that are built by hand."""

from typing import NamedTuple

from dprivbench_inspect.latex_tokens import ReadingError

MAX_TREE_DEPTH = 120  # keeps Python's stack out of reach of functions that call themselves


class Node(NamedTuple):
    """One operation on trees.

    `op` is num (value: the number), sym (name), vector (all entries), entry and order (one
    argument: the index, or the place in ascending order), call (name: the function), sum, prod,
    max_of and min_of (name: the index; arguments: body, lowest and highest index, condition), or
    an operation on numbers such as add and pow.
    """

    op: str
    args: tuple["Node", ...] = ()
    name: str = ""
    value: float = 0.0


class Names(NamedTuple):
    """What the letters of a text stand for: `entry` in x_i, `vectors` for x, `size` for n."""

    entry: str = "x"
    vectors: frozenset[str] = frozenset({"x"})
    size: str = "n"
    functions: frozenset[str] = frozenset()  # letters that are applied: p(i), σ(x_i)


RELATIONS = {"<": "lt", r"\le": "le", ">": "gt", r"\ge": "ge", "=": "eq", r"\ne": "ne"}
LOOPS = {r"\sum": "sum", r"\prod": "prod", "max": "max_of", "min": "min_of"}


def number(value: float) -> Node:
    """A constant."""
    return Node("num", value=float(value))


ONE = number(1)


def symbol(name: str) -> Node:
    """A letter."""
    return Node("sym", name=name)


def symbols(node: Node) -> frozenset[str]:
    """Free symbols of a tree."""
    if node.op == "sym":
        return frozenset({node.name})
    inner = frozenset[str]().union(*map(symbols, node.args))
    return inner - {node.name} if node.op in LOOPS.values() else inner


def numbers(node: Node) -> set[float]:
    """All numbers in a tree."""
    own = {node.value} if node.op == "num" else set()
    return own.union(*map(numbers, node.args))


def over_all(op: str, body: Node, index: str, size: str) -> Node:
    """Sum, product, maximum or minimum over 1, …, n."""
    return Node(op, (body, ONE, symbol(size), ONE), index)


def mean(names: Names) -> Node:
    """Average of all entries."""
    total = over_all("sum", Node("entry", (symbol("·"),)), "·", names.size)
    return Node("div", (total, symbol(names.size)))


def check_depth(tree: Node) -> None:
    """Refuse a tree that is too deep for functions that call themselves.

    Raises:
        ReadingError: Deeper than `MAX_TREE_DEPTH`.
    """
    level, depth = [tree], 0
    while level:
        level, depth = [arg for node in level for arg in node.args], depth + 1
        if depth > MAX_TREE_DEPTH:
            raise ReadingError("a formula that is too deep or too long")
