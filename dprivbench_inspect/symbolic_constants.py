"""What a text says about n, the number of candidates, constants and the privacy parameter."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dprivbench_inspect.latex_formula import read_formula
from dprivbench_inspect.latex_tokens import ReadingError, Token, latex_of, split
from dprivbench_inspect.latex_tree import RELATIONS, Names, Node, numbers, symbols
from dprivbench_inspect.symbolic_function import Function, plain_names
from dprivbench_inspect.symbolic_text import Text
from dprivbench_inspect.symbolic_values import Array, Work, evaluate

Values = Mapping[str, float]
_INSIDE = (0.5, 0.25, 0.75, 0.1, 0.9)  # values of a constant that no text bounds
_OUTSIDE = (0.0, 1.0, 1.01, 1.5, 2.0, 3.7, 10.0, -0.5, -2.0, 1e3, 1e6, -1e3)
_PRIVACY = (1.0, 0.05, 0.4, 2.0, 8.0)  # ε, μ or ρ
_MAX_CHOICES = 12
_NEAR = 1e-6  # beside the ends of an interval, which may be open


def read_relations(
    text: Text, function: Function, names: Names, letters: frozenset[str]
) -> list[Node]:
    """Conditions on n, d, the constants and the privacy parameter, which are the `letters`."""
    sources: list[tuple[int | None, Sequence[Token]]] = [(None, c) for c in function.conditions]
    sources += [(k, t) for k, t in enumerate(text.formulas) if k not in text.used]
    relations: list[Node] = []
    for k, tokens in sources:
        parts = split(tokens, ",")
        last = [token.text for token in parts[-1]]
        if not {*RELATIONS, r"\in"} & set(last):
            continue
        if last[1:2] == [r"\in"] and all(len(part) == 1 for part in parts[:-1]):
            parts = [[part[0], *parts[-1][1:]] for part in parts]  # a, b in (0, 1)
        try:
            read = [read_formula(part, plain_names(names)) for part in parts]
        except ReadingError:
            if k is None:
                raise
            continue  # left for `_check_nothing_left`
        if all(symbols(relation) <= letters for relation in read):
            relations += read
            if k is not None:
                text.used.add(k)
        elif k is None:
            raise ReadingError(f"the condition {latex_of(tokens)!r}")
    return relations


def read_sizes(relations: Sequence[Node], names: Names) -> tuple[int, bool]:
    """Least n that is meant, 0 if none is stated; and whether few candidates are meant."""
    smallest, few = 0, False
    for relation in relations:
        if symbols(relation) == {names.size}:
            fits = [n for n in range(1, 101) if _holds(relation, {names.size: n})]
            if 100 not in fits:
                raise ReadingError("a claim for some n only")
            smallest = max(smallest, *fits[:1])
        elif symbols(relation) == {"d"}:
            few |= not _holds(relation, {"d": 1e9})
    return smallest, few


def choices_of_constants(
    names: frozenset[str], relations: Sequence[Node], tree: Node
) -> tuple[tuple[Values, ...], int, list[str]]:
    """Values to try for the public constants, how many of them fit, and what is taken for granted.

    The first ones fit what the text says; the rest lie outside (0, 1) where it says nothing.
    """
    if len(names) > 3:
        raise ReadingError("a function with more than three constants")
    order = sorted(names)
    about = [
        relation
        for relation in relations
        if names & symbols(relation) and symbols(relation) <= names
    ]
    unsaid = [name for name in order if not any(name in symbols(relation) for relation in about)]
    ends = {value + step for r in about for value in numbers(r) for step in (-_NEAR, 0.0, _NEAR)}
    pool = dict.fromkeys((*_INSIDE, *_OUTSIDE, *sorted(ends)))
    grid = [axis.ravel() for axis in np.meshgrid(*[list(pool)] * len(order), indexing="ij")]
    columns: dict[str, Array] = dict(zip(order, grid, strict=True))
    fits = np.ones(len(pool) ** len(order), dtype=bool)
    for relation in about:
        fits &= evaluate(relation, columns, np.zeros((1, len(fits))), Work()) != 0
    usual = np.ones_like(fits)
    for name in unsaid:
        usual &= np.isin(columns[name], _INSIDE)
    inside, outside = (_some(columns, fits & part) for part in (usual, ~usual))
    if not inside:
        raise ReadingError(f"no values that fit the conditions on {', '.join(order)}")
    # A threshold may be anything: at worst f does not move. Other constants have to be bounded.
    if vague := set(unsaid) & _outside_of_conditions(tree):
        raise ReadingError(f"which values {min(vague)} may have")
    granted = [f"{name} is any public constant" for name in unsaid]
    return (*inside, *outside), len(inside), granted


def _some(columns: Mapping[str, Array], chosen: NDArray[np.bool_]) -> list[Values]:
    """At most about `_MAX_CHOICES` of the chosen rows, with the extremes of every constant."""
    rows = np.flatnonzero(chosen)
    kept = set(rows[:: max(1, -(-len(rows) // _MAX_CHOICES))].tolist())
    for column in columns.values():
        if len(rows):
            kept |= {int(rows[column[rows].argmin()]), int(rows[column[rows].argmax()])}
    return [{name: float(col[row]) for name, col in columns.items()} for row in sorted(kept)]


def _outside_of_conditions(node: Node) -> frozenset[str]:
    """Symbols that do more than stand in a condition on an entry."""
    if node.op in RELATIONS.values():
        return frozenset()
    if node.op == "sym":
        return frozenset({node.name})
    return frozenset[str]().union(*map(_outside_of_conditions, node.args))


def choices_of_privacy(names: frozenset[str], relations: Sequence[Node]) -> tuple[Values, ...]:
    """Values to try for the privacy parameter."""
    if len(names) > 1:
        raise ReadingError("a claim with more than one parameter")
    about = [relation for relation in relations if symbols(relation) == names]
    choices: list[Values] = [dict.fromkeys(names, value) for value in _PRIVACY]
    fitting = [c for c in choices if all(_holds(relation, c) for relation in about)]
    if not fitting:
        raise ReadingError("no value that fits the conditions on the privacy parameter")
    return tuple(fitting if names else fitting[:1])


def _holds(relation: Node, values: Values) -> bool:
    return bool(evaluate(relation, values, np.zeros((1, 1)), Work())[0])
