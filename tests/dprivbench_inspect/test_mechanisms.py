import re
from fractions import Fraction

import pytest
import sympy as sp

from dprivbench_inspect.functions import function, function_bank
from dprivbench_inspect.mechanisms import MECHANISMS, noise_latex, sensitivity_latex
from tests.dprivbench_inspect.printed import read

AMOUNTS = [Fraction(1), Fraction(1, 2), Fraction(4, 9), Fraction(9, 4), Fraction(10, 7)]
VALUES = {"n": sp.Integer(5), "a": sp.Rational(7, 3)}
PRIVACY = sp.Rational(3, 11)


# What the claim needs, by mechanism, written a second time and without the mechanism's record.
def needed(name, sensitivity):
    return {
        "laplace": sensitivity / PRIVACY,
        "gaussian_gdp": (sensitivity / PRIVACY) ** 2,
        "gaussian_zcdp": sensitivity**2 / (2 * PRIVACY),
        "expo_mech": 2 * sensitivity / PRIVACY,
        "laplace_rnm": 2 * sensitivity / PRIVACY,
        "permute_flip": PRIVACY / (2 * sensitivity),
    }[name]


@pytest.mark.parametrize("name", MECHANISMS)
def test_printed_noise_says_the_amount_of_the_needed_noise(name):
    mechanism = MECHANISMS[name]
    letter = mechanism.parameter.removeprefix("\\")
    for f in function_bank().values():
        exact = needed(name, f.sensitivity(**VALUES))
        for amount in AMOUNTS:
            ratio = read(noise_latex(mechanism, f, amount), **VALUES, **{letter: PRIVACY}) / exact
            wanted = 1 / amount if name == "permute_flip" else amount
            assert sp.simplify(ratio) == sp.Rational(wanted.numerator, wanted.denominator)


@pytest.mark.parametrize("name", MECHANISMS)
def test_printed_noise_is_simplified(name):
    for f in function_bank().values():
        for amount in AMOUNTS:
            latex = noise_latex(MECHANISMS[name], f, amount)
            assert "cdot" not in latex
            assert latex.count(r"\frac") <= 1
            parts = re.fullmatch(r"\\frac\{(.*)\}\{(.*)\}", latex)
            over, under = parts.groups() if parts else (latex, "1")
            top, bottom = (int((re.match(r"\d+", part) or ["1"])[0]) for part in (over, under))
            if "n-1" not in (over[1:4], under[1:4]):  # the 2 of 2n-1 is no factor
                assert Fraction(top, bottom).denominator == bottom
            assert not re.search(r"(?<!\d)1(?=[(\\a-z])", latex)  # no factor 1


def test_sums_get_parentheses_exactly_where_they_need_them():
    laplace, permute_flip = MECHANISMS["laplace"], MECHANISMS["permute_flip"]
    whole, half = Fraction(1), Fraction(1, 2)
    assert noise_latex(laplace, function(15), whole) == r"\frac{e-1}{\varepsilon}"
    assert noise_latex(laplace, function(15), 3 * half) == r"\frac{3(e-1)}{2\varepsilon}"
    assert noise_latex(laplace, function(8), whole) == r"\frac{2(n-1)}{n\varepsilon}"
    assert noise_latex(laplace, function(8), half) == r"\frac{n-1}{n\varepsilon}"
    assert noise_latex(laplace, function(41), half) == r"\frac{e}{2(e+n-1)\varepsilon}"
    assert noise_latex(permute_flip, function(41), whole) == r"\frac{(e+n-1)\varepsilon}{2e}"
    assert noise_latex(permute_flip, function(28), half) == r"\frac{\varepsilon}{2n-1}"
    assert noise_latex(permute_flip, function(20), whole) == r"8\varepsilon"


def test_squares_are_written_out():
    gdp, zcdp = MECHANISMS["gaussian_gdp"], MECHANISMS["gaussian_zcdp"]
    assert noise_latex(gdp, function(36), Fraction(1)) == r"\frac{2}{\mu^2}"
    assert noise_latex(gdp, function(14), Fraction(1, 2)) == r"\frac{(\ln 2)^2}{2\mu^2}"
    assert noise_latex(zcdp, function(18), Fraction(1)) == r"\frac{\pi^2}{32\rho}"


def test_sensitivities_are_printed_as_they_are():
    for f in function_bank().values():
        assert sp.simplify(read(sensitivity_latex(f), **VALUES) - f.sensitivity(**VALUES)) == 0
