"""Texts of an ensemble as what a scorer needs of them: a few numbers, no embedding model."""

from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from contextleak_inspect.config import World


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
