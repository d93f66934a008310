r"""LaTeX of one formula → a tree. Knows notation, no privacy.

The reader takes what the mathematics of Category 1 is written in: arithmetic, sums, products,
maxima and counts over indices, indicators, order statistics. What it does not know, and what can
be read in two ways (`a/2b`), it refuses with a `ReadingError`: a tree is never a guess.
"""

import re
from collections.abc import Sequence

from dprivbench_inspect.latex_tokens import (
    Cursor,
    ReadingError,
    Token,
    latex_of,
    split,
    tokenize,
)
from dprivbench_inspect.latex_tree import (
    LOOPS,
    ONE,
    RELATIONS,
    Names,
    Node,
    check_depth,
    mean,
    number,
    over_all,
    symbol,
    symbols,
)

MAX_DEPTH = 50  # formulas and brackets in brackets
_ATOMS = frozenset({
    r"\sum", r"\prod", r"\frac", r"\sqrt", r"\left|", r"\|", r"\left\|", r"\lfloor", r"\lceil",
    r"\indicator", r"\bar", r"\#", "(", "[", "{", r"\{",
})  # fmt: skip


def read_formula(source: str | Sequence[Token], names: Names) -> Node:
    r"""Tree of a whole formula, or of a relation, which is worth 1 or 0.

    Raises:
        ReadingError: Something in it is unknown or ambiguous, or it goes on after its end.

    >>> tree = read_formula(r"\frac{x_1}{n}", Names())
    >>> tree.op, [part.op for part in tree.args]
    ('div', ['entry', 'sym'])
    """
    tree = _whole(_Reader(tokenize(source) if isinstance(source, str) else source, names))
    check_depth(tree)
    return tree


def _whole(reader: "_Reader") -> Node:
    node = reader.relation()
    if reader.peek() is not None:
        raise ReadingError(f"{reader.rest()!r} in a formula")
    return node


