"""True claims on private learning under attack, without the certificates.

Training is simulated as printed on random data with losses that bend, and the density ratio of a
whole path is computed from the path; other mechanisms are integrated, listed or searched. Some
false claims are broken the same way.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from dprivbench_inspect.divergences import gaussian_delta

SEED = 1130
PATHS = 40_000


def clip(vectors, norm):
    """Rows of the last axis, shortened to `norm`."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors * np.minimum(1, norm / np.maximum(length, 1e-300))


def logistic_gradients(theta, records):
    """Of ln(1 + exp(-⟨x, θ⟩)) times 3; shapes (paths, d) and (n, d) -> (paths, n, d)."""
    return -3 * special.expit(-theta @ records.T)[..., None] * records


def square_gradients(theta, records):
    """Of |θ - x|² / 2, which pulls and saturates the clipping."""
    return theta[:, None, :] - records


def train(rng, data, *, loss, sigma, steps, reads, norm=1.0, optimiser="sgd"):
    """Paths of noisy descent on data[0]; log density of each path under data[0] minus data[1].

    Args:
        rng: Source of noise.
        data: Two neighbouring arrays, shape (n, d).
        loss: Gradients of all records at each θ.
        sigma: Deviation of the noise on a clipped mean.
        steps: T.
        reads: Step -> indices of the records it reads.
        norm: C.
        optimiser: "sgd", "momentum", "adagrad" or "adam".
    """
    dimension = data[0].shape[1]
    theta, ratio = np.zeros((PATHS, dimension)), np.zeros(PATHS)
    m, v, total = np.zeros_like(theta), np.zeros_like(theta), np.ones((PATHS, 1))
    for t in range(1, steps + 1):
        index = reads(t - 1)
        means = [clip(loss(theta, records[index]), norm).mean(axis=1) for records in data]
        y = means[0] + rng.normal(0, sigma, theta.shape)
        gaps = [((y - mean) ** 2).sum(axis=1) for mean in means]
        ratio += (gaps[1] - gaps[0]) / (2 * sigma**2)
        if optimiser == "momentum":
            m = 0.9 * m + y
            theta = theta - 0.7 * m
        elif optimiser == "adagrad":
            total = total + (y**2).sum(axis=1, keepdims=True)
            theta = theta - 0.7 * y / np.sqrt(total)
        elif optimiser == "adam":
            m, v = 0.9 * m + 0.1 * y, 0.99 * v + 0.01 * y**2
            theta = theta - 0.7 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 0.01)
        else:
            theta = theta - 0.7 * y
    return ratio


def neighbours(rng, n=3, dimension=2):
    """Two data sets that differ in record 0, in opposite directions where rng says so."""
    records = rng.normal(0, 3, (n, dimension))
    other = records.copy()
    other[0] = -records[0] if rng.random() < 0.7 else rng.normal(0, 30, dimension)
    return records, other


@pytest.mark.parametrize("loss", [logistic_gradients, square_gradients])
@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adagrad", "adam"])
def test_full_batch_descent_keeps_its_guarantee(loss, optimiser):
    rng, closest = np.random.default_rng(SEED), 0.0
    n, steps, mu = 3, 3, 1.0
    rho = mu**2 / 2  # the printed σ² for ρ-zCDP is the printed σ for μ-GDP, squared
    for _ in range(6):
        sigma = 2 * math.sqrt(steps) / (n * mu)
        ratio = train(
            rng, neighbours(rng, n), loss=loss, sigma=sigma, steps=steps,
            reads=lambda _: [0, 1, 2], optimiser=optimiser,
        )  # fmt: skip
        for epsilon in (0.0, 0.5, 1.0, 2.0):
            gains = np.maximum(0, -np.expm1(epsilon - ratio))
            slack = 4 * gains.std() / math.sqrt(PATHS)
            assert gains.mean() <= gaussian_delta(epsilon, mu).value + slack
            closest = max(closest, gains.mean() / gaussian_delta(epsilon, mu).value)
        for order in (1.5, 2.0):
            moments = np.exp((order - 1) * ratio)
            slack = 5 * moments.std() / math.sqrt(PATHS)
            assert moments.mean() <= math.exp((order - 1) * order * rho) + slack
    assert closest > 0.7


