r"""Symbolic solver for Category 1: a question's text alone → sensitivity → verdict.

It knows no function by name, no question and no label: the text is read (`symbolic_question`), the
sensitivity Δ of its function is computed (`symbolic_sensitivity`), and the printed noise is
compared with the noise that the claim needs (`symbolic_compare`). It is the classical baseline
beside language models.

What is proved and what is not:

- Needed noise: proved. Additive: with Laplace scale b the release is exactly Δ/b-DP, with normal
  noise of deviation σ exactly Δ/σ-GDP and Δ²/(2σ²)-zCDP. Selection with Gumbel, Laplace or
  exponential noise: a scale of 2Δ/ε is enough, and less breaks the claim for a large enough number
  of candidates, so it is false of "every d".
- Δ at one n: a pair of neighbours that moves f by Δ is found, so it is no smaller. That it is no
  larger is proved for values in [0, 1] with a pair that moves f by 1, and for sums of one term an
  entry up to the range of a function of one number; otherwise it is a numeric search.
- Every n: Δ is computed for some n up to 25 (8 for double sums, more where f holds larger numbers)
  and continued by a formula that fits them all. The formula is evidence, not proof. Without one, a
  "yes" needs a margin that does not shrink with n.
- Claims are meant for every n >= 3, every d >= 3 and every value of the public constants, unless
  the text says less.

A text that it cannot read with certainty gets no verdict and a reason.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from dprivbench_inspect.latex_formula import read_formula
from dprivbench_inspect.latex_tokens import ReadingError
from dprivbench_inspect.latex_tree import Names, Node
from dprivbench_inspect.symbolic_closed_form import Value, closed_form
from dprivbench_inspect.symbolic_compare import (
    NO_PAIR,
    RULES,
    Comparison,
    compare,
    needed_latex,
    positive_size,
)
from dprivbench_inspect.symbolic_question import Claim, read_claim
from dprivbench_inspect.symbolic_sensitivity import Point, Sensitivity, sensitivity
from dprivbench_inspect.symbolic_values import Work, evaluate

_ENOUGH = 1 - 1e-8  # printed noise over needed noise; Δ is right to about 1e-9
_LARGE = (50, 51, 1000, 1001, 10**6, 10**6 + 1)
_HOW = {
    "term": "By its form the function is a sum in which each entry has a term of its own, so "
    "replacing an entry changes that term alone, and Δ is the widest range of a term.",
    "range": "By its form the function stays between 0 and 1, so it cannot move by more than 1.",
    "search": "A search over structured and random data sets found no larger move (not a proof).",
}


class Derivation(NamedTuple):
    """The answer: `text` ends in the boxed verdict; without a verdict `reason` says why.

    `sensitivity` is LaTeX, a formula in n and the public constants; None where none was found.
    """

    text: str
    verdict: Literal["yes", "no"] | None
    sensitivity: str | None
    reason: str


class _Formula(NamedTuple):
    """Δ in LaTeX for even and for odd n."""

    even: str
    odd: str

    @property
    def latex(self) -> str:
        if self.even == self.odd:
            return self.even
        return rf"{self.even} \text{{ for even }} n, {self.odd} \text{{ for odd }} n"


@lru_cache(maxsize=2048)
def solve(question: str) -> Derivation:
    """Decide a question of Category 1 by computation; give no verdict on any other text.

    A question for the smallest noise (largest rate) gets a boxed formula instead of a verdict.

    Args:
        question: The text alone, with its mathematics in LaTeX between dollar signs.

    >>> solve("Is the Laplace mechanism private?").verdict is None
    True
    """
    try:
        return _derive(read_claim(question))
    except ReadingError as error:
        text = f"I cannot read this question with certainty: {error}. I give no verdict."
        return Derivation(text, None, None, str(error))


def _derive(claim: Claim) -> Derivation:
    found = _sensitivity(
        claim.function,
        claim.names.size,
        tuple(tuple(choice.items()) for choice in claim.choices),
        claim.indices,
        claim.smallest,
    )
    if max(point.delta for point in found.points) <= 0:
        raise ReadingError("a function for which it finds no neighbours that differ")
    formula = _formula(claim, found)
    lines = [
        _about_sensitivity(claim.names.size, found, formula),
        RULES.get((claim.selects, claim.guarantee), ""),
    ]
    if claim.asks_for_noise:
        if formula is None or formula.even != formula.odd:
            raise ReadingError("a sensitivity that no single formula gives")
        lines.append(rf"\boxed{{{needed_latex(claim, formula.even)}}}")
        text = "\n\n".join(lines)
        return Derivation(text, None, formula.even, "the noise is asked for, not a verdict")
    single = formula.even if formula and formula.even == formula.odd else r"\Delta"
    least = "most" if claim.noise.quantity == "rate" else "least"
    needed = needed_latex(claim, single)
    lines[-1] += f" So the claim needs a {claim.noise.quantity} of at {least} ${needed}$."
    size, repaired = positive_size(claim)
    worst = _worst(claim, size, found, formula)
    if repaired:
        lines.append("As printed the noise is negative for some parameters; brackets are put in.")
    if claim.assumed:
        lines.append(f"Taken for granted: {'; '.join(claim.assumed)}.")
    verdict: Literal["yes", "no"] = "yes" if worst.ratio >= _ENOUGH else "no"
    measure = "standard deviation" if claim.noise.family == "Gaussian" else "scale"
    reason = f"the noise is {worst.ratio:.6g} times what the claim needs"
    lines.append(
        f"The mechanism has a {claim.noise.quantity} of ${claim.noise.latex}$. As a {measure} "
        f"that is {worst.ratio:.6g} times what is needed{worst.where and f' at {worst.where}'}: "
        f"{'enough' if verdict == 'yes' else 'too little'}."
    )
    lines.append(rf"\boxed{{{verdict}}}")
    return Derivation("\n\n".join(lines), verdict, formula.latex if formula else None, reason)


@lru_cache(maxsize=512)
def _sensitivity(
    function: Node,
    size: str,
    choices: tuple[tuple[tuple[str, float], ...], ...],
    indices: frozenset[str],
    smallest: int,
) -> Sensitivity:
    return sensitivity(function, size, [dict(choice) for choice in choices], indices, smallest)


def _formula(claim: Claim, found: Sensitivity) -> _Formula | None:
    """Δ as a formula in n and the constants the noise may depend on; the worst of the others."""
    declared = [tuple(choice.items()) for choice in claim.choices[: claim.declared]]
    worst: dict[tuple[int, tuple[tuple[str, float], ...]], float] = {}
    for point in found.points:
        if point.constants in declared:
            kept = tuple(pair for pair in point.constants if pair[0] in claim.noise_constants)
            worst[point.n, kept] = max(point.delta, worst.get((point.n, kept), 0.0))
    values = [Value(n, dict(kept), delta) for (n, kept), delta in worst.items()]
    size = claim.names.size
    if together := closed_form(values, size):
        return _Formula(together, together)
    even, odd = (closed_form([v for v in values if v.n % 2 == k], size) for k in (0, 1))
    return _Formula(even, odd) if even and odd else None


def _worst(claim: Claim, size: Node, found: Sensitivity, formula: _Formula | None) -> Comparison:
    """Where the noise falls shortest: at the first n where it is too little, or over all n.

    Raises:
        ReadingError: The answer hangs on something that is not known.
    """
    declared = [dict(choice) for choice in claim.choices[: claim.declared]]
    points = [*found.points, *_continued(claim, formula)]
    inside = [point for point in points if dict(point.constants) in declared]
    outside = [point for point in points if dict(point.constants) not in declared]
    by_size = {
        n: compare(claim, size, [point for point in inside if point.n == n])
        for n in sorted({point.n for point in inside})
    }
    for n, comparison in by_size.items():
        if comparison.ratio < _ENOUGH:
            if claim.few_candidates:
                raise ReadingError("less noise than many candidates need, for few candidates")
            mark = f"${claim.names.size} = {n}$"
            return comparison if comparison.where else comparison._replace(where=mark)
    if outside and compare(claim, size, outside).ratio < _ENOUGH:
        raise ReadingError("constants of which nothing is said, and the answer hangs on them")
    if formula is None:
        before, last = list(by_size.values())[-2:]
        if last.ratio < before.ratio * (1 - 1e-6):
            raise ReadingError("a sensitivity without a formula, and a margin that shrinks with n")
    return compare(claim, size, inside)


def _continued(claim: Claim, formula: _Formula | None) -> Sequence[Point]:
    """What the formula says for large n."""
    points: list[Point] = []
    if formula is None:
        return points
    for n in _LARGE:
        tree = read_formula(formula[n % 2], Names(size=claim.names.size))
        for choice in claim.choices[: claim.declared]:
            values = {**choice, claim.names.size: float(n)}
            delta = float(evaluate(tree, values, np.zeros((1, 1)), Work())[0])
            points.append(Point(n, tuple(choice.items()), delta, NO_PAIR))
    return points


def _about_sensitivity(size: str, found: Sensitivity, formula: _Formula | None) -> str:
    first = found.points[0].n
    point = max((p for p in found.points if p.n == first), key=lambda p: p.delta)
    if formula is None:
        listed = ", ".join(
            f"{max(p.delta for p in found.points if p.n == n):.6g} at ${size} = {n}$"
            for n in sorted({p.n for p in found.points})
        )
        says = f"I find no formula for the sensitivity Δ of the function; it is {listed}."
    else:
        says = rf"The sensitivity of the function is $\Delta = {formula.latex}$."
    rest = ", ".join(f"{value:.6g}" for value in point.pair.rest)
    where = ", ".join(f"${name} = {value:g}$" for name, value in ((size, first), *point.constants))
    return (
        f"{says} {_HOW[found.proof]} For example at {where}, with ({rest}) for the other "
        f"entries, entry {point.pair.row} going from {point.pair.high:.6g} to "
        f"{point.pair.low:.6g} moves it by {point.delta:.6g}."
    )
