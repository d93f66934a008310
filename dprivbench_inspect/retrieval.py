"""Search over theorem records: BM25, or embeddings of the caller's choice."""

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dprivbench_inspect.theorems import Theorem

# Texts → vectors, shape (n_texts, dimensions).
Embed = Callable[[Sequence[str]], ArrayLike]

# Commands that only shape a formula; the others (\Phi, \ln, \mathcal{N}…) tell what it is about.
_LAYOUT = re.compile(
    r"\\(?:frac|left|right|big|Big|bigl|bigr|text|mathrm|mathbb|mathcal|quad|qquad|dots|cdot|in"
    r"|le|ge|to|begin|end|sum|ldots|displaystyle|,|;|!|\\)(?![A-Za-z])"
)


def retrieve(
    questions: Sequence[str], theorems: Sequence[Theorem], k: int, embed: Embed | None = None
) -> list[list[str]]:
    """For each question the ids of its k nearest theorems; at equal scores the earlier one first.

    Args:
        questions: Their texts as the model reads them. Nothing else is looked at.
        theorems: The corpus; a record is searched by title and statement.
        k: How many, at least 1; a smaller corpus gives all it has.
        embed: Embeddings to compare by their angle, asked once for all texts; None searches by
            words with BM25.

    Raises:
        ValueError: k below 1, an empty corpus, an embedder that fails, or no finite vectors.
    """
    if k < 1 or not theorems:
        raise ValueError(f"expected k >= 1 and theorems to search, got k={k} of {len(theorems)}")
    texts = [f"{theorem.title}\n{theorem.statement}" for theorem in theorems]
    scores = _bm25(questions, texts) if embed is None else _angles(questions, texts, embed)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return [[theorems[index].id for index in row] for row in best]


def recall(found: Sequence[str], right: Sequence[str]) -> float:
    """Share of the right ids among those found.

    >>> recall(["a", "b"], ["b", "c"])
    0.5
    """
    return sum(name in found for name in right) / len(right)


def _bm25(queries: Sequence[str], texts: Sequence[str]) -> NDArray[np.float64]:
    """Scores, shape (n_queries, n_texts)."""
    import bm25s

    words = bm25s.tokenize(
        [_words(text) for text in (*texts, *queries)], return_ids=False, **_QUIET
    )
    index = bm25s.BM25()
    index.index(words[: len(texts)], **_QUIET)
    scores = np.zeros((len(queries), len(texts)))
    for row, asked in zip(scores, words[len(texts) :], strict=True):
        if known := [word for word in asked if word in index.vocab_dict]:
            row[:] = index.get_scores(known)
    return scores


def _angles(queries: Sequence[str], texts: Sequence[str], embed: Embed) -> NDArray[np.float64]:
    """Cosines, shape (n_queries, n_texts)."""
    n = len(texts) + len(queries)
    try:
        given = embed([*texts, *queries])
    except Exception as error:  # a function of the caller's may raise anything
        raise ValueError(
            f"the embedder failed on {n} texts with {type(error).__name__}: {error}"
        ) from error
    try:
        vectors = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the embedder gave {given!r:.60} for {n} texts; expected {n} vectors of equal length"
        ) from error
    if vectors.ndim != 2 or len(vectors) != n:
        raise ValueError(
            f"the embedder gave shape {vectors.shape} for {n} texts; expected ({n}, dimensions)"
        )
    if not np.isfinite(vectors).all():
        raise ValueError("the embedder gave vectors with nan or inf in them")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1)
    return np.asarray(unit[len(texts) :] @ unit[: len(texts)].T, dtype=np.float64)


def _words(text: str) -> str:
    return re.sub(r"[^A-Za-zÀ-ÿ]+", " ", _LAYOUT.sub(" ", text))


_QUIET = {"show_progress": False}
