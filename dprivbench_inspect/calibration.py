"""Bank × mechanisms → questions for the smallest noise that makes the claim true.

The answer is a scale t: of Laplace and Gumbel noise their scale, of normal noise its standard
deviation, of exponential noise its mean. With Δ the tight sensitivity it is Δ/ε, Δ/μ and Δ/√(2ρ)
for a number that is published, and 2Δ/ε for a selection. It is the smallest for each n because the
claim is meant for every d >= 3: t may not depend on d.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from dprivbench_inspect.mechanisms import (
    MECHANISMS,
    Mechanism,
    ask,
    noise_latex,
    sensitivity_latex,
)

if TYPE_CHECKING:  # sympy is slow to import, and the wording does not need it
    from dprivbench_inspect.functions import Function

_NOISE = {
    "laplace": "the Laplace distribution with mean $0$ and scale $t$",
    "gaussian_gdp": "the normal distribution with mean $0$ and standard deviation $t$",
    "gaussian_zcdp": "the normal distribution with mean $0$ and standard deviation $t$",
    "expo_mech": "the Gumbel distribution with location $0$ and scale $t$",
    "laplace_rnm": "the Laplace distribution with mean $0$ and scale $t$",
    "permute_flip": "the exponential distribution with mean $t$",
}


class NoiseQuestion(NamedTuple):
    r"""One question for the smallest noise, and its answer.

    `answer` and `sensitivity` are LaTeX; `constants` are the public constants that they hold, each
    with values that the question allows; `parameter` is the privacy parameter as LaTeX.
    """

    id: str
    question: str
    answer: str
    mechanism: str
    function_id: int
    sensitivity: str
    parameter: str
    constants: dict[str, list[float]]


def noise_questions() -> Iterator[NoiseQuestion]:
    """The 294 questions: by mechanism, then function."""
    from dprivbench_inspect.functions import function_bank

    for mechanism in MECHANISMS.values():
        for function in function_bank().values():
            constants = noise_constants(function)
            yield NoiseQuestion(
                f"{mechanism.name}-noise-{function.id}",
                noise_question_text(mechanism, function.latex, function.conventions, [*constants]),
                smallest_noise(mechanism, function),
                mechanism.name,
                function.id,
                sensitivity_latex(function),
                mechanism.parameter,
                constants,
            )


def noise_questions_hash(questions: Iterable[NoiseQuestion]) -> str:
    """Hash of what is asked and which answers are right."""
    asked = [[question.id, question.question, question.answer] for question in questions]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def noise_question_text(
    mechanism: Mechanism, f: str, conventions: str | None = None, constants: list[str] | None = None
) -> str:
    """The question for the smallest t as the model reads it.

    Args:
        mechanism: What is done with f.
        f: LaTeX of the function.
        conventions: What else must be said of f.
        constants: Public constants that t may depend on.
    """
    letters = ["$n$", "$<parameter>$", *(f"${name}$" for name in constants or [])]
    depends = f"{', '.join(letters[:-1])} and {letters[-1]}"
    free = "on $d$ or on the data" if mechanism.selects else "on the data"
    question = (
        f"What is the smallest $t$, as a function of {depends}, such that $M$ satisfies "
        f"<guarantee> for <range>? Here $t$ does not depend {free}."
    )
    return ask(mechanism, f, _NOISE[mechanism.name], question, conventions)


def noise_constants(function: "Function") -> dict[str, list[float]]:
    """The public constants in Δ, each with admissible values."""
    names = {str(symbol) for symbol in function.sensitivity().free_symbols} - {"n"}
    values = function.constant_values()
    return {name: sorted(float(choice[name]) for choice in values) for name in sorted(names)}


def smallest_noise(mechanism: Mechanism, function: "Function") -> str:
    r"""The smallest t in LaTeX.

    >>> from dprivbench_inspect.functions import function
    >>> smallest_noise(MECHANISMS["gaussian_zcdp"], function(36))
    '\\frac{\\sqrt{2}}{\\sqrt{2\\rho}}'
    >>> smallest_noise(MECHANISMS["permute_flip"], function(9))
    '\\frac{2(n-1)}{n\\varepsilon}'
    """
    if mechanism.quantity == "variance":  # its root
        root = r"\sqrt{2\rho}" if mechanism.parameter == r"\rho" else mechanism.parameter
        mechanism = mechanism._replace(
            coefficient=Fraction(1), power=1, parameter=root, parameter_power=1
        )
    return noise_latex(mechanism._replace(quantity="scale"), function, Fraction(1))
