import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dprivbench_inspect.boxes import SYNONYMS, boxed_answer


def verdict_of(text, **options):
    return boxed_answer(text, **options).verdict


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
    # A box around an answer is that answer, and stands where the inner one does.
    answers = [a for a in answers if not any(a[0] < b[0] and b[1] < a[1] for b in answers)]
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
@example("\\boxed{\\boxed{yes}\n}\\boxed{\\text{No}}")
@example("\\boxed{yes}\\boxed{\n}\\boxed{no}")
def test_agrees_with_a_slow_reader_of_the_rules(text):
    assert verdict_of(text) == slow_verdict(text)


@pytest.mark.parametrize("piece", ["{", "}", "\\boxed{", "<think>", "\\", "{}", "\u0301", "\ud800"])
def test_depth_and_length_do_not_matter(piece):
    assert verdict_of(piece * 100_000) is None
    assert verdict_of("\\boxed{yes}\n" + "\\boxed{" * 100_000) == "yes"


def test_every_character_that_reads_as_a_letter_counts_as_it():
    for number in [*range(0xD800), *range(0xE000, 0x20000)]:
        character = chr(number)
        plain = unicodedata.normalize("NFKC", character).casefold()
        if plain in set("yeson"):
            for word in ("yes", "no"):
                if plain in word:
                    written = word.replace(plain, character)
                    assert verdict_of(f"\\boxed{{{written}}}") == word, hex(number)


def test_common_punctuation_may_stand_around_and_nothing_else_may():
    for number in [*range(0x20, 0x590), *range(0x2000, 0x2070), *range(0x3000, 0x3020)]:
        character = chr(number)
        if character in "{}":
            continue
        read = verdict_of(f"\\boxed{{yes{character}}}")
        kind = unicodedata.category(character)
        if kind[0] in "PZ" or kind == "Cf" or character in "$`~´":
            assert read == ("yes" if character != "\\" else None), hex(number)
        elif kind[0] in "LN":
            assert read is None, hex(number)


def test_synonyms_are_words_as_they_are_compared():
    assert all(unicodedata.normalize("NFKC", word).casefold() == word for word in SYNONYMS)
    assert verdict_of("\\boxed{\\text{FALSE}.}", synonyms=True) == "no"


def test_what_stands_in_the_way_is_told():
    assert boxed_answer("\\boxed{yes} \\boxed{no}") == (None, True, False)
    assert boxed_answer("\\boxed{yes}\n\\boxed{no") == ("yes", False, True)
    assert boxed_answer("\\boxed{\\{}") == (None, False, False)
