import math

import numpy as np
import pytest

from contextleak_inspect.tradeoffs import dp_accuracy, dp_tpr, gdp_accuracy, gdp_tpr


def test_tpr_at_half_the_errors_gives_the_accuracy_back():
    # the equal-error point of a Gaussian curve: FPR = FNR = 1 - Φ(μ/2)
    for mu in (0.0, 0.3, 2.0, 9.0):
        accuracy = gdp_accuracy(mu)
        assert gdp_tpr(1 - accuracy, mu) == pytest.approx(accuracy, abs=1e-12)


def test_the_corner_of_the_privacy_region_gives_the_accuracy_back():
    # its two edges cross at FPR = FNR = (1 - δ) / (1 + e^ε)
    for epsilon, delta in [(0.0, 0.0), (1.0, 1e-5), (4.0, 0.1), (30.0, 1e-9)]:
        corner = (1 - delta) / (1 + math.exp(epsilon))
        assert dp_tpr(corner, epsilon, delta) == pytest.approx(dp_accuracy(epsilon, delta))
        assert dp_tpr(corner, epsilon, delta) == pytest.approx(1 - corner)


def test_arrays_go_through_and_ends_are_exact():
    rates = np.array([0.0, 0.1, 1.0])
    assert gdp_tpr(rates, 1.0) == pytest.approx([0.0, 0.389143, 1.0], abs=1e-6)
    assert gdp_tpr(rates, math.inf).tolist() == [1.0, 1.0, 1.0]
    assert gdp_tpr(0.1, 0.0) == pytest.approx(0.1)
    assert dp_tpr(rates, 0.0, 0.0) == pytest.approx(rates)
    assert dp_tpr(rates, math.inf, 0.0).tolist() == [1.0, 1.0, 1.0]
    assert dp_tpr(0.0, 1e4, 1e-5) == 1e-5
    assert dp_tpr(1e-9, 1e4, 0.0) == 1.0
    assert dp_accuracy(np.array([0.0, math.inf]), 0.0).tolist() == [0.5, 1.0]
    assert dp_accuracy(2000.0, 1e-5) == 1.0
    assert gdp_accuracy(np.array([0.0, math.inf])).tolist() == [0.5, 1.0]


def test_a_gaussian_release_stays_inside_the_region_of_its_guarantee():
    from contextleak_inspect.calibration import gdp_mu

    rates = np.linspace(0, 1, 1001)
    for epsilon in (0.5, 1.0, 4.0, 10.0):
        assert np.all(gdp_tpr(rates, gdp_mu(epsilon, 1e-5)) <= dp_tpr(rates, epsilon, 1e-5) + 1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gdp_tpr(1.1, 1.0), r"fpr must be in \[0, 1\], got 1.1"),
        (lambda: gdp_tpr(0.1, -1.0), r"mu must be at least 0, got -1.0"),
        (lambda: gdp_accuracy(-1.0), r"mu must be at least 0, got -1.0"),
        (lambda: dp_accuracy(-1.0, 0.0), r"epsilon must be at least 0, got -1.0"),
        (lambda: dp_tpr(0.1, 1.0, 1.0), r"delta must be in \[0, 1\), got 1.0"),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
