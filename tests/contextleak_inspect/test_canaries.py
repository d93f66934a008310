import re

import pytest

from contextleak_inspect.canaries import Canary, check_planted, make_canary, plant, rare_words
from contextleak_inspect.config import CanaryKind, audit_config
from contextleak_inspect.private_data import (
    Exemplar,
    PrivateData,
    read_private_data,
    texts_that_hold,
)

KINDS = CanaryKind.__args__


@pytest.fixture(scope="module")
def data():
    return read_private_data(audit_config({}))


def canary(data, **fields):
    return make_canary(audit_config(fields), data)


@pytest.mark.parametrize("kind", KINDS)
def test_absent_from_the_data_and_fresh_per_audit_seed(data, kind):
    texts = [canary(data, canary=kind, seed=seed).text for seed in range(20)]
    assert len(set(texts)) == 20
    assert not any(texts_that_hold(text, data.pool) for text in texts)
    assert texts == [canary(data, canary=kind, seed=seed).text for seed in range(20)]


def test_hex_is_64_digits(data):
    assert re.fullmatch("[0-9a-f]{64}", canary(data).text)


def test_unigram_joins_16_rare_words_of_the_data(data):
    words = canary(data, canary="unigram").text.split()
    assert len(set(words)) == 16
    everything = " ".join(e.text for e in data.pool).casefold()
    assert all(everything.count(word) == 1 for word in words)
    assert set(words) <= set(rare_words(data))


def test_false_facts_are_a_hundred(data):
    assert len({canary(data, canary="false_fact", seed=seed).text for seed in range(200)}) == 100


def test_ngrams_are_runs_of_the_data(data):
    words = canary(data, canary="ngram").text.split()
    texts = [e.text for e in data.pool]
    runs = [" ".join(words[i : i + 3]) for i in range(0, 15, 3)]
    assert all(any(run in text for text in texts) for run in runs)


def test_a_canary_that_the_data_hold_is_passed_over(data):
    taken = canary(data, canary="false_fact", seed=3).text
    more = PrivateData("x", (*data.pool, Exemplar(f"As they say: {taken.upper()}", "objective")))
    assert (
        canary(more, canary="false_fact", seed=3).text
        == canary(data, canary="false_fact", seed=4).text
    )


def test_the_rarest_label_stands_for_presence(data):
    pool = tuple(Exemplar(f"text {i}", label) for i, label in enumerate("aaabbbbcc" * 3))
    made = canary(PrivateData("x", pool))
    assert (made.answer, made.other) == ("c", "b")
    assert (canary(data).answer, canary(data).other) == ("objective", "subjective")
    named = canary(data, canary_label="subjective")
    assert (named.answer, named.other) == ("subjective", "objective")
    with pytest.raises(ValueError, match="'x' is no label"):
        canary(data, canary_label="x")


def test_in_generation_the_answer_is_the_canary(data):
    made = canary(data, task="generation", defense="esa")
    assert made.answer == made.text


@pytest.mark.parametrize("kind", KINDS)
def test_head_and_tail_make_the_canary(data, kind):
    made = canary(data, canary=kind)
    assert made.head
    assert made.tail
    assert made.text.replace(" ", "") == (made.head + made.tail).replace(" ", "")
    assert len(made.tail) > len(made.head)


def test_planting_replaces_one_exemplar_at_its_slot(data):
    made = canary(data)
    context = plant(data.pool[:20], [7], made)
    assert len(context) == 20
    assert [i for i in range(20) if context[i] != data.pool[i]] == [7]
    check_planted(context, made, 1)
    check_planted(data.pool, made, 0)


@pytest.mark.parametrize(
    "exemplars",
    [
        [Exemplar("a b", "x")],
        [Exemplar("say A  B", "x"), Exemplar("a b", "x")],
        [Exemplar("a", "x")],
    ],
)
def test_check_planted_counts_whole_canaries(exemplars):
    made = Canary("ngram", "a b", "x", "y")
    times = {1: 1, 2: 2}.get(len(exemplars), 0) if "b" in exemplars[0].text.casefold() else 0
    check_planted(exemplars, made, times)
    with pytest.raises(ValueError, match=f"stands in {times} exemplars, must stand in {times + 1}"):
        check_planted(exemplars, made, times + 1)
