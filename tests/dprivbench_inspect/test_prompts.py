"""What the model reads, word for word, and that the worked examples are right."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dprivbench_inspect.dataset import load_questions
from dprivbench_inspect.exemplars import _PROOFS, EXEMPLARS
from dprivbench_inspect.functions import function_bank
from dprivbench_inspect.mechanisms import MECHANISMS, fill_text, question_text
from dprivbench_inspect.parsing import parse_verdict
from dprivbench_inspect.prompts import INSTRUCTION, prompt_for, question_in

# The functions of the worked examples once more: numpy, tight sensitivity at n, printed noise
# over needed noise (scale, variance, or mean of exponential noise).
FUNCTIONS = {
    ("laplace", "yes"): (lambda x: (4.0**x).sum(-1), lambda n: 3.0, 1.0),
    ("laplace", "no"): (lambda x: (x**2).mean(-1), lambda n: 1 / n, 0.5),
    ("gaussian_gdp", "yes"): (lambda x: np.minimum(x, 1 / 3).sum(-1), lambda n: 1 / 3, 1.0),
    ("gaussian_gdp", "no"): (lambda x: (x / (1 + x)).sum(-1), lambda n: 0.5, 0.5),
    ("gaussian_zcdp", "yes"): (lambda x: x.max(-1) - x.min(-1), lambda n: 1.0, 1.0),
    ("gaussian_zcdp", "no"): (lambda x: 5 * x.sum(-1), lambda n: 5.0, 0.5),
    ("expo_mech", "yes"): (lambda x: ((1 - x) ** 3).sum(-1), lambda n: 1.0, 1.0),
    ("expo_mech", "no"): (lambda x: (3.0**x).sum(-1), lambda n: 2.0, 0.5),
    ("laplace_rnm", "yes"): (lambda x: x.sum(-1) / (x.shape[-1] + 1), lambda n: 1 / (n + 1), 1.0),
    ("laplace_rnm", "no"): (lambda x: (x**5).sum(-1), lambda n: 1.0, 0.5),
    ("permute_flip", "yes"): (lambda x: (x / (2 - x)).sum(-1), lambda n: 1.0, 1.0),
    ("permute_flip", "no"): (lambda x: (2.0**x).sum(-1), lambda n: 1.0, 0.5),
}
# The printed noise as a number, at n = 4 and a privacy parameter of 1.
PRINTED = {
    r"\frac{3}{\varepsilon}": 3,
    r"\frac{1}{2n\varepsilon}": 1 / 8,
    r"\frac{1}{9\mu^2}": 1 / 9,
    r"\frac{1}{8\mu^2}": 1 / 8,
    r"\frac{1}{2\rho}": 1 / 2,
    r"\frac{25}{4\rho}": 25 / 4,
    r"\frac{2}{\varepsilon}": 2,
    r"\frac{2}{(n+1)\varepsilon}": 2 / 5,
    r"\frac{1}{\varepsilon}": 1,
    r"\frac{\varepsilon}{2}": 1 / 2,
    r"\varepsilon": 1,
}


def test_the_prompt_is_the_question_and_the_instruction_with_every_brace() -> None:
    question = r"Is $\frac{1}{2}$ in {prompt} or {0} or \boxed{} kept?"
    assert prompt_for("zero_shot", question, exemplars="laplace", pair="laplace-1") == (
        r"Is $\frac{1}{2}$ in {prompt} or {0} or \boxed{} kept?"
        "\n\nDoes the claim above hold exactly as stated? Reason first, step by step. Then give "
        "your final answer, which is either yes (it holds) or no (it does not), inside \\boxed{}."
    )


@pytest.mark.parametrize("exemplars", sorted(EXEMPLARS))
def test_siblings_see_the_same_example_and_both_examples_occur(exemplars: str) -> None:
    prompts = {
        prompt_for("one_shot", "Q", exemplars=exemplars, pair=f"laplace-{k}") for k in range(20)
    }
    assert len(prompts) == 2
    assert {question_in(prompt) for prompt in prompts} == {"Q"}
    for prompt in prompts:
        assert prompt.endswith(f"\n\nQ\n\n{INSTRUCTION}")
        assert prompt.count("\\boxed{}") == 1  # the example's own box is filled


def test_an_unknown_form_or_mechanism_is_refused() -> None:
    with pytest.raises(ValueError, match="prompt 'two_shot' is not one of"):
        prompt_for("two_shot", "Q", exemplars="laplace", pair="a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no worked example for 'staircase'"):
        prompt_for("one_shot", "Q", exemplars="staircase", pair="a")


@pytest.mark.parametrize("exemplars", sorted(EXEMPLARS))
def test_the_first_example_ends_in_yes_and_the_second_in_no(exemplars: str) -> None:
    assert [parse_verdict(example.answer) for example in EXEMPLARS[exemplars]] == ["yes", "no"]


def test_no_example_is_asked_and_no_function_of_an_example_is_in_the_bank() -> None:
    asked = {q.question for category in (1, 2) for q in load_questions(category).questions}
    examples = {example.question for pair in EXEMPLARS.values() for example in pair}
    assert len(examples) == 14
    assert not asked & examples
    # In the bank's own terms: no function of it takes the same values on random data sets.
    x = np.random.default_rng(0).random((5, 4))
    bank = np.array([function.floats(x) for function in function_bank().values()])
    for values in (evaluate(x) for evaluate, _, _ in FUNCTIONS.values()):
        assert not np.isclose(bank, values).all(axis=1).any()


@pytest.mark.parametrize(("mechanism", "verdict"), sorted(FUNCTIONS))
def test_the_example_says_what_the_recomputed_sensitivity_and_noise_say(
    mechanism: str, verdict: str
) -> None:
    evaluate, sensitivity, over_needed = FUNCTIONS[mechanism, verdict]
    n, entries = 4, np.linspace(0, 1, 7)
    x = np.array(list(itertools.product(entries, repeat=n)))
    values = evaluate(x).reshape((7,) * n)
    moved = max(float(np.ptp(values, axis=axis).max()) for axis in range(n))
    assert moved == pytest.approx(sensitivity(n))
    about = MECHANISMS[mechanism]
    _, printed, _ = _PROOFS[mechanism][verdict == "no"]
    needed = float(about.coefficient) * sensitivity(n) ** about.power
    size = 1 / PRINTED[printed] if about.quantity == "rate" else PRINTED[printed]
    assert size / needed == pytest.approx(over_needed)
    assert (size >= needed * (1 - 1e-12)) == (verdict == "yes")


def test_numbers_that_the_proofs_of_false_selection_claims_state() -> None:
    # laplace_rnm: P(L < 1 - g) and the lower bound on the chance to win on D', by simulation.
    rng, g, epsilon = np.random.default_rng(1), 3, 1.0
    z = rng.laplace(scale=1 / epsilon, size=(3, 2_000_000))
    rivals = np.maximum(z[1], z[2])
    low = np.mean(rivals < 1 - g)
    assert low == pytest.approx(0.25 * math.exp(-2 * epsilon * (g - 1)), rel=0.05)
    wins_d, wins_d_prime = np.mean(z[0] > rivals + g - 1), np.mean(z[0] > rivals + g + 1)
    assert wins_d_prime > math.exp(-epsilon * (g + 1)) / 8
    assert wins_d / wins_d_prime > math.exp(epsilon)
    # permute_flip: 1/d against e^(-2ε)/d.
    e = rng.exponential(scale=1 / epsilon, size=(3, 2_000_000))
    rivals = np.maximum(e[1], e[2])
    assert np.mean(e[0] > rivals) == pytest.approx(1 / 3, rel=0.01)
    assert np.mean(e[0] > rivals + 2) == pytest.approx(math.exp(-2 * epsilon) / 3, rel=0.02)
    # expo_mech: the stated chances to win, d = 4.
    gumbel = rng.gumbel(scale=2 / epsilon, size=(4, 2_000_000))
    rivals = gumbel[1:].max(axis=0)
    assert np.mean(gumbel[0] + 2 > rivals) == pytest.approx(math.e / (math.e + 3), rel=0.01)
    assert np.mean(gumbel[0] > rivals + 2) == pytest.approx(1 / (1 + 3 * math.e), rel=0.01)


def test_examples_are_worded_as_the_questions_are() -> None:
    function = function_bank()[1]
    for mechanism in MECHANISMS.values():
        text = question_text(mechanism, function, Fraction(1))
        f, noise, _ = _PROOFS[mechanism.name][0]
        example = fill_text(mechanism, f, noise)
        assert EXEMPLARS[mechanism.name][0].question == example
        assert text.split("$$")[0] == example.split("$$")[0]
        assert text.splitlines()[-1] == example.splitlines()[-1]
