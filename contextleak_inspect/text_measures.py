"""Replies and their embeddings → the records of `text_records`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.config import World
from contextleak_inspect.keyword_aggregation import word_counts, words_of
from contextleak_inspect.mechanisms import canary_direction, unit_embeddings
from contextleak_inspect.text_records import EmbeddingRecord, KeywordRecord

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
