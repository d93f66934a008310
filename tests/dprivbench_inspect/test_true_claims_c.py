"""True claims on statistics, selection, SVT and data-adaptive noise under attack.

Random data, small data spaces searched whole, and second implementations; no certificates.
"""

import functools
import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

SEED = 20261


def largest_log_ratio(p, q):
    """Of probabilities or densities; points that neither law reaches do not count."""
    p, q = np.asarray(p).ravel(), np.asarray(q).ravel()
    here = (p > 1e-290) & (q > 1e-290)
    assert ((p > 1e-280) == (q > 1e-280))[~here].all()
    return float(np.abs(np.log(p[here]) - np.log(q[here])).max())


def excess(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def laplace_bins(center, scale, cuts):
    """Mass of Laplace noise around the center between neighbouring cuts, exact in both tails."""
    law = stats.laplace(center, scale)
    low, high = cuts[:-1], cuts[1:]
    return np.where(low >= center, law.sf(low) - law.sf(high), law.cdf(high) - law.cdf(low))


# --- mean estimation ---


def test_clamped_noisy_mean_of_clipped_records():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(300):
        n, epsilon, low = int(rng.integers(1, 6)), rng.uniform(0.1, 4), rng.uniform(-3, 3)
        high = low + rng.uniform(0.1, 5)
        one = rng.uniform(low - 2, high + 2, n)
        other = one.copy()
        other[rng.integers(n)] = rng.uniform(low - 9, high + 9)
        edges = np.concatenate([[-np.inf], np.linspace(low, high, 40), [np.inf]])
        laws = [
            laplace_bins(x.clip(low, high).mean(), (high - low) / n / epsilon, edges)
            for x in (one, other)
        ]
        loss = largest_log_ratio(*laws)
        assert loss <= epsilon + 1e-9
        closest = max(closest, loss / epsilon)
    assert closest > 0.95


def test_clipped_vectors_k_records_apart():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(2000):
        n, d = int(rng.integers(1, 8)), int(rng.integers(1, 5))
        k, bound, mu = int(rng.integers(1, n + 1)), rng.uniform(0.1, 3), rng.uniform(0.1, 3)
        one = rng.standard_cauchy((n, d))
        other = one.copy()
        other[:k] = rng.choice([-1.0, 1.0, 0.1]) * one[:k] + rng.normal(0, 0.1, (k, d))
        if rng.random() < 0.5:  # all that change lie on one line
            one[:k], other[:k] = one[0], -one[0]

        def mean(x, bound=bound):
            return (x * np.minimum(1, bound / np.linalg.norm(x, axis=1))[:, None]).mean(axis=0)

        moved = np.linalg.norm(mean(one) - mean(other)) / (2 * bound / n / mu)
        assert moved <= k * mu * (1 + 1e-12)
        closest = max(closest, moved / (k * mu))
    assert closest > 0.95


def test_noisy_sum_and_noisy_count():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(100):
        epsilon, bound = rng.uniform(0.1, 3), rng.uniform(0.2, 3)
        one = rng.normal(0, 2, int(rng.integers(0, 5)))
        other = np.append(one, rng.normal(0, 9))
        cuts = np.concatenate([[-np.inf], np.linspace(-12, 12, 25), [np.inf]])
        laws = []
        for x in (one, other):
            total = laplace_bins(x.clip(-bound, bound).sum(), 2 * bound / epsilon, cuts)
            laws.append(np.outer(total, laplace_bins(len(x), 2 / epsilon, cuts)))
        loss = largest_log_ratio(*laws)
        assert loss <= epsilon + 1e-9
        closest = max(closest, loss / epsilon)
    assert closest > 0.95


def test_bound_from_one_half_and_mean_from_the_other():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(300):
        m, epsilon, grid = int(rng.integers(1, 6)), rng.uniform(0.1, 3), np.sort(rng.random(4)) * 4
        one = rng.normal(0, 3, 2 * m)
        other = one.copy()
        other[rng.integers(2 * m)] = rng.normal(0, 9)
        laws = []
        for x in (one, other):
            far = [abs(sum(abs(v) <= b for v in x[:m]) - 0.9 * m) for b in grid]
            chosen = special.softmax(-epsilon / 2 * np.array(far))
            cuts = np.concatenate([[-np.inf], np.linspace(-5, 5, 30), [np.inf]])
            means = [x[m:].clip(-b, b).mean() for b in grid]
            laws.append([
                p * laplace_bins(v, 2 * b / m / epsilon, cuts)
                for p, v, b in zip(chosen, means, grid, strict=True)
            ])
        loss = largest_log_ratio(*laws)
        assert loss <= epsilon + 1e-9
        closest = max(closest, loss / epsilon)
    assert closest > 0.8


def test_average_of_block_answers():
    # Any estimator: a table of random answers over all blocks of two bits.
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(20):
        answers = rng.integers(0, 2, 4) if rng.random() < 0.5 else rng.random(4)
        k, epsilon = 3, rng.uniform(0.1, 3)
        tables = list(itertools.product((0, 1), repeat=2 * k))
        means = {
            t: np.mean([answers[2 * t[2 * j] + t[2 * j + 1]] for j in range(k)]) for t in tables
        }
        for t in tables:
            for place in range(2 * k):
                other = (*t[:place], 1 - t[place], *t[place + 1 :])
                loss = abs(means[t] - means[other]) * k * epsilon
                assert loss <= epsilon + 1e-12
                closest = max(closest, loss / epsilon)
    assert closest > 0.95


# --- quantiles ---


def test_rank_density():
    rng, closest = np.random.default_rng(SEED), 0.0
    y = (np.arange(2000) + 0.5) / 2000
    for _ in range(400):
        n, q, epsilon = int(rng.integers(1, 7)), rng.uniform(0.02, 0.98), rng.uniform(0.1, 4)
        one = np.round(rng.beta(0.3, 0.3, n), 3)  # records between the points, many at the ends
        other = one.copy()
        other[rng.integers(n)] = np.round(rng.beta(0.2, 0.2), 3)
        laws = [
            special.softmax(-epsilon / 2 * np.abs((x[:, None] < y).sum(axis=0) - q * n))
            for x in (one, other)
        ]
        loss = largest_log_ratio(*laws)
        assert loss <= epsilon + 1e-9
        closest = max(closest, loss / epsilon)
    assert closest > 0.9


def test_bisection():
    rng, closest = np.random.default_rng(SEED), 0.0

    def law(x, q, steps, scale, low=0.0, high=1.0):
        if steps == 0:
            return np.ones(1)
        middle = (low + high) / 2
        right = float(stats.laplace.cdf(q * len(x) - np.sum(x < middle), scale=scale))
        return np.concatenate([
            (1 - right) * law(x, q, steps - 1, scale, low, middle),
            right * law(x, q, steps - 1, scale, middle, high),
        ])

    for _ in range(60):
        n, q, steps = int(rng.integers(1, 12)), rng.random(), int(rng.integers(1, 5))
        epsilon = rng.uniform(0.2, 3)
        one = rng.beta(0.3, 0.3, n)
        other = one.copy()
        other[rng.integers(n)] = rng.beta(0.1, 0.1)
        loss = largest_log_ratio(*(law(x, q, steps, steps / epsilon) for x in (one, other)))
        assert loss <= epsilon + 1e-9
        closest = max(closest, loss / epsilon)
    assert closest > 0.8


# --- sparse vector ---


def svt_law(tree, data, k, c, rho_scale, nu_scale, redraw):
    """Answer sequence -> probability, with integer noise on the threshold.

    An integer-valued threshold noise of the same decay obeys the same proof, so the sums here are
    exact. Queries are looked up by the answers before them: an adaptive analyst.
    """
    rho = np.arange(-400, 401)
    weight = np.exp(-np.abs(rho) / rho_scale)
    weight /= weight.sum()
    law = {}
    for answers in itertools.product((0, 1), repeat=k):
        total, given, tops, said = 1.0, weight.copy(), 0, ()
        for a in answers:
            if tops == c:
                break
            above = stats.laplace.sf(rho - tree[said][data], scale=nu_scale)
            given = given * (above if a else 1 - above)
            said, tops = (*said, a), tops + a
            if a and redraw:
                total, given = total * given.sum(), weight.copy()
        law[said] = total * given.sum()
    assert sum(law.values()) == pytest.approx(1)
    return np.array([law[key] for key in sorted(law)])


@pytest.mark.parametrize(
    ("rho_times", "nu_times", "redraw", "monotone"),
    [
        (2, lambda c: 4 * c, False, False),
        (None, lambda c: 4 * c, True, False),
        (2, lambda c: 2 * c, False, True),
    ],
    ids=["one threshold", "fresh threshold", "monotone"],
)
def test_sparse_vector(rho_times, nu_times, redraw, monotone):
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(40):
        k, c, epsilon = 5, int(rng.integers(1, 4)), rng.uniform(0.5, 3)
        sign = rng.choice([-1.0, 1.0])
        tree = {}
        for length in range(k):
            for said in itertools.product((0, 1), repeat=length):
                value = rng.normal(0, 6)
                move = rng.choice([-1.0, 0.0, 1.0]) if not monotone else sign * rng.integers(2)
                tree[said] = (value, value + move)
        rho_scale = (rho_times or 2 * c) / epsilon
        args = k, c, rho_scale, nu_times(c) / epsilon, redraw
        loss = largest_log_ratio(*(svt_law(tree, data, *args) for data in (0, 1)))
        assert loss <= epsilon + 1e-9
        closest = max(closest, loss / epsilon)
    assert closest > 0.6


# --- propose-test-release, smooth sensitivity ---

VALUES, RECORDS = 3, 4
SPACE = list(itertools.product(range(VALUES), repeat=RECORDS))
APART = np.array([[sum(a != b for a, b in zip(x, y, strict=True)) for y in SPACE] for x in SPACE])
NEIGHBOURS = [tuple(pair) for pair in np.argwhere(APART == 1)]


def test_propose_test_release():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(25):
        ones = np.array([sum(x) for x in SPACE])
        f = ones * rng.uniform(0, 1) + rng.uniform(2, 30) * (rng.random(len(SPACE)) < 0.03)
        bound, epsilon, delta = 2.0, rng.uniform(0.2, 4), 10 ** rng.uniform(-3, -0.1)
        local = np.array([np.abs(f[APART[i] == 1] - f[i]).max() for i in range(len(SPACE))])
        bad = np.flatnonzero(local > bound)
        gamma = APART[:, bad].min(axis=1) if len(bad) else np.full(len(SPACE), RECORDS)
        passes = stats.laplace.sf(math.log(1 / delta) / epsilon - gamma, scale=1 / epsilon)
        cuts = np.concatenate([[-np.inf], np.linspace(-10, 60, 300), [np.inf]])
        laws = np.array([
            np.append(p * laplace_bins(v, bound / epsilon, cuts), 1 - p)
            for p, v in zip(passes, f, strict=True)
        ])
        for i, j in NEIGHBOURS:
            found = excess(laws[i], laws[j], 2 * epsilon)
            assert found <= delta + 1e-9
            closest = max(closest, found / delta)
    assert closest > 0.3


def test_release_of_stable_values():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(40):
        centers = rng.integers(0, len(SPACE), 2)
        f = APART[:, centers].argmin(axis=1)  # two regions with borders between them
        epsilon, delta = rng.uniform(0.2, 5), 10 ** rng.uniform(-3, -0.05)
        differs = f[:, None] != f[None, :]
        distance = np.where(differs, APART, RECORDS + 1).min(axis=1) - 1
        passes = stats.laplace.sf(math.log(1 / delta) / epsilon - distance, scale=1 / epsilon)
        laws = np.zeros((len(SPACE), 3))
        laws[np.arange(len(SPACE)), f] = passes
        laws[:, 2] = 1 - passes
        for i, j in NEIGHBOURS:
            found = excess(laws[i], laws[j], epsilon)
            assert found <= delta + 1e-12
            closest = max(closest, found / delta)
    assert closest > 0.4


def test_cauchy_noise_on_a_smooth_bound():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(30):
        epsilon = rng.uniform(0.1, 4)
        f = rng.standard_cauchy(len(SPACE))
        local = np.array([np.abs(f[APART[i] == 1] - f[i]).max() for i in range(len(SPACE))])
        smooth = (local[None, :] * np.exp(-epsilon / 2 * APART)).max(axis=1)
        for index in rng.choice(len(NEIGHBOURS), 40, replace=False):
            i, j = NEIGHBOURS[index]
            scales = 2 * smooth[[i, j]] / epsilon
            y = f[i] + scales[0] * np.concatenate([np.linspace(-20, 20, 4001), [-1e9, 1e9]])
            logs = [stats.cauchy.logpdf(y, f[a], s) for a, s in zip((i, j), scales, strict=True)]
            loss = float(np.abs(logs[0] - logs[1]).max())
            assert loss <= epsilon + 1e-9
            closest = max(closest, loss / epsilon)
    assert closest > 0.6


@functools.cache
def median_space(levels=4, n=5):
    """Data sets of n values on a grid of [0, 1], with medians and distances."""
    space = list(itertools.product(np.linspace(0, 1, levels), repeat=n))
    space = sorted({tuple(sorted(x)) for x in space})  # order of records does not matter here

    def apart(x, y):
        left = list(y)
        for v in x:
            if v in left:
                left.remove(v)
        return len(left)

    distances = np.array([[apart(x, y) for y in space] for x in space])
    return space, np.array([x[n // 2] for x in space]), distances


def stated_bound(x, beta):
    n, m = len(x), len(x) // 2
    entry = lambda i: 0.0 if i < 1 else 1.0 if i > n else x[i - 1]  # noqa: E731
    return max(
        math.exp(-k * beta) * (entry(m + 1 + t) - entry(m + t - k))
        for k in range(n + 1)
        for t in range(k + 2)
    )


def test_stated_bound_is_the_smooth_sensitivity_of_the_median():
    # On a grid that holds 0 and 1 both are the largest local sensitivity at each distance.
    space, medians, distances = median_space()
    local = np.array([
        np.abs(medians[d <= 1] - m).max() for d, m in zip(distances, medians, strict=True)
    ])
    for beta in (0.05, 0.3, 1.5):
        slow = (local[None, :] * np.exp(-beta * distances)).max(axis=1)
        assert [stated_bound(x, beta) for x in space] == pytest.approx(slow)


def test_laplace_noise_on_the_smooth_sensitivity_of_the_median():
    space, medians, distances = median_space()
    for epsilon, delta in itertools.product((0.1, 0.999), (1e-4, 0.05, 0.5, 0.99)):
        beta = epsilon / (2 * math.log(2 / delta))
        scales = 2 * np.array([stated_bound(x, beta) for x in space]) / epsilon
        quantiles = np.concatenate([-np.geomspace(60, 1e-3, 200), [0], np.geomspace(1e-3, 60, 200)])
        for i, j in np.argwhere(distances == 1)[::3]:
            cuts = np.unique(np.concatenate([medians[i] + scales[i] * quantiles, [medians[j]]]))
            cuts = np.concatenate([[-np.inf], cuts, [np.inf]])
            laws = [laplace_bins(medians[a], scales[a], cuts) for a in (i, j)]
            assert excess(*laws, epsilon) <= delta


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.5, 0.999999])
def test_laplace_law_may_be_widened_and_moved(epsilon):
    # Any f and any smooth S: scales 1 and e^±β, centers up to the smaller S apart, dense bins.
    for delta in (1e-12, 1e-6, 0.01, 0.3, 0.7, 0.75, 0.9, 0.999):
        beta = epsilon / (2 * math.log(2 / delta))
        reach = np.geomspace(1e-4, 700, 3000)
        for stretch in (math.exp(beta), math.exp(-beta), 1.0):
            for shift in np.array([0.0, 0.5, 1.0]) * min(1.0, stretch) * epsilon / 2:
                cuts = np.concatenate([[-np.inf], -reach[::-1], [0.0, shift], reach, [np.inf]])
                cuts = np.unique(cuts)
                laws = [laplace_bins(0, 1, cuts), laplace_bins(shift, stretch, cuts)]
                assert excess(*laws, epsilon) <= delta


# --- selection ---


def test_monotone_scores_need_half_the_noise():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(3000):
        m, epsilon = int(rng.integers(2, 30)), rng.uniform(0.1, 4)
        scores = rng.normal(0, rng.uniform(0, 2), m)
        moved = scores + (rng.integers(0, 2, m) if rng.random() < 0.5 else rng.random(m))
        loss = largest_log_ratio(*(special.softmax(epsilon * u) for u in (scores, moved)))
        assert loss <= epsilon + 1e-9
        closest = max(closest, loss / epsilon)
    assert closest > 0.9


def test_permute_and_flip():
    # By the law of noisy maxima with exponential noise: integral over the winner's value.
    rng, closest = np.random.default_rng(SEED), 0.0
    nodes, weights = special.roots_laguerre(60)

    def law(scores, rate):
        wins = []
        for r, own in enumerate(scores):
            others = np.delete(scores, r)
            start = max(scores.max() - own, 0.0)  # nobody's noise is negative
            values = own + start + nodes / rate
            beats = np.prod(-np.expm1(-rate * (values[:, None] - others)), axis=1)
            wins.append(math.exp(-rate * start) * float(weights @ beats))
        return np.array(wins)

    for _ in range(500):
        m, epsilon = int(rng.integers(2, 9)), rng.uniform(0.1, 4)
        scores = rng.choice([0.0, -1.0, -rng.uniform(0, 6)], m)
        moved = scores + rng.choice([-1.0, 0.0, 1.0], m)
        one, other = law(scores, epsilon / 2), law(moved, epsilon / 2)
        assert one.sum() == pytest.approx(1)
        loss = largest_log_ratio(one, other)
        assert loss <= epsilon + 1e-6
        closest = max(closest, loss / epsilon)
    assert closest > 0.9


def test_top_k_with_gumbel_noise():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(60):
        m, epsilon = int(rng.integers(2, 7)), rng.uniform(0.1, 4)
        k = int(rng.integers(1, min(m, 4)))
        scores = rng.choice([0.0, 1.0, rng.normal(0, 3)], m)
        moved = scores + rng.choice([-1.0, 1.0], m)

        def law(u, k=k, m=m, epsilon=epsilon):
            weights = np.exp(epsilon * u / (2 * k))
            return [
                math.prod(
                    weights[r] / (weights.sum() - weights[list(chosen[:i])].sum())
                    for i, r in enumerate(chosen)
                )
                for chosen in itertools.permutations(range(m), k)
            ]

        loss = largest_log_ratio(law(scores), law(moved))
        assert loss <= epsilon + 1e-9
        closest = max(closest, loss / epsilon)
    assert closest > 0.7


def test_largest_gumbel_values_come_without_replacement():
    rng = np.random.default_rng(SEED)
    scores, k, trials = np.array([0.0, 1.0, 2.5, -1.0]), 2, 200_000
    noisy = scores + rng.gumbel(size=(trials, 4))
    top = np.argsort(-noisy, axis=1)[:, :k]
    weights = np.exp(scores)
    for first, second in itertools.permutations(range(4), k):
        exact = weights[first] / weights.sum() * weights[second] / (weights.sum() - weights[first])
        seen = np.mean((top[:, 0] == first) & (top[:, 1] == second))
        assert abs(seen - exact) < 5 * math.sqrt(exact * (1 - exact) / trials)
