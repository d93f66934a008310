import re

import pytest

from contextleak_inspect.config import audit_config
from contextleak_inspect.defenses import guard_prompt, guard_verdict, guard_words, is_filtered
from contextleak_inspect.private_data import Exemplar

PRIVATE = [Exemplar("The ferry leaves the northern pier at six.", "objective")]


@pytest.mark.parametrize(
    "defense", ["none", "zero_shot", "llm_judge", "output_filter", "rnm", "label_rr"]
)
def test_only_prompt_defenses_add_words(defense):
    assert guard_words(audit_config({"defense": defense})) == ""


def test_faux_secrets_plants_decoys_that_follow_the_seed():
    first, again, other = (
        guard_words(audit_config({"defense": "faux_secrets", "seed": seed})) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len(set(re.findall("[0-9a-f]{16}", first))) == 3
    assert "<" not in first


def test_keywords_repeats_its_phrases():
    words = guard_words(audit_config({"defense": "keywords"})).casefold()
    assert words.count("confidential") >= 3
    assert words.count("do not disclose") >= 3


# Case E19: a guard at another provider sees private examples only when told so.
def test_the_guard_reads_question_and_reply_only():
    prompt = guard_prompt("is <reply> there?", "yes, <question>")
    assert "is <reply> there?" in prompt.user
    assert "yes, <question>" in prompt.user
    assert PRIVATE[0].text not in prompt.system + prompt.user
    told = guard_prompt("q", "r", PRIVATE)
    assert PRIVATE[0].text in told.system
    assert PRIVATE[0].text not in told.user


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [("LEAK", True), ("leak.", True), ("**SAFE**", False), ("", None), ("SAFE, not a LEAK", None)],
)
def test_guard_verdicts_are_one_word(reply, verdict):
    assert guard_verdict(reply) is verdict


@pytest.mark.parametrize(
    ("fields", "reply", "blocked"),
    [
        ({}, "It says: THE FERRY leaves the northern  pier at six. Yes.", True),
        ({}, "The ferry leaves the northern pier at seven.", False),
        ({}, "objective", False),
        ({"filter_match": "fuzzy"}, "The ferry leaves the northern pier at seven.", True),
        ({"filter_match": "fuzzy"}, "The bakery opens at six.", False),
        ({"filter_match": "fuzzy", "filter_similarity": 1.0}, "The ferry leaves the pier.", False),
        ({"filter_match": "regex", "filter_pattern": r"\bpier\b"}, "a pier", True),
        ({"filter_match": "regex", "filter_pattern": r"\bpier\b"}, "a bridge", False),
    ],
)
def test_output_filter(fields, reply, blocked):
    config = audit_config({"defense": "output_filter"} | fields)
    assert is_filtered(reply, PRIVATE, config) is blocked


def test_in_generation_private_answers_are_filtered_too():
    config = audit_config({"defense": "output_filter", "task": "generation"})
    assert is_filtered("It is objective indeed.", PRIVATE, config)


# Its time doubles with each character; Python's own matcher cannot be interrupted.
def test_a_pattern_that_never_ends_stops_the_run(monkeypatch):
    monkeypatch.setattr("contextleak_inspect.defenses.MATCH_SECONDS", 0.05)
    config = audit_config({
        "defense": "output_filter",
        "filter_match": "regex",
        "filter_pattern": "((a|aa)+)+b",
    })
    assert is_filtered("xxaab", PRIVATE, config)
    with pytest.raises(ValueError, match=r"not decided within 0\.05 s on a reply of 60 characters"):
        is_filtered("a" * 60, PRIVATE, config)