def test_one_pass_over_fixed_batches_pays_once():
    rng, closest, mu = np.random.default_rng(SEED), 0.0, 1.0
    for first in (0, 1, 2):  # the batch that holds the record
        data = [np.roll(records, first, axis=0) for records in neighbours(rng)]
        ratio = train(rng, data, loss=square_gradients, sigma=2 / mu, steps=3, reads=lambda t: [t])
        for epsilon in (0.0, 0.5, 1.0, 2.0):
            gains = np.maximum(0, -np.expm1(epsilon - ratio))
            slack = 4 * gains.std() / math.sqrt(PATHS)
            assert gains.mean() <= gaussian_delta(epsilon, mu).value + slack
            closest = max(closest, gains.mean() / gaussian_delta(epsilon, mu).value)
    assert closest > 0.9


COARSE, FINE = np.linspace(-14, 14, 1401), np.linspace(-14, 14, 140_001)  # of a noisy sum


def batch_density(gradients, weights, sigma, grid=FINE):
    """Density on the grid of a noisy sum over a random batch; weights by tuple of 0 and 1."""
    sums = [(w, float(np.dot(inside, gradients))) for inside, w in weights.items()]
    return sum(w * stats.norm.pdf(grid, s, sigma) for w, s in sums)


def integrated_delta(p, q, epsilon):
    """Sum over grid cells; where the integrand has its kink it is off by a cell squared or so."""
    step = 28 / (p.shape[0] - 1)
    return float(np.maximum(0, p - math.exp(epsilon) * q).sum() * step**p.ndim)


def two_steps(density):
    return np.multiply.outer(density, density)


def bernoulli_weights(n, rate):
    return {
        inside: rate ** sum(inside) * (1 - rate) ** (n - sum(inside))
        for inside in itertools.product((0, 1), repeat=n)
    }


@pytest.mark.parametrize("steps", [1, 2])
def test_poisson_batches_are_dominated_by_the_printed_pair(steps):
    rng, closest = np.random.default_rng(SEED), 0.0
    join, grid = (two_steps, COARSE) if steps == 2 else (lambda density: density, FINE)
    for _ in range(12 if steps == 1 else 3):
        rate, sigma = rng.uniform(0.05, 0.9), rng.uniform(0.6, 1.5)
        old = rng.choice([-1.0, 0.0, 1.0], 2) if rng.random() < 0.5 else rng.uniform(-1, 1, 2)
        new = np.append(old, rng.choice([-1.0, 1.0]))
        one = join(batch_density(new, bernoulli_weights(3, rate), sigma, grid))
        other = join(batch_density(old, bernoulli_weights(2, rate), sigma, grid))
        p = join(batch_density([1.0], bernoulli_weights(1, rate), sigma, grid))
        q = join(batch_density([0.0], bernoulli_weights(1, rate), sigma, grid))
        for epsilon in (0.0, 0.3, 1.0):
            for a, b, c, d in ((one, other, p, q), (other, one, q, p)):
                measured, claim = integrated_delta(a, b, epsilon), integrated_delta(c, d, epsilon)
                assert measured <= claim + (1e-5 if steps == 2 else 1e-7)
                if claim > 1e-4:
                    closest = max(closest, measured / claim)
    assert closest > 0.8


