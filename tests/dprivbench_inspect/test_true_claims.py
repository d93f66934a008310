"""True claims of Category 2 under attack: random mechanisms and grids, without the certificates."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from dprivbench_inspect.divergences import (
    gaussian_delta,
    gaussian_mu,
    hockey_stick_discrete,
    renyi_discrete,
)

SEED = 20260


def random_laws(rng, number, outcomes=4):
    """Shape (number, outcomes), some of them very uneven."""
    return special.softmax(rng.normal(0, rng.uniform(0.1, 4), (number, outcomes)), axis=1)


def with_losses_in(rng, low, high, outcomes=5):
    """P and Q on a few outcomes with ln P/Q inside [low, high]; most losses at the two ends."""
    while True:
        losses = rng.choice([low, high, rng.uniform(low, high)], outcomes)
        if losses.min() < 0 < losses.max():
            break
    q = rng.dirichlet(np.ones(outcomes) * 0.5)
    up, down = losses > 0, losses <= 0
    # scale Q on the two sides so that both P and Q sum to 1
    gain, cost = (q * np.expm1(losses))[up].sum(), -(q * np.expm1(losses))[down].sum()
    q = np.where(up, q * cost, q * gain)
    q /= q.sum()
    return q * np.exp(losses), q


def test_rdp_converts_at_every_order():
    rng = np.random.default_rng(SEED)
    for _ in range(2000):
        p, q = random_laws(rng, 2)
        alpha, delta = rng.uniform(1.05, 20), 10 ** rng.uniform(-8, -0.1)
        r = max(renyi_discrete(p, q, alpha).value, renyi_discrete(q, p, alpha).value)
        epsilon = r + math.log(1 / delta) / (alpha - 1)
        assert hockey_stick_discrete(p, q, epsilon).value <= delta


def test_classical_gaussian_noise_is_enough_below_one():
    for epsilon in np.linspace(0.001, 0.9999, 60):
        for delta in [*np.geomspace(1e-300, 0.5, 60), *np.linspace(0.5, 0.99999, 30)]:
            mu = epsilon / math.sqrt(2 * math.log(1.25 / delta))
            assert gaussian_delta(epsilon, mu).value <= delta


def test_bounded_range_gives_an_eighth_of_its_square():
    rng = np.random.default_rng(SEED)
    for _ in range(2000):
        eta = rng.uniform(0.05, 6)
        low = -eta * rng.uniform(0.01, 0.99)
        p, q = with_losses_in(rng, low, low + eta)
        for alpha in (1.0, 1.3, 2.0, 7.0, 40.0):
            assert renyi_discrete(p, q, alpha).value <= alpha * eta**2 / 8 + 1e-12


def test_group_of_two_pays_for_the_second_delta():
    rng = np.random.default_rng(SEED)
    for _ in range(3000):
        laws, epsilon = random_laws(rng, 3, outcomes=3), rng.uniform(0.01, 2)
        steps = [(0, 1), (1, 0), (1, 2), (2, 1)]
        delta = max(hockey_stick_discrete(laws[i], laws[j], epsilon).value for i, j in steps)
        two = hockey_stick_discrete(laws[0], laws[2], 2 * epsilon).value
        assert two <= (1 + math.exp(epsilon)) * delta + 1e-12


def test_tail_of_the_loss_bounds_delta():
    rng = np.random.default_rng(SEED)
    for _ in range(2000):
        (p, q), epsilon = random_laws(rng, 2), rng.uniform(0.01, 3)
        tail = p[p > math.exp(epsilon) * q].sum()
        assert hockey_stick_discrete(p, q, epsilon).value <= tail + 1e-15


def test_pure_dp_is_gaussian_dp_with_the_two_segment_mu():
    rng = np.random.default_rng(SEED)
    for _ in range(300):
        epsilon = rng.uniform(0.05, 5)
        p, q = with_losses_in(rng, -epsilon, epsilon)
        mu = 2 * stats.norm.ppf(1 / (1 + math.exp(-epsilon)))
        for at in np.linspace(0, epsilon, 6):
            delta = hockey_stick_discrete(p, q, at).value
            if delta > 1e-10:
                assert gaussian_mu(at, delta) <= mu + 1e-9


@pytest.mark.parametrize("k", [1, 2, 5, 30, 300])
def test_advanced_composition_covers_the_worst_mechanism(k):
    # Randomised response that shows the record with probability δ is the worst (ε, δ)-DP
    # mechanism under composition, adaptive or not: arXiv:1311.0776.
    for epsilon, delta, slack in itertools.product(
        (0.01, 0.1, 0.5, 1.0, 3.0), (0.0, 1e-6, 0.01, 0.3), (1e-9, 1e-3, 0.1, 0.9, 0.999)
    ):
        flips = np.arange(k + 1)
        keep = 1 / (1 + math.exp(-epsilon))
        p, q = stats.binom.pmf(flips, k, 1 - keep), stats.binom.pmf(flips, k, keep)
        at = epsilon * math.sqrt(2 * k * math.log(1 / slack)) + k * epsilon * math.expm1(epsilon)
        if at > 600:  # beyond e^ε in floating point, and beyond k·ε wherever ε is at least ln 2
            continue
        hidden = (1 - delta) ** k
        measured = 1 - hidden + hidden * hockey_stick_discrete(p, q, at).value
        assert measured <= k * delta + slack + 1e-12


def laws_of_samples(rng, records, epsilon, bound):
    """Exponential mechanism on a sample: scores are sums of random marks, at most `bound` each."""
    marks = rng.uniform(-bound, bound, (records, 3))
    if rng.random() < 0.5:
        marks = bound * np.sign(marks)
    return lambda sample: special.softmax(epsilon / 2 * marks[list(sample)].sum(axis=0))


def largest_log_ratio(p, q):
    return float(np.abs(np.log(p) - np.log(q)).max())


def test_poisson_samples_amplify():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(200):
        n, epsilon, rate = 4, rng.uniform(0.1, 4), rng.uniform(0.02, 0.98)
        law = laws_of_samples(rng, n + 1, epsilon, bound=1.0)

        def release(records, law=law, rate=rate):
            return sum(
                rate ** len(s) * (1 - rate) ** (len(records) - len(s)) * law(s)
                for size in range(len(records) + 1)
                for s in itertools.combinations(records, size)
            )

        measured = largest_log_ratio(release(range(n)), release(range(n + 1)))
        claim = math.log1p(rate * math.expm1(epsilon))
        assert measured <= claim + 1e-12
        closest = max(closest, measured / claim)
    assert closest > 0.7  # the attack is not a weak one


def test_samples_of_fixed_size_amplify():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(300):
        n, m, epsilon = 5, int(rng.integers(1, 5)), rng.uniform(0.1, 4)
        law = laws_of_samples(rng, n + 1, epsilon, bound=0.5)

        def release(records, law=law, m=m):
            return np.mean([law(s) for s in itertools.combinations(records, m)], axis=0)

        measured = largest_log_ratio(release([0, 1, 2, 3, 4]), release([0, 1, 2, 3, 5]))
        claim = math.log1p(m / n * math.expm1(epsilon))
        assert measured <= claim + 1e-12
        closest = max(closest, measured / claim)
    assert closest > 0.6


def test_gumbel_choice_then_release_adds_up():
    rng = np.random.default_rng(SEED)
    for _ in range(500):
        k, (epsilon_1, epsilon_2) = int(rng.integers(2, 6)), rng.uniform(0.1, 3, 2)
        scores = rng.normal(0, 3, k)
        moved = scores + rng.choice([-1.0, 0.0, 1.0], k)
        chosen = [special.softmax(epsilon_1 / 2 * u) for u in (scores, moved)]
        answers = [rng.dirichlet(np.ones(3), k), np.empty((k, 3))]
        tilt = answers[0] * np.exp(rng.choice([-0.5, 0.5], (k, 3)) * epsilon_2)
        answers[1] = tilt / tilt.sum(axis=1, keepdims=True)
        one, other = (c @ a for c, a in zip(chosen, answers, strict=True))
        assert largest_log_ratio(one, other) <= epsilon_1 + epsilon_2 + 1e-12
