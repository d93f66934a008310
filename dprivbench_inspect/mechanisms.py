"""Per mechanism: the wording of the question, and the noise that makes the claim true or false.

Neighbours differ in one entry (selection: in one row) and n and d are public. With Δ the tight
sensitivity of f the claims need, for every n >= 3 and every d >= 3 (arXiv:2604.15851, Category 1):

- additive noise: Laplace scale Δ/ε, normal variance Δ²/μ² (GDP) or Δ²/(2ρ) (zCDP);
- selection: Gumbel or Laplace scale 2Δ/ε, exponential rate ε/(2Δ).

Less noise breaks every claim; `dprivbench_inspect.certificates.category_1` shows by how much.
"""

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:  # sympy is slow to import, and the names of the mechanisms do not need it
    from dprivbench_inspect.functions import Function

Quantity = Literal["scale", "variance", "rate"]

# <f>, <conventions>, <noise>, <range>, <guarantee> and <parameter> are put in as they stand.
_ADDITIVE = (
    r"Let $x = (x_1, \ldots, x_n) \in [0,1]^n$ hold one number for each of $n$ people, and let"
    "\n\n$$f(x) = <f>.$$\n\n<conventions>"
    r"A mechanism $M$ publishes $M(x) = f(x) + Z$, where $Z$ is drawn from <noise>. "
    r"Two data sets are neighbours if they differ in the value of one entry, and $n$ is public. "
    r"The noise is given by the same formula for <range>."
)
_SELECTION = (
    r"Let $D \in [0,1]^{n \times d}$ have one row for each of $n$ people and one column for each "
    r"of $d$ candidates. The score of candidate $j$ is $q_j = f(D_{1j}, \ldots, D_{nj})$, where "
    r"for $x = (x_1, \ldots, x_n)$"
    "\n\n$$f(x) = <f>.$$\n\n<conventions>"
    r"A mechanism $M$ draws $Z_1, \ldots, Z_d$ independently from <noise>, and publishes nothing "
    r"but the index $j$ at which $q_j + Z_j$ is largest. Two data sets are neighbours if they "
    r"differ in one row, all of whose entries may change, and $n$ and $d$ are public. The noise is "
    r"given by the same formula for <range>."
)
_PURE = r"$\varepsilon$-differential privacy"


class Mechanism(NamedTuple):
    """A mechanism, its claim, and the noise that the claim needs.

    The needed noise is coefficient · Δ^power / parameter^parameter_power; a rate is its inverse.
    """

    name: str
    text: str
    noise: str
    quantity: Quantity
    guarantee: str
    parameter: str
    coefficient: Fraction = Fraction(1)
    power: int = 1
    parameter_power: int = 1

    @property
    def range(self) -> str:
        """What the claim is meant for."""
        d = r"every $d \ge 3$ " if self.selects else ""
        return r"every $n \ge 3$" + (", " if d else " ") + d + r"and every $<parameter> > 0$"

    @property
    def selects(self) -> bool:
        """Whether it publishes an index and not a number."""
        return self.text == _SELECTION


# In the order of the public release.
MECHANISMS: dict[str, Mechanism] = {
    mechanism.name: mechanism
    for mechanism in (
        Mechanism(
            "laplace",
            _ADDITIVE,
            "the Laplace distribution with mean $0$ and scale $<size>$",
            "scale",
            _PURE,
            r"\varepsilon",
        ),
        Mechanism(
            "gaussian_gdp",
            _ADDITIVE,
            "the normal distribution with mean $0$ and variance $<size>$",
            "variance",
            r"$\mu$-Gaussian differential privacy ($\mu$-GDP)",
            r"\mu",
            power=2,
            parameter_power=2,
        ),
        Mechanism(
            "gaussian_zcdp",
            _ADDITIVE,
            "the normal distribution with mean $0$ and variance $<size>$",
            "variance",
            r"$\rho$-zero-concentrated differential privacy ($\rho$-zCDP)",
            r"\rho",
            coefficient=Fraction(1, 2),
            power=2,
        ),
        Mechanism(
            "expo_mech",
            _SELECTION,
            "the Gumbel distribution with location $0$ and scale $<size>$",
            "scale",
            _PURE,
            r"\varepsilon",
            coefficient=Fraction(2),
        ),
        Mechanism(
            "laplace_rnm",
            _SELECTION,
            "the Laplace distribution with mean $0$ and scale $<size>$",
            "scale",
            _PURE,
            r"\varepsilon",
            coefficient=Fraction(2),
        ),
        Mechanism(
            "permute_flip",
            _SELECTION,
            "the exponential distribution with rate $<size>$ (the mean is the inverse of the rate)",
            "rate",
            _PURE,
            r"\varepsilon",
            coefficient=Fraction(2),
        ),
    )
}


