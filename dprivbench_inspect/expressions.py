r"""Boxed formula → a tree, compared with the right one: equal, too little, too much, unreadable.

Both formulas are evaluated on a grid of all their letters. Where they differ somewhere, the sign
of the difference decides: a scale that is too small at one place breaks the claim, which is meant
for all of them. Where they agree to a hundredth everywhere, forty digits are computed. Where these
agree, the formulas are equal, and sympy is asked for a proof within a time limit (`equality`).
What a formula says must be certain: `2/n\varepsilon` can be read in two ways and is unreadable.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, product
from typing import Literal, NamedTuple

import numpy as np

from dprivbench_inspect.equality import PLAIN, proved_equal
from dprivbench_inspect.expression_values import (
    CONSTANTS,
    DIGITS,
    Array,
    evaluate,
    precise_excess,
)
from dprivbench_inspect.latex_formula import read_formula
from dprivbench_inspect.latex_tokens import ReadingError, Token, latex_of, show, split, tokenize
from dprivbench_inspect.latex_tree import Node, number, symbols

Result = Literal["equal", "too_little", "too_much", "unreadable"]
RESULTS: tuple[Result, ...] = ("equal", "too_little", "too_much", "unreadable")
MAX_LENGTH = 1000  # characters; the longest right answer has 40
MAX_NODES = 400
Values = Mapping[str, Sequence[float]]

N_VALUES = (3.0, 4.0, 5.0, 6.0, 7.0, 10.0, 25.0, 50.0, 101.0, 1000.0, 1001.0, 1e6)
PARAMETER_VALUES = (0.01, 0.125, 1.0, 1.75, 7.0, 20.0)
_SAME = 1e-9  # relative difference up to which floating point takes two values for the same
_NEAR = 0.01  # up to which it may be due to cancellation, and more digits are computed
_SAME_PRECISELY = 1e-25
_ROUNDED_DIGITS = 3  # a decimal of so many digits stands for all that round to it
_MAX_ROUNDED = 4  # such decimals in one formula


class Comparison(NamedTuple):
    """What the formula is, compared with the right one, and why."""

    result: Result
    reason: str


class _Answer(NamedTuple):
    """A formula as it was read: its tree, its LaTeX, and the decimals in it that are rounded.

    A rounded decimal is a letter of its own in the tree, with its lowest and highest value.
    """

    tree: Node
    latex: str
    rounded: dict[str, tuple[float, float]]


def grid(parameter: str | None, constants: Mapping[str, Sequence[float]] | None = None) -> Values:
    """Values of n, of the privacy parameter if there is one, and of public constants.

    Args:
        parameter: LaTeX of the parameter.
        constants: Name → values that are admissible; places between them are added.
    """
    between = {
        name: sorted({
            *values,
            *(float(low + (high - low) * 0.37) for low, high in pairwise(sorted(values))),
        })
        for name, values in (constants or {}).items()
    }
    return {"n": N_VALUES, **({parameter: PARAMETER_VALUES} if parameter else {}), **between}


def compare_boxed(box: str, right: str, values: Values) -> Comparison:
    r"""The content of a box, compared with the right formula.

    Beside the formula the box may hold a name (`t = …`, for a standard deviation also
    `\sigma^2 = …`), words such as a unit, an approximation after `\approx`, and conditions on the
    letters after a comma. A decimal of three digits or more stands for every number that rounds to
    it; all others are exact.

    Args:
        box: LaTeX.
        right: LaTeX of the right formula.
        values: Letters that the formula may hold, each with values to compare at; all positive.

    >>> compare_boxed(r"t = \tfrac12 \epsilon^{-1}", r"\frac{1}{\varepsilon}", grid(r"\varepsilon"))
    Comparison(result='too_little', reason='0.5 times the right one at n = 3, \\varepsilon = 0.01')
    """
    places = tuple((name, tuple(map(float, of))) for name, of in values.items())
    return _compare(box, right, places)


@lru_cache(maxsize=4096)
def _compare(box: str, right: str, values: tuple[tuple[str, tuple[float, ...]], ...]) -> Comparison:
    names = [name for name, _ in values]
    places = np.array(list(product(*(of for _, of in values)))).T
    known = dict(zip(names, places, strict=True))
    target_tree = read_formula(right, PLAIN)
    target = evaluate(target_tree, known)
    try:
        answer = _read(box)
        _check_letters(answer, names)
        with_rounding = [evaluate(answer.tree, {**known, **corner}) for corner in _corners(answer)]
    except ReadingError as error:
        return Comparison("unreadable", f"unreadable: {error}")
    ratio = with_rounding[0] / target
    low = np.minimum.reduce(with_rounding) / target
    high = np.maximum.reduce(with_rounding) / target
    if np.all((low <= 1 + _SAME) & (high >= 1 - _SAME)) and answer.rounded:
        return Comparison("equal", "equal within the rounding of its decimals")
    excess = ratio - 1
    same = _SAME
    if np.all(np.abs(excess) < _NEAR) and not answer.rounded:
        excess, same = precise_excess(answer.tree, target_tree, known), _SAME_PRECISELY
    lowest, highest = int(np.argmin(excess)), int(np.argmax(excess))
    if excess[lowest] < -same:
        says = f"{_times(excess[lowest])} the right one"
        return Comparison("too_little", f"{says} at {_where(known, lowest)}")
    if excess[highest] > same:
        says = f"nowhere less, and {_times(excess[highest])} the right one"
        return Comparison("too_much", f"{says} at {_where(known, highest)}")
    if proved_equal(answer.latex, right):
        return Comparison("equal", "equal, as sympy finds")
    return Comparison("equal", f"equal to {DIGITS} digits wherever tried; sympy finds no proof")


def _times(excess: float) -> str:
    if abs(excess) > _NEAR:
        return f"{1 + excess:.6g} times"
    return f"{abs(excess):.3g} of it {'below' if excess < 0 else 'above'}"


def _where(known: Mapping[str, Array], place: int) -> str:
    return ", ".join(f"{name} = {of[place]:g}" for name, of in known.items())


def _check_letters(answer: _Answer, names: Sequence[str]) -> None:
    if unknown := sorted(symbols(answer.tree) - {*names, *CONSTANTS, *answer.rounded}):
        raise ReadingError(f"{', '.join(unknown)} in it; it may hold {', '.join(names)}")


def _corners(answer: _Answer) -> list[dict[str, Array]]:
    """First the decimals as written, then all ends of what they may stand for."""
    middle = {name: np.array((low + high) / 2) for name, (low, high) in answer.rounded.items()}
    ends = product(*answer.rounded.values())
    return [middle] + [
        dict(zip(answer.rounded, map(np.array, corner), strict=True)) for corner in ends
    ]


# Reading

_EQUALS = ("=", r"\ge")  # "t ≥ …" names the smallest t too
_NEARLY = (r"\approx", r"\simeq", r"\cong")
_SPACES = frozenset({r"\(", r"\)", r"\[", r"\]"})
_STYLE = re.compile(
    r"\$|\\(?:mathbf|boldsymbol|bm|pmb|underline|hat|tilde|widehat)(?![a-zA-Z])"
    r"|\\mathrm(?=\s+[a-zA-Z])|\\(?:text)?color\s*\{[^{}]*\}"
    r"|\\(?:tiny|small|normalsize|large|Large|LARGE|huge|Huge)(?![a-zA-Z])"
)
# Words that may stand beside a formula without changing what it says.
_WORDS = frozenset({
    "a", "an", "answer", "deviation", "is", "least", "mean", "minimal", "minimum", "noise", "of",
    "parameter", "scale", "smallest", "standard", "the", "value",
})  # fmt: skip


def _read(box: str) -> _Answer:
    """The formula in a box.

    Raises:
        ReadingError: There is none, or it can be read in two ways.
    """
    if len(box) > MAX_LENGTH:
        raise ReadingError(f"more than {MAX_LENGTH} characters")
    tokens = [token for token in tokenize(_STYLE.sub(" ", box)) if token.text not in _SPACES]
    while show(tokens[:1]) == "{" and len(split(tokens[1:-1], "}")) == 1 and tokens[-1].text == "}":
        tokens = tokens[1:-1]
    formula, *asides = [part for part in split(tokens, ",", ";", r"\quad") if part] or [[]]
    for aside in asides:
        if not any(token.text in {r"\ge", r"\in", ">"} for token in aside):
            raise ReadingError("more than one formula")
    while formula and formula[-1] == Token("mark", "."):
        formula = formula[:-1]
    exact, *nearly = split(_without_conditions(formula), *_NEARLY)
    sides = [_without_words(side) for side in split(exact, *_EQUALS)]
    if nearly and _power_named(sides[-1]):
        sides.append(_without_words(nearly[0]))
    power = 1
    if len(sides) > 1:
        power = _power_named(sides[0]) or _power_of_formula(sides[0])
    tokens, rounded = _rounded(sides[-1])
    if not tokens:
        raise ReadingError("no formula")
    tree, latex = read_formula(tokens, PLAIN), latex_of(tokens)
    if power == 2:
        tree, latex = Node("pow", (tree, number(0.5))), rf"\sqrt{{{latex}}}"
    if (size := _size(tree)) > MAX_NODES:
        raise ReadingError(f"a formula of {size} parts; at most {MAX_NODES} are read")
    return _Answer(tree, latex, rounded)


def _without_conditions(tokens: list[Token]) -> list[Token]:
    """Without "for all n ≥ 3" at the end."""
    for at, token in enumerate(tokens):
        words = token.text.lower().split()
        if token.kind == "text" and words[:2] in (["for", "all"], ["for", "every"], ["for", "any"]):
            return tokens[:at]
    return tokens


def _without_words(tokens: Sequence[Token]) -> list[Token]:
    """Without harmless words before and after the formula."""

    def harmless(token: Token) -> bool:
        words = token.text.lower().replace(":", " ").strip("() ").split()
        return token.kind == "text" and _WORDS.issuperset(words)

    part = list(tokens)
    while part and harmless(part[0]) and part[1:2] != [Token("mark", "(")]:
        part = part[1:]
    while part and harmless(part[-1]):
        part = part[:-1]
    return part


# A letter with an index, a star, arguments and perhaps the square.
_NAMED = re.compile(
    r"(?P<letter>\S+)(?: _ (?:\{[^{}]*\}|\S+))?(?: \^ (?:\\cdot|\\star|\\min|min|\{ min \}))?"
    r"(?: ')?(?: \( [^()]* \))?(?P<square> \^ 2)?"
)
_NO_NAMES = frozenset({"n", "a", "f", r"\varepsilon", r"\mu", r"\rho", r"\Delta", "e", r"\pi"})


def _power_named(side: Sequence[Token]) -> int:
    r"""1 if a left side is a letter with all its marks, or words; 2 if its square; 0 if neither."""
    if not side:
        return 1
    if [token.text for token in side[::2]][:2] == ["{", "}"]:  # {t}
        side = [side[1], *side[3:]]
    match = _NAMED.fullmatch(show(side))
    if side[0].kind != "name" or match is None or match["letter"] in _NO_NAMES:
        return 0
    if match["square"]:
        return 2 if match["letter"] in {"t", r"\sigma"} else 0
    return 1


def _power_of_formula(side: Sequence[Token]) -> int:
    """1 for a formula that holds no letter but those of answers, such as 2/(2ε) = 1/ε.

    Raises:
        ReadingError: It is something else, such as the inverse of t, or a rate in words.
    """
    try:
        letters = symbols(read_formula(side, PLAIN))
    except ReadingError as error:
        raise ReadingError(f"{latex_of(side)[:40]!r} before the sign of equality") from error
    if letters - _NO_NAMES:
        raise ReadingError(f"{latex_of(side)[:40]!r} before the sign of equality")
    return 1


def _rounded(tokens: Sequence[Token]) -> tuple[list[Token], dict[str, tuple[float, float]]]:
    """Decimals of three digits or more become letters, each with its lowest and highest value."""
    found: dict[str, tuple[float, float]] = {}
    kept: list[Token] = []
    for token in tokens:
        whole, point, decimals = token.text.partition(".")
        digits = (whole + decimals).lstrip("0")
        if token.kind != "number" or not point or len(digits) < _ROUNDED_DIGITS:
            kept.append(token)
            continue
        name, half = f"decimal {token.text}", 0.5 * 10.0 ** -len(decimals)
        found[name] = (float(token.text) - half, float(token.text) + half)
        kept.append(Token("name", name))
    if len(found) > _MAX_ROUNDED:
        raise ReadingError(f"more than {_MAX_ROUNDED} rounded decimals")
    return kept, found


def _size(tree: Node) -> int:
    return 1 + sum(map(_size, tree.args))
