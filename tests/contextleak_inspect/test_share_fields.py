import json
import math

import numpy as np
import pytest

from contextleak_inspect.config import audit_config
from contextleak_inspect.share_fields import Redactor, allowed
from contextleak_inspect.share_private import Private, canary_pieces
from contextleak_inspect.share_words import PLACEHOLDER, knows
from contextleak_inspect.text_measures import keyword_record
from contextleak_inspect.text_records import KeywordRecord
from contextleak_inspect.text_releases import names_canary, release_keywords

NOTHING = Private(frozenset(), frozenset())


def redactor(salt: bytes = b"salt", **kinds: bool) -> Redactor:
    kinds = {"public_texts": False, "public_data": False} | kinds
    return Redactor(salt, Private(frozenset({"otto"}), frozenset()), **kinds)


def test_a_field_that_is_not_listed_is_removed():
    sample = {"id": "23d82fbc-00001", "epoch": 1, "diary": "Ann fell ill", "metadata": {"x": "Ann"}}
    made = redactor()
    left = made.redact(sample, allowed("contextleak_sample"), "sample")
    assert left == {"id": "23d82fbc-00001", "epoch": 1, "metadata": {}}
    assert made.fates["sample.diary", "removed"] == 1


def test_the_same_text_has_the_same_placeholder_in_one_share_only():
    one, same, other = redactor(b"a"), redactor(b"a"), redactor(b"b")
    assert one.placeholder("no") == same.placeholder("no") != other.placeholder("no")
    assert one.placeholder("no") != one.placeholder("No")
    assert PLACEHOLDER.fullmatch(one.placeholder("/home/ann/x.csv"))


def test_settings_with_private_texts_stay_valid_settings():
    config = audit_config({
        "source": "/home/otto/patients.csv",
        "text_column": "diagnosis",
        "label_column": "outcome",
        "canary_label": "relapse",
        "query": "my-query.yaml",
        "defense": "output_filter",
        "filter_match": "regex",
        "filter_pattern": "(Ann|Otto) \\w+",
    })
    rule = allowed("contextleak_sample")["store"]["Answers:config"]
    text = redactor().redact(json.dumps(config.record()), rule, "")
    for private in ("otto", "patients", "diagnosis", "relapse", "query.yaml", "Ann"):
        assert private not in text
    left = audit_config(json.loads(text))
    kept = {name for name, value in left.record().items() if value == config.record()[name]}
    assert config.record().keys() - kept == {
        "source", "text_column", "label_column", "canary_label", "query", "filter_pattern"
    }  # fmt: skip


def test_private_labels_are_replaced_within_sentences_too():
    made = redactor()
    made.labels = ("HIV", "HIV positive", "objective")
    text = made.redact("canary in: HIV positive 3, HIV 7, objective 0", "words", "")
    longer, shorter = made.placeholder("HIV positive"), made.placeholder("HIV")
    assert text == f"canary in: {longer} 3, {shorter} 7, objective 0"
    assert knows(text)


def test_a_canary_that_is_a_label_is_replaced_within_sentences():
    canary = "771eb213c6fc3532a34d29947f5034cb"
    made = Redactor(b"", Private(frozenset(), canary_pieces(canary)), False, False)
    made.labels = ("[]", canary)
    assert made.redact(f"in: [] 5, {canary} 5", "words", "") == (
        f"in: [] 5, {made.placeholder(canary)} 5"
    )


def test_a_reply_is_left_as_the_label_that_it_is_read_as():
    made = redactor()
    made.labels = ("HIV positive", "objective")
    assert made.redact("**Class:** Objective.", "label", "") == "objective"
    assert made.redact("class: hiv positive", "label", "") == made.placeholder("HIV positive")
    assert PLACEHOLDER.fullmatch(made.redact("Ann fell ill", "label", ""))


@pytest.mark.parametrize(
    ("rule", "kept", "replaced"),
    [
        ("name", "openai/gpt-4o", "hf//home/otto/model"),
        ("name", "gpt-4o-2024-08-06", "otto/model"),
        ("id", "VZCBvB2xxLX2P5SxwQyoup", "patient-7"),
        ("words", "output_filter", "Ann"),
        ("words", None, "otto"),
        ("text", "", "word"),
        ("hash", None, "0907f7cc6a57f934e39187651bb98e8706d02fff93e39bcc8660dab50be0db92"),
        ("public", "canary in", "Let x be a number"),
        ("asked", None, "yes"),
    ],
)
def test_kinds_of_fields(rule, kept, replaced):
    made = redactor()
    assert made.redact(kept, rule, "") == kept
    assert made.redact(replaced, rule, "") == made.placeholder(replaced)


def test_texts_about_public_questions_are_kept_without_names_paths_and_keys():
    text = "Otto ran /home/otto/x.py with sk-abcdefghijklmnopqrstu: \\boxed{yes}"
    made = redactor(public_texts=True)
    left = made.redact(text, "public", "")
    assert left.endswith(": \\boxed{yes}")
    assert not any(part in left for part in ("Otto", "otto", "x.py", "sk-"))
    assert made.redact({"C_{\\max}": [1.0]}, "public", "") == {"C_{\\max}": [1.0]}


def test_attachments_are_read_before_a_text_is_judged():
    made = redactor()
    made.attachments = {"0" * 32: "Ann fell ill", "1" * 32: "canary in"}
    assert made.redact("attachment://" + "0" * 32, "words", "") == made.placeholder("Ann fell ill")
    assert made.redact("attachment://" + "1" * 32, "words", "") == "canary in"


def test_a_cut_record_is_replaced_whole():
    left = redactor().redact('{"labels": ["Ann', {"json": {"labels": "words"}}, "")
    assert PLACEHOLDER.fullmatch(left)


# The mechanisms compare words by count, place in the vocabulary and alphabet, all of which stay.
@pytest.mark.parametrize("mechanism", ["joint", "ptr"])
def test_ranks_in_place_of_words_release_alike(mechanism):
    config = audit_config({
        "task": "generation", "defense": "ksa", "keyword_mechanism": mechanism, "n_keywords": 4
    })  # fmt: skip
    texts = ["the zebra sat", "a zebra ran", "zebra, elbow!", "elbow the map", "zebra elbow the"]
    record = keyword_record({"in": texts * 4}, ["a map of the zoo ran: zebra elbow"], "zebra elbow")
    left = redactor().redact(json.loads(record.model_dump_json()), "ranked", "")
    assert not any(word in json.dumps(left) for word in ("zebra", "elbow", "zoo", "map"))
    ranked = KeywordRecord.model_validate(left)
    outcomes = set()
    for seed in range(60):
        for epsilon in (0.5, 8.0, math.inf):
            of = [
                release_keywords(r, "in", config, epsilon, np.random.default_rng(seed))
                for r in (record, ranked)
            ]
            assert len(of[0]) == len(of[1])
            hits = [
                names_canary(r, config, released)
                for r, released in zip((record, ranked), of, strict=True)
            ]
            assert hits[0] == hits[1]
            outcomes.add((len(of[0]), hits[0]))
    assert len(outcomes) > 1
