"""The reader and the search agree with the function bank, which they do not know."""

import itertools

import numpy as np
import pytest

from dprivbench_inspect.functions import function_bank
from dprivbench_inspect.generate import generate_category_1
from dprivbench_inspect.latex_formula import read_formula
from dprivbench_inspect.latex_tokens import ReadingError
from dprivbench_inspect.latex_tree import Names
from dprivbench_inspect.symbolic_question import read_claim
from dprivbench_inspect.symbolic_sensitivity import SIZES, sensitivity
from dprivbench_inspect.symbolic_values import Work, evaluate, is_sum_over_entries

TEXTS = {q.function_id: q.question for q in generate_category_1() if q.mechanism == "laplace"}


def values_of(latex: str, data: np.ndarray) -> np.ndarray:
    """Values for data sets of shape (..., n)."""
    tree = read_formula(latex, Names())
    return evaluate(tree, {"n": float(data.shape[-1])}, np.moveaxis(data, -1, 0), Work())


@pytest.mark.parametrize("number", sorted(function_bank()))
def test_the_formula_as_read_has_the_values_of_the_bank(number):
    function, claim = function_bank()[number], read_claim(TEXTS[number])
    constants = dict(function.constant_values()[0])
    rng = np.random.default_rng(number)
    for n in (3, 4, 7):
        data = np.concatenate([rng.random((50, n)), rng.integers(0, 2, (20, n))])
        values = {"n": float(n), **{name: float(value) for name, value in constants.items()}}
        values |= {rf"\{name}": value for name, value in values.items()}
        read = evaluate(claim.function, values, data.T, Work())
        if number == 44:  # read with one permutation; the bank takes another
            read, expected = np.sort(read), np.sort(function.floats(data, constants))
        else:
            expected = function.floats(data, constants)
        np.testing.assert_allclose(read, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("number", sorted(set(function_bank()) - {10, 24, 32, 48}))
def test_the_sensitivity_is_the_bank_s_at_every_n(number):
    claim = read_claim(TEXTS[number])
    found = sensitivity(claim.function, "n", claim.choices, claim.indices)
    assert {point.n for point in found.points} >= {3, 4, 5, 6, 7, 8}
    for n in {point.n for point in found.points}:
        delta = max(point.delta for point in found.points if point.n == n)
        assert delta == pytest.approx(float(function_bank()[number].sensitivity(n=n)), rel=1e-9)


def test_the_pair_found_moves_the_function_by_as_much_as_is_said():
    tree = read_formula(r"\sum_{i=1}^{n-1} \sqrt{x_i} (1 - x_{i+1})^2", Names())
    for point in sensitivity(tree, "n", [{}]).points:
        rest, row = list(point.pair.rest), point.pair.row - 1
        ends = [[*rest[:row], end, *rest[row:]] for end in (point.pair.high, point.pair.low)]
        high, low = evaluate(tree, {"n": float(point.n)}, np.array(ends).T, Work())
        assert high - low == pytest.approx(point.delta, rel=1e-12)


# Slow and obvious: all data sets of three entries on a fine grid. None has a maximum at a corner.
RIDGES = [
    r"\sum_{i=1}^{n-1} (x_i - x_{i+1})^2 e^{-3 x_i}",
    r"\left( \sum_{i=1}^{n-1} x_i (1 - x_{i+1}) \right)^2",
    r"\frac{\sum_{i=1}^n x_i^2}{1 + \sum_{i=1}^{n-1} |x_i - x_{i+1}|}",
    r"\sum_{i=1}^{n-1} |x_i - x_{i+1}| \sin(3 x_i) - \sum_{i=1}^{n-1} x_i^2 x_{i+1}",
    r"\sum_{i=1}^{n-1} \mathbb{1}[x_i > 0.37] (x_{i+1} - 0.2)^2",
]


@pytest.mark.parametrize("latex", RIDGES)
def test_the_search_is_no_worse_than_a_fine_grid(latex):
    grid = np.union1d(np.linspace(0, 1, 26), [0.37 + 1e-9])
    data = np.array(list(itertools.product(grid, repeat=3)))
    values = values_of(latex, data).reshape([len(grid)] * 3)
    widest = max(np.ptp(values, axis=axis).max() for axis in range(3))
    found = sensitivity(read_formula(latex, Names()), "n", [{}])
    assert found.proof == "search"
    assert next(point.delta for point in found.points if point.n == 3) >= widest * (1 - 1e-9)
    assert {point.n for point in found.points} == set(SIZES)


@pytest.mark.parametrize(
    ("latex", "separate"),
    [
        (r"\sum_{i=1}^n x_i^2", True),
        (r"\frac{1}{n} \sum_{i=1}^n i e^{x_i} - 3x_1", True),
        (r"\sum_{i=1}^{\lfloor n/2 \rfloor} (x_{2i-1} - x_{2i})", True),
        (r"\sum_{i=1}^n \sum_{j=1}^i x_i", True),
        (r"\sum_{i=1}^n x_i x_1", False),
        (r"\sum_{i=1}^{n-1} x_i x_{i+1}", False),
        (r"\left( \sum_{i=1}^n x_i \right)^2", False),
        (r"\sum_{i=1}^n x_{(i)}", False),
        (r"\sum_{i=1}^n x_i \cdot \max_{j} x_j", False),
        (r"\sum_{x_1 < x_2, i} x_i", False),
    ],
)
def test_only_sums_of_one_term_an_entry_count_as_proved(latex, separate):
    try:
        tree = read_formula(latex, Names())
    except ReadingError:
        assert not separate
    else:
        assert is_sum_over_entries(tree) is separate


# Notation: another way to write the same, or the value at (0.2, 0.9, 0.4).

AT = np.array([[0.2, 0.9, 0.4]])
SAME = [
    (r"\tfrac12 \sum_i x_i", 0.75),
    (r"\frac{\sum\nolimits_{i\in[n]} x_i}{\sqrt[3]{8}}", 0.75),
    (r"x_1 + \cdots", None),
    (r"\max\{x_1,\dots,x_n\} - \min(x_1, x_2)", 0.7),
    (r"\operatorname{median}(x)", None),
    (r"x_{(1)} + 10 x_{(n)}", 9.2),
    (r"\lVert x \rVert_1 \cdot \lvert x_1 - 1 \rvert", 1.2),
    (r"\sum_{i \ne j} x_i x_j", 2 * (0.18 + 0.08 + 0.36)),
    (r"\sum_{\substack{i=1 \\ i \text{ odd}}}^n x_i", 0.6),
    (r"\#\{i \in \{1,\ldots,n\} \mid x_i \in (0.2, 0.9]\}", 2),
    (r"|\{ i : x_i \geq 0.4 \}| \pmod{2}", 0),
    (r"\mathbf{1}_{\{x_1 < x_2 \le 1\}} + \mathbb{I}(x_3 = 0.4)", 2),
    (r"\text{rank of } x_3", 2),
    (r"\log_2 8 + \ln e^{x_1} + \exp(0)", 4.2),
    (r"\sin^2(x_1) + \cos^{2}(x_1)", 1),
    (r"\tan^{-1}(\tan(0.3))", 0.3),
    (r"2 - -x_1", None),
    (r"-x_1^2", -0.04),
    (r"2^{-1} x_1", 0.1),
    (r"1/2x_1", None),
    (r"x_1/2 \cdot 3", 0.3),
    (r"\prod_{i=1}^n x_i / 2", None),
    (r"x_4", None),
    (r"\left| x_1 - |x_2 - x_3| \right|", 0.3),
    (r"|x_1 - x_2| |x_2 - x_3|", 0.35),
    (r"x_1!", None),
    (r"\sum x_i", None),
    (r"\sum_{i=1} {n} x_i", None),
    (r"\sum_{i i = 1}^n x_i", None),
    (r"\sum_{n=1}^n x_n", None),
    (r"\sum_{i=1}^n a_i x_i", None),
    (r"\left_1 x_1", None),
]


@pytest.mark.parametrize(("latex", "value"), SAME, ids=[latex for latex, _ in SAME])
def test_notation_is_read_as_it_is_meant_or_refused(latex, value):
    if value is None:
        with pytest.raises(ReadingError):
            values_of(latex, AT)
    else:
        assert values_of(latex, AT)[0] == pytest.approx(value, abs=1e-12)