def test_batches_of_fixed_size_are_amplified():
    rng, closest, n, m = np.random.default_rng(SEED), 0.0, 4, 2
    weights = {
        inside: 1 / math.comb(n, m)
        for inside in itertools.product((0, 1), repeat=n)
        if sum(inside) == m
    }
    for _ in range(30):
        sigma, epsilon = rng.uniform(0.5, 0.9), rng.uniform(0.2, 2)
        gradients = rng.choice([-1.0, 1.0], n)
        changed = gradients.copy()
        changed[0] = rng.uniform(-1, 1) if rng.random() < 0.3 else -gradients[0]
        one, other = (batch_density(g, weights, 2 * sigma) for g in (gradients, changed))
        at = math.log1p(m / n * math.expm1(epsilon))
        delta = stats.norm.cdf(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * stats.norm.cdf(
            -0.5 / sigma - epsilon * sigma
        )
        claim = m / n * delta
        measured = max(integrated_delta(one, other, at), integrated_delta(other, one, at))
        assert measured <= claim + 1e-7
        closest = max(closest, measured / claim)
    assert closest > 0.95


def private_run(rng, epsilon, outcomes=5):
    """Two laws of one run whose ratios lie in [e^-ε, e^ε]; later outcomes are better."""
    while True:
        p, tilt = rng.dirichlet(np.full(outcomes, 0.4)), rng.choice([-0.5, 0.5], outcomes)
        if rng.random() < 0.5:  # a rare outcome below a likelier one that moves the other way
            p[-2:] = rng.uniform(1e-6, 1e-4), rng.uniform(1e-2, 0.2)
            p[:-2] *= (1 - p[-2:].sum()) / p[:-2].sum()
            tilt[:-2], tilt[-2:] = 0.0, 0.9 * rng.choice([-1, 1]) * np.array([1, -1])
        q = p * np.exp(epsilon * tilt)
        q /= q.sum()
        if np.abs(np.log(p / q)).max() <= epsilon:
            return p, q


@pytest.mark.parametrize(
    ("weight", "factor"),
    [(lambda k, g: g * (1 - g) ** (k - 1), 3), (lambda k, g: -((1 - g) ** k) / k / np.log(g), 2)],
    ids=["geometric", "logarithmic"],
)
def test_best_of_a_random_number_of_runs(weight, factor):
    rng, closest = np.random.default_rng(SEED), 0.0
    k = np.arange(1, 4001)[:, None]
    for _ in range(200):
        epsilon, gamma = rng.uniform(0.1, 2), 10 ** rng.uniform(-2, -0.1)
        number = weight(k, gamma)
        assert abs(number.sum() - 1) < 1e-9
        best = []
        models = rng.permutation(5) if rng.random() < 0.7 else rng.integers(0, 3, 5)
        for law in private_run(rng, epsilon):
            ranks = np.append(0, np.cumsum(law)).clip(0, 1) ** k
            winner = (number * np.diff(ranks, axis=1)).sum(axis=0)
            best.append(np.bincount(models, winner, minlength=5))
        usable = (best[0] > 1e-9) & (best[1] > 1e-9)
        loss = float(np.abs(np.log(best[0][usable] / best[1][usable])).max())
        assert loss <= factor * epsilon + 1e-6
        closest = max(closest, loss / (factor * epsilon))
    assert closest > 0.75


def test_statistics_of_a_record_are_short():
    rng, longest = np.random.default_rng(SEED), 0.0
    for _ in range(5000):
        d = int(rng.integers(1, 6))
        x = rng.normal(size=d) * (rng.random(d) < 0.6)
        x *= rng.choice([1.0, rng.random()]) / max(np.linalg.norm(x), 1e-12)
        y = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)])
        triangle = [x[i] * x[j] for i in range(d) for j in range(i, d)]
        longest = max(longest, math.hypot(*triangle, *(y * x)))
    assert 1.41 < longest <= math.sqrt(2) + 1e-12


def test_one_dimensional_statistics_move_by_nine_quarters():
    def negative(v):
        return -abs(v[0] ** 2 - v[2] ** 2) - abs(v[0] * v[1] - v[2] * v[3])

    found = optimize.differential_evolution(negative, [(-1, 1)] * 4, rng=SEED, tol=1e-10)
    assert -found.fun == pytest.approx(9 / 4, abs=1e-6)


