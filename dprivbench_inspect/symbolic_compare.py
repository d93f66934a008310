"""Printed noise against the noise that a claim needs, as formulas and as numbers."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dprivbench_inspect.latex_tokens import ReadingError
from dprivbench_inspect.latex_tree import Node
from dprivbench_inspect.symbolic_noise import Noise
from dprivbench_inspect.symbolic_question import Claim, Guarantee
from dprivbench_inspect.symbolic_sensitivity import Pair, Point
from dprivbench_inspect.symbolic_values import Array, Work, evaluate

NO_PAIR = Pair((), 1, 0.0, 0.0)
RULES: dict[tuple[bool, Guarantee], str] = {
    (False, "pure"): r"With Laplace noise of scale $b$ the release is exactly $\Delta/b$-DP.",
    (False, "GDP"): r"With normal noise of deviation $\sigma$ the release is exactly "
    r"$\Delta/\sigma$-GDP.",
    (False, "zCDP"): r"With normal noise of deviation $\sigma$ the release is exactly "
    r"$\Delta^2/(2\sigma^2)$-zCDP.",
    (
        True,
        "pure",
    ): r"One score may fall by $\Delta$ while its rivals rise by $\Delta$, so with noise "
    r"of scale $b$ the choice is $2\Delta/b$-DP, and no better for every number of candidates.",
}


class Comparison(NamedTuple):
    """Printed noise over needed noise, as a scale (normal noise: deviation), at its smallest.

    `where` names the n and the constants of that place; it is empty if the ratio is the same
    everywhere.
    """

    ratio: float
    where: str


def needed_latex(claim: Claim, delta: str) -> str:
    """The quantity of noise that the claim needs (a rate: at most), for Δ in LaTeX.

    Raises:
        ReadingError: No exact rule for this noise and this guarantee.
    """
    p, d = _factor(claim.parameter_latex), _factor(delta)
    double = "2" if d == "1" else f"2{d}"
    square = {name: "1" if name == "1" else f"{name}^2" for name in (p, d)}
    needed = {
        (True, "Gumbel", "pure", "scale"): rf"\frac{{{double}}}{{{p}}}",
        (True, "Laplace", "pure", "scale"): rf"\frac{{{double}}}{{{p}}}",
        (True, "exponential", "pure", "scale"): rf"\frac{{{double}}}{{{p}}}",
        (True, "exponential", "pure", "rate"): rf"\frac{{{p}}}{{{double}}}",
        (False, "Laplace", "pure", "scale"): rf"\frac{{{delta}}}{{{p}}}",
        (False, "Gaussian", "GDP", "variance"): rf"\frac{{{square[d]}}}{{{square[p]}}}",
        (False, "Gaussian", "GDP", "standard deviation"): rf"\frac{{{delta}}}{{{p}}}",
        (False, "Gaussian", "zCDP", "variance"): rf"\frac{{{square[d]}}}{{2{p}}}",
        (False, "Gaussian", "zCDP", "standard deviation"): rf"\frac{{{delta}}}{{\sqrt{{2{p}}}}}",
    }
    case = (claim.selects, claim.noise.family, claim.guarantee, claim.noise.quantity)
    if case not in needed:
        what = "a choice" if claim.selects else "a number"
        raise ReadingError(
            f"{claim.noise.family} noise on {what} with a {claim.guarantee} claim; it has no exact "
            "rule for that"
        )
    return needed[case]


def _factor(latex: str) -> str:
    """In brackets, unless it is a letter or the number 1."""
    return latex if re.fullmatch(r"1|[A-Za-z]|\\[A-Za-z]+", latex) else f"({latex})"


def compare(claim: Claim, size: Node, points: Sequence[Point]) -> Comparison:
    """The least ratio over these points and all privacy parameters.

    Args:
        claim: Says what is claimed and how the noise is given.
        size: The printed quantity.
        points: Δ by n and constants.

    Raises:
        ReadingError: The noise or a privacy parameter is not positive.
    """
    values, delta = _columns(claim, points)
    blank = np.zeros((1, len(delta)))
    with np.errstate(all="ignore"):
        printed = _as_scale(claim.noise, evaluate(size, values, blank, Work()))
        parameter = evaluate(claim.parameter, values, blank, Work())
        ratio = printed / _needed_scale(claim, delta, parameter)
    if not np.all((printed > 0) & (parameter > 0)):
        raise ReadingError("noise or a privacy parameter that is not positive")
    ratio = np.where(delta > 0, ratio, np.inf)
    place = int(np.argmin(ratio))
    where = ""
    if not np.all(ratio <= ratio[place] * (1 + 1e-6)):
        named = {name: float(column[place]) for name, column in values.items()}
        where = ", ".join(f"${name} = {value:g}$" for name, value in sorted(named.items()))
    return Comparison(float(ratio[place]), where)


def positive_size(claim: Claim) -> tuple[Node, bool]:
    """The printed quantity, and whether it was read with brackets that lack in print.

    A difference such as e - 1, put into a formula without brackets, makes noise that is negative
    for some parameters; such a formula means nothing else than the one with brackets.

    Raises:
        ReadingError: It is not positive either way.
    """
    points = [Point(n, tuple(c.items()), 1.0, NO_PAIR) for n in (3, 25) for c in claim.choices]
    values, delta = _columns(claim, points)
    blank = np.zeros((1, len(delta)))
    for size, repaired in ((claim.noise.size, False), (_with_brackets(claim.noise.size), True)):
        if size is not None and np.all(evaluate(size, values, blank, Work()) > 0):
            return size, repaired
    raise ReadingError("noise that is not positive")


def _with_brackets(node: Node) -> Node | None:
    """From a·b - c·d to a·(b - c)·d."""
    if node.op not in {"add", "sub"}:
        return None
    left, right = node.args
    before, last = (left.args[0], left.args[1]) if left.op == "mul" else (None, left)

    def joined(part: Node) -> Node:
        if part.op in {"mul", "div"}:
            return part._replace(args=(joined(part.args[0]), part.args[1]))
        return Node(node.op, (last, part))

    rest = joined(right)
    return rest if before is None else Node("mul", (before, rest))


def _columns(claim: Claim, points: Sequence[Point]) -> tuple[dict[str, Array], Array]:
    """Every point with every privacy parameter: values by name, and Δ."""
    rows = [({**dict(p.constants), **privacy}, p) for p in points for privacy in claim.privacy]
    values = {name: np.array([row[name] for row, _ in rows]) for name in rows[0][0]}
    values[claim.names.size] = np.array([float(point.n) for _, point in rows])
    return values, np.array([point.delta for _, point in rows])


def _as_scale(noise: Noise, size: Array) -> Array:
    if noise.quantity == "variance":
        return np.sqrt(size)
    return 1 / size if noise.quantity == "rate" else size


def _needed_scale(claim: Claim, delta: Array, parameter: Array) -> Array:
    if claim.selects:
        return 2 * delta / parameter
    return delta / (np.sqrt(2 * parameter) if claim.guarantee == "zCDP" else parameter)
