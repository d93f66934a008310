"""Text → vector: a provider's model, a local ONNX model, or a hashing one for tests.

An audit embeds once and logs what it got, so that scoring again needs no embedding model.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from contextleak_inspect.weights import installed_weights

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

HASHING_DIMENSIONS = 256
_ONNX_MAX_TOKENS = 256
_PROVIDER_BATCH = 256


class Embedded(NamedTuple):
    """Embeddings of some texts.

    `vectors`, shape (n_texts, dimensions), have norm 1; an empty text is the zero vector, so that
    every shard contributes exactly one vector. `truncated`, shape (n_texts,), marks texts of which
    the model read only the head: two long texts that differ in their tails look alike to it.
    """

    vectors: NDArray[np.float64]
    truncated: NDArray[np.bool_]


class Embedder(Protocol):
    """Anything that turns texts into unit vectors; its `name` goes into the log."""

    name: str

    async def __call__(self, texts: Sequence[str]) -> Embedded:
        """Embeddings of `texts`, in their order."""
        ...


def get_embedder(name: str) -> Embedder:
    """The embedder called `name`.

    Args:
        name: `openai/<model>` or `google/<model>` for a provider's model with its usual key in the
            environment; `onnx/<known model>` for pinned small weights; `onnx:<folder>` for a folder
            with model.onnx and tokenizer.json; `hashing` for tests, which sees only words.

    Raises:
        ValueError: No such embedder.
        FileNotFoundError: The local model is not there.
        RuntimeError: The extra or the provider's key that it needs is missing.
    """
    provider, _, model = name.partition("/")
    if name == "hashing":
        return _Hashing()
    if name.startswith("onnx:"):
        folder = Path(name.removeprefix("onnx:")).expanduser()
        return _Onnx(name, folder / "model.onnx", folder / "tokenizer.json")
    if provider == "onnx" and model:
        return _Onnx(name, installed_weights(model), installed_weights(f"{model}-tokenizer"))
    if provider in {"openai", "google"} and model:
        return _OpenAI(name, model) if provider == "openai" else _Google(name, model)
    raise ValueError(
        f"embedding model {name!r} is unknown; give openai/<model>, google/<model>, "
        "onnx/minilm-l6-v2, onnx:<folder>, or hashing (tests only)"
    )


def unit_rows(vectors: NDArray[np.float64], texts: Sequence[str]) -> NDArray[np.float64]:
    """Rows scaled to norm 1, shape as given; the row of an empty text becomes zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: NDArray[np.float64] = np.divide(
        vectors, norms, out=np.zeros_like(vectors), where=norms > 0
    )
    rows[[not text.strip() for text in texts]] = 0.0
    return rows


class _Hashing:
    """Counts of hashed words: deterministic, offline, and blind to meaning. For tests only."""

    name = "hashing"

    async def __call__(self, texts: Sequence[str]) -> Embedded:
        vectors = np.zeros((len(texts), HASHING_DIMENSIONS))
        for row, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
                bucket, sign = int.from_bytes(digest[:4]) % HASHING_DIMENSIONS, digest[4] & 1
                row[bucket] += 1.0 if sign else -1.0
        return Embedded(unit_rows(vectors, texts), np.zeros(len(texts), dtype=np.bool_))


class _Onnx:
    """A sentence-transformers model in ONNX form: mean of token vectors under the mask."""

    def __init__(self, name: str, model: Path, tokenizer: Path) -> None:
        self.name = name
        for file in (model, tokenizer):
            if not file.is_file():
                raise FileNotFoundError(
                    f"embedding model {name} needs {file}, and no such file is there"
                )
        self._session, self._tokenizer = _onnx_session(model, tokenizer)

    async def __call__(self, texts: Sequence[str]) -> Embedded:
        encoded = self._tokenizer.encode_batch([text if text.strip() else " " for text in texts])
        ids = np.array([e.ids for e in encoded], np.int64)
        mask = np.array([e.attention_mask for e in encoded], np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        tokens = self._session.run(None, inputs)[0]
        means = (tokens * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        truncated = np.array([bool(e.overflowing) for e in encoded], dtype=np.bool_)
        return Embedded(unit_rows(means.astype(np.float64), texts), truncated)


@cache
def _onnx_session(
    model: Path, tokenizer: Path
) -> tuple["onnxruntime.InferenceSession", "tokenizers.Tokenizer"]:
    try:
        import onnxruntime
        import tokenizers
    except ImportError as error:
        raise RuntimeError(
            "local embeddings need an extra: pip install 'inspect-dp[embeddings]'"
        ) from error
    reader = tokenizers.Tokenizer.from_file(str(tokenizer))
    reader.enable_truncation(_ONNX_MAX_TOKENS)
    reader.enable_padding()
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    return session, reader


class _OpenAI:
    """OpenAI's embeddings; a text over the model's limit is refused by the provider, not cut."""

    def __init__(self, name: str, model: str) -> None:
        import openai

        self.name, self._model = name, model
        try:
            self._client = openai.AsyncOpenAI()
        except openai.OpenAIError as error:
            raise RuntimeError(_no_key(name, "OPENAI_API_KEY")) from error

    async def __call__(self, texts: Sequence[str]) -> Embedded:
        rows: list[list[float]] = []
        for batch in _batches(texts):
            reply = await self._client.embeddings.create(model=self._model, input=batch)
            rows += [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]
        return Embedded(unit_rows(np.array(rows), texts), np.zeros(len(rows), dtype=np.bool_))


class _Google:
    """Google's embeddings; the provider says itself which texts it cut."""

    def __init__(self, name: str, model: str) -> None:
        from google import genai

        self.name, self._model = name, model
        try:
            self._client = genai.Client()
        except ValueError as error:
            raise RuntimeError(_no_key(name, "GOOGLE_API_KEY")) from error

    async def __call__(self, texts: Sequence[str]) -> Embedded:
        rows: list[list[float]] = []
        cut: list[bool] = []
        for batch in _batches(texts):
            contents: list[Any] = [*batch]
            reply = await self._client.aio.models.embed_content(
                model=self._model, contents=contents
            )
            for item in reply.embeddings or []:
                rows.append(item.values or [])
                cut.append(bool(item.statistics and item.statistics.truncated))
        return Embedded(unit_rows(np.array(rows), texts), np.array(cut, dtype=np.bool_))


def _no_key(name: str, variable: str) -> str:
    return (
        f"embedding model {name} needs {variable} in the environment; set it, or give "
        "embedding=onnx/minilm-l6-v2, which runs on this machine (pip install "
        "'inspect-dp[embeddings]'), or embedding=hashing, which knows no meaning, for a test"
    )


def _batches(texts: Sequence[str]) -> list[list[str]]:
    """Texts in requests of bearable size; providers refuse an empty text, so it goes as a space."""
    filled = [text if text.strip() else " " for text in texts]
    return [filled[i : i + _PROVIDER_BATCH] for i in range(0, len(filled), _PROVIDER_BATCH)]
