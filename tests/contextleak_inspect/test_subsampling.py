import sys

import pytest

from contextleak_inspect.calibration import gaussian_epsilon
from contextleak_inspect.subsampling import subsampled_gaussian_epsilon


def test_rate_one_is_plain_composition():
    # the accountant discretises and rounds up
    exact = gaussian_epsilon(2.0, 1e-5, 1.0, queries=4)
    assert exact <= subsampled_gaussian_epsilon(2.0, 1.0, 4, 1e-5) < exact * 1.002


def test_sigma_with_amplification_does_not_hold_when_the_canary_is_always_in_the_prompt():
    # noise multiplier printed for a target of 1 in a public notebook (100 queries, rate 2.7 %)
    amplified = subsampled_gaussian_epsilon(1.27186110977162, 0.027151778441487917, 100, 5e-5)
    assert amplified == pytest.approx(0.9948, abs=2e-3)
    assert gaussian_epsilon(1.27186110977162, 5e-5, 1.0, queries=100) > 50


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match=r"pip install 'inspect-dp\[accounting\]'"):
        subsampled_gaussian_epsilon(1.0, 0.1, 10, 1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 0.1, 10, 1e-5), "noise_multiplier must be positive and finite, got 0.0"),
        ((1.0, 0.0, 10, 1e-5), r"rate must be in \(0, 1\], got 0.0"),
        ((1.0, 0.1, 0, 1e-5), "queries must be at least 1, got 0"),
        ((1.0, 0.1, 10, 0.0), r"delta must be in \(0, 1\), got 0.0"),
    ],
)
def test_a_bad_argument_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        subsampled_gaussian_epsilon(*arguments)
