"""Chance that an audit of n trials a world shows at least ε, method by method.

A test is given by the chance of a hit for each number of votes, shape (m + 1,): that the noisy
score lies above a threshold, or that the label wins. Counts are enumerated, so those powers are
exact up to 1e-9; bets on hit probabilities are simulated `AUDITS` times from one seed (standard
error at most 0.025).
"""

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv
from scipy.stats import beta, binom

from contextleak_inspect.betting import BETS, log_mean
from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.rao_blackwell import hit_probability
from contextleak_inspect.sequential import pair_payoffs
from contextleak_inspect.tradeoffs import dp_accuracy, dp_tpr, gdp_tpr
from contextleak_inspect.vote_laws import VoteLaw

AUDITS = 400
_NEGLIGIBLE = 1e-10  # chance of the counts that an enumeration leaves out, on either side
_RANKS = (np.arange(64) + 0.5) / 64
_BISECTIONS = 22  # of the upper limit of FPR, rounded up


class Claim(NamedTuple):
    """What is to be shown: ε at δ, by a bound that fails with probability at most α."""

    epsilon: float
    delta: float
    alpha: float


def threshold_tests(law: VoteLaw, mu: float, thresholds: int = 2001) -> FloatArray:
    """Every way to cut the score: chance of a hit per threshold and number of votes, FPR falling.

    Votes lie at k μ in units of the noise; without noise (μ infinite) there is a threshold
    between any two counts. Shape (thresholds, m + 1).
    """
    m = law.canary_in.size - 1
    if math.isinf(mu):
        return np.array([hit_probability(np.arange(m + 1), 0.0, k) for k in range(m)])
    cuts = np.linspace(-8, mu * m + 8, thresholds)
    return hit_probability(mu * np.arange(m + 1), 1.0, cuts[:, np.newaxis])


def clopper_pearson_power(
    law: VoteLaw, hit: FloatArray, claim: Claim, n: int, *, gaussian_mu: float | None = None
) -> float:
    """Power of `epsilon_lower_bound` at a fixed threshold, or of `epsilon_if_gaussian`.

    Args:
        law: Votes in both worlds.
        hit: Chance of a hit for each number of votes, shape (m + 1,).
        claim: What is to be shown.
        n: Trials with the canary, and as many without it.
        gaussian_mu: μ of the ε to be shown, to read the rates through a Gaussian trade-off curve.
    """
    tpr, fpr = float(law.canary_in @ hit), float(law.canary_out @ hit)
    alarms = np.arange(binom.ppf(_NEGLIGIBLE, n, fpr), binom.isf(_NEGLIGIBLE, n, fpr) + 1)
    needed = _hits_needed(alarms, claim, n, gaussian_mu)
    return float(binom.pmf(alarms, n, fpr) @ binom.sf(needed - 1, n, tpr))


def fixed_rank_power(
    law: VoteLaw, tests: FloatArray, claim: Claim, n: int, *, fpr: float = 0.1
) -> float:
    """Power of `epsilon_lower_bound` with the threshold at a rank of the canary-out scores.

    With k = ⌊fpr n⌋, the true FPR there is Beta(k + 1, n - k). Without noise the threshold is the
    (k + 1)-th largest number of votes.

    Args:
        law: Votes in both worlds.
        tests: From `threshold_tests`.
        claim: What is to be shown.
        n: Trials with the canary, and as many without it.
        fpr: Share of canary-out scores that may lie above the threshold.
    """
    k = math.floor(round(fpr * n, 9))
    needed = _hits_needed(np.array([k]), claim, n)
    false, true = tests @ law.canary_out, tests @ law.canary_in
    if len(tests) < law.canary_in.size:
        beyond = np.concatenate([[1.0], false, [0.0]]).clip(0, 1)
        reaches = np.asarray(binom.sf(k, n, beyond))
        chance = reaches[:-1] - reaches[1:]  # of each count to be the threshold
        return float(chance @ binom.sf(needed - 1, n, np.append(true, 0.0).clip(0, 1)))
    at_rank = np.asarray(beta.ppf(_RANKS, k + 1, n - k))
    rates = np.asarray(np.interp(at_rank, false[::-1], true[::-1]))
    return float(np.mean(binom.sf(needed - 1, n, rates)))


def accuracy_power(accuracy: float, claim: Claim, n: int, *, anytime: bool = False) -> float:
    """Power of `epsilon_from_accuracy`, or of `epsilon_from_guesses`, on 2n fair coins.

    Args:
        accuracy: Chance of a right guess.
        claim: What is to be shown.
        n: Half the trials.
        anytime: Bet on the guesses instead of counting them at the end.
    """
    best, trials = dp_accuracy(claim.epsilon, claim.delta), 2 * n
    if anytime:
        wins, losses = np.log1p(BETS * (1 - best) / best), np.log1p(-BETS)
        target = -math.log(claim.alpha)
        needed = bisect_left(
            range(trials + 1),
            target,
            key=lambda right: float(log_mean(right * wins + (trials - right) * losses)),
        )
    else:
        needed = int(binom.isf(claim.alpha, trials, best)) + 1
    return float(binom.sf(needed - 1, trials, accuracy))