def question_text(mechanism: Mechanism, function: "Function", amount: Fraction) -> str:
    """The question as the model reads it.

    Args:
        mechanism: What is done with f.
        function: The f of the question.
        amount: Noise over the needed noise, as for `noise_latex`.
    """
    noise = noise_latex(mechanism, function, amount)
    return fill_text(mechanism, function.latex, noise, function.conventions)


def fill_text(mechanism: Mechanism, f: str, size: str, conventions: str | None = None) -> str:
    """The wording of a mechanism with f, the size of its noise and f's conventions in LaTeX."""
    noise = mechanism.noise.replace("<size>", size)
    return ask(mechanism, f, noise, "Does $M$ satisfy <guarantee> for <range>?", conventions)


def ask(
    mechanism: Mechanism, f: str, noise: str, question: str, conventions: str | None = None
) -> str:
    """The setting of a mechanism, then a question about it, which may hold the same <names>."""
    text = f"{mechanism.text}\n\n{question}"
    for name, value in (
        ("<f>", f),
        ("<conventions>", f"{conventions} " if conventions else ""),
        ("<noise>", noise),
        ("<range>", mechanism.range),
        ("<guarantee>", mechanism.guarantee),
        ("<parameter>", mechanism.parameter),
    ):
        text = text.replace(name, value)
    return text


def noise_latex(mechanism: Mechanism, function: "Function", amount: Fraction) -> str:
    r"""The printed scale, variance or rate, simplified: one fraction with one rational coefficient.

    Args:
        mechanism: Says how Δ and the privacy parameter enter.
        function: Says Δ.
        amount: Noise over the needed noise: of the scale, of the variance for normal noise, of
            the mean for exponential noise. The claim holds exactly when this is at least 1.

    >>> from dprivbench_inspect.functions import function
    >>> noise_latex(MECHANISMS["gaussian_zcdp"], function(9), Fraction(1))
    '\\frac{(n-1)^2}{2n^2\\rho}'
    """
    power = mechanism.power
    coefficient = mechanism.coefficient * amount * function.coefficient**power
    over = (function.numerator, power)
    if over == (r"\sqrt{2}", 2):
        coefficient, over = 2 * coefficient, ("1", 1)
    under = (function.denominator, power)
    parameter = (mechanism.parameter, mechanism.parameter_power)
    if mechanism.quantity == "rate":
        return _fraction(1 / coefficient, [under, parameter], [over])
    return _fraction(coefficient, [over], [under, parameter])


def sensitivity_latex(function: "Function") -> str:
    r"""Δ of a function of the bank.

    >>> from dprivbench_inspect.functions import function
    >>> sensitivity_latex(function(40))
    '\\frac{e-1}{2(e+1)}'
    """
    return _fraction(function.coefficient, [(function.numerator, 1)], [(function.denominator, 1)])


def _fraction(
    coefficient: Fraction, over: list[tuple[str, int]], under: list[tuple[str, int]]
) -> str:
    numerator = _product(coefficient.numerator, over)
    denominator = _product(coefficient.denominator, under)
    return numerator if denominator == "1" else rf"\frac{{{numerator}}}{{{denominator}}}"


def _product(coefficient: int, powers: list[tuple[str, int]]) -> str:
    powers = [(factor, power) for factor, power in powers if factor != "1"]
    if not powers:
        return str(coefficient)
    parts = [] if coefficient == 1 else [str(coefficient)]
    alone = not parts and len(powers) == 1
    for factor, power in powers:
        is_sum = re.search(r"[+-]", re.sub(r"\{.*?\}|\(.*?\)", "", factor)) is not None
        is_function = factor.startswith(r"\ln")
        if (is_sum and not alone) or (power > 1 and (is_sum or is_function)):
            factor = f"({factor})"
        parts.append(factor if power == 1 else f"{factor}^{power}")
    return "".join(parts)
