import json
import pathlib
import re
import unicodedata

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_ai.model import ContentReasoning, ContentText

from dprivbench_inspect.boxes import SYNONYMS
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


# Slow second implementation: one character at a time, one box after another, no shared code.
STYLE = ["text", "textbf", "textit", "mathrm", "mathbf", "emph", "underline", "large", "Large"]
SPACE = [",", ";", "!", ":", "quad"]


def slow_verdict(text):
    """R2 to R6 for replies without tags, color, zero-width characters and escapes of lines."""
    answers = []
    for match in re.finditer(r"\\(?:boxed|fbox)\s*\{", text):
        end = closing_brace(text, match.end())
        if end is None:
            continue
        content = unicodedata.normalize("NFKC", normal(text[match.end() : end])).casefold()
        content = content.strip(" \n\t.,:;!?*_'\"`$()[]-/\\{}")
        if content in {"yes", "no"}:
            answers.append((match.start(), end, content))
    if not answers:
        return None
    answers.sort(key=lambda answer: answer[1])
    start, _, last = answers[-1]
    line = text.rfind("\n", 0, start)
    return last if all(a == last for _, end, a in answers if end > line) else None


def closing_brace(text, position):
    depth = 1
    while position < len(text):
        if text[position] == "\\":
            position += 1  # and the character after it is no brace
        elif text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return None


def normal(content):
    out, position = "", 0
    while position < len(content):
        if content[position] == "\\":
            command = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL).match(content, position)
            if command is None:
                break
            name = command[1]
            if name in SPACE:
                out += " "
            elif name in {"{", "}"}:
                out += name
            elif name not in {*STYLE, "boxed", "fbox"}:
                out += "@"
            position = command.end()
        else:
            out += "" if content[position] in "{}" else content[position]
            position += 1
    return out


WORDS = st.sampled_from([
    *("\\boxed{", "\\fbox{", "\\boxed {", "}", "{", "\\text{", "\\textbf{", "\\large ", "\\,"),
    *("yes", "no", "Yes", "NO", "maybe", " ", "\n", ".", "**", "$", '"', "\\{", "\\}", "ｙｅｓ"),
    *("\\boxed{yes}", "\\boxed{\\text{No}}", "\\quad ", "\\alpha ", "\\boxed{}"),
])


@settings(max_examples=1500, deadline=None)
@given(st.lists(WORDS, max_size=14).map("".join))
def test_agrees_with_a_slow_reader_of_the_rules(text):
    assert parse_verdict(text) == slow_verdict(text)


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


@pytest.mark.parametrize("piece", ["{", "}", "\\boxed{", "<think>", "\\", "{}", "\u0301", "\ud800"])
def test_depth_and_length_do_not_matter(piece):
    assert parse_verdict(piece * 100_000) is None
    assert parse_verdict("\\boxed{yes}\n" + "\\boxed{" * 100_000) == "yes"


def test_every_character_that_reads_as_a_letter_counts_as_it():
    for number in [*range(0xD800), *range(0xE000, 0x20000)]:
        character = chr(number)
        plain = unicodedata.normalize("NFKC", character).casefold()
        if plain in set("yeson"):
            for word in ("yes", "no"):
                if plain in word:
                    written = word.replace(plain, character)
                    assert parse_verdict(f"\\boxed{{{written}}}") == word, hex(number)


def test_common_punctuation_may_stand_around_and_nothing_else_may():
    for number in [*range(0x20, 0x590), *range(0x2000, 0x2070), *range(0x3000, 0x3020)]:
        character = chr(number)
        if character in "{}":
            continue
        read = parse_verdict(f"\\boxed{{yes{character}}}")
        kind = unicodedata.category(character)
        if kind[0] in "PZ" or kind == "Cf" or character in "$`~´":
            assert read == ("yes" if character != "\\" else None), hex(number)
        elif kind[0] in "LN":
            assert read is None, hex(number)


def test_synonyms_are_words_as_they_are_compared():
    assert all(unicodedata.normalize("NFKC", word).casefold() == word for word in SYNONYMS)
    assert parse_verdict("\\boxed{\\text{FALSE}.}", synonyms=True) == "no"
