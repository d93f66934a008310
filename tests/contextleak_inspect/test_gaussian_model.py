import math

import pytest

from contextleak_inspect.bounds import Outcomes, Setting
from contextleak_inspect.calibration import gdp_epsilon
from contextleak_inspect.gaussian_model import epsilon_if_gaussian, mu_lower_bound

GOOD = (Outcomes(45, 50), Outcomes(5, 50))
BAD = (Outcomes(5, 50), Outcomes(45, 50))


def test_the_epsilon_is_that_of_the_mu() -> None:
    bound = epsilon_if_gaussian(*GOOD, answers_vary=False, delta=1e-5)
    assert bound.value == gdp_epsilon(mu_lower_bound(*GOOD).value, 1e-5)
    assert bound.kind == "bound"


def test_with_answers_that_vary_it_is_no_bound() -> None:
    bound = epsilon_if_gaussian(*GOOD, answers_vary=True, delta=1e-5)
    assert bound.kind == "model_based"


def test_a_negative_mu_is_no_evidence_in_the_other_direction() -> None:
    assert mu_lower_bound(*BAD).unclipped < -2
    bound = epsilon_if_gaussian(*BAD, answers_vary=False, delta=1e-5)
    assert bound.value == 0.0
    assert bound.unclipped < -5


def test_no_hit_at_all_is_no_evidence() -> None:
    bound = epsilon_if_gaussian(Outcomes(0, 9), Outcomes(9, 9), answers_vary=False, delta=1e-5)
    assert (bound.value, bound.unclipped) == (0.0, -math.inf)


def test_only_a_noisy_aggregate_has_a_gaussian_curve() -> None:
    with pytest.raises(ValueError, match="final_output"):
        epsilon_if_gaussian(
            *GOOD, answers_vary=False, delta=1e-5, setting=Setting(observation="final_output")
        )


def test_without_delta_gaussian_noise_has_no_finite_epsilon() -> None:
    with pytest.raises(ValueError, match="delta"):
        epsilon_if_gaussian(*GOOD, answers_vary=False, delta=0.0)


def test_the_ceiling_is_reached_by_a_perfect_run() -> None:
    perfect = epsilon_if_gaussian(Outcomes(50, 50), Outcomes(0, 50), answers_vary=False, delta=1e-5)
    good = epsilon_if_gaussian(*GOOD, answers_vary=False, delta=1e-5)
    assert good.ceiling == perfect.ceiling == perfect.value


def test_no_infinite_bound_comes_out_of_pure_dp():
    with pytest.raises(ValueError, match="delta is 0"):
        epsilon_if_gaussian(Outcomes(50, 50), Outcomes(0, 50), answers_vary=False, delta=0.0)
