import math

import numpy as np
import pytest

from contextleak_inspect.bounds import Outcomes
from contextleak_inspect.credible import epsilon_credible, epsilon_posterior

COUNTS = [(45, 50, 5, 50), (0, 50, 3, 50), (20, 25, 300, 3000), (2900, 3000, 2, 25), (1, 1, 0, 1)]


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("delta", [0.0, 1e-2])
def test_the_posterior_is_the_share_of_draws_inside_the_region(
    counts: tuple[int, int, int, int], delta: float
) -> None:
    tp, n_in, fp, n_out = counts
    rng, draws = np.random.default_rng(1), 400_000
    fnr = rng.beta(n_in - tp + 0.5, tp + 0.5, draws)
    fpr = rng.beta(fp + 0.5, n_out - fp + 0.5, draws)
    for epsilon in (0.3, 1.5, 3.0):
        grow = math.exp(epsilon)
        inside = np.ones(draws, dtype=bool)
        for a, b in ((fnr, fpr), (fpr, fnr)):
            inside &= (1 - a <= grow * b + delta) & (a <= grow * (1 - b) + delta)
        found = epsilon_posterior(
            Outcomes(tp, n_in), Outcomes(fp, n_out), epsilon=epsilon, delta=delta
        )
        error = math.sqrt(inside.mean() * (1 - inside.mean()) / draws) + 1e-6
        assert found == pytest.approx(inside.mean(), abs=5 * error)


def test_the_credible_epsilon_is_the_posteriors_quantile() -> None:
    pair = (Outcomes(45, 50), Outcomes(5, 50))
    found = epsilon_credible(*pair, delta=1e-5, confidence=0.9)
    at = epsilon_posterior(*pair, epsilon=found.value, delta=1e-5)
    assert at == pytest.approx(0.1, abs=1e-9)
    assert (found.kind, found.confidence) == ("credible", 0.9)
    perfect = epsilon_credible(Outcomes(50, 50), Outcomes(0, 50), delta=1e-5, confidence=0.9)
    assert found.ceiling == pytest.approx(perfect.value)


def test_rates_that_fit_epsilon_zero_often_enough_give_zero() -> None:
    assert epsilon_credible(Outcomes(50, 100), Outcomes(50, 100), delta=0.3).value == 0.0


def test_every_probability_is_one_in_the_limit() -> None:
    pair = (Outcomes(50, 50), Outcomes(0, 50))
    assert epsilon_posterior(*pair, epsilon=math.inf, delta=0.0) == pytest.approx(1)


def test_extreme_counts_give_numbers() -> None:
    # The first two once asked for the inverse at denormal numbers and got nan.
    for tp, n_in, fp, n_out in [(358, 440, 4, 4), (1721, 2036, 0, 2), (10**5, 10**5, 0, 1)]:
        pair = (Outcomes(tp, n_in), Outcomes(fp, n_out))
        assert 0 <= epsilon_posterior(*pair, epsilon=0.0, delta=1e-5) < 1
        assert math.isfinite(epsilon_credible(*pair, delta=1e-5).value)


def test_a_rank_of_the_judged_scores_is_refused() -> None:
    rank = Outcomes(5, 50, "fixed_rank")
    with pytest.raises(ValueError, match="fixed_rank"):
        epsilon_credible(rank, rank, delta=0.0)