def pair_power(law: VoteLaw, hit: FloatArray, claim: Claim, n: int, *, drawn: bool) -> float:
    """Power of `epsilon_from_pairs` after n pairs; it may well be reached earlier.

    Args:
        law: Votes in both worlds.
        hit: Chance of a hit for each number of votes, shape (m + 1,).
        claim: What is to be shown.
        n: Pairs of a trial with the canary and one without.
        drawn: Bet on hits as drawn, not on their probability with the noise integrated out.
    """
    inside, chance_in = _values(law.canary_in, hit, drawn)
    outside, chance_out = _values(law.canary_out, hit, drawn)
    counts = np.random.default_rng(0).multinomial(
        n, np.outer(chance_in, chance_out).ravel(), size=AUDITS
    )
    payoffs = pair_payoffs(inside[:, np.newaxis], outside, claim.epsilon, claim.delta).ravel()
    wealth = log_mean(np.log1p(np.outer(BETS, payoffs)) @ counts.T)
    return float(np.mean(wealth >= -math.log(claim.alpha)))


def betting_power(law: VoteLaw, hit: FloatArray, claim: Claim, n: int) -> float:
    """Power of `epsilon_betting` on hit probabilities with the noise integrated out."""
    rng, target = np.random.default_rng(0), -math.log(claim.alpha / 2)
    inside, chance_in = _values(law.canary_in, hit, drawn=False)
    outside, chance_out = _values(law.canary_out, hit, drawn=False)
    counts_in = rng.multinomial(n, chance_in, size=AUDITS)
    counts_out = rng.multinomial(n, chance_out, size=AUDITS)

    def wealth_against(
        mean: FloatArray, values: FloatArray, counts: NDArray[np.int64]
    ) -> FloatArray:
        payoffs = (values - mean[:, np.newaxis]) / mean[:, np.newaxis]
        bets = np.log1p(BETS[:, np.newaxis, np.newaxis] * payoffs)
        return log_mean(np.einsum("bac,ac->ba", bets, counts))

    # upper limit of FPR: the mirror image of a lower one, by bisection between 0 and the mean
    low, high = np.full(AUDITS, 1e-12), counts_out @ (1 - outside) / n
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        rejected = wealth_against(middle, 1 - outside, counts_out) >= target
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    needed = dp_tpr(1 - low, claim.epsilon, claim.delta)
    return float(np.mean(wealth_against(needed, inside, counts_in) >= target))


def growth(law: VoteLaw, tests: FloatArray, claim: Claim, *, drawn: bool) -> FloatArray:
    """Expected logarithm that the best bet against the claim wins in a pair, shape (tests,).

    About -ln α over it is the number of pairs that `epsilon_from_pairs` needs; at most 0, the
    test can never show the claim.
    """
    found = []
    for hit in tests:
        inside, chance_in = _values(law.canary_in, hit, drawn)
        outside, chance_out = _values(law.canary_out, hit, drawn)
        payoffs = pair_payoffs(inside[:, np.newaxis], outside, claim.epsilon, claim.delta)
        logs = np.log1p(BETS[:, np.newaxis, np.newaxis] * payoffs)
        found.append(np.einsum("bij,i,j->b", logs, chance_in, chance_out).max())
    return np.array(found)


def _values(votes: FloatArray, hit: FloatArray, drawn: bool) -> tuple[FloatArray, FloatArray]:
    """What is bet on in one world, and how often it comes."""
    if drawn:
        rate = float(votes @ hit)
        values, chances = np.array([0.0, 1.0]), np.array([1 - rate, rate])
    else:
        values, chances = hit[votes > 0], votes[votes > 0]
    return values, chances / chances.sum()


def _hits_needed(
    alarms: FloatArray, claim: Claim, n: int, gaussian_mu: float | None = None
) -> FloatArray:
    """Smallest number of hits that shows the claim, for each number of false alarms.

    The lower limit of h hits is at least p where P(Bin(n, p) ≥ h) ≤ α/2.
    """
    missed = betaincinv(np.maximum(n - alarms, 1), alarms + 1, claim.alpha / 2)
    upper = np.where(alarms < n, 1 - missed, 1.0)
    if gaussian_mu is None:
        needed = dp_tpr(upper, claim.epsilon, claim.delta)
    else:
        needed = gdp_tpr(upper, gaussian_mu)
    return np.asarray(binom.isf(claim.alpha / 2, n, needed) + 1)
