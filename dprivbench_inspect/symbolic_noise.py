"""The noise that a text adds: its family, and the quantity by which it is given."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from dprivbench_inspect.latex_formula import read_formula
from dprivbench_inspect.latex_tokens import ReadingError, Token, latex_of, show, split
from dprivbench_inspect.latex_tree import Names, Node, number, symbol, symbols
from dprivbench_inspect.symbolic_function import plain_names
from dprivbench_inspect.symbolic_text import Text

Family = Literal["Laplace", "Gaussian", "Gumbel", "exponential"]
Quantity = Literal["scale", "variance", "standard deviation", "rate"]


class Noise(NamedTuple):
    """Its family, which quantity is printed, and that quantity as a tree and as LaTeX."""

    family: Family
    quantity: Quantity
    size: Node
    latex: str


_IN_WORDS: dict[str, Family] = {
    "laplace": "Laplace",
    "gaussian": "Gaussian",
    "normal": "Gaussian",
    "gumbel": "Gumbel",
    "exponential": "exponential",
}
_IN_FORMULAS: dict[str, Family] = {
    **_IN_WORDS,
    "lap": "Laplace",
    "n": "Gaussian",
    "exp": "exponential",
    "expo": "exponential",
}
_USUAL: dict[Family, Quantity] = {"Laplace": "scale", "Gaussian": "variance", "Gumbel": "scale"}
_QUANTITIES: dict[Family, dict[str, Quantity]] = {
    "Laplace": {"scale": "scale"},
    "Gumbel": {"scale": "scale"},
    "Gaussian": {"variance": "variance", "standard deviation": "standard deviation"},
    "exponential": {"rate": "rate", "scale": "scale", "mean": "scale"},
}
_KINDS = "|".join(_IN_WORDS)
_GIVEN = (
    r"(location|mean|scale|variance|standard deviation|rate)(?: parameter)?(?: of| is)? <(\d+)>"
)
_MEANING = re.compile(
    rf"<(\d+)> (?:stands for|denotes|means) (?:the|a) ({_KINDS}) distribution with ([^.?]*)"
)


def read_noise(text: Text, names: Names) -> Noise:
    """The one noise of a text, either `Lap(…)` in a formula or "the Laplace distribution with …".

    Raises:
        ReadingError: There is none or more than one, it has another centre than 0, or it is given
            by a quantity that does not fix it.
    """
    conventions: dict[Family, Quantity] = {}
    explained: set[int] = set()
    for match in _MEANING.finditer(text.prose):
        explained.add(int(match[1]))
        family = _IN_WORDS[match[2]]
        for word, k in re.findall(_GIVEN, match[3]):
            if quantity := _QUANTITIES[family].get(word):
                conventions[family] = quantity
            else:
                _must_be_zero(text.formulas[int(k)])
    text.used.update(explained)
    found: list[Noise] = []
    for k, tokens in enumerate(text.formulas):
        if k not in explained and (applied := noise_at_the_end(tokens, names)):
            text.used.add(k)
            found.append(_from_arguments(*applied[1:], conventions, names))
    prose = _MEANING.sub("", text.prose)
    for match in re.finditer(rf"\b({_KINDS}) (?:distribution|noise|variables?)\b([^.?]*)", prose):
        found += _from_words(text, _IN_WORDS[match[1]], match[2], names)
    if len(found) != 1:
        raise ReadingError("which noise is added: one is looked for")
    return found[0]


def noise_at_the_end(
    tokens: Sequence[Token], names: Names
) -> tuple[int, Family, list[list[Token]]] | None:
    """Where a `Lap(…)` stands that ends the formula, its family and its arguments."""
    for at, token in enumerate(tokens[:-2]):
        named = token.kind == "text" or (token.text == "N" and names.size != "N")
        family = _IN_FORMULAS.get(token.text.lower()) if named else None
        if family and tokens[at + 1].text == "(":
            inner = list(tokens[at + 2 : -1])
            depth = [(t.text == "(") - (t.text == ")") for t in inner]
            closed = all(sum(depth[: k + 1]) >= 0 for k in range(len(depth))) and sum(depth) == 0
            if tokens[-1].text != ")" or not closed:
                raise ReadingError("what stands beside the noise")
            return at, family, split(inner, ",")
    return None


def _from_arguments(
    family: Family,
    arguments: list[list[Token]],
    conventions: Mapping[Family, Quantity],
    names: Names,
) -> Noise:
    if len(arguments) not in ({2} if family == "Gaussian" else {1, 2}):
        raise ReadingError(f"{family} noise with {len(arguments)} arguments")
    if len(arguments) == 2:
        _must_be_zero(arguments[0])
    quantity = conventions.get(family) or _USUAL.get(family)
    if quantity is None:
        raise ReadingError("whether exponential noise is given by its rate or by its mean")
    return _sized(family, quantity, arguments[-1], names)


def _from_words(text: Text, family: Family, words: str, names: Names) -> list[Noise]:
    found: list[Noise] = []
    for word, k in re.findall(_GIVEN, words):
        text.used.add(int(k))
        tokens = text.formulas[int(k)]
        if quantity := _QUANTITIES[family].get(word):
            found.append(_sized(family, quantity, tokens, names))
        elif word in {"location", "mean"}:
            _must_be_zero(tokens)
        else:
            raise ReadingError(f"{family} noise given by its {word}")
    return found


def _sized(family: Family, quantity: Quantity, tokens: Sequence[Token], names: Names) -> Noise:
    *letters, size = split(tokens, "=")
    if len(letters) > 1:
        raise ReadingError("the size of the noise")
    tree = read_formula(size, plain_names(names))
    return Noise(family, quantity, tree, latex_of(size))


def put_in(noise: Noise, text: Text, names: Names) -> Noise:
    """The noise with the text's `b = …`, `σ = …` or `σ^2 = …` put into its size."""
    for k, tokens in enumerate(text.formulas):
        head, *body = split(tokens, "=")
        if len(body) != 1 or k in text.used or not _names_part(show(head), noise.size):
            continue
        text.used.add(k)
        named, meant = (read_formula(part, plain_names(names)) for part in (head, body[0]))
        whole = named == noise.size
        size = _replaced(noise.size, named, meant)
        latex = latex_of(body[0]) if whole else noise.latex
        noise = noise._replace(size=size, latex=latex)
    return noise


def _names_part(head: str, size: Node) -> bool:
    """Whether a letter or its square, as `show` has it, stands in the size."""
    letter = head.removesuffix(" ^ 2").replace(" ", "")
    if letter not in symbols(size):
        return False
    return (
        letter == head.replace(" ", "")
        or _replaced(size, Node("pow", (symbol(letter), number(2))), number(0)) != size
    )


def _replaced(node: Node, old: Node, new: Node) -> Node:
    if node == old:
        return new
    return node._replace(args=tuple(_replaced(arg, old, new) for arg in node.args))


def _must_be_zero(tokens: Sequence[Token]) -> None:
    if show(tokens) != "0":
        raise ReadingError("noise that is not centred at 0")