class _Reader(Cursor):
    """Recursive descent, one method a level of binding, the loosest first; then the atoms."""

    def __init__(self, tokens: Sequence[Token], names: Names, outer: "_Reader | None" = None):
        super().__init__(tokens)
        self.names = names
        self.depth: int = outer.depth + 1 if outer else 0
        self.bound: frozenset[str] = outer.bound if outer else frozenset()
        self.in_index = False
        self.bars = 0  # |…| that are open and were written with plain bars
        if self.depth > MAX_DEPTH:
            raise ReadingError(f"more than {MAX_DEPTH} brackets in brackets")

    def read(self, tokens: Sequence[Token]) -> Node:
        """Tree of a part."""
        reader = _Reader(tokens, self.names, self)
        reader.in_index = self.in_index
        return _whole(reader)

    def relation(self) -> Node:
        last, links = self.modular(), list[Node]()
        while True:
            if sign := self.takes(*RELATIONS):
                left, last = last, self.modular()
                links.append(Node(RELATIONS[sign], (left, last)))
            elif self.takes(r"\in"):
                links.append(self._in_interval(last))
            elif links and self.takes(r"\wedge"):
                links.append(self.relation())
            elif (token := self.peek()) and token.kind == "text":
                parity = re.fullmatch(r"(?:is )?(even|odd)", token.text)
                if not parity:
                    raise ReadingError(f"the words {token.text[:40]!r} in a formula")
                self.at += 1
                halves = Node("mod", (last, number(2)))
                links.append(Node("eq", (halves, number(parity[1] == "odd"))))
            else:
                break
        for link in links[1:]:
            links[0] = Node("and", (links[0], link))
        return links[0] if links else last

    def _in_interval(self, node: Node) -> Node:
        opening = self.takes("[", "(")
        # Half-open intervals pair unlike brackets, so the end is looked for among both kinds.
        inner = split(self.tokens[self.at :], ")", "]")[0]
        self.at += len(inner)
        closing, ends = self.takes(")", "]"), split(inner, ",")
        if not opening or not closing or len(ends) != 2:
            raise ReadingError("a set that is no interval")
        above = Node("le" if opening == "[" else "lt", (self.read(ends[0]), node))
        below = Node("le" if closing == "]" else "lt", (node, self.read(ends[1])))
        return Node("and", (above, below))

    def modular(self) -> Node:
        node = self.additive()
        while sign := self.takes(r"\bmod", r"\pmod"):
            by = self.read(self.argument()) if sign == r"\pmod" else self.additive()
            node = Node("mod", (node, by))
        return node

    def additive(self) -> Node:
        node = self.signed()
        while sign := self.takes("+", "-"):
            node = Node("add" if sign == "+" else "sub", (node, self.product()))
        return node

    def signed(self) -> Node:
        if self.takes("-"):
            return Node("neg", (self.product(),))
        self.takes("+")
        return self.product()

    def product(self) -> Node:
        node, divided = self.factor(), False
        while True:
            if self.takes(r"\cdot"):
                node, divided = Node("mul", (node, self.factor())), False
            elif self.takes("/"):
                node, divided = Node("div", (node, self.factor())), True
            elif self._starts_factor():
                if divided and not self.comes(r"\sum", r"\prod"):
                    raise ReadingError(f"the quotient before {self.rest()!r} can be read two ways")
                node = Node("mul", (node, self.factor()))
            else:
                return node

    def _starts_factor(self) -> bool:
        token = self.peek()
        if token is None:
            return False
        if token.kind == "text":
            return token.text.lower().startswith("rank of")
        return token.kind != "mark" or token.text in _ATOMS or (token.text == "|" and not self.bars)

    def factor(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ReadingError(f"more than {MAX_DEPTH} formulas in formulas")
        node = self._atom(self.next())
        while self.takes("^"):
            exponent = self.read(self.argument())
            euler = node == symbol("e")
            node = Node("call", (exponent,), "exp") if euler else Node("pow", (node, exponent))
        if self.comes("_", "'", "!"):
            raise ReadingError(f"{self.rest()!r}, where it has no known meaning")
        self.depth -= 1
        return node

    def _atom(self, token: Token) -> Node:
        match token.kind:
            case "number":
                return number(float(token.text))
            case "name":
                return self._letter(token.text)
            case "function":
                return self._function(token.text)
            case "text" if token.text.lower().startswith("rank of"):
                return self._rank(self.factor())
            case "text":
                raise ReadingError(f"the words {token.text[:40]!r} in a formula")
        match token.text:
            case r"\sum" | r"\prod":
                return self._loop(token.text)
            case r"\frac":
                return Node("div", (self.read(self.argument()), self.read(self.argument())))
            case r"\sqrt":
                root = self.read(self.inside("[")) if self.takes("[") else number(2)
                return Node("pow", (self.read(self.argument()), Node("div", (ONE, root))))
            case r"\left|":
                return Node("abs", (self.read(self.inside(r"\left|")),))
            case "|":
                return self._between_bars()
            case r"\|" | r"\left\|":
                return self._norm()
            case r"\lfloor" | r"\lceil":
                return Node(token.text[2:], (self.read(self.inside(token.text)),))
            case r"\indicator":
                return self._indicator()
            case r"\bar":
                letters = [t.text for t in self.argument()]
                if len(letters) == 1 and letters[0] in {self.names.entry, *self.names.vectors}:
                    return symbol(r"\bar")
                raise ReadingError("a bar over something other than the data")
            case r"\#" if self.takes(r"\{"):
                return self._set() or self._no_set()
            case r"\{":
                return self._set() or self.read(self.inside(r"\{"))
            case "(" | "[" | "{":
                return self.read(self.inside(token.text))
        raise ReadingError(f"{token.text!r} in a formula")

    def _letter(self, name: str) -> Node:
        if self.takes("_"):
            index = self.argument()
            if name == self.names.entry:
                return self._entry(index)
            letters = {token.text for token in index if token.kind == "name"}
            if letters & (self.bound | {self.names.size}):
                raise ReadingError(f"the sequence {name}_{latex_of(index)}")
            name += "_" + "".join(token.text for token in index)
        applied = name in self.names.functions or (self.in_index and name != self.names.size)
        if applied and self.takes("("):
            return Node("call", (self.read(self.inside("(")),), name)
        if name == "I" and self.comes("(", "[", r"\{"):
            return self._indicator()
        return Node("vector") if name in self.names.vectors else symbol(name)

    def _entry(self, index: Sequence[Token]) -> Node:
        if len(index) > 2 and (index[0].text, index[-1].text) == ("(", ")"):
            return Node("order", (self.read(index[1:-1]),))
        reader = _Reader(index, self.names, self)
        reader.in_index = True
        return Node("entry", (_whole(reader),))

    def _function(self, name: str) -> Node:
        if name in {"max", "min"} and self.comes("_"):
            return self._loop(name)
        exponent = self.read(self.argument()) if self.takes("^") else None
        base = self.read(self.argument()) if name == "log" and self.takes("_") else None
        if exponent in {number(-1), Node("neg", (ONE,))}:
            if name not in {"sin", "cos", "tan"}:
                raise ReadingError(f"{name}^{{-1}}, which can be read two ways")
            return Node("call", (self._operand(),), f"arc{name}")
        if name in {"median", "mean", "max", "min"}:
            node = self._statistic(name)
        elif name == "rank":
            node = self._rank(self._operand())
        else:
            node = Node("call", (self._operand(),), "log" if name == "ln" else name)
        if base is not None:
            node = Node("div", (node, Node("call", (base,), "log")))
        return node if exponent is None else Node("pow", (node, exponent))

    def _operand(self) -> Node:
        """What a function is taken of: a bracket, or the letters and numbers that follow."""
        if opening := self.takes("(", "[", "{", r"\{"):
            return self.read(self.inside(opening))
        node = self.factor()
        while (token := self.peek()) and token.kind in {"number", "name"}:
            node = Node("mul", (node, self.factor()))
        return node

    def _statistic(self, name: str) -> Node:
        """Maximum, minimum, mean or median of all entries, or of those listed."""
        opening = self.takes("(", r"\{", "[")
        inner = self.inside(opening) if opening else self.argument()
        parts = [part for part in split(inner, ",") if part]
        items = [self.read(part) for part in parts if part != [Token("mark", r"\dots")]]
        listed = [Node("entry", (number(k),)) for k in range(1, len(items))]
        full = [*listed, Node("entry", (symbol(self.names.size),))]
        if (len(items) < len(parts) and items == full) or items == [Node("vector")]:
            if name == "median":
                return Node("call", (Node("vector"),), name)
            entry = Node("entry", (symbol("·"),))
            whole = over_all(f"{name}_of", entry, "·", self.names.size)
            return mean(self.names) if name == "mean" else whole
        if len(items) < len(parts) or len(items) < 2 or name not in {"max", "min"}:
            raise ReadingError(f"what the {name} is taken of")
        for item in items[1:]:
            items[0] = Node(name, (items[0], item))
        return items[0]

    def _rank(self, node: Node) -> Node:
        """1 plus the number of smaller entries."""
        smaller = Node("lt", (Node("entry", (symbol("·"),)), node))
        return Node("add", (ONE, over_all("sum", smaller, "·", self.names.size)))

    def _between_bars(self) -> Node:
        self.bars += 1
        node = self.relation()
        if not self.takes("|"):
            raise ReadingError("a bar without its other half")
        self.bars -= 1
        return Node("abs", (node,))

    def _norm(self) -> Node:
        if self.next().text not in self.names.vectors or not self.takes(r"\|", r"\right\|"):
            raise ReadingError("a norm of something other than the data")
        order = number(2)
        if self.takes("_"):
            order = self.read(self.argument())
        power = Node("pow", (Node("abs", (Node("entry", (symbol("·"),)),)), order))
        total = over_all("sum", power, "·", self.names.size)
        return Node("pow", (total, Node("div", (ONE, order))))

    def _indicator(self) -> Node:
        if self.takes("_"):
            tokens = self.argument()
            if tokens and (tokens[0].text, tokens[-1].text) == (r"\{", r"\}"):
                tokens = tokens[1:-1]
        elif opening := self.takes("[", "(", r"\{", "{"):
            tokens = self.inside(opening)
        else:
            raise ReadingError("an indicator without a condition")
        node = self.read(tokens)
        if node.op not in {*RELATIONS.values(), "and"}:
            raise ReadingError("an indicator whose condition is no relation")
        return node

    def _no_set(self) -> Node:
        raise ReadingError("a set that is not given by a condition on an index")

    def _set(self) -> Node | None:
        r"""Size of `\{i : condition\}`, whose brace has been read; None if it is another set."""
        start = self.at
        parts = split(self.inside(r"\{"), ":", "|")
        head = parts[0]
        if len(parts) != 2 or not head or head[0].kind != "name":
            self.at = start
            return None
        if len(head) > 1 and head[1] != Token("mark", r"\in"):
            return self._no_set()
        high = self._highest(head[2:]) if len(head) > 1 else symbol(self.names.size)
        outside, self.bound = self.bound, self.bound | {head[0].text}
        condition = self.read(parts[1])
        self.bound = outside
        return Node("sum", (condition, ONE, high, ONE), head[0].text)

    def _highest(self, tokens: Sequence[Token]) -> Node:
        r"""The m of an index set `[m]` or `\{1, …, m\}`."""
        texts = [token.text for token in tokens]
        if texts[:1] == ["["] and texts[-1:] == ["]"] and "," not in texts:
            return self.read(tokens[1:-1])
        if texts[:2] == [r"\{", "1"] and texts[-1:] == [r"\}"] and r"\dots" in texts:
            return self.read(split(tokens[1:-1], ",")[-1])
        raise ReadingError("an index set other than 1, …, m")

    def _loop(self, mark: str) -> Node:
        """Sum, product, maximum or minimum over one or more indices."""
        scripts: dict[str, list[Token]] = {"_": [], "^": []}
        while sign := self.takes("_", "^"):
            scripts[sign] = self.argument()
        ranges, conditions = self._indices(scripts["_"], scripts["^"])
        outside, self.bound = self.bound, self.bound | ranges.keys()
        condition = ONE
        for part in conditions:
            met = self.read(part)
            condition = met if condition is ONE else Node("and", (condition, met))
        start = self.at
        node = self.signed()
        self.bound = outside
        if mark == r"\prod" and len(split(self.tokens[start : self.at], "/", r"\cdot")) > 1:
            raise ReadingError("how far a product reaches")
        if conditions and (unused := ranges.keys() - symbols(node)) and len(ranges) > 1:
            raise ReadingError(f"whether {min(unused)} is an index or a constant")
        for name, (low, high) in reversed(ranges.items()):
            node = Node(LOOPS[mark], (node, low, high, condition), name)
            condition = ONE  # has been put in, innermost, where all indices are known
        return node

    def _indices(
        self, lower: list[Token], upper: list[Token]
    ) -> tuple[dict[str, tuple[Node, Node]], list[list[Token]]]:
        """Index by index its lowest and highest value, and the conditions on them."""
        if lower and lower[0].text == r"\substack":
            lower = lower[2:-1]
        ranges: dict[str, tuple[Node, Node]] = {}
        conditions: list[list[Token]] = []
        size = symbol(self.names.size)
        for part in filter(None, split(lower, ",", r"\\", ":")):
            name, rest = part[0].text, [token.text for token in part[1:]]
            if part[0].kind == "name" and not rest:
                ranges[name] = (ONE, self.read(upper) if upper else size)
            elif part[0].kind == "name" and rest[0] == "=":
                if not upper:
                    raise ReadingError("a sum, product or maximum without its upper end")
                ranges[name] = (self.read(part[2:]), self.read(upper))
            elif part[0].kind == "name" and rest[0] == r"\in":
                ranges[name] = (ONE, self._highest(part[2:]))
            else:
                conditions.append(part)
        if upper and not ranges:
            raise ReadingError("a sum, product or maximum without its lower end")
        if not ranges:  # as in i < j: all letters are indices that are nothing else
            known = self.bound | {self.names.size, self.names.entry}
            letters = [t.text for part in conditions for t in part if t.kind == "name"]
            ranges = {letter: (ONE, size) for letter in letters if letter not in known}
        if not ranges or self.names.size in ranges:
            raise ReadingError("a sum, product or maximum without an index of its own")
        return ranges, conditions
