import numpy as np
import pytest
from scipy.stats import poisson_binom

from contextleak_inspect.vote_laws import poisson_binomial_pmf, vote_law


def test_the_poisson_binomial_agrees_with_a_library():
    chances = np.random.default_rng(0).uniform(size=20)
    assert poisson_binomial_pmf(chances) == pytest.approx(
        poisson_binom.pmf(np.arange(21), chances), abs=1e-14
    )


def test_simulated_shards_follow_their_law():
    n, rng = 200_000, np.random.default_rng(8)
    clean = [0.9, 0.9, 0.1, 0.3]
    law = vote_law(5, false_votes=0.2, misses=0.1, clean_votes=clean)
    unchanged = (rng.random((n, 4)) < clean).sum(axis=1)
    for pmf, rate in [(law.canary_in, 0.9), (law.canary_out, 0.2)]:
        shares = np.bincount(unchanged + (rng.random(n) < rate), minlength=6) / n
        assert np.all(np.abs(shares - pmf) <= 4 * np.sqrt(pmf * (1 - pmf) / n) + 1e-9)


def test_a_vote_that_is_added_is_absent_without_the_canary():
    law = vote_law(3, false_votes=0.5, misses=0.0, neighbouring="add_remove")
    assert law.canary_in.tolist() == [0.0, 0.25, 0.5, 0.25]
    assert law.canary_out.tolist() == [0.25, 0.5, 0.25, 0.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vote_law(0), "m must be at least 1 shard, got 0"),
        (lambda: vote_law(3, misses=1.5), r"misses must lie in \[0, 1\], got 1.5"),
        (lambda: vote_law(3, clean_votes=[0.1]), "clean_votes must be m - 1 = 2 chances"),
        (lambda: poisson_binomial_pmf([-0.1]), r"p must lie in \[0, 1\], got \[-0.1\]"),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
