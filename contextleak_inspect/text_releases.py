"""One trial's texts → what the defense releases at an ε, and the membership score of it."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.config import AuditConfig, World
from contextleak_inspect.keyword_aggregation import joint_keywords, ptr_keywords
from contextleak_inspect.mechanisms import IntArray
from contextleak_inspect.text_records import EmbeddingRecord, KeywordRecord

# Draws behind a chance that has no closed form. Their mean is an unbiased [0, 1] value, which is
# all that a bet on it needs; more draws only make it less noisy.
DRAWS = 64
# Perfect attack with orthogonal replies, in the units of `embedding_scores`.
ORTHOGONAL = math.sqrt(2)


class NoisyTexts(NamedTuple):
    """Releases of an embedding's aggregate.

    Attributes:
        scores: m times the noisy mean along v, from the typical reply without the canary on;
            shape (draws,).
        choices: Index of the candidate that is released, shape (draws,).
    """

    scores: FloatArray
    choices: IntArray


def noisy_texts(
    record: EmbeddingRecord, world: World, sigma: float, rng: np.random.Generator, draws: int = 1
) -> NoisyTexts:
    """Gaussian noise on the mean embedding, as seen along v, and the nearest candidate.

    The law is that of `mechanisms.noisy_mean` and `nearest_candidate`: only the noise along v and
    the candidates is drawn. Without noise equals go to the first candidate.

    Args:
        record: The trial.
        world: Which of its worlds is released.
        sigma: Standard deviation of the noise on each coordinate of the mean.
        rng: Source of the noise.
        draws: How many releases.
    """
    m = len(record.along[world])
    clean = np.array([sum(record.along[world]) / m, *record.means[world]])
    noise = rng.standard_normal((draws, clean.size)) @ _root(record.gram)
    noisy = clean + sigma * noise
    return NoisyTexts(m * (noisy[:, 0] - record.origin), np.argmax(noisy[:, 1:], axis=1))


def clean_score(record: EmbeddingRecord, world: World) -> float:
    """The score before noise: 0 if no reply shows the canary, ‖e_c - e_c̄‖ · cos if one does."""
    along = record.along[world]
    return sum(along) - len(along) * record.origin


def speaks_for_canary(record: EmbeddingRecord, choices: IntArray) -> IntArray:
    """Hit of each released text, shape of `choices`: it lies further along v than the average one.

    The rule is fixed by reference and candidates, before any evaluated trial. Candidates that are
    all alike reveal nothing and never hit.
    """
    along = np.array(record.gram)[0, 1:]
    return np.asarray((along > along.mean() + 1e-9)[choices], dtype=np.int64)


def text_chance(
    record: EmbeddingRecord, world: World, sigma: float, rng: np.random.Generator
) -> float:
    """Unbiased estimate of the chance that the released text hits, given the answers."""
    texts = noisy_texts(record, world, sigma, rng, DRAWS)
    return float(speaks_for_canary(record, texts.choices).mean())


def release_keywords(
    record: KeywordRecord,
    world: World,
    config: AuditConfig,
    epsilon: float,
    rng: np.random.Generator,
) -> tuple[str, ...]:
    """The words that the defense lets out at this ε; at most `n_keywords` of them.

    Propose-test-release spends the audit's δ, the joint mechanism none.
    """
    counts = record.counts[world]
    if config.keyword_mechanism == "ptr":
        return ptr_keywords(
            counts,
            config.n_keywords,
            epsilon,
            config.delta,
            rng,
            neighbouring=config.neighbouring,
        )
    k = min(config.n_keywords, len(record.vocabulary))
    return joint_keywords(
        counts, record.vocabulary, k, epsilon, rng, neighbouring=config.neighbouring
    )


def names_canary(record: KeywordRecord, config: AuditConfig, released: tuple[str, ...]) -> bool:
    """Hit of released words: more than half of the canary's words that could be there, are."""
    room = min(len(record.canary), config.n_keywords)
    return 2 * len(set(record.canary).intersection(released)) > room


def keyword_chance(
    record: KeywordRecord,
    world: World,
    config: AuditConfig,
    epsilon: float,
    rng: np.random.Generator,
) -> float:
    """Unbiased estimate of the chance that the released words name the canary."""
    hits = [
        names_canary(record, config, release_keywords(record, world, config, epsilon, rng))
        for _ in range(DRAWS)
    ]
    return sum(hits) / DRAWS


@lru_cache(maxsize=64)
def _root(gram: tuple[tuple[float, ...], ...]) -> FloatArray:
    """R with RᵀR = gram, also where candidates are alike and gram is singular."""
    values, vectors = np.linalg.eigh(np.array(gram))
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, np.newaxis] * vectors.T)
