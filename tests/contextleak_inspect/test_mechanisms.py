import math

import numpy as np
import pytest

from contextleak_inspect.calibration import (
    analytic_sigma,
    embedding_sensitivity,
    gdp_mu,
    randomized_response,
    vote_sensitivity,
)
from contextleak_inspect.mechanisms import (
    UNPARSED,
    canary_direction,
    count_votes,
    nearest_candidate,
    noise_rng,
    noisy_histogram,
    noisy_max,
    noisy_mean,
    projection,
    randomized_labels,
    unit_embeddings,
    vote_count,
    vote_difference,
)
from contextleak_inspect.tradeoffs import gdp_accuracy, gdp_tpr

TRIALS = 20_000
DELTA = 1e-5


def rng() -> np.random.Generator:
    return np.random.default_rng(20251216)


# Votes


def test_an_unparsed_vote_counts_as_a_voter_in_its_own_bin():
    # public case E20: replies A, $A$, **B**, banana, nothing, c, (A)
    votes = [0, 0, 1, UNPARSED, UNPARSED, 2, 0]
    counts = count_votes(votes, n_options=3)
    assert counts.tolist() == [3, 1, 1, 2]
    assert counts.sum() == len(votes)


def test_counts_keep_the_axis_of_trials():
    counts = count_votes([[0, 1, 1], [UNPARSED, UNPARSED, 0]], n_options=2)
    assert counts.tolist() == [[1, 2, 0], [1, 0, 2]]


@pytest.mark.parametrize("votes", [[0, 3], [-2, 0]])
def test_a_vote_for_no_option_is_refused(votes):
    with pytest.raises(ValueError, match="option indices below 3 or UNPARSED"):
        count_votes(votes, n_options=3)


def test_unparsed_cannot_win():
    histogram = np.tile([1.0, 0.0, 9.0], (1000, 1))
    assert set(noisy_max(noisy_histogram(histogram, 0.1, rng()), rng())) == {0}


def test_ties_are_broken_by_a_fair_draw():
    labels = noisy_max(np.tile([5.0, 2.0, 5.0, 9.0], (TRIALS, 1)), rng())
    assert set(labels) == {0, 2}
    assert abs(np.mean(labels == 0) - 0.5) < 4 * 0.5 / math.sqrt(TRIALS)


def test_without_noise_the_counts_are_released_and_with_infinite_noise_nothing():
    counts = count_votes([[0] * 9 + [1]], n_options=2)
    assert noisy_histogram(counts, 0.0, rng()).tolist() == [[9.0, 1.0, 0.0]]
    assert noisy_histogram(counts, math.inf, rng()).tolist() == [[0.0, 0.0, 0.0]]
    assert projection(noisy_mean([[[1.0, 0.0]]], math.inf, rng()), np.array([1.0, 0.0])) == 0.0
    with pytest.raises(ValueError, match=r"sigma must be at least 0, got -1.0"):
        noisy_histogram(counts, -1.0, rng())


# Seeds


def test_noise_depends_on_its_key_alone_and_on_all_of_it():
    key = {"seed": 7, "trial": "t13", "epsilon": 1.0, "mechanism": "rnm", "canary_in": True}
    draw = noise_rng(**key).standard_normal()
    assert noise_rng(**key | {"epsilon": 1}).standard_normal() == draw
    others = [
        noise_rng(**key | change).standard_normal()
        for change in (
            {"seed": 8},
            {"trial": "t14"},
            {"epsilon": 2.0},
            {"epsilon": math.inf},
            {"mechanism": "esa"},
            {"canary_in": False},
        )
    ]
    assert len({draw, *others}) == 7


def test_noise_over_trials_is_standard_normal_and_worlds_are_independent():
    worlds = np.array([
        [noise_rng(0, i, 1.0, "rnm", canary_in=world).standard_normal() for i in range(2000)]
        for world in (True, False)
    ])
    assert abs(worlds.mean()) < 4 / math.sqrt(4000)
    assert abs(worlds.std() - 1) < 4 / math.sqrt(8000)
    assert abs(np.corrcoef(worlds)[0, 1]) < 4 / math.sqrt(2000)


# Embeddings


