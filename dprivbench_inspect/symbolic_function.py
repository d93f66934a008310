"""The function that a text defines, with the text's definitions and conventions put in."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from dprivbench_inspect.latex_formula import read_formula
from dprivbench_inspect.latex_tokens import ReadingError, Token, show, split
from dprivbench_inspect.latex_tree import (
    LOOPS,
    Names,
    Node,
    check_depth,
    mean,
    number,
    symbol,
    symbols,
)
from dprivbench_inspect.symbolic_text import WORDS, Text
from dprivbench_inspect.symbolic_values import is_sum_over_entries

_QUARTILE = re.compile(r"Q_[123]")


class Function(NamedTuple):
    """The tree; `indices` are public constants that name an entry.

    `conditions` are relations that stand behind the formula, and `assumed` what was taken for
    granted because the text does not say it.
    """

    tree: Node
    indices: frozenset[str]
    conditions: tuple[tuple[Token, ...], ...]
    assumed: tuple[str, ...]


class _Definition(NamedTuple):
    argument: str | None
    body: list[Token]
    source: int | None  # number of its formula


def plain_names(names: Names) -> Names:
    """Names for formulas in which no data stand."""
    return Names(entry="", vectors=frozenset(), size=names.size)


def read_function(text: Text, names: Names, name: str) -> Function:
    """The function of this name.

    Raises:
        ReadingError: It is defined not at all or twice, or with something that is not understood.
    """
    vector = next(iter(names.vectors))
    places = [k for k, s in enumerate(text.shown) if s.startswith(f"{name} ( {vector} ) = ")]
    if len(places) != 1:
        raise ReadingError(f"what {name}({vector}) is: one definition is looked for")
    text.used.add(places[0])
    tokens = _after_equals(text.formulas[places[0]])
    formula, *asides = [p for quad in split(tokens, r"\quad") for p in split(quad, ",", ";") if p]
    dictionary = _Dictionary(text, names, asides)
    tree = dictionary.resolve(read_formula(formula, dictionary.names), 0)
    check_depth(tree)
    if dictionary.permuted and not is_sum_over_entries(tree):
        raise ReadingError("a permutation on which the sensitivity may depend")
    indices = _in_indices(tree, frozenset()) - {names.size}
    conditions = tuple(map(tuple, dictionary.conditions))
    return Function(tree, indices, conditions, tuple(dict.fromkeys(dictionary.assumed)))


class _Dictionary:
    """What the text says about letters, quantiles and indices."""

    def __init__(self, text: Text, names: Names, asides: Sequence[list[Token]]):
        self.text = text
        self.definitions: dict[str, _Definition] = {}
        self.conditions: list[list[Token]] = []
        self.assumed: list[str] = []
        self.permuted = False
        self.permutations = {
            text.shown[int(k)] for k in re.findall(r"permutation <(\d+)>", text.prose)
        } | {
            text.shown[int(k)]
            for k in re.findall(
                r"<(\d+)> (?:is|denotes) a (?:fixed |public )*permutation", text.prose
            )
        }
        for part in asides:
            self._aside(part)
        for k, tokens in enumerate(text.formulas):
            if k not in text.used and (defined := _definition(tokens)):
                self._define(*defined, source=k)
        applied = {word for word, found in self.definitions.items() if found.argument}
        functions = applied | self.permutations | {"Q_1", "Q_2", "Q_3"}
        self.names = names._replace(functions=frozenset(functions))
        self.quantiles = self._quantiles()
        self.cyclic = self._is_cyclic()

    def _aside(self, part: list[Token]) -> None:
        words = " ".join(token.text for token in part if token.kind == "text").lower()
        if unknown := set(re.findall(r"\w+", words)) - WORDS:
            raise ReadingError(f"{min(unknown)!r} is not a word it knows")
        if "permutation" in words and part[-1].kind == "name":
            self.permutations.add(part[-1].text)
        elif defined := _definition(part):
            self._define(*defined, source=None)
        elif not words:
            self.conditions.append(part)

    def _define(
        self, name: str, argument: str | None, body: list[Token], source: int | None
    ) -> None:
        if name in self.definitions:
            raise ReadingError(f"two definitions of {name}")
        self.definitions[name] = _Definition(argument, body, source)

    def _quantiles(self) -> dict[str, Node]:
        """Places in ascending order that the text gives to the median and the quartiles."""
        places: dict[str, Node] = {}
        for sentence in self.text.sentences():
            if re.search(r"th (?:largest|greatest|highest)", sentence):
                raise ReadingError("a place in descending order")
            if "th smallest" not in sentence:
                continue
            numbered = [int(k) for k in re.findall(r"<(\d+)>-?(?:th|st)\b", sentence)]
            others = re.findall(r"<(\d+)>(?!-?(?:th|st)\b)", sentence)
            heads = [self.text.shown[int(k)].replace(" ", "").split("(")[0] for k in others]
            named = [head for head in heads if _QUARTILE.fullmatch(head)]
            if not named and "median" in sentence:
                named = ["median"]
            if len(named) != len(numbered):
                raise ReadingError("which quantile is which entry")
            for name, k in zip(named, numbered, strict=True):
                self.text.used.add(k)
                place = read_formula(self.text.formulas[k], plain_names(self.names))
                places[name] = Node("order", (place,))
        return places

    def _is_cyclic(self) -> bool:
        """Whether x_(n+1) is x_1."""
        entry, size = self.names.entry, self.names.size
        beyond = f"{entry} _ {{ {size} + 1 }}"
        for k, shown in enumerate(self.text.shown):
            if shown == f"{beyond} = {entry} _ 1":
                self.text.used.add(k)
                return True
        pairs = re.findall(
            r"<(\d+)> (?:means|is|equals|denotes|stands for) <(\d+)>", self.text.prose
        )
        said = any(
            (self.text.shown[int(a)], self.text.shown[int(b)]) == (beyond, f"{entry} _ 1")
            for a, b in pairs
        )
        return said or "cyclic" in self.text.prose

    def resolve(self, node: Node, depth: int) -> Node:
        """The tree with definitions and conventions put in."""
        if depth > 80:
            raise ReadingError("definitions that go round in circles")
        found = self.definitions.get(node.name) if node.op in {"sym", "call"} else None
        args = tuple(self.resolve(arg, depth + 1) for arg in node.args)
        if found is not None:
            return self._defined(found, args, depth)
        if node == symbol(r"\bar"):
            return mean(self.names)
        if node.op in {"sym", "call"} and (_QUARTILE.fullmatch(node.name) or node.name == "median"):
            return self._quantile(node.name)
        if node.op == "entry":
            return Node("entry", (self._index(args[0]),))
        return node._replace(args=args)

    def _defined(self, found: _Definition, args: tuple[Node, ...], depth: int) -> Node:
        if found.source is not None:
            self.text.used.add(found.source)
        names = self.names
        if found.argument not in names.vectors:
            # The argument of a helper is its own letter, even where the data use it too.
            names = names._replace(vectors=names.vectors - {found.argument or ""})
        body = self.resolve(read_formula(found.body, names), depth + 10)
        if found.argument is None or args == (Node("vector"),):
            return body
        if len(args) != 1:
            raise ReadingError("a function without its argument")
        return _substitute(body, found.argument, args[0])

    def _index(self, index: Node) -> Node:
        size = symbol(self.names.size)
        if index.op == "call":
            if index.name not in self.permutations:
                raise ReadingError(f"what {index.name} is in an index")
            self.permuted = True  # any permutation will do where only one term changes
            return Node("sub", (Node("add", (size, number(1))), index.args[0]))
        if index.op == "mod" and index.args[1] == size:
            index = index.args[0]  # entry 0 is the last one
        elif not self.cyclic:
            return index
        back = Node("mod", (Node("sub", (index, number(1))), size))
        return Node("add", (back, number(1)))

    def _quantile(self, name: str) -> Node:
        if name in self.quantiles:
            return self.quantiles[name]
        size = symbol(self.names.size)
        if name == "median":
            self.assumed.append("the median of an even number of entries is the middle of two")
            half = Node("div", (Node("add", (size, number(1))), number(2)))
            low, high = (Node("order", (Node(side, (half,)),)) for side in ("floor", "ceil"))
            return Node("div", (Node("add", (low, high)), number(2)))
        self.assumed.append(f"{name} is the ⌈{name[-1]}{self.names.size}/4⌉-th smallest entry")
        part = Node("mul", (number(int(name[-1]) / 4), size))
        return Node("order", (Node("ceil", (part,)),))


def _definition(tokens: Sequence[Token]) -> tuple[str, str | None, list[Token]] | None:
    """Name, argument and right-hand side of `name = …` or `name(argument) = …`."""
    pattern = r"(\\bar \S+|[A-Za-z](?: _ \S+)?|\\[a-z]+)(?: \( (\S+) \))? = ."
    match = re.match(pattern, show(tokens))
    if match is None:
        return None
    name = r"\bar" if match[1].startswith(r"\bar ") else match[1].replace(" ", "")
    return name, match[2], _after_equals(tokens)


def _after_equals(tokens: Sequence[Token]) -> list[Token]:
    return list(tokens)[[token.text for token in tokens].index("=") + 1 :]


def _substitute(node: Node, name: str, value: Node) -> Node:
    if node == symbol(name):
        return value
    return node._replace(args=tuple(_substitute(arg, name, value) for arg in node.args))


def _in_indices(node: Node, bound: frozenset[str]) -> frozenset[str]:
    """Free symbols in the indices of entries."""
    if node.op == "entry":
        return symbols(node.args[0]) - bound
    inner = bound | {node.name} if node.op in LOOPS.values() else bound
    return frozenset[str]().union(*(_in_indices(arg, inner) for arg in node.args))
