import json
import pathlib
import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_ai.model import ContentReasoning, ContentText

from dprivbench_inspect.parsing import (
    paper_extraction,
    parse_judge,
    parse_verdict,
    read_reply,
    visible_text,
)

CASES = yaml.safe_load(
    pathlib.Path(__file__).with_name("cases_verdict.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_case(case):
    assert parse_verdict(case["completion"]) == case["verdict"], case["seen"]
    with_synonyms = case.get("synonyms", case["verdict"])
    assert parse_verdict(case["completion"], synonyms=True) == with_synonyms, case["seen"]


def test_public_cases(shared):
    cases = json.loads((shared / "cases" / "cases.json").read_text(encoding="utf-8"))["cases"]
    answers = [case for case in cases if case["kind"] == "a"]
    assert len(answers) == 41
    for case in answers:
        assert parse_verdict(case["input"]) == case["expected"], case["id"]
        with_synonyms = case.get("expected_if_synonyms", case["expected"])
        assert parse_verdict(case["input"], synonyms=True) == with_synonyms, case["id"]
        if named := re.search(r"reason (\w+)", case["right"]):
            assert read_reply(case["input"]).reason == named[1], case["id"]


@pytest.mark.parametrize(
    ("completion", "stop_reason", "reason"),
    [
        ("", "max_tokens", "no_response"),
        (None, None, "no_response"),
        ("<think>\\boxed{yes}", "model_length", "no_response"),
        ("It seems that", "max_tokens", "truncated"),
        ("It seems that", "model_length", "truncated"),
        ("It seems that", "stop", "invalid_format"),
        ("\\boxed{ye", "stop", "invalid_format"),
        ("\\boxed{ye", "unknown", "truncated"),
        ("\\boxed{ye", None, "truncated"),
        ("\\boxed{yes} \\boxed{no}", "max_tokens", "contradictory"),
        ("", "content_filter", "refusal"),
        ("This was stopped.", "content_filter", "refusal"),
        ("I’m unable to help with requests like this.", "stop", "refusal"),
        ("I cannot see how the noise would help here, so no.", "stop", "invalid_format"),
        ("I cannot help but notice. " + "The noise is too small. " * 40, "stop", "invalid_format"),
        ([ContentText(text="Not this.", refusal=True)], "stop", "refusal"),
    ],
)
def test_reason(completion, stop_reason, reason):
    assert read_reply(completion, stop_reason) == (None, "none", reason)


@pytest.mark.parametrize("stop_reason", ["stop", "max_tokens", "content_filter", None])
def test_a_boxed_answer_stands_however_the_reply_ended(stop_reason):
    assert read_reply("So \\boxed{no}. Furthermore", stop_reason) == ("no", "box", None)


def test_inspect_content_reads_as_plain_blocks_do():
    content = [ContentReasoning(reasoning="\\boxed{no}"), ContentText(text="\\boxed{yes}")]
    assert parse_verdict(content) == "yes"
    assert parse_verdict([block.model_dump() for block in content]) == "yes"


@pytest.mark.parametrize("completion", [7, [None, 3, {"type": "text"}, {}, []], {}, b"yes", [[]]])
def test_what_is_no_text_holds_no_verdict(completion):
    assert parse_verdict(completion) is None


def test_the_paper_takes_letters_for_answers():
    assert paper_extraction("So \\boxed{\\text{Yes}}") == "yes"
    assert paper_extraction("\\boxed{not necessarily}") == "no"
    assert paper_extraction("\\boxed{yes} or \\boxed{no}") == "no"
    assert paper_extraction("\\boxed{\\epsilon} with enough noise") == "no"
    assert paper_extraction("The noise lies before your eyes") == "yes"
    assert paper_extraction("<think>\\boxed{no}") == "no"
    assert paper_extraction("\\boxed{?}") is None
    assert paper_extraction(None) is None


@pytest.mark.parametrize(
    ("reply", "judged"),
    [
        ("The reply says it fails.\nVERDICT: no", "no"),
        ("verdict: **Yes**.\n\n", "yes"),
        ("Both.\n**VERDICT:** none", "none"),
        ("VERDICT: yes", "yes"),
        ("VERDICT: yes\nVERDICT: no", None),
        ("It ends with VERDICT: yes", None),
        ("VERDICT: no\nBut I am not sure.", None),
        ("VERDICT: yes or no", None),
        ("GRID: C", None),
        ("yes", None),
        ("", None),
        (None, None),
    ],
)
def test_a_judge_is_read_to_the_letter_or_not_at_all(reply, judged):
    assert parse_judge(reply) == judged


TAGGED = st.sampled_from(["<think>", "</think>", "<reasoning>", "</reasoning>", "a", " ", "b"])


def slow_visible(text):
    """R1 clause by clause."""
    while match := re.search(r"(?s)<(think|reasoning)>.*?</\1>", text):
        text = text[: match.start()] + text[match.end() :]
    text = re.sub(r"(?s)^.*</(think|reasoning)>", "", text)
    return "" if re.match(r"\s*<(think|reasoning)>", text) else text


@settings(max_examples=800, deadline=None)
@given(st.lists(TAGGED, max_size=10).map("".join))
def test_tags_are_removed_clause_by_clause(text):
    assert visible_text(text) == slow_visible(text)


@settings(max_examples=500, deadline=None)
@given(st.text(), st.sampled_from(["yes", "no"]))
def test_a_box_on_its_own_line_is_read_after_any_text_without_braces(text, verdict):
    before = re.sub(r"[{}<\\]", "", text)
    assert parse_verdict(f"{before}\n\n\\boxed{{\\text{{{verdict.title()}.}}}}") == verdict


BLOCKS = st.lists(
    st.one_of(
        st.none(),
        st.text(),
        st.fixed_dictionaries({
            "type": st.sampled_from(["text", "reasoning", 3]),
            "text": st.text(),
        }),
    )
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(BLOCKS, st.text(), st.binary(), st.floats(), st.none()), st.booleans())
def test_nothing_crashes(completion, synonyms):
    reading = read_reply(completion, synonyms=synonyms)
    assert (reading.verdict is None) == (reading.how == "none") == (reading.reason is not None)
    assert paper_extraction(completion) in {"yes", "no", None}
    assert parse_judge(completion) in {"yes", "no", "none", None}
