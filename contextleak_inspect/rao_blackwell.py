"""The known noise integrated out: clean votes or embeddings → probability of a hit, per trial.

Noise is drawn from a declared law after the model has answered, so the chance of a hit given the
answers can be computed instead of drawn. Its mean over trials is an unbiased TPR or FPR, with the
variance of the answers alone. n is the number of independent model-side draws, never of noise
draws. The values lie in [0, 1] and are not counts: bound them by betting bounds or e-processes,
not by Clopper-Pearson. A run with the defence's real sampler must stand beside them, since only
that finds a wrong σ.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from contextleak_inspect.calibration import FloatArray

# Trapezoids over ±12 standard deviations: error below 1e-14 for such smooth integrands.
_NOISE = np.linspace(-12, 12, 385)
_DENSITY = np.exp(-(_NOISE**2) / 2)
_DENSITY /= _DENSITY.sum()


def hit_probability(
    clean_scores: ArrayLike, noise: float, threshold: float | FloatArray
) -> FloatArray:
    """P(score > threshold) for Gaussian noise on a known clean score, of their common shape.

    Φ((s - t) / noise); without noise 1.0 where s > t, strictly. With infinite noise (ε = 0)
    the score is 0 whatever the data.

    Args:
        clean_scores: Scores before noise; where one is nan, of a failed trial, so is its chance.
        noise: Standard deviation of the score's noise: √2 σ for `vote_difference`, σ for
            `vote_count`, and for `projection` on a unit direction.
        threshold: From other trials than these; several as an array.

    Raises:
        ValueError: The noise is negative.
    """
    if not noise >= 0:
        raise ValueError(f"noise must be at least 0, got {noise}")
    scores = np.asarray(clean_scores, dtype=float)
    if noise == 0 or math.isinf(noise):
        seen = scores if noise == 0 else np.zeros_like(scores)
        return np.where(np.isnan(scores), np.nan, seen > threshold)
    return np.asarray(ndtr((scores - threshold) / noise))


def rao_blackwell_rate(votes: ArrayLike, m: int, sigma: float, threshold: float) -> float:
    """Mean probability that the noisy difference of two counts exceeds the threshold.

    mean of Φ((2k - m - t) / (√2 σ)): TPR from trials with the canary, FPR from those without.

    Args:
        votes: Votes k for the canary's label of two, none unparsed, shape (n_trials,).
        m: Number of subsets.
        sigma: Standard deviation of the noise on each count.
        threshold: Cut t on the difference, from other trials than these.

    Raises:
        ValueError: No trials, or a count outside 0..m, or σ is negative.
    """
    counts = np.asarray(votes, dtype=float)
    if counts.size == 0:
        raise ValueError("votes must hold at least one trial, got none")
    if not (counts.min() >= 0 and counts.max() <= m):
        raise ValueError(
            f"votes must lie in 0..{m}, got values from {counts.min()} to {counts.max()}"
        )
    return float(np.mean(hit_probability(2 * counts - m, math.sqrt(2) * sigma, threshold)))


def label_probability(counts: ArrayLike, sigma: float, target: int) -> FloatArray:
    """P(noisy max is `target`) given the clean histogram, shape (...).

    ∫ φ(z) Π_j Φ((h_target - h_j) / σ + z) dz over the other options; error below 1e-13. Ties
    without noise share their chance, as in `mechanisms.noisy_max`.

    Args:
        counts: Clean histograms, shape (..., n_options + 1), the last bin unparsed.
        sigma: Standard deviation of the noise on each count.
        target: Option whose probability is asked for.

    Raises:
        ValueError: σ is negative.
    """
    if not sigma >= 0:
        raise ValueError(f"sigma must be at least 0, got {sigma}")
    options = np.asarray(counts, dtype=float)[..., :-1]
    if math.isinf(sigma):
        return np.full(options.shape[:-1], 1 / options.shape[-1])
    if sigma == 0:
        winners = options == options.max(axis=-1, keepdims=True)
        return np.asarray(winners[..., target] / winners.sum(axis=-1))
    margins = (options[..., target, np.newaxis] - np.delete(options, target, axis=-1)) / sigma
    if margins.shape[-1] == 1:
        return np.asarray(ndtr(margins[..., 0] / math.sqrt(2)))
    # there are far fewer histograms than trials
    distinct, where = np.unique(margins.reshape(-1, margins.shape[-1]), axis=0, return_inverse=True)
    beaten = np.prod(ndtr(distinct[..., np.newaxis] + _NOISE), axis=1)
    return np.asarray((beaten @ _DENSITY)[where].reshape(margins.shape[:-1]))


def flip_probability_upper(repeats: int, alpha: float) -> float:
    """Upper limit on the chance that an answer changes, after repeats without any change.

    1 - alpha^(1/repeats), exceeded by the truth with probability at most alpha. It is a
    statement about repeats, not a proof that the model is deterministic.

    Raises:
        ValueError: No repeats, or alpha not in (0, 1).

    >>> round(flip_probability_upper(20, alpha=0.05), 3)
    0.139
    """
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be in (0, 1), got {alpha}")
    return -math.expm1(math.log(alpha) / repeats)
