"""What a data file may say, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from dprivbench_inspect.questions import (
    DO_NOT_TRAIN,
    SUBJECTS,
    TOPICS,
    parse_questions,
    questions_hash,
    read_questions,
)


def record(**changes: Any) -> dict[str, Any]:
    return {
        "id": "svt-01",
        "category": 2,
        "question": "Is this private?",
        "label": "yes",
        "topic": "svt",
    } | changes


# Labels met in public data sets; Ego3D-Bench#3 and datasets#7222 are two that mixed them.
@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("Yes", "yes"),
        ("no ", "no"),
        (" YES.", "yes"),
        (True, "yes"),
        (False, "no"),
        (1, "yes"),
        (0, "no"),
        (1.0, "yes"),
    ],
)
def test_known_spellings_of_a_label_are_read(written: object, label: str) -> None:
    (question,) = parse_questions([record(label=written)], "a.yaml")
    assert question.label == label


def test_other_labels_are_listed_with_their_record_numbers_and_never_guessed() -> None:
    labels = ["Yes", "no ", " YES.", True, False, 1, 0, "A", "maybe", None]
    records = [record(id=f"svt-{n}", label=label) for n, label in enumerate(labels)]
    with pytest.raises(ValueError, match=r"a\.yaml, record 8: label") as caught:
        parse_questions(records, "a.yaml")
    numbers = [number for number in range(1, 11) if f"record {number}:" in str(caught.value)]
    assert numbers == [8, 9, 10]


# A JSON file with single backslashes: PutnamBench#218, wrong-notebook#3.
@pytest.mark.parametrize(
    "text",
    [
        "Is $\frac{1}{2}$ private?",
        "$\beta$?",
        "noise $\theta$",
        "a $\to$ b",
        "$\rho$-zCDP",
        "\nabla",
    ],
)
def test_a_macro_whose_backslash_was_eaten_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"record 1: question: .*two backslashes"):
        parse_questions([record(question=text)], "a.json")


def test_line_breaks_and_tabs_that_are_meant_stay() -> None:
    text = "\tfor $t$ in range:\r\n\t\treturn $\\theta$\n\tend"
    (question,) = parse_questions([record(question=text)], "a.json")
    assert question.question == text


def test_the_notice_is_skipped_and_the_subject_follows_from_the_topic(tmp_path: Path) -> None:
    file = tmp_path / "svt.yaml"
    file.write_text(
        f"- do_not_train: '{DO_NOT_TRAIN}'\n"
        "- {id: svt-01, category: 2, topic: svt, label: 'no', question: 'Is it?'}\n",
        encoding="utf-8",
    )
    (question,) = read_questions(file)
    assert (question.subject, question.label) == (TOPICS["svt"].subject, "no")


def test_a_broken_line_of_jsonl_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"do_not_train": "x"}\n{"id": \n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.jsonl, line 2"):
        read_questions(file)


ONE = {"id": "a", "category": 2, "topic": "svt", "question": "Is it\u2028so?", "label": "no"}


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".yaml"])
@pytest.mark.parametrize(
    ("before", "end"), [(b"\xef\xbb\xbf", b"\n"), (b"", b"\r\n")], ids=["mark", "crlf"]
)
def test_a_file_that_windows_wrote_is_read(
    suffix: str, before: bytes, end: bytes, tmp_path: Path
) -> None:
    lines = [json.dumps(ONE | {"id": name}, ensure_ascii=False) for name in "ab"]
    text = "\n".join(lines) if suffix == ".jsonl" else f"[{lines[0]},\n{lines[1]}]"
    if suffix == ".yaml":
        text = text.replace("\u2028", "\\u2028")  # YAML ends a line there
    file = tmp_path / f"mine{suffix}"
    file.write_bytes(before + text.encode().replace(b"\n", end) + end)
    assert [q.id for q in read_questions(file)] == ["a", "b"]
    assert {q.question for q in read_questions(file)} == {ONE["question"]}


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".yaml"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe[", "is not UTF-8 .* at byte 0"),
        ("ε".encode("cp1253"), "is not UTF-8"),
        (b'[{"id": "a"', r"mine\.\w+(, line 1)?:"),
        (b"[{]}", r"mine\.\w+(, line 1)?:"),
        (b"\x00", "mine"),
        (b'"a"', "expected a (list of questions, got str|mapping, got 'a')"),
        (b'{"id": "a"}', r"expected a list|record 1: category is missing; question is missing"),
        (b"", "expected a list of questions, got nothing|Expecting value"),
    ],
)
def test_a_file_that_is_no_list_of_questions_is_refused_in_one_line(
    suffix: str, data: bytes, message: str, tmp_path: Path
) -> None:
    file = tmp_path / f"mine{suffix}"
    file.write_bytes(data)
    if suffix == ".jsonl" and not data:
        assert read_questions(file) == []
        return
    with pytest.raises(ValueError, match=message) as caught:
        read_questions(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("id,question,label\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.csv: expected a file \.jsonl, \.json or \.yaml"):
        read_questions(file)


def test_a_switch_is_no_number_and_a_foreign_field_is_named() -> None:
    with pytest.raises(ValueError, match="function_id: Input should be a number, got True"):
        parse_questions([record(function_id=True)], "mine")
    with pytest.raises(ValueError, match="record 1: id is missing; category is missing; question"):
        parse_questions([{"prompt": "x"}], "mine")
    with pytest.raises(ValueError, match="prompt is no field of a question"):
        parse_questions([record(prompt="x")], "mine")


def test_the_hash_moves_with_ids_texts_labels_and_order_only() -> None:
    a, b = parse_questions([record(), record(id="svt-02")], "a.yaml")
    assert questions_hash([a, b]) == questions_hash([
        a.model_copy(update={"explanation": "because"}),
        b,
    ])
    assert questions_hash([a, b]) != questions_hash([b, a])
    assert questions_hash([a, b]) != questions_hash([a, b.model_copy(update={"label": "no"})])
    assert questions_hash([a, b]) != questions_hash([a, b.model_copy(update={"question": "?"})])


def test_the_topics_add_up_to_the_official_counts() -> None:
    assert len(TOPICS) == 18
    yes = sum(topic.official_yes for topic in TOPICS.values())
    no = sum(topic.official_no for topic in TOPICS.values())
    assert (yes, no) == (42, 83)
    by_subject = {
        subject: sum(
            t.official_yes + t.official_no for t in TOPICS.values() if t.subject == subject
        )
        for subject in SUBJECTS
    }
    # arXiv:2604.15851: Accounting and Composition 46, DP-ML 47, DP-statistics 25, Data-Adaptive 7.
    assert sorted(by_subject.values()) == [7, 25, 46, 47]