def test_embeddings_are_normalised_and_an_empty_text_is_the_zero_vector():
    vectors = unit_embeddings([[3.0, 4.0], [0.0, 0.0], [1e-200, 0.0], [-1e200, 1e200]])
    root = math.sqrt(0.5)
    assert vectors == pytest.approx(np.array([[0.6, 0.8], [0, 0], [1, 0], [-root, root]]))
    with pytest.raises(ValueError, match="must be finite, got 1 values that are not"):
        unit_embeddings([[math.nan, 0.0]])


def test_an_empty_text_stays_a_voter():
    # public case E11: three subsets, one empty reply; dropping it would divide by 2
    mean = noisy_mean([[[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]], 0.0, rng())
    assert mean == pytest.approx(np.array([[2 / 3, 0.0]]))


def test_one_replaced_embedding_moves_the_mean_by_no_more_than_its_sensitivity():
    generator, m = rng(), 10
    vectors = generator.normal(size=(200, m, 8)) * generator.lognormal(3, 3, size=(200, m, 1))
    neighbours = vectors.copy()
    neighbours[:, 3] = generator.normal(size=(200, 8)) * 1e6
    neighbours[0, 3] = -vectors[0, 3]
    moves = np.linalg.norm(
        noisy_mean(vectors, 0.0, rng()) - noisy_mean(neighbours, 0.0, rng()), axis=-1
    )
    assert moves.max() <= embedding_sensitivity(m) * (1 + 1e-12)
    assert moves[0] == pytest.approx(embedding_sensitivity(m))  # opposite vectors attain it


def test_the_nearest_candidate_is_by_cosine_not_by_length():
    candidates = [[100.0, 0.0], [0.1, 0.1], [0.0, 0.0]]
    release = np.array([[0.5, 0.4], [0.5, 0.01], [-1.0, -1.0]])
    assert nearest_candidate(release, candidates).tolist() == [1, 0, 2]


def test_the_direction_needs_outputs_that_differ():
    assert canary_direction([[2.0, 0.0]], [[0.0, 5.0]]) == pytest.approx(
        np.array([math.sqrt(0.5), -math.sqrt(0.5)])
    )
    with pytest.raises(ValueError, match="are equal"):
        canary_direction([[2.0, 0.0]], [[5.0, 0.0]])


# Randomized response


@pytest.mark.parametrize(("epsilon", "k"), [(0.0, 3), (2.0, 4), (1.0, 2)])
def test_randomized_labels_follow_their_law(epsilon, k):
    labels = randomized_labels(np.full(TRIALS, 1), k, epsilon, rng())
    expected = np.full(k, randomized_response(epsilon, k).other)
    expected[1] = randomized_response(epsilon, k).keep
    errors = np.sqrt(expected * (1 - expected) / TRIALS)
    assert np.all(np.abs(np.bincount(labels, minlength=k) / TRIALS - expected) < 4 * errors)


def test_randomized_labels_without_privacy_are_the_labels():
    assert randomized_labels([0, 2, 1], 3, math.inf, rng()).tolist() == [0, 2, 1]
    with pytest.raises(ValueError, match="labels must be option indices below 3"):
        randomized_labels([UNPARSED], 3, 1.0, rng())


# Simulated exact answers lie on theory's curves; faulty implementations do not.


def vote_scores(sigma, *, score="difference", k=0, m=10):
    """Scores of exact votes in both worlds: k of m for the canary's label, then k + 1."""
    generator = rng()
    worlds = []
    for votes in (k + 1, k):
        counts = np.tile([m - votes, votes, 0], (TRIALS, 1))
        histogram = noisy_histogram(counts, sigma, generator)
        worlds.append(
            vote_difference(histogram, 1, 0) if score == "difference" else vote_count(histogram, 1)
        )
    return worlds


def embedding_scores(sigma, *, m=10, length=1.0, mean=noisy_mean):
    """Scores of exact embeddings: one subset of m turns from a vector to its opposite."""
    generator, e = rng(), np.eye(1, 8)[0]
    worlds = []
    for changed in (e, -e):
        subsets = np.tile(-length * e, (m, 1))
        subsets[0] = length * changed
        noisy = mean(np.tile(subsets, (TRIALS, 1, 1)), sigma, generator)
        worlds.append(projection(noisy, canary_direction([e], [-e])))
    return worlds


def mean_without_normalising(embeddings, sigma, generator):
    mean = embeddings.mean(axis=-2)
    return mean + sigma * generator.standard_normal(mean.shape)


def lies_on_the_curve(worlds, mu):
    """Accuracy at the mid-point and TPR at FPR 0.1, within 4 standard errors of theory."""
    inside, outside = worlds
    middle = (inside.mean() + outside.mean()) / 2
    accuracy = (np.mean(inside > middle) + np.mean(outside <= middle)) / 2
    expected = gdp_accuracy(mu)
    accuracy_error = math.sqrt(expected * (1 - expected) / (2 * TRIALS))
    # the threshold at a true FPR of 0.1, from the clean score in the world without the canary
    tpr = np.mean(inside > np.quantile(outside, 0.9))
    expected_tpr = gdp_tpr(0.1, mu)
    # the quantile's own error shifts the FPR by √(0.09 / n), and TPR by the slope times that
    slope = (gdp_tpr(0.101, mu) - gdp_tpr(0.099, mu)) / 0.002
    tpr_error = math.sqrt((expected_tpr * (1 - expected_tpr) + slope**2 * 0.09) / TRIALS)
    return abs(accuracy - expected) < 4 * accuracy_error and abs(tpr - expected_tpr) < 4 * tpr_error


EPSILONS = [1.0, 2.0, 4.0, 8.0, 10.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_exact_votes_lie_on_the_curve(epsilon):
    sigma = analytic_sigma(epsilon, DELTA, vote_sensitivity())
    assert lies_on_the_curve(vote_scores(sigma), gdp_mu(epsilon, DELTA))
    tied = vote_scores(sigma, k=5, m=11)  # m does not enter, nor does the balance of the votes
    assert lies_on_the_curve(tied, gdp_mu(epsilon, DELTA))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_exact_embeddings_lie_on_the_curve(epsilon):
    sigma = analytic_sigma(epsilon, DELTA, embedding_sensitivity(10))
    assert lies_on_the_curve(embedding_scores(sigma), gdp_mu(epsilon, DELTA))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_label_count_alone_lies_on_its_own_lower_curve(epsilon):
    sigma = analytic_sigma(epsilon, DELTA, vote_sensitivity())
    scores = vote_scores(sigma, score="count")
    assert lies_on_the_curve(scores, gdp_mu(epsilon, DELTA) / math.sqrt(2))


MUTANTS = {
    "sensitivity 1 while an exemplar is replaced": lambda epsilon: vote_scores(
        analytic_sigma(epsilon, DELTA, 1.0)
    ),
    "variance taken for sigma": lambda epsilon: vote_scores(
        analytic_sigma(epsilon, DELTA, vote_sensitivity()) ** 2
    ),
    "one count instead of the difference": lambda epsilon: vote_scores(
        analytic_sigma(epsilon, DELTA, vote_sensitivity()), score="count"
    ),
    "mean's noise not divided by m": lambda epsilon: embedding_scores(
        analytic_sigma(epsilon, DELTA, embedding_sensitivity(1))
    ),
    "mean's noise divided by m twice": lambda epsilon: embedding_scores(
        analytic_sigma(epsilon, DELTA, embedding_sensitivity(10)) / 10
    ),
    "embeddings of norm 1.5 not normalised": lambda epsilon: embedding_scores(
        analytic_sigma(epsilon, DELTA, embedding_sensitivity(10)),
        length=1.5,
        mean=mean_without_normalising,
    ),
    "sensitivity 1/m while an exemplar is replaced": lambda epsilon: embedding_scores(
        analytic_sigma(epsilon, DELTA, embedding_sensitivity(10, "add_remove"))
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_faulty_implementation_does_not_lie_on_the_curve(mutant, epsilon):
    assert not lies_on_the_curve(MUTANTS[mutant](epsilon), gdp_mu(epsilon, DELTA))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_longer_embeddings_stay_on_the_curve_because_they_are_normalised(epsilon):
    sigma = analytic_sigma(epsilon, DELTA, embedding_sensitivity(10))
    assert lies_on_the_curve(embedding_scores(sigma, length=1.5), gdp_mu(epsilon, DELTA))
