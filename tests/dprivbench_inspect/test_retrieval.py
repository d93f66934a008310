"""Search over the theorem records: what it finds on our questions, and what it refuses."""

import re
from collections.abc import Sequence

import pytest

from dprivbench_inspect.dataset import load_questions
from dprivbench_inspect.retrieval import recall, retrieve
from dprivbench_inspect.theorems import Theorem, read_theorems

LIBRARY = read_theorems()
CORPUS = list(LIBRARY.theorems.values())


def first_words(texts: Sequence[str]) -> list[list[float]]:
    """Counts of a few words: an embedding by hand."""
    return [
        [float(len(re.findall(word, text.lower()))) for word in ("laplace", "gumbel", "median")]
        for text in texts
    ]


def test_recall_on_our_questions() -> None:
    # Measured: 0.53 of the right theorems among five of 61, at least one for 0.82 of the questions
    # (chance: 0.08 and 0.20). One or two words may move these.
    questions = load_questions(2).questions
    texts = [q.question for q in questions]
    found = dict(zip([q.id for q in questions], retrieve(texts, CORPUS, 5), strict=True))
    right = {q.id: link.theorems for q in questions if (link := LIBRARY.link(q))}
    shares = [recall(found[name], right[name]) for name in found]
    assert sum(shares) / len(shares) == pytest.approx(0.53, abs=0.02)
    assert sum(share > 0 for share in shares) / len(shares) == pytest.approx(0.82, abs=0.02)


def test_the_nearest_comes_first_and_more_are_a_longer_list() -> None:
    question = "The noise is Gumbel noise on each score; the k largest are released in order."
    assert retrieve([question], CORPUS, 1) == [["gumbel_top_k"]]
    assert retrieve([question], CORPUS, 8)[0][:3] == retrieve([question], CORPUS, 3)[0]
    [everything] = retrieve([question], CORPUS, 1000)
    assert sorted(everything) == sorted(LIBRARY.theorems)


def test_a_question_of_unknown_words_gives_the_first_records() -> None:
    assert retrieve(["Zwölf Boxkämpfer", ""], CORPUS, 2) == [[t.id for t in CORPUS[:2]]] * 2


def test_embeddings_replace_the_words_and_each_text_is_embedded_once() -> None:
    asked = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        return first_words(texts)

    texts = {"a": "Laplace noise", "b": "Gumbel noise", "c": "the median"}
    corpus = [Theorem(id=name, title=text, statement="$x$") for name, text in texts.items()]
    questions = ["gumbel, gumbel and one median", "laplace, not gumbel, laplace"]
    assert retrieve(questions, corpus, 3, embed) == [["b", "c", "a"], ["a", "b", "c"]]
    assert len(asked) == len(set(asked)) == 5


@pytest.mark.parametrize(
    ("corpus", "k", "message"),
    [(CORPUS, 0, "k=0 of 61"), ([], 5, "k=5 of 0")],
)
def test_nothing_to_find_is_refused(corpus: list[Theorem], k: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        retrieve(["Laplace"], corpus, k)


def test_an_embedder_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(1, 2\) for 62 texts"):
        retrieve(["Laplace"], CORPUS, 1, lambda texts: [[1.0, 2.0]])
