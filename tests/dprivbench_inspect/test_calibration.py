"""Questions for the smallest noise: their wording and their answers."""

import pytest
import sympy as sp

from dprivbench_inspect.boxes import last_box
from dprivbench_inspect.calibration import noise_questions, smallest_noise
from dprivbench_inspect.equality import PLAIN, _to_sympy
from dprivbench_inspect.expressions import compare_boxed, grid
from dprivbench_inspect.functions import function
from dprivbench_inspect.latex_formula import read_formula
from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.noise_exemplars import NOISE_EXEMPLARS
from dprivbench_inspect.symbolic import solve

QUESTIONS = list(noise_questions())
EPS, MU, RHO = sp.symbols("varepsilon mu rho", positive=True)
# The rule of each mechanism once more, for Δ: category 1 of arXiv:2604.15851.
NEEDED = {
    "laplace": lambda delta: delta / EPS,
    "gaussian_gdp": lambda delta: delta / MU,
    "gaussian_zcdp": lambda delta: delta / sp.sqrt(2 * RHO),
    "expo_mech": lambda delta: 2 * delta / EPS,
    "laplace_rnm": lambda delta: 2 * delta / EPS,
    "permute_flip": lambda delta: 2 * delta / EPS,
}


def test_there_are_294_questions_with_ids_of_their_own() -> None:
    assert len({question.id for question in QUESTIONS}) == len(QUESTIONS) == 49 * 6


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_printed_answer_is_the_rule_applied_to_the_banks_sensitivity(mechanism: str) -> None:
    n = sp.Symbol("n", positive=True, integer=True)
    a = sp.Symbol("a", positive=True)
    for question in QUESTIONS:
        if question.mechanism == mechanism:
            delta = function(question.function_id).sensitivity(n=n, a=a)
            printed = _to_sympy(read_formula(question.answer, PLAIN))
            assert sp.simplify(printed - NEEDED[mechanism](delta)) == 0, question.id
            stated = _to_sympy(read_formula(question.sensitivity, PLAIN))
            assert sp.simplify(stated - delta) == 0, question.id


def test_the_question_says_which_quantity_t_is_and_what_it_may_depend_on() -> None:
    words = {
        "laplace": "Laplace distribution with mean $0$ and scale $t$",
        "gaussian_gdp": "mean $0$ and standard deviation $t$",
        "gaussian_zcdp": "mean $0$ and standard deviation $t$",
        "expo_mech": "Gumbel distribution with location $0$ and scale $t$",
        "laplace_rnm": "Laplace distribution with mean $0$ and scale $t$",
        "permute_flip": "exponential distribution with mean $t$",
    }
    for question in QUESTIONS:
        text, selects = question.question, MECHANISMS[question.mechanism].selects
        assert words[question.mechanism] in text
        assert text.count("?") == 1
        assert r"for every $n \ge 3$" in text
        assert (r"every $d \ge 3$" in text) == ("on $d$ or on the data" in text) == selects
        letters = "n", question.parameter, *question.constants
        assert f"as a function of ${letters[0]}$" in text
        assert ("and $a$, such that" in text) == (question.function_id == 48)
        assert all(f"${letter}$" in text for letter in letters)


def test_the_answer_is_the_noise_of_the_claims_that_hold() -> None:
    # Same noise as the true claim of Category 1, where that prints a scale.
    assert smallest_noise(MECHANISMS["laplace"], function(41)) == r"\frac{e}{(e+n-1)\varepsilon}"
    assert smallest_noise(MECHANISMS["gaussian_gdp"], function(9)) == r"\frac{n-1}{n\mu}"
    assert smallest_noise(MECHANISMS["gaussian_zcdp"], function(1)) == r"\frac{1}{\sqrt{2\rho}}"


def test_the_symbolic_solver_answers_all_294_from_their_text() -> None:
    results = []
    for question in QUESTIONS:
        box = last_box(solve(question.question).text)
        assert box is not None, question.id
        values = grid(question.parameter, question.constants)
        results.append(compare_boxed(box, question.answer, values).result)
    assert results == ["equal"] * 294


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_worked_examples_agree_with_the_symbolic_solver(mechanism: str) -> None:
    example = NOISE_EXEMPLARS[mechanism]
    answer, found = last_box(example.answer), last_box(solve(example.question).text)
    assert answer is not None
    assert found is not None
    values = grid(MECHANISMS[mechanism].parameter)
    assert compare_boxed(answer, found, values).result == "equal"
    asked = {question.question for question in QUESTIONS}
    assert example.question not in asked
