import math

import numpy as np
import pytest

from contextleak_inspect.adaptive import Choice, Goal, bets, choices, choose, epsilon_running
from contextleak_inspect.bounds import PAPER
from contextleak_inspect.calibration import gdp_mu
from contextleak_inspect.rao_blackwell import hit_probability
from contextleak_inspect.sequential import epsilon_from_pairs

DELTA = 1e-5
GOAL = Goal(DELTA, 0.95, 100)
CUTS = np.linspace(-4, 6, 101)


def running(values_in, values_out, delta=DELTA):
    return epsilon_running(
        np.asarray(values_in, float),
        np.asarray(values_out, float),
        delta=delta,
        confidence=0.95,
        method="test",
        setting=PAPER,
    )


def drawn(scores_in, scores_out):
    def hits(block, cuts):
        return (
            (scores_in[block, None] > cuts).astype(float),
            (scores_out[block, None] > cuts).astype(float),
        )

    return hits


# The slow and obvious form: the largest bound over all prefixes.
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.01])
def test_running_is_the_largest_bound_of_any_prefix(delta):
    rng = np.random.default_rng(5)
    values_in, values_out = rng.random(40) < 0.9, rng.random(40) < 0.1
    values_in[25:], values_out[25:] = False, True  # luck that ends
    expected = max(
        epsilon_from_pairs(values_in[:n], values_out[:n], delta=delta).value for n in range(1, 41)
    )
    found = running(values_in, values_out, delta)
    assert found.value == pytest.approx(expected, abs=1e-6)
    assert found.value > epsilon_from_pairs(values_in, values_out, delta=delta).value
    assert found.value <= found.ceiling
    assert (found.threshold_rule, found.n_in, found.n_out) == ("predictable", 40, 40)


# TPR .6 at FPR .4: hits show what misses show, and the last bit must not decide.
@pytest.mark.parametrize("noise", [-1e-15, 0.0, 1e-15])
def test_of_equal_sides_hits_are_bet_on_whatever_the_rounding(noise):
    inside, outside = np.array([[0.6, 0.6]]) - noise, np.array([[0.4, 0.4]]) + noise
    assert choose(inside, outside, np.array([0.0, 1.0]), GOAL) == Choice(0.0, misses=False)
    assert choose(inside, outside + noise, np.array([0.0, 1.0]), GOAL) == Choice(0.0, misses=False)


def test_running_never_falls():
    rng = np.random.default_rng(6)
    values_in, values_out = rng.random(60) < 0.8, rng.random(60) < 0.1
    bounds = [running(values_in[:n], values_out[:n]).value for n in range(1, 61)]
    assert np.all(np.diff(bounds) > -1e-9)
    assert bounds[-1] > 1


def test_what_is_bet_on_depends_on_earlier_pairs_only():
    rng = np.random.default_rng(1)
    scores_in, scores_out = rng.normal(1, 1, 100), rng.normal(0, 1, 100)
    first = Choice(1.5, False)

    def values(pairs):
        hits = drawn(scores_in[:pairs], scores_out[:pairs])
        return np.array(bets(choices(pairs, first, CUTS, hits, GOAL), hits))

    whole = values(100)
    for pairs in (1, 5, 6, 25, 40, 99):
        assert (values(pairs) == whole[:, :pairs]).all()
    # a later pair changes nothing before the block after its own
    scores_in[30], scores_out[30] = 99, -99
    assert (values(100)[:, :30] == whole[:, :30]).all()


def test_misses_are_bet_on_where_they_tell_more():
    # The canary is never missed and falsely seen half of the time: TNR / FNR tells, TPR / FPR not.
    inside, outside = np.ones((50, 1)), np.repeat([0.0, 1.0], 25)[:, None]
    assert choose(inside, outside, np.array([0.5]), GOAL) == Choice(0.5, misses=True)
    hits = drawn(np.ones(50), np.tile([0.0, 1.0], 25))
    values = bets(choices(50, Choice(0.5, False), np.array([0.5]), hits, GOAL), hits)
    assert running(*values).value > 1.1
    assert running(np.ones(50), np.tile([0.0, 1.0], 25)).value < 0.7


def test_a_goal_asks_for_the_threshold_that_shows_it_soonest():
    cuts = np.linspace(-3, 5, 161)
    mu = gdp_mu(8.0, DELTA)
    inside, outside = (hit_probability(np.array([[score]]), 1.0, cuts) for score in (mu, 0.0))
    soon = choose(inside, outside, cuts, Goal(DELTA, 0.95, 100_000, stop_at=0.5))
    much = choose(inside, outside, cuts, Goal(DELTA, 0.95, 100_000))
    assert abs(soon.threshold - mu / 2) < 0.6  # near the best accuracy
    assert much.threshold > 2.5 or much.misses  # far out, where the ratio of tails is large


# Gaussian pairs of true ε: the value at any time may exceed it in at most 5 % of audits.
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("integrated", [False, True])
def test_coverage_with_adaptive_thresholds(epsilon, integrated):
    mu = gdp_mu(epsilon, DELTA) if epsilon else 0.0
    rng, audits, pairs = np.random.default_rng(11), 400, 80
    first = choose(*(hit_probability(np.array([[s]]), 1.0, CUTS) for s in (mu, 0.0)), CUTS, GOAL)
    above = 0
    for _ in range(audits):
        # answers vary: with chance 0.1 a world's clean score is the other's
        clean_in = np.where(rng.random(pairs) < 0.1, 0.0, mu)
        clean_out = np.where(rng.random(pairs) < 0.1, mu, 0.0)
        hits = drawn(clean_in + rng.standard_normal(pairs), clean_out + rng.standard_normal(pairs))

        def chances(block, cuts, clean_in=clean_in, clean_out=clean_out):
            return tuple(hit_probability(c[block, None], 1.0, cuts) for c in (clean_in, clean_out))

        chosen = choices(pairs, first, CUTS, chances, GOAL)
        values = bets(chosen, chances if integrated else hits)
        above += running(*values).value > epsilon
    assert above / audits <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / audits)
