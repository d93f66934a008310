"""Every text becomes one vector of norm 1 or 0, whoever embeds it."""

import asyncio
import types

import numpy as np
import pytest

from contextleak_inspect import embeddings
from contextleak_inspect.embeddings import Embedded, get_embedder, unit_rows
from tests.conftest import require_weights

TEXTS = ["the cat sat", "sat the cat", "", "stocks fell"]


def embed(name: str, texts: list[str]) -> Embedded:
    return asyncio.run(get_embedder(name)(texts))


def test_norms_are_one_and_an_empty_text_is_the_zero_vector():
    vectors = embed("hashing", TEXTS).vectors
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 0, 1])
    np.testing.assert_allclose(vectors[0], vectors[1])  # the same words


def test_a_zero_row_of_a_full_text_stays_zero_and_makes_no_nan():
    np.testing.assert_array_equal(unit_rows(np.zeros((1, 3)), ["?"]), np.zeros((1, 3)))


@pytest.mark.parametrize("name", ["", "openai", "onnx/", "word2vec/x"])
def test_an_unknown_embedder_is_refused_with_what_would_do(name: str):
    with pytest.raises(ValueError, match="hashing"):
        get_embedder(name)


@pytest.mark.parametrize("provider", ["openai", "google"])
def test_a_provider_without_its_key_is_refused_with_what_would_do(provider, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RuntimeError, match=f"{provider.upper()}_API_KEY.*onnx/minilm-l6-v2"):
        get_embedder(f"{provider}/some-model")


def test_a_folder_without_the_model_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"model\.onnx"):
        get_embedder(f"onnx:{tmp_path}")


def test_the_local_model_knows_meaning_and_tells_what_it_cut():
    require_weights("minilm-l6-v2", "minilm-l6-v2-tokenizer")
    result = embed(
        "onnx/minilm-l6-v2",
        ["A cat sleeps on the rug.", "A kitten naps on the carpet.", "Shares fell.", "w " * 900],
    )
    likeness = result.vectors @ result.vectors.T
    assert likeness[0, 1] > likeness[0, 2] + 0.2
    assert result.truncated.tolist() == [False, False, False, True]


def test_openai_rows_follow_the_order_of_the_texts(monkeypatch: pytest.MonkeyPatch):
    sent: list[list[str]] = []

    async def create(*, model: str, input: list[str]) -> object:
        sent.append(input)
        rows = [types.SimpleNamespace(index=i, embedding=[i + 1.0, 0.0]) for i in range(len(input))]
        return types.SimpleNamespace(data=rows[::-1])

    client = types.SimpleNamespace(embeddings=types.SimpleNamespace(create=create))
    monkeypatch.setattr("openai.AsyncOpenAI", lambda: client)
    monkeypatch.setattr(embeddings, "_PROVIDER_BATCH", 3)
    result = embed("openai/text-embedding-3-small", TEXTS)
    assert sent == [["the cat sat", "sat the cat", " "], ["stocks fell"]]
    np.testing.assert_array_equal(result.vectors, [[1, 0], [1, 0], [0, 0], [1, 0]])


def test_google_tells_which_texts_it_cut(monkeypatch: pytest.MonkeyPatch):
    async def embed_content(*, model: str, contents: list[str]) -> object:
        cut = types.SimpleNamespace(truncated=True)
        rows = [types.SimpleNamespace(values=[0.0, 2.0], statistics=cut) for _ in contents]
        return types.SimpleNamespace(embeddings=rows)

    models = types.SimpleNamespace(embed_content=embed_content)
    client = types.SimpleNamespace(aio=types.SimpleNamespace(models=models))
    monkeypatch.setattr("google.genai.Client", lambda: client)
    result = embed("google/gemini-embedding-001", ["a", "b"])
    np.testing.assert_array_equal(result.vectors, [[0, 1], [0, 1]])
    assert result.truncated.all()
