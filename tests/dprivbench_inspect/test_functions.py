import json
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from dprivbench_inspect.functions import function, function_bank
from tests.dprivbench_inspect.printed import read

IDS = list(function_bank())


def test_the_bank_has_49_functions_in_order():
    assert [f.id for f in function_bank().values()] == IDS == [*range(1, 50)]


@pytest.mark.parametrize("number", IDS)
def test_the_pair_attains_the_sensitivity_exactly(number):
    f = function(number)
    constants = f.constant_values()[0]
    for n in range(3, 13):
        pair = f.neighbours(n)
        gap = f.exact(pair.high) - f.exact(pair.low)
        assert sp.simplify(gap - f.sensitivity(n=sp.Integer(n), **constants)) == 0
        differing = [i for i in range(n) if pair.high[i] != pair.low[i]]
        assert differing == [pair.row - 1]
        assert all(0 <= entry <= 1 for entry in (*pair.high, *pair.low))


@pytest.mark.parametrize("number", IDS)
def test_sympy_and_numpy_compute_the_same(number):
    f = function(number)
    rng = np.random.default_rng(number)
    for n in range(3, 8):
        # Multiples of 1/10, so that thresholds and ties are met.
        tenths = rng.integers(0, 11, size=(6, n))
        for constants in f.constant_values():
            exact = [
                float(f.exact([sp.Rational(int(t), 10) for t in row], constants)) for row in tenths
            ]
            np.testing.assert_allclose(
                f.floats(tenths / 10, constants), exact, rtol=1e-12, atol=1e-12
            )


# Worked out by hand at x = (0.9, 0.2, 0.6, 0.4, 0.75), constants as first listed.
BY_HAND = {
    7: 0.7 + 0.4 + 0.2 + 0.35,
    21: 0.6,  # third smallest of five
    22: 0.75 - 0.4,  # fourth less second smallest
    23: 3,
    24: 3,  # in [1/4, 3/4]: 0.6, 0.4, 0.75
    25: 0.18 + 0.12 + 0.24 + 0.3,
    26: (2.85**2 - (0.81 + 0.04 + 0.36 + 0.16 + 0.5625)) / 2,
    27: (0.9 - 0.2) + (0.6 - 0.4),
    29: 0.9 + 0.4 + 1.8 + 1.6 + 3.75,
    30: 1,  # 2.85 > 2.5
    31: 2,
    33: 1,
    34: 1,  # three entries above one half
    36: np.sqrt(0.49 + 0.16 + 0.04 + 0.1225 + 0.0225),  # the last step goes back to the first
    45: 5,  # four entries are smaller than the first
    46: 0.2 + 0.4,
    47: 0.9 + 0.1 + 0.2 + 0.1 + 0.15,
    49: 0.7 + 0.2 + 0.0 + 0.4 + 0.25,
}


@pytest.mark.parametrize("number", BY_HAND)
def test_values_worked_out_by_hand(number):
    x = np.array([0.9, 0.2, 0.6, 0.4, 0.75])
    assert function(number).floats(x) == pytest.approx(BY_HAND[number])


def test_functions_and_sensitivities_are_those_of_the_public_release(shared):
    records = json.loads((shared / "upstream" / "function_bank.json").read_text(encoding="utf-8"))
    assert [record["function_id"] for record in records] == IDS
    for record in records:
        n, a = sp.Integer(7), sp.Rational(5, 2)
        theirs = read(record["function_sens"], n=n, delta=a)
        assert sp.simplify(function(record["function_id"]).sensitivity(n=n, a=a) - theirs) == 0


def test_sensitivities_keep_symbols_that_get_no_number():
    assert function(28).sensitivity().free_symbols == {sp.Symbol("n", positive=True)}
    assert function(40).coefficient == Fraction(1, 2)


def test_unknown_functions_and_too_small_data_sets_are_refused():
    with pytest.raises(ValueError, match="no function 50; choose from 1 to 49"):
        function(50)
    with pytest.raises(ValueError, match="n must be at least 3, got 2"):
        function(7).neighbours(2)
