import getpass
import socket
from typing import get_args

import pytest

from contextleak_inspect.config import AuditConfig
from contextleak_inspect.queries import bundled_queries
from contextleak_inspect.share_private import (
    KEY,
    NOBODY,
    PLACE,
    Private,
    canary_pieces,
    own_names,
)
from contextleak_inspect.share_scan import is_name, leaks
from contextleak_inspect.share_words import knows

KEYS = (
    "sk-proj-abcdefghijklmnop1234",
    "hf_abcdefghijklmnopqrst",
    "AKIAABCDEFGHIJKLMNOP",
    "ghp_abcdefghijklmnopqrstuvwx",
    "https://ann:secret@example.org/x.git",
    "Authorization: Bearer abcdefghijklmnop.qrst",
    "-----BEGIN RSA PRIVATE KEY-----",
)
PATHS = (
    "/home/ann/x.csv",
    "C:\\Users\\ann\\x",
    "C:\\\\Users\\\\ann",
    "/Users/ann/a",
    "~/x",
    "/tmp/a",
)


def literals(annotation: object) -> list[str]:
    return [
        found
        for arg in get_args(annotation)
        for found in ([arg] if isinstance(arg, str) else literals(arg))
    ]


def test_every_word_of_the_settings_is_published():
    words = [q.name for q in bundled_queries()]
    for field in AuditConfig.model_fields.values():
        words += literals(field.annotation)
    assert len(words) > 50
    assert [word for word in words if not knows(word)] == []


@pytest.mark.parametrize("text", ["Ann", "canary of Ann", "4111 1111 1111 1111", "5551234567", "x"])
def test_a_text_with_a_word_or_number_of_its_own_is_not_known(text):
    assert not knows(text)


@pytest.mark.parametrize("text", ["", "[]", "0.30000000000000004", "1e-05", "inf", "-7.548", "1-A"])
def test_numbers_and_signs_are_known(text):
    assert knows(text)


@pytest.mark.parametrize("text", [*KEYS, *PATHS])
def test_keys_and_paths_are_found_within_texts(text):
    assert NOBODY.found(f"so: {text}, then") is not None
    assert not knows(text)
    assert not is_name(text)


def test_no_bundled_question_looks_like_a_key_or_path():
    from dprivbench_inspect.dataset import load_questions

    for category in (1, 2):
        for question in load_questions(category).questions:
            for text in (question.question, question.explanation or ""):
                assert not KEY.search(text), question.id
                assert not PLACE.search(text), question.id


def test_own_names_are_those_of_user_machine_and_paths(monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "gertrud")
    monkeypatch.setattr(socket, "gethostname", lambda: "lab-7.example.org")
    found = own_names(["File /home/otto/run.py, line 3", "D:\\\\Users\\\\ida\\\\x", "/home/user/x"])
    assert {"gertrud", "lab-7.example.org", "lab-7", "otto", "ida"} <= found
    assert "user" not in found
    assert Private(found, frozenset()).found("told by Gertrud") is not None
    assert Private(found, frozenset()).found("GertrudS") is None


def test_a_user_named_like_a_field_is_looked_for_in_paths_only(monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "model")
    private = Private(own_names([]), frozenset())
    assert private.found("the model") is None
    assert private.found("/home/model/x") is not None


@pytest.mark.parametrize(
    ("canary", "fragment"),
    [("771eb213c6fc3532a34d29947f5034cb7bd49befa3614625a96518308c71ba77", 15), ("a b" * 40, 31)],
)
def test_every_fragment_of_a_canary_holds_a_piece(canary, fragment):
    private = Private(frozenset(), canary_pieces(canary))
    for start in range(len(canary) - fragment + 1):
        assert private.found(f"… {canary[start : start + fragment].upper()} …") is not None


def test_a_leak_is_told_with_its_place_and_not_with_its_text():
    value = {"header": {"error": [{"message": "Ann fell ill"}]}}
    [leak] = leaks(value, NOBODY, public_texts=False)
    assert leak.place == "header.error.message"
    assert "Ann" not in leak.why


def test_names_of_keys_and_json_within_texts_are_read_too():
    assert list(leaks({"Ann": 1}, NOBODY, public_texts=False))
    assert list(leaks({"trial": '{"labels": ["Ann"]}'}, NOBODY, public_texts=False))
    assert not list(leaks({"trial": '{"labels": ["objective"]}'}, NOBODY, public_texts=False))


def test_public_texts_may_stand_in_their_places_only():
    question = "Let Zoe publish a sum."
    assert not list(leaks({"input": question}, NOBODY, public_texts=True))
    assert list(leaks({"input": question}, NOBODY, public_texts=False))
    assert list(leaks({"metadata": {"notes": question}}, NOBODY, public_texts=True))
    assert list(leaks({"input": "see /home/zoe/x"}, NOBODY, public_texts=True))
