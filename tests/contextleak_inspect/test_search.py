import numpy as np
import pytest
from scipy.special import ndtr

from contextleak_inspect.calibration import analytic_sigma, gdp_mu, vote_sensitivity
from contextleak_inspect.config import audit_config
from contextleak_inspect.queries import bundled_queries
from contextleak_inspect.search import (
    GENERATION_EPSILON,
    Candidate,
    Objective,
    best_candidate,
    objective_of,
    predicted,
    predicted_accuracy,
    predicted_limits,
)
from contextleak_inspect.votes import ErrorRates

VOTES = Objective((10.0,), 10, 1e-5)
TEXTS = Objective(GENERATION_EPSILON, 10, 1e-5, 2**0.5)
REPLY = Objective((), 1, 1e-5)
[QUERY, OTHER, *_] = bundled_queries()


# auditing_math section 4.4: 0.84140 at ε = 10.
def test_without_errors_the_prediction_is_the_ceiling():
    assert predicted_accuracy(VOTES, 0.0, 0.0) == pytest.approx(0.84140, abs=1e-5)
    steps = [gdp_mu(epsilon, 1e-5) / 2**0.5 for epsilon in GENERATION_EPSILON]
    expected = np.mean([ndtr(mu / 2) for mu in steps])
    assert predicted_accuracy(TEXTS, 0.0, 0.0) == pytest.approx(expected, abs=1e-9)
    assert predicted_accuracy(REPLY, 0.1, 0.3) == pytest.approx(0.8)


def test_two_rates_predict_what_whole_trials_measure():
    q, r, n = 0.04, 0.2, 40_000
    rng = np.random.default_rng(0)
    clean = rng.binomial(9, q, (2, n))
    votes = clean + np.stack([rng.random(n) < 1 - r, rng.random(n) < q])
    sigma = analytic_sigma(10.0, 1e-5, vote_sensitivity())
    scores = 2 * votes - 10 + 2**0.5 * sigma * rng.standard_normal((2, n))
    cuts = np.linspace(-12, 4, 161)
    measured = max(((scores[0] > t).mean() + (scores[1] <= t).mean()) / 2 for t in cuts)
    assert measured == pytest.approx(predicted_accuracy(VOTES, q, r), abs=0.006)


@pytest.mark.parametrize("objective", [VOTES, TEXTS, REPLY, Objective((1.0,), 21, 1e-5)])
def test_more_errors_never_predict_more(objective):
    grid = np.linspace(0, 1, 13).tolist()
    table = np.array([[predicted_accuracy(objective, q, r) for r in grid] for q in grid])
    assert np.all(np.diff(table, axis=0) <= 1e-9)
    assert np.all(np.diff(table, axis=1) <= 1e-9)
    assert table.min() == 0.5


def test_limits_cover_the_truth_for_all_cells_at_once():
    rng, n, cells = np.random.default_rng(1), 40, 6
    rates = [(0.02 * i, 0.1 * i) for i in range(cells)]
    wrong = 0
    for _ in range(150):
        missed = False
        for q, r in rates:
            counts = ErrorRates(int(rng.binomial(n, q)), n, int(rng.binomial(n, r)), n)
            low, high = predicted_limits(VOTES, counts, cells=cells)
            missed |= not low <= predicted_accuracy(VOTES, q, r) <= high
        wrong += missed
    assert wrong <= 14  # 5 % of 150 are allowed; 15 or more happen with chance 0.01


def test_the_winner_on_its_own_contexts_looks_better_than_it_is():
    rng, n = np.random.default_rng(2), 12
    optimistic, fresh = [], []
    for _ in range(100):
        drawn = [
            Candidate("hex", QUERY, ErrorRates(int(rng.binomial(n, 0.2)), n, 4, n))
            for _ in range(10)
        ]
        optimistic.append(predicted(VOTES, best_candidate(VOTES, drawn).rates))
        fresh.append(predicted(VOTES, ErrorRates(int(rng.binomial(n, 0.2)), n, 4, n)))
    assert np.mean(optimistic) > np.mean(fresh) + 0.02


def test_the_first_of_equals_wins_and_none_is_an_error():
    rates = ErrorRates(0, 5, 0, 5)
    first = Candidate("hex", QUERY, rates)
    assert best_candidate(VOTES, [first, Candidate("hex", OTHER, rates)]) is first
    with pytest.raises(ValueError, match="no candidate"):
        best_candidate(VOTES, [])


def test_each_task_has_the_papers_objective():
    rnm = objective_of(audit_config({"ensemble": 5}))
    assert (rnm.epsilon, rnm.ensemble, rnm.distance) == ((10.0,), 5, None)
    esa = objective_of(audit_config({"task": "generation", "defense": "esa"}))
    assert esa == TEXTS
    assert str(esa) == "best accuracy at ε = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10"
    assert objective_of(audit_config({"defense": "faux_secrets"})) == REPLY
    with pytest.raises(ValueError, match="'output_filter' changes"):
        objective_of(audit_config({"defense": "output_filter"}))
