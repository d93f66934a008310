"""Formulas as numbers: worked out by hand, and to many digits where floating point cancels."""

from typing import Any

import mpmath
import numpy as np
import pytest

from dprivbench_inspect import expression_values
from dprivbench_inspect.equality import PLAIN
from dprivbench_inspect.expression_values import evaluate, precise_excess
from dprivbench_inspect.latex_formula import read_formula
from dprivbench_inspect.latex_tokens import ReadingError

N = {"n": np.array([3.0, 4.0])}


def test_evaluation_agrees_with_numbers_worked_out_by_hand() -> None:
    tree = read_formula(r"\frac{2(n-1)}{n} + \lfloor \frac{n}{2} \rfloor", PLAIN)
    assert evaluate(tree, N) == pytest.approx([4 / 3 + 1, 1.5 + 2])


def test_forty_digits_show_what_floating_point_loses() -> None:
    right = read_formula(r"\frac{1}{n}", PLAIN)
    lost = read_formula(r"(\frac{1}{n} + 10^{20}) - 10^{20}", PLAIN)
    assert list(evaluate(lost, N)) == [0.0, 0.0]
    assert precise_excess(lost, right, N) == pytest.approx([0, 0], abs=1e-18)
    tiny = read_formula(r"\frac{1}{n}(1 + 10^{-20})", PLAIN)
    assert precise_excess(tiny, right, N) == pytest.approx([1e-20, 1e-20], rel=1e-9, abs=0)


# Replies are graded in several threads, and `mpmath.mp` has one precision for all: a
# formula that equals the right one was now and then graded "too little".
def test_another_thread_does_not_take_the_digits_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def add(a: Any, b: Any) -> Any:
        mpmath.mp.dps = 15  # as another thread may do at any time
        return np.add(a, b)

    monkeypatch.setattr(mpmath.mp, "dps", 15)
    monkeypatch.setitem(expression_values._ARITHMETIC, "add", add)
    right, tiny = (read_formula(f, PLAIN) for f in (r"\frac{1}{n}", r"\frac{1}{n}(1 + 10^{-20})"))
    assert precise_excess(tiny, right, N) == pytest.approx([1e-20, 1e-20], rel=1e-9, abs=0)


@pytest.mark.parametrize(
    "latex",
    [r"\exp(1) - e", r"\ln 2 - \log(2)", r"\arctan(1) - \frac{\pi}{4}", r"\sin(\pi/6) - 1/2",
     r"\cos(\pi/3) - 1/2", r"\tan(\pi/4) - 1", r"\arcsin(1) - \pi/2", r"\arccos(0) - \pi/2",
     r"\sinh(1) - \frac{e - e^{-1}}{2}", r"\cosh(1) - \frac{e + e^{-1}}{2}",
     r"\tanh(1) - \frac{\sinh(1)}{\cosh(1)}", r"|{-2}| - 2", r"\max(1, n) - n", r"\min(1, n) - 1",
     r"\lceil 7/2 \rceil - 4", r"2^{-1} - 0.5"],
)  # fmt: skip
def test_every_operation_is_the_same_in_both_arithmetics(latex: str) -> None:
    zero, one = read_formula(latex, PLAIN), read_formula("1", PLAIN)
    shifted = read_formula(f"1 + ({latex})", PLAIN)
    assert evaluate(zero, N) == pytest.approx([0, 0], abs=1e-15)
    assert precise_excess(shifted, one, N) == pytest.approx([0, 0], abs=1e-35)


@pytest.mark.parametrize(
    "latex", [r"\frac{1}{n-3}", r"\sqrt{3-n}", r"10^{10^{10}}", r"\sum_{i=1}^n i"]
)
def test_what_has_no_value_is_refused(latex: str) -> None:
    with pytest.raises(ReadingError):
        evaluate(read_formula(latex, PLAIN), N)
