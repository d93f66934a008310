"""What a text says about n, the number of candidates, constants and the privacy parameter."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from dprivbench_inspect.symbolic_function import Function, plain_names
from dprivbench_inspect.symbolic_latex import read_formula
from dprivbench_inspect.symbolic_text import Text
from dprivbench_inspect.symbolic_tokens import ReadingError, Token, latex_of, split
from dprivbench_inspect.symbolic_tree import RELATIONS, Names, Node, symbols
from dprivbench_inspect.symbolic_values import Work, evaluate

Values = Mapping[str, float]
_INSIDE = (0.5, 0.25, 0.75, 0.1, 0.9)  # values of a constant that no text bounds
_OUTSIDE = (0.0, 1.0, 1.01, 1.5, 2.0, 3.7, 10.0, -0.5, -2.0)
_PRIVACY = (1.0, 0.05, 0.4, 2.0, 8.0)  # ε, μ or ρ
_MAX_CHOICES = 12


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
    names: frozenset[str], relations: Sequence[Node]
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
    inside: list[Values] = []
    outside: list[Values] = []
    for values in product(_INSIDE + _OUTSIDE, repeat=len(order)):
        choice = dict(zip(order, values, strict=True))
        if all(_holds(relation, choice) for relation in about):
            usual = all(choice[name] in _INSIDE for name in unsaid)
            (inside if usual else outside).append(choice)
    if not inside:
        raise ReadingError(f"no values that fit the conditions on {', '.join(order)}")
    inside = inside[:: -(-len(inside) // _MAX_CHOICES)]
    outside = outside[:: max(1, -(-len(outside) // _MAX_CHOICES))]
    words = (
        [f"{', '.join(unsaid)}: any public constant, as nothing is said of it"] if unsaid else []
    )
    return (*inside, *outside), len(inside), words


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
