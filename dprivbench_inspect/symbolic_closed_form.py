r"""Numbers Δ(n) → a formula in n and the public constants that fits all of them.

A fit is a guess at the formula, not a proof of it. What keeps it honest: more points than free
coefficients, coefficients that must be plain constants, agreement to nine digits at every point,
and the formula is read back by `latex_formula` before it is used.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from dprivbench_inspect.latex_formula import read_formula
from dprivbench_inspect.latex_tokens import ReadingError
from dprivbench_inspect.latex_tree import Names
from dprivbench_inspect.symbolic_values import Array, Work, evaluate

_TOLERANCE = 1e-9
_LEAST_SIZES = 4  # different n


class Value(NamedTuple):
    """Δ at one n and one choice of the constants."""

    n: int
    constants: Mapping[str, float]
    delta: float


def closed_form(values: Sequence[Value], count: str) -> str | None:
    r"""LaTeX of a formula that takes all the values, or None.

    >>> closed_form([Value(n, {}, 2 * (n - 1) / n) for n in range(3, 11)], "n")
    '\\frac{2(n-1)}{n}'
    """
    for latex in _proposals(values, count):
        try:
            tree = read_formula(latex, Names(size=count))
            for value in values:
                known = {**value.constants, count: float(value.n)}
                found = float(evaluate(tree, known, np.zeros((1, 1)), Work())[0])
                if not math.isclose(found, value.delta, rel_tol=_TOLERANCE):
                    break
            else:
                return latex
        except ReadingError:
            continue
    return None


def _proposals(values: Sequence[Value], count: str) -> Iterator[str]:
    if len({value.n for value in values}) < _LEAST_SIZES:
        return
    delta = np.array([value.delta for value in values])
    n = np.array([float(value.n) for value in values])
    if np.ptp(delta) <= _TOLERANCE * abs(delta[0]):
        if constant := constant_latex(float(delta[0])):
            yield constant
        return
    shapes = [("{}", delta), (r"\sqrt{{{}}}", delta**2)]
    if delta.max() < 50:
        shapes.append((r"\ln({})", np.exp(delta)))
    for shape, y in shapes:
        for power in (0, 1, 2):
            if fit := _quotient(n, y * n**power, count, power):
                yield shape.format(fit)
        if fit := _polynomial(values, y, count):
            yield shape.format(fit)


def _quotient(n: Array, y: Array, count: str, power: int) -> str | None:
    """Fit y = (a n + b)/(c n + d); LaTeX of y / n^power."""
    rows = np.stack([n, np.ones_like(n), -n * y, -y], axis=1)
    rows /= np.abs(rows).max(axis=1, keepdims=True)
    _, sizes, vectors = np.linalg.svd(rows)
    if sizes[-1] > 1e-10 * sizes[0] or len(n) < 6:
        return None
    a, b, c, d = np.where(np.abs(vectors[-1]) < 1e-7, 0.0, vectors[-1])
    top, bottom = _linear(a, b, count), _linear(c, d, count)
    if not top or not bottom:
        return None
    factor = Fraction(1)
    lead = (a or b) / (c or d)
    lead_over = top.lead / bottom.lead
    scale = lead / lead_over
    fraction = Fraction(scale).limit_denominator(64)
    symbol = ""
    if abs(float(fraction) - scale) < 1e-8 * abs(scale):
        factor = fraction
    elif latex := constant_latex(scale):
        symbol = latex if _is_atom(latex) else f"({latex})"
    else:
        return None
    sign = "-" if factor < 0 else ""
    over = _times(abs(factor).numerator, symbol, top.latex)
    under = _times(factor.denominator, "", _times_power(bottom.latex, count, power))
    return f"{sign}{over}" if under == "1" else rf"{sign}\frac{{{over}}}{{{under}}}"


class _Linear(NamedTuple):
    latex: str
    lead: float


def _linear(a: float, b: float, count: str) -> _Linear | None:
    """A multiple of a n + b with whole numbers where there are any."""
    if a == 0:
        return _Linear("1", 1.0) if b else None
    offset = b / a
    fraction = Fraction(offset).limit_denominator(12)
    if abs(float(fraction) - offset) < 1e-8:
        q, p = fraction.denominator, fraction.numerator
        head = count if q == 1 else f"{q}{count}"
        return _Linear(head + (f"{p:+d}" if p else ""), float(q))
    constant = constant_latex(offset)
    if constant is None:
        return None
    return _Linear(f"{count}{constant if constant.startswith('-') else '+' + constant}", 1.0)


def _times(number: int, symbol: str, linear: str) -> str:
    parts = [part for part in (str(number) if number != 1 else "", symbol) if part]
    if linear != "1":
        is_sum = any(sign in linear for sign in "+-")
        parts.append(f"({linear})" if is_sum and parts else linear)
    return "".join(parts) or "1"


def _times_power(linear: str, count: str, power: int) -> str:
    if power == 0:
        return linear
    if linear in {"1", count}:
        power += linear == count
        return count if power == 1 else f"{count}^{power}"
    return f"{count if power == 1 else f'{count}^{power}'}({linear})"


def _polynomial(values: Sequence[Value], y: Array, count: str) -> str | None:
    """A sum of n^k, or of a few terms in n and one constant, with plain coefficients."""
    n = np.array([float(value.n) for value in values])
    names = sorted(values[0].constants)
    terms: list[tuple[str, Array]] = [("", np.ones_like(n)), (count, n), (f"{count}^2", n**2)]
    if not names:
        terms.append((f"{count}^3", n**3))
    for name in names:
        c = np.array([value.constants[name] for value in values])
        letter = name if len(name) == 1 else name + " "
        terms += [(name, c), (f"{name}^2", c**2), (letter + count, c * n)]
        if np.all(c != 0):
            terms.append((rf"\frac{{1}}{{{name}}}", 1 / c))
    if len(terms) + 2 > len(n):
        return None
    columns = np.stack([column for _, column in terms], axis=1)
    scales = np.abs(columns).max(axis=0)
    weights = 1 / np.abs(y).clip(1e-12)
    solution, *_ = np.linalg.lstsq(columns / scales * weights[:, None], y * weights, rcond=None)
    solution = solution / scales
    pieces = []
    for (latex, column), coefficient in zip(terms, solution, strict=True):
        if abs(coefficient) * np.abs(column).max() < 1e-8 * np.abs(y).max():
            continue
        constant = constant_latex(float(coefficient))
        if constant is None:
            return None
        if latex and constant in {"1", "-1"}:
            constant = constant[:-1]
        elif latex and not _is_atom(constant.removeprefix("-")):
            constant = f"+({constant})"
        pieces.append(constant + latex)
    pieces.sort(key=lambda piece: piece.startswith("-"))
    return "".join(p if k == 0 or p[0] in "+-" else "+" + p for k, p in enumerate(pieces)) or None


def _is_atom(latex: str) -> bool:
    return not any(sign in latex for sign in "+-") or (
        latex.startswith(r"\frac{") and latex.endswith("}")
    )


def constant_latex(value: float) -> str | None:
    r"""A plain constant in LaTeX: rational, root, in e, π, a logarithm or a sine; or None.

    >>> constant_latex(1 - math.exp(-1)), constant_latex(math.log(2)), constant_latex(0.123456789)
    ('\\frac{e-1}{e}', '\\ln 2', None)
    """
    if value < 0:
        positive = constant_latex(-value)
        if positive is None:
            return None
        return f"-{positive}" if _is_atom(positive) else f"-({positive})"
    return next(_constants(value), None)


def _constants(v: float) -> Iterator[str]:
    if (rational := _rational(v)) is not None:
        yield _fraction_latex(rational)
    if (square := _rational(v * v)) is not None and square:
        inner = _fraction_latex(square)
        yield rf"\sqrt{{{inner}}}"
    if (part := _rational(v / math.pi)) is not None:
        yield _multiple(part, r"\pi")
    for base in (2, 3, 5):
        if (part := _rational(v / math.log(base), 12)) is not None:
            yield _multiple(part, rf"\ln {base}")
    if v < 20 and (inner_value := _rational(math.exp(v))) is not None:
        yield rf"\ln({_fraction_latex(inner_value)})"
    table, names = _table()
    for shown, target in ((r"{}", v), (r"\ln({})", math.exp(min(v, 20.0)))):
        place = int(np.searchsorted(table, target))
        for k in (place - 1, place):
            if 0 <= k < len(table) and abs(table[k] - target) <= 1e-10 * abs(target):
                yield shown.format(names[k])


def _rational(v: float, limit: int = 256) -> Fraction | None:
    fraction = Fraction(v).limit_denominator(limit)
    return fraction if abs(float(fraction) - v) <= 1e-10 * max(abs(v), 1e-3) else None


def _fraction_latex(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"


def _multiple(part: Fraction, symbol: str) -> str:
    over = symbol if part.numerator == 1 else f"{part.numerator}{symbol}"
    return over if part.denominator == 1 else rf"\frac{{{over}}}{{{part.denominator}}}"


@cache
def _table() -> tuple[Array, list[str]]:
    """Small expressions in one of e, e², e³, √e and in sines; sorted, the simplest of equals."""
    found: dict[float, tuple[int, str]] = {}

    def add(value: float, cost: int, latex: str) -> None:
        key = float(f"{value:.12g}")
        if value > 0 and (key not in found or cost < found[key][0]):
            found[key] = (cost, latex)

    small = range(-3, 4)
    for power, name in ((1.0, "e"), (2.0, "e^2"), (3.0, "e^3"), (0.5, r"\sqrt{e}")):
        e = math.exp(power)
        for a, b in ((a, b) for a in small for b in small if b or a):
            for c, d in ((c, d) for c in range(5) for d in range(-2, 5) if c or d):
                if (b == 0 and c == 0) or d + c * e <= 0:
                    continue
                over, under = _in_terms(a, b, name), _in_terms(d, c, name)
                cost = abs(a) + abs(b) + abs(c) + abs(d) + 2 * (under != "1")
                add(
                    (a + b * e) / (d + c * e),
                    cost,
                    over if under == "1" else rf"\frac{{{over}}}{{{under}}}",
                )
    for name, s in (
        (r"\sin(1)", math.sin(1)), (r"\cos(1)", math.cos(1)), (r"\tan(1)", math.tan(1)),
        (r"\sinh(1)", math.sinh(1)), (r"\cosh(1)", math.cosh(1)), (r"\arctan(2)", math.atan(2)),
    ):  # fmt: skip
        for a, b in ((a, b) for a in small for b in small if b):
            add(a + b * s, abs(a) + abs(b), _in_terms(a, b, name))
    keys = sorted(found)
    return np.array(keys), [found[key][1] for key in keys]


def _in_terms(a: int, b: int, name: str) -> str:
    """LaTeX of a + b·name, the positive part first."""
    part = name if b == 1 else f"-{name}" if b == -1 else f"{b}{name}" if b else ""
    if not a or not b:
        return part or str(a)
    return f"{part}{a:+d}" if b > 0 else f"{a}{part}"
