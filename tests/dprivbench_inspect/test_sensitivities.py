from fractions import Fraction

import numpy as np
import pytest

from dprivbench_inspect.certificates.sensitivities import check_sensitivity, verify_sensitivities
from dprivbench_inspect.functions import function


@pytest.fixture(scope="module")
def evidence():
    return list(verify_sensitivities(range(3, 9), seed=1))


def test_no_random_neighbours_move_a_function_by_more_than_its_sensitivity(evidence):
    assert len(evidence) == 49 * 6
    assert [row for row in evidence if not row.holds] == []


def test_the_search_is_strong_enough_to_find_the_sensitivity_itself(evidence):
    for row in evidence:
        assert row.found == pytest.approx(row.allowed, rel=1e-9), row.function_id


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (7, {"coefficient": Fraction(1)}),  # right at n = 2 only
        (7, {"coefficient": Fraction(3)}),
        (10, {"coefficient": Fraction(1, 4)}),  # right at m = 1/2 only
        (10, {"constants": {"m": ["1/2"]}}),  # then 1 is too much: the pair does not attain it
        (28, {"numerator": "n"}),
        (8, {"numerator": "n", "denominator": "n"}),  # 2, never attained
    ],
)
def test_a_wrong_sensitivity_is_reported(number, change):
    wrong = function(number).model_copy(update=change)
    assert not check_sensitivity(wrong, 4, np.random.default_rng(0)).holds
