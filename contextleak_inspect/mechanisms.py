"""Votes or embeddings, σ, rng → release → membership score. Leading axes are trials.

σ = ∞ stands for ε = 0, no private exemplars: the release is all zeros, whatever the data, and so
is every score.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextleak_inspect.calibration import FloatArray, randomized_response
from contextleak_inspect.config import UNPARSED, stream

IntArray = NDArray[np.int64]


def noise_rng(
    seed: int, trial: str | int, epsilon: float, mechanism: str, *, canary_in: bool
) -> np.random.Generator:
    """Generator for the noise of one release: its stream depends on the arguments alone.

    So re-scoring gives the same release whatever the order of trials, and no two trials, worlds
    of a pair, values of ε or mechanisms share their noise.

    Args:
        seed: Seed of the audit.
        trial: Id of the trial, as its sample has it.
        epsilon: ε whose noise is drawn.
        mechanism: Name of the mechanism, such as "rnm".
        canary_in: Which world of the trial is released.
    """
    return stream(seed, "noise", mechanism, float(epsilon), trial, bool(canary_in))


def count_votes(votes: ArrayLike, n_options: int) -> IntArray:
    """Histogram of each trial's votes; every subset counts exactly once.

    Args:
        votes: Option index of each subset, or `UNPARSED`, shape (..., m).
        n_options: Number of options.

    Returns:
        Counts, shape (..., n_options + 1); the last bin holds the unparsed votes.

    Raises:
        ValueError: A vote is neither an option nor `UNPARSED`.

    >>> count_votes([0, 0, 1, UNPARSED], n_options=3).tolist()
    [2, 1, 0, 1]
    """
    cast = np.asarray(votes, dtype=np.int64)
    if cast.size and not (cast.min() >= UNPARSED and cast.max() < n_options):
        raise ValueError(
            f"votes must be option indices below {n_options} or UNPARSED ({UNPARSED}), "
            f"got values from {cast.min()} to {cast.max()}"
        )
    bins = np.append(np.arange(n_options), UNPARSED)
    return np.asarray(np.sum(cast[..., np.newaxis] == bins, axis=-2))


def noisy_histogram(counts: ArrayLike, sigma: float, rng: np.random.Generator) -> FloatArray:
    """Counts plus Gaussian noise of standard deviation σ in every bin, shape of `counts`."""
    return _noisy(np.asarray(counts, dtype=float), sigma, rng)


def noisy_max(histogram: FloatArray, rng: np.random.Generator) -> IntArray:
    """Option with the largest bin, shape (...); the last bin (unparsed) cannot win.

    Ties, which occur without noise only, are broken by a fair draw. That is post-processing, and
    the limit of ever less noise.
    """
    options = histogram[..., :-1]
    if options.shape[-1] == 0:
        raise ValueError(f"a histogram needs an option beside unparsed, got {histogram.shape}")
    winners = options == options.max(axis=-1, keepdims=True)
    return np.asarray(np.argmax(winners * (1 - rng.random(options.shape)), axis=-1))


def vote_difference(histogram: FloatArray, target: int, other: int) -> FloatArray:
    """Membership score of shape (...): bin of the canary's label minus that of the other one.

    The likelihood-ratio statistic when the canary moves a vote from `other` to `target`: noise
    of standard deviation √2 σ on a step of 2.
    """
    return histogram[..., target] - histogram[..., other]


def vote_count(histogram: FloatArray, target: int) -> FloatArray:
    """Membership score of shape (...): bin of the canary's label alone, as the paper words it.

    Noise of standard deviation σ on a step of 1: weaker by √2 than the difference when an
    exemplar is replaced, and the best score when a whole vote is added.
    """
    return histogram[..., target]


def unit_embeddings(embeddings: ArrayLike) -> FloatArray:
    """Embeddings of norm 1 along the last axis; the zero vector, an empty text's, stays as it is.

    Raises:
        ValueError: An embedding is not finite.
    """
    vectors = np.asarray(embeddings, dtype=float)
    if not np.all(np.isfinite(vectors)):
        raise ValueError(
            f"embeddings must be finite, got {np.sum(~np.isfinite(vectors))} values that are not; "
            "an empty text counts as the zero vector"
        )
    largest = np.max(np.abs(vectors), axis=-1, keepdims=True)  # squares may over- or underflow
    scaled = vectors / np.where(largest > 0, largest, 1)
    norms = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return scaled / np.where(norms > 0, norms, 1)


def noisy_mean(embeddings: ArrayLike, sigma: float, rng: np.random.Generator) -> FloatArray:
    """Mean of the normalised embeddings plus Gaussian noise, shape (..., dim).

    Args:
        embeddings: One per subset, the zero vector for an empty text, shape (..., m, dim). They
            are normalised here, so that the sensitivity holds whatever the embedder returns.
        sigma: Standard deviation of the noise on each coordinate of the mean (not of the sum).
        rng: Source of the noise.

    Raises:
        ValueError: An embedding is not finite.
    """
    return _noisy(unit_embeddings(embeddings).mean(axis=-2), sigma, rng)


def nearest_candidate(release: FloatArray, candidates: ArrayLike) -> IntArray:
    """Index of the candidate with the largest cosine to the release, shape (...).

    The first of equals wins. Candidates are public, so this is post-processing.

    Args:
        release: Noisy means, shape (..., dim).
        candidates: Embeddings of zero-shot texts, shape (..., n_candidates, dim).
    """
    cosines = np.einsum("...kd,...d->...k", unit_embeddings(candidates), release)
    return np.asarray(np.argmax(cosines, axis=-1))


def canary_direction(with_canary: ArrayLike, without_canary: ArrayLike) -> FloatArray:
    """Unit vector from mean embedding without the canary to that with it, shape (dim,).

    Args:
        with_canary: Embeddings of calibration calls, never of evaluated trials, shape (n, dim).
        without_canary: The same without the canary, shape (n, dim).

    Raises:
        ValueError: The two means are equal, so there is no direction to look in.
    """
    difference = unit_embeddings(with_canary).mean(axis=0) - unit_embeddings(without_canary).mean(
        axis=0
    )
    if not np.any(difference):
        raise ValueError(
            "mean embeddings with and without the canary are equal; choose outputs that differ"
        )
    return unit_embeddings(difference)


def projection(release: FloatArray, direction: FloatArray) -> FloatArray:
    """Membership score of shape (...): release along a unit direction, shape (dim,)."""
    return release @ direction


def randomized_labels(
    labels: ArrayLike, n_options: int, epsilon: float, rng: np.random.Generator
) -> IntArray:
    """Each label kept or replaced by any other with equal chance, ε-DP each with δ = 0.

    Args:
        labels: Option indices of any shape; unparsed replies need an option of their own.
        n_options: Number of options, at least 2.
        epsilon: ε of each label; infinity keeps all of them.
        rng: Source of the flips.

    Raises:
        ValueError: A label is no option, or ε or `n_options` is out of range.
    """
    true = np.asarray(labels, dtype=np.int64)
    if true.size and not (true.min() >= 0 and true.max() < n_options):
        raise ValueError(
            f"labels must be option indices below {n_options}, "
            f"got values from {true.min()} to {true.max()}"
        )
    flipped = rng.random(true.shape) >= randomized_response(epsilon, n_options).keep
    shift = rng.integers(1, n_options, size=true.shape)
    return np.where(flipped, (true + shift) % n_options, true)


def _noisy(clean: FloatArray, sigma: float, rng: np.random.Generator) -> FloatArray:
    if not sigma >= 0:
        raise ValueError(f"sigma must be at least 0, got {sigma}")
    if math.isinf(sigma):
        return np.zeros_like(clean)
    return clean + sigma * rng.standard_normal(clean.shape)