def ridge_functions(rng, number, d, c):
    """Slopes and Hessians at one θ of convex losses with slope at most 1 and one curvature."""
    directions = rng.normal(size=(number, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    slopes = directions * rng.uniform(-1, 1, (number, 1))
    bends = rng.choice([0.0, c], number)[:, None, None]
    return slopes, bends * directions[:, :, None] * directions[:, None, :]


def test_objective_perturbation_density_ratio():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(3000):
        d, n = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        c, lam = rng.uniform(0.1, 5), rng.uniform(0.1, 2)
        share = math.log1p(c / (n * lam))
        epsilon = share + rng.uniform(0.05, 2)
        slopes, hessians = ridge_functions(rng, n + 1, d, c)
        theta = rng.normal(0, 3, d)
        logs = []
        for chosen in (list(range(n)), [*range(1, n), n]):  # record 0 against record n
            b = -slopes[chosen].sum(axis=0) - n * lam * theta
            jacobian = hessians[chosen].sum(axis=0) + n * lam * np.eye(d)
            logs.append(
                -(epsilon - share) / 2 * np.linalg.norm(b) + math.log(np.linalg.det(jacobian))
            )
        assert abs(logs[0] - logs[1]) <= epsilon + 1e-9
        closest = max(closest, abs(logs[0] - logs[1]) / epsilon)
    assert closest > 0.85


def test_change_of_variables_gives_a_density():
    # d = 1, logistic loss: what the ratio above is built from integrates to 1.
    n, lam, rate = 2, 0.5, 0.3

    def density(theta):
        slope = -special.expit(-theta) + special.expit(2 * theta)
        bend = special.expit(theta) * special.expit(-theta)
        bend += 2 * special.expit(2 * theta) * special.expit(-2 * theta)
        return rate / 2 * math.exp(-rate * abs(slope + n * lam * theta)) * (bend + n * lam)

    assert integrate.quad(density, -200, 200, points=[-1, 0, 1], limit=400)[0] == pytest.approx(1)


def test_regularised_minimisers_move_little():
    rng, closest = np.random.default_rng(SEED), 0.0
    for _ in range(60):
        n, lam, lipschitz = int(rng.integers(1, 4)), rng.uniform(0.2, 2), rng.uniform(0.5, 3)
        directions = rng.normal(size=(n + 1, 2))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        if rng.random() < 0.5:
            directions[n] = -directions[0]
        steepness, offsets = rng.uniform(0.1, 20, n + 1), rng.uniform(-2, 2, n + 1)

        def minimiser(chosen, n=n, lam=lam, up=lipschitz, u=directions, k=steepness, o=offsets):
            def objective(theta):  # softplus losses of slope at most `up`
                values = np.logaddexp(0, k[chosen] * (u[chosen] @ theta - o[chosen])) / k[chosen]
                weights = special.expit(k[chosen] * (u[chosen] @ theta - o[chosen]))
                value = up * values.mean() + lam / 2 * theta @ theta
                return value, up * (weights[:, None] * u[chosen]).mean(axis=0) + lam * theta

            return optimize.minimize(objective, np.zeros(2), jac=True, tol=1e-12).x

        moved = np.linalg.norm(minimiser([*range(n)]) - minimiser([*range(1, n), n]))
        allowed = 2 * lipschitz / (n * lam)
        assert moved <= allowed + 1e-5
        closest = max(closest, moved / allowed)
    assert closest > 0.5


def test_laplace_votes_by_integration():
    rng, closest, epsilon = np.random.default_rng(SEED), 0.0, 1.3
    z = np.linspace(-60, 90, 30_001)

    def chances(votes):
        logs = [stats.laplace.logcdf(z, v, 2 / epsilon) for v in votes]
        return np.array([
            integrate.simpson(
                np.exp(sum(logs) - logs[j]) * stats.laplace.pdf(z, votes[j], 2 / epsilon), x=z
            )
            for j in range(len(votes))
        ])  # fmt: skip

    for _ in range(12):
        votes = rng.integers(0, 12, int(rng.integers(2, 5)))
        giver, taker = rng.choice(len(votes), 2, replace=False)
        votes[giver] += 1
        moved = votes.copy()
        moved[giver] -= 1
        moved[taker] += 1
        one, other = chances(votes), chances(moved)
        assert one.sum() == pytest.approx(1, abs=1e-5)
        loss = float(np.abs(np.log(one) - np.log(other)).max())
        assert loss <= epsilon + 1e-4
        closest = max(closest, loss / epsilon)
    assert closest > 0.7


# --- false claims, broken by simulating the mechanism as printed ---


def seen_delta(rng, release, epsilon, event, runs=400_000):
    """P(event) - e^ε Q(event) and four standard errors of it."""
    p, q = (event(release(rng, world, runs)) for world in (0, 1))
    error = 4 * math.sqrt(p.var() / runs + math.exp(2 * epsilon) * q.var() / runs)
    return p.mean() - math.exp(epsilon) * q.mean(), error


def test_quantities_beside_the_noise_are_seen():
    rng, mu = np.random.default_rng(SEED), 1.0

    def own_step(rng, world, runs):  # AdaGrad step with the exact mean, n = 2, C = 10, T = d = 1
        a = (0.0, 10.0)[world]
        return (a + rng.normal(0, 20 / (2 * mu), runs)) / math.sqrt(1 + a * a)

    delta, error = seen_delta(rng, own_step, 2.0, lambda x: np.abs(x - 1) > 4)
    assert delta - error > 5 * gaussian_delta(2.0, mu).value

    def drawn_size(rng, world, runs):  # records with gradient 0, q = 1/2, σ = 10, T = 1
        size = rng.binomial(2 - world, 0.5, runs)
        return rng.normal(0, 10, runs) / np.maximum(1, size)

    delta, error = seen_delta(rng, drawn_size, 0.01, lambda x: np.abs(x) < 7)
    grid = np.linspace(-130, 130, 200_001)
    q = stats.norm.pdf(grid, 0, 10)
    p = (q + stats.norm.pdf(grid, 1, 10)) / 2
    claim = np.maximum(0, p - math.exp(0.01) * q).sum() * (grid[1] - grid[0])
    assert delta - error > 2 * claim


def test_momentum_without_noise_gathers():
    rng, mu = np.random.default_rng(SEED), 1.0

    def points(rng, world, runs):  # β = 0.9, T = 4, gradients ±C = ±1, n = 1
        a, m = (1.0, -1.0)[world], 0.0
        seen = []
        for _ in range(4):
            m = 0.9 * m + a
            seen.append(m + rng.normal(0, 2 * math.sqrt(4) / mu, runs))
        return np.array(seen)

    weights = np.cumsum(0.9 ** np.arange(4))
    delta, error = seen_delta(rng, points, 1.0, lambda y: weights @ y > 1.0)
    assert delta - error > 2 * gaussian_delta(1.0, mu).value


def test_curved_loss_beats_gaussian_objective_perturbation():
    rng, mu = np.random.default_rng(SEED), 1.0

    def minimiser(rng, world, runs):  # n = λ = d = 1, Huber slope clip(1000 θ, -1, 1) against -1
        b = rng.normal(0, 2 / mu, runs)
        if world:
            return 1 - b
        return np.where(np.abs(b) <= 1.001, -b / 1001, -b + np.sign(b))

    delta, error = seen_delta(rng, minimiser, 2.0, lambda theta: np.abs(theta) < 0.002)
    assert delta - error > 10 * gaussian_delta(2.0, mu).value


def test_poisson_number_of_runs_is_not_three_epsilon():
    rng, epsilon = np.random.default_rng(SEED), 0.5
    keep = 1 / (1 + math.exp(-epsilon))

    def bad_wins(rng, world, runs):  # mean of K - 1 is 20; the bad outcome wins if all runs give it
        k = 1 + rng.poisson(20, runs)
        return (keep, 1 - keep)[world] ** k > rng.random(runs)

    delta, error = seen_delta(rng, bad_wins, 3 * epsilon, lambda won: won.astype(float))
    assert delta - error > 0
