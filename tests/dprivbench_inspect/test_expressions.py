"""Boxed formulas against the right one: equivalent forms, wrong forms, and no way to hang."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprivbench_inspect.calibration import NoiseQuestion, noise_questions
from dprivbench_inspect.expressions import Result, Values, compare_boxed, grid

EPSILON = grid(r"\varepsilon")
QUESTIONS = {question.id: question for question in noise_questions()}
RIGHT = r"\frac{\ln 2}{\varepsilon}"


def result(box: str, right: str = RIGHT, values: Values = EPSILON) -> Result:
    return compare_boxed(box, right, values).result


@pytest.mark.parametrize(
    "box",
    [
        r"\frac{\ln 2}{\varepsilon}",
        r"\tfrac{\log(2)}{\epsilon}",
        r"\dfrac{\ln\left(2\right)}{\varepsilon}",
        r"\ln 2 \cdot \varepsilon^{-1}",
        r"\ln(2)/\varepsilon",
        r"$\varepsilon^{-1} \times \ln 2$.",
        r"t = \frac{\ln 2}{\varepsilon}",
        r"t^* = t_{\min}(n, \varepsilon) = \frac{\ln 4}{2\varepsilon}",
        r"b = \frac{\Delta}{\varepsilon} = \frac{\ln 2}{\varepsilon}",
        r"\text{scale} = \frac{\ln 2}{\varepsilon}",
        r"\text{scale } t = \log 2/\epsilon",
        r"t \ge \frac{\ln 2}{\varepsilon}",
        r"t = \frac{\ln 2}{\varepsilon} \approx \frac{0.7}{\varepsilon}",
        r"\frac{\ln 2}{\varepsilon},\; n \ge 3",
        r"\frac{\ln 2}{\varepsilon} \text{ for all } n \ge 3",
        r"t^2 = \frac{\ln^2 2}{\varepsilon^2}",
        r"\sigma^{2} = (\ln 2)^2 \varepsilon^{-2}",
        r"\sqrt{\frac{(\ln 2)^2}{\varepsilon^2}}",
        r"\exp(\ln\ln 2 - \ln \varepsilon)",
        r"\frac{1 - \log_2 1}{\varepsilon \log_2 e}",
        r"\frac{2 \operatorname{arctan}(1)}{\pi} \cdot \frac{2\ln 2}{\epsilon}",
        r"0.693/\varepsilon",
        r"t \approx \frac{0.6931}{\varepsilon}",
        r"\mathbf{t = \frac{\ln 2}{\varepsilon}}",
        r"{\displaystyle t = \frac{\ln 2}{\varepsilon}}",
        r"\large\color{red}{\frac{\ln 2}{\varepsilon}}",
        r"\hat{t} = \frac{\Delta f}{\varepsilon} = \frac{\ln 2}{\varepsilon}",
        r"\frac{\Delta f}{\varepsilon} = \frac{\ln 2}{\varepsilon}",
        r"\frac{\ln 2 \cdot \ln \mathrm e}{\varepsilon}",
        "ln(2)/eps",
        "ln(2)/ε",
    ],
)
def test_equivalent_forms_are_equal(box: str) -> None:
    assert result(box) == "equal"


@pytest.mark.parametrize(
    ("box", "verdict"),
    [
        (r"\frac{1}{\varepsilon}", "too_much"),
        (r"\frac{1}{2\varepsilon}", "too_little"),
        (r"\frac{\log_2 2}{\varepsilon}", "too_much"),
        (r"\frac{\ln 2}{\varepsilon^2}", "too_little"),  # too little from ε = 1 on
        (r"\frac{n \ln 2}{\varepsilon}", "too_much"),
        (r"\frac{\ln 2}{n\varepsilon}", "too_little"),
        (r"\max(\ln 2, \frac{3}{n})/\varepsilon", "too_much"),  # equal from n = 5 on
        (r"\min(\ln 2, \frac{3}{n})/\varepsilon", "too_little"),  # equal up to n = 4
        (r"0.69/\varepsilon", "too_little"),  # two digits are taken exactly
        (r"0.7/\varepsilon", "too_much"),
        (r"0.692/\varepsilon", "too_little"),
        (r"0.694/\varepsilon", "too_much"),
        (r"\frac{\ln 2 + 10^{-12}}{\varepsilon}", "too_much"),  # nine digits do not show it
        (r"\frac{\ln 2 - 10^{-12}}{\varepsilon}", "too_little"),
        (r"-\frac{\ln 2}{\varepsilon}", "too_little"),
        ("0", "too_little"),
    ],
)
def test_other_formulas_are_too_little_or_too_much(box: str, verdict: Result) -> None:
    assert result(box) == verdict


@pytest.mark.parametrize(
    ("box", "reason"),
    [
        ("", "no formula"),
        ("yes", "s, y in it"),
        (r"\frac{\Delta}{\varepsilon}", r"\Delta in it; it may hold n, \varepsilon"),
        (r"\ln 2/n\varepsilon", "two ways"),
        (r"\frac{1}{t} = \frac{\varepsilon}{\ln 2}", "before the sign of equality"),
        (r"\text{rate} = \frac{\varepsilon}{\ln 2}", "before the sign of equality"),
        (r"\lambda^2 = \ln 2/\varepsilon", "before the sign of equality"),
        (r"t \le \frac{\ln 2}{\varepsilon}", "t in it"),
        (r"\frac{\ln 2}{\varepsilon}, \frac{1}{\varepsilon}", "more than one formula"),
        (r"\text{Lap}(\ln 2/\varepsilon)", "Lap"),
        (r"\text{twice } \ln 2/\varepsilon", "twice"),
        (r"\operatorname{arctanh}(\frac35)/\varepsilon", "arctanh"),
        (r"\frac{\ln 2}{\varepsilon(n-3)}", "without a value"),
        (r"\sqrt{-1}/\varepsilon", "without a value"),
        (r"n!/\varepsilon", "'!/"),
        (r"\frac{\ln 2}{\varepsilon", "breaks off"),
        (r"0.693 \cdot 1.000 \cdot 1.001 \cdot 1.002 \cdot 1.003/\varepsilon", "rounded decimals"),
    ],
)
def test_what_cannot_be_read_with_certainty_is_unreadable(box: str, reason: str) -> None:
    found = compare_boxed(box, RIGHT, EPSILON)
    assert found.result == "unreadable"
    assert reason in found.reason


HOSTILE = {
    "towers": r"9^{9^{9^{9^{9}}}}/\varepsilon",
    "tower to the zero": r"(9^{9^{9^9}})^0 \ln 2 / \varepsilon",
    "deep brackets": "(" * 200 + "1" + ")" * 200,
    "open brackets": "(" * 400,
    "long": "1+" * 10_000 + "1",
    "long sum": "+".join(["n"] * 200),
    "fractions in fractions": r"\frac{1}{1+" * 30 + "n" + "}" * 30,
    "large product": r"(n+1)^{99}(n+2)^{99}(n+3)^{99} - (n+1)^{99}(n+2)^{99}(n+3)^{99} + 1",
    "roots of sums": r"\sqrt{" * 40 + "n" + "}" * 40,
    "huge number": "9" * 400,
    "decimals": "0.12345678901234567890" * 20,
    "backslashes": "\\" * 450,
    "signs": "-" * 450,
    "powers": "^" * 450,
    "infinite sum": r"\sum_{i=1}^{10^{18}} i",
    "equalities": "=" * 450,
    "other alphabets": "ε" * 200 + "𝒏" * 200,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_formula_hangs(name: str) -> None:
    start = time.monotonic()
    assert result(HOSTILE[name]) != "equal"
    assert time.monotonic() - start < 60  # each takes well under a second, but for a busy machine


def test_an_equal_formula_that_sympy_cannot_simplify_is_still_equal_in_time() -> None:
    # sin²(x) + cos²(x) - 1 for an awkward x, thirty times: all places agree to nine digits.
    zeros = "".join(rf" + \sin(n^{k})^2 + \cos(n^{k})^2 - 1" for k in range(2, 8))
    start = time.monotonic()
    assert result(rf"\frac{{\ln 2{zeros}}}{{\varepsilon}}") == "equal"
    assert time.monotonic() - start < 60


@given(st.text(alphabet="\\{}()[]^_=+-*/.,|$ 0123456789nepsltfracqvarion\u03b5", max_size=200))
@settings(max_examples=300, deadline=None)
def test_no_text_breaks_the_reader(box: str) -> None:
    assert compare_boxed(box, RIGHT, EPSILON).reason


# Random rewrites: each keeps the value of the formula X. n stands for 3, 4, …; all is positive.
SAME = (
    r"\left(X\right)",
    r"\frac{7(X)}{7}",
    r"\frac{n(X)}{n}",
    r"\frac{2}{3}(X) + \tfrac{X}{3}",
    r"2(X) - (X)",
    r"\sqrt{(X)^2}",
    r"e^{\ln(X)}",
    r"\exp\left(\log\left(X\right)\right)",
    r"\frac{1}{\frac{1}{X}}",
    r"(X)^{-1} \cdot (X)^{2}",
    r"\left(\frac{X}{1}\right)^{1}",
    r"(X) + n - n",
    r"n^{-1}\cdot(X)\cdot n",
    r"\frac{(n-1)(X)}{n-1}",
    r"\sqrt{X}\sqrt{X}",
    r"\max(X, \frac{X}{2})",
    r"|X|",
    r"2^{\log_2(X)}",
)
LAYOUT = (
    "X",
    "t = X",
    "$X$",
    r"t_{\min} = X.",
    r"\text{scale } = X",
    r"b=X,\quad n \ge 3",
    r"\,X\;",
)
OTHER_LETTERS = (
    (r"\varepsilon", r"\epsilon"),
    (r"\frac", r"\dfrac"),
    (r"\ln", r"\log"),
    ("(", r"\left("),
)


@st.composite
def rewrites(draw: st.DrawFn, question: NoiseQuestion) -> str:
    latex = question.answer
    for form in draw(st.lists(st.sampled_from(SAME), max_size=3)):
        latex = form.replace("X", latex)
    for old, new in draw(st.lists(st.sampled_from(OTHER_LETTERS[:3]), max_size=3, unique=True)):
        latex = latex.replace(old, new)
    return draw(st.sampled_from(LAYOUT)).replace("X", latex)


ONE_EACH = [  # all 49 functions, the mechanisms in turn
    question
    for question in QUESTIONS.values()
    if [*dict.fromkeys(q.mechanism for q in QUESTIONS.values())][question.function_id % 6]
    == question.mechanism
]


@given(st.data(), st.sampled_from(ONE_EACH))
@settings(max_examples=250, deadline=None)
def test_every_rewrite_of_a_right_answer_is_equal(data: st.DataObject, q: NoiseQuestion) -> None:
    box = data.draw(rewrites(q))
    found = compare_boxed(box, q.answer, grid(q.parameter, q.constants))
    assert found.result == "equal", (box, found.reason)


WRONG: dict[str, Result] = {
    r"\frac{X}{2}": "too_little",
    "2(X)": "too_much",
    r"\frac{X}{n}": "too_little",
    "n(X)": "too_much",
    r"\frac{(n-1)(X)}{n}": "too_little",
    r"\frac{(n+1)(X)}{n}": "too_much",
    r"\frac{X}{\sqrt{2}}": "too_little",
    r"0.999(X)": "too_little",
    r"1.01(X)": "too_much",
    r"\frac{n-1}{3}(X)": "too_little",  # too little at n = 3, right at 4, too much above
}


@pytest.mark.parametrize("question", ONE_EACH, ids=lambda question: question.id)
def test_every_answer_that_is_off_is_off_on_the_right_side(question: NoiseQuestion) -> None:
    values = grid(question.parameter, question.constants)
    for form, verdict in WRONG.items():
        assert result(form.replace("X", question.answer), question.answer, values) == verdict
    assert result(question.answer, question.answer, values) == "equal"


def test_a_constant_is_compared_where_the_question_allows_it() -> None:
    question = QUESTIONS["laplace-noise-48"]  # ln(1+a)/ε for a > 1
    values = grid(question.parameter, question.constants)
    assert result(r"\log(a+1)/\varepsilon", question.answer, values) == "equal"
    assert result(r"\ln(a)/\varepsilon", question.answer, values) == "too_little"
    assert result(r"\ln(2a)/\varepsilon", question.answer, values) == "too_much"  # only as a > 1
    assert result(r"\ln(1+a)/\varepsilon", RIGHT) == "unreadable"  # a is no letter of this one
