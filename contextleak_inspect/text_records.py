"""Texts of an ensemble as what a scorer needs of them: a few numbers, no embedding model."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, model_validator

from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.config import World
from contextleak_inspect.keyword_aggregation import word_counts, words_of
from contextleak_inspect.mechanisms import canary_direction, unit_embeddings

FAINT = 1e-9  # a difference of unit vectors below this is rounding


@dataclass(frozen=True)
class Reference:
    """What the auditor of an embedding knows beforehand, from calibration calls of its own.

    Attributes:
        direction: Unit vector from replies without the canary to those with it, shape (dim,).
        absent: A typical embedding without the canary, the median of each coordinate: scores count
            from it m times over, so one false answer must not move it. Shape (dim,).
        candidates: Embeddings of the zero-shot texts, shape (n_candidates, dim).
    """

    direction: FloatArray
    absent: FloatArray
    candidates: FloatArray


class EmbeddingRecord(BaseModel):
    """One trial's embeddings, as far as the mean, its noise and the detector need them.

    A mean embedding matters along v, the detector's direction, and along the candidates only; noise
    of deviation σ on every coordinate is Gaussian there with covariance σ² · `gram`. So the record
    holds the law of every release exactly, whatever the dimension.

    Attributes:
        model: Name of the embedding model.
        texts: Texts that were embedded, the reference's among them where this trial made it.
        truncated: Those of which the model read only the head.
        gram: Inner products of (v, candidate 1, …, candidate K), shape (K + 1, K + 1).
        origin: The typical reply without the canary along v, from the calibration calls.
        along: Each shard's embedding along v, per world, shape (m,).
        apart: Each shard's distance from the typical reply without the canary, shape (m,).
        means: Mean embedding along each candidate, per world, shape (K,).
        between: Distance between the two worlds' mean embeddings; None for one world.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    texts: int
    truncated: int
    gram: tuple[tuple[float, ...], ...]
    origin: float
    along: dict[World, tuple[float, ...]]
    apart: dict[World, tuple[float, ...]]
    means: dict[World, tuple[float, ...]]
    between: float | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        size = len(self.gram)
        if any(len(row) != size for row in self.gram):
            raise ValueError(f"gram must be square, got rows of {[len(row) for row in self.gram]}")
        if any(len(means) != size - 1 for means in self.means.values()):
            raise ValueError(f"means must be along {size - 1} candidates")
        return self


class KeywordRecord(BaseModel):
    """One trial's words: in how many replies each stands, per world, before any noise.

    `vocabulary` holds the words that the public knows: those of the query and of zero-shot
    replies. `canary` are the canary's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    counts: dict[World, dict[str, int]]
    vocabulary: tuple[str, ...]
    canary: tuple[str, ...]


def make_reference(present: ArrayLike, absent: ArrayLike, candidates: ArrayLike) -> Reference:
    """Detector and candidates from calibration calls.

    Where replies with and without the canary are alike, so that there is no direction to look in,
    the direction is 0 and every score with it: such a query reveals nothing.

    Args:
        present: Embeddings of replies with the canary, shape (n, dim).
        absent: The same without the canary, shape (n, dim).
        candidates: Embeddings of zero-shot replies, shape (n_candidates, dim).
    """
    without = unit_embeddings(absent)
    difference = unit_embeddings(present).mean(axis=0) - without.mean(axis=0)
    if np.linalg.norm(difference) < FAINT:
        direction = np.zeros(difference.shape)
    else:
        direction = canary_direction(present, absent)
    return Reference(direction, np.median(without, axis=0), unit_embeddings(candidates))


def embedding_record(
    model: str,
    embeddings: Mapping[World, ArrayLike],
    reference: Reference,
    *,
    texts: int = 0,
    truncated: int = 0,
) -> EmbeddingRecord:
    """The numbers that scoring needs of each world's shard embeddings, shape (m, dim)."""
    looked_at = np.vstack([reference.direction, reference.candidates])
    units = {world: unit_embeddings(vectors) for world, vectors in embeddings.items()}
    worlds = list(units)
    means = {world: vectors.mean(axis=0) for world, vectors in units.items()}
    return EmbeddingRecord(
        model=model,
        texts=texts,
        truncated=truncated,
        gram=tuple(tuple(row) for row in (looked_at @ looked_at.T).tolist()),
        origin=float(reference.absent @ reference.direction),
        along={w: tuple((units[w] @ reference.direction).tolist()) for w in worlds},
        apart={
            w: tuple(np.linalg.norm(units[w] - reference.absent, axis=1).tolist()) for w in worlds
        },
        means={w: tuple((reference.candidates @ means[w]).tolist()) for w in worlds},
        between=float(np.linalg.norm(means["in"] - means["out"])) if len(worlds) == 2 else None,
    )


def keyword_record(
    replies: Mapping[World, Iterable[str]], public: Sequence[str], canary: str
) -> KeywordRecord:
    """Counts of words in each world's replies.

    Args:
        replies: One reply per shard.
        public: Texts that the public knows without the private data: query, zero-shot replies.
        canary: The canary's text.
    """
    return KeywordRecord(
        counts={world: word_counts(texts) for world, texts in replies.items()},
        vocabulary=tuple(sorted(frozenset().union(*map(words_of, public)))),
        canary=tuple(dict.fromkeys(re.findall(r"\w+", canary.casefold()))),
    )
