"""The public release's records, with all their quirks; made-up texts in the release's shape."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from dprivbench_inspect.questions import TOPICS
from dprivbench_inspect.release import (
    MECHANISM_PARTS,
    Part,
    is_release_file,
    read_release,
    release_differences,
    release_questions,
)

MACROS = "\\BlankLine\n\\SetKwInOut{Input}{In}\n\\KwRet{$\\theta$}\\;\n\\\\\n\\\\"


def category_1_record(number: int, **changes: Any) -> dict[str, Any]:
    function = (number + 1) // 2
    return {
        "question": f"Is $f_{{{function}}}$ with this noise private?",
        "label": number % 2,
        "function_id": function,
        "function": f"f_{{{function}}}",
        "function_sens": "1",
        "question_id": number,
    } | changes


def category_2_record(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "question_id": number,
        "question_tex": f"Does algorithm {number} satisfy $\\rho$-zCDP?",
        "label": 1,
        "citation": None,
        "negative_mode": None,
        "pdf_link": None,
        "publish_year": None,
        "related_question": None,
        "section_number": None,
        "subject": "DP-ML",
        "topic": "dp-sgd",
        "comments": "The answer is given away here.",
    } | changes


def write_release(folder: Path) -> Path:
    """A folder in the release's layout with as many questions, yes and no, as the release has."""
    (folder / "category_1").mkdir(parents=True)
    (folder / "category_2").mkdir()
    for part in MECHANISM_PARTS.values():
        records = [category_1_record(number) for number in range(1, 99)]
        file = folder / "category_1" / f"cate_1_{part}.json"
        file.write_text(json.dumps(records), encoding="utf-8")
    numbers = iter([*range(1, 54), *range(66, 138)])  # 54 to 65 do not exist
    records = [
        category_2_record(
            next(numbers), label=label, topic=topic.release_name, subject=topic.subject
        )
        for topic in TOPICS.values()
        for label in [1] * topic.official_yes + [0] * topic.official_no
    ]
    (folder / "category_2" / "cate_2.json").write_text(json.dumps(records), encoding="utf-8")
    return folder


def test_a_complete_release_has_713_questions_and_no_differences(tmp_path: Path) -> None:
    folder = write_release(tmp_path)
    first, second = read_release(folder, 1), read_release(folder, 2)
    assert (len(first), len(second)) == (588, 125)
    assert release_differences(first, 1) == release_differences(second, 2) == []
    assert len({q.id for q in [*first, *second]}) == 713
    assert {"laplace-1", "permute_flip-98"} <= {q.id for q in first}
    assert {"cate_2-1", "cate_2-137"} <= {q.id for q in second}


def test_changed_counts_and_labels_are_named(tmp_path: Path) -> None:
    folder = write_release(tmp_path)
    questions = read_release(folder, 1)
    turned = [q.model_copy(update={"label": "no"}) if q.id == "laplace-1" else q for q in questions]
    assert release_differences(turned, 1) == [
        "mechanism laplace: 50 questions with label no, the release has 49",
        "mechanism laplace: 48 questions with label yes, the release has 49",
        "laplace-1: label no of function 1, where the release numbers function k's true claim "
        "2k-1 and its false one 2k",
    ]
    assert release_differences(read_release(folder, 2)[1:], 2) == [
        "topic accounting: 4 questions with label yes, the release has 5"
    ]


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        ({"label": 1.0}, "label", "yes"),
        ({"publish_year": "2014; 2019"}, "publish_year", "2014; 2019"),
        ({"citation": "1206; 736"}, "citation", "1206; 736"),
        ({"citation": math.nan}, "citation", None),
        ({"negative_mode": math.nan}, "perturbation", "none"),
        ({"negative_mode": "atom"}, "perturbation", "none"),
        ({"negative_mode": "assumption_perturbation"}, "perturbation", "assumption"),
        (
            {"negative_mode": "assumption_perturbation; algorithm_perturbation"},
            "perturbation",
            None,
        ),
        ({"negative_mode": "natural_error", "label": 0}, "error_pattern", "literature_error"),
        ({"pdf_link": "https://a.org/1.pdf; https://b.org/2"}, "pdf_links", 2),
        (
            {"pdf_link": "https://a.org/1?casa_token=rnZ:mkv"},
            "pdf_links",
            ["https://a.org/1"],
        ),
        ({"question_tex": MACROS}, "question", MACROS),
        ({"question_tex": "The algorithm below is private."}, "question", None),
        ({"related_question": 92.0}, "sibling", None),
    ],
)
def test_a_quirk_survives(changes: dict[str, Any], field: str, expected: object) -> None:
    record = category_2_record(45, **changes)
    (question,) = release_questions([Part(None, [record], "cate_2.json")])
    assert question.question == record["question_tex"]
    kept = question.release or {}
    found = kept[field] if field in kept else getattr(question, field)
    if field == "pdf_links" and isinstance(expected, int):
        assert len(found) == expected
    elif field != "question":
        assert found == expected


def test_a_sibling_shares_the_topic_so_numbers_of_an_older_numbering_are_left_out() -> None:
    records = [
        category_2_record(45, related_question=92.0),
        category_2_record(47, related_question=45.0),  # the Hub turns every number to a float
        category_2_record(48, related_question=48),
        category_2_record(92, topic="SVT"),
    ]
    questions = release_questions([Part(None, records, "cate_2.json")])
    assert [q.sibling for q in questions] == [None, "cate_2-45", None, None]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (category_2_record(2, label=2), "record 2: label: .*got 2"),
        (category_2_record(2, label=None), "record 2: label"),
        (category_2_record(2, question_tex=None), "record 2: question: .*got None"),
        (category_2_record(2, question_tex=""), "record 2: question"),
        (category_2_record(2, question_id=None), "record 2: question_id must be a whole number"),
        (category_2_record(2, question_id="two"), "record 2: question_id .*'two'"),
        (category_2_record(2, question_id=True), "record 2: question_id .*True"),
        (category_2_record(2, topic=["SVT"]), r"record 2: topic \['SVT'\] is not one of"),
        (category_2_record(1), "record 2: id 'cate_2-1' stands in record 1 already"),
        (category_2_record(2, topic="dp-sdg"), "record 2: topic 'dp-sdg' is not one of"),
        (category_2_record(2, subject=None), "record 2: .*subject"),
        ("a text", "record 2: expected a mapping, got 'a text'"),
        (category_2_record(2, question_tex="Is $\beta$-DP met?"), "record 2: .*backslash"),
    ],
)
def test_a_broken_record_is_refused_with_file_and_number(record: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"cate_2.json, {message}"):
        release_questions([Part(None, [category_2_record(1), record], "cate_2.json")])


def test_a_file_of_the_other_category_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    folder = write_release(tmp_path)
    with pytest.raises(ValueError, match="not a file of category 1"):
        read_release(folder / "category_2" / "cate_2.json", 1)
    with pytest.raises(ValueError, match="not a file of category 2"):
        read_release(folder / "category_1" / "cate_1_PF_pureDP.json", 2)
    (folder / "category_1" / "cate_1_PF_pureDP.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"cate_1_PF_pureDP\.json is missing"):
        read_release(folder, 1)


def test_nan_in_json_is_read_as_nothing(tmp_path: Path) -> None:
    file = tmp_path / "cate_2.json"
    text = json.dumps([category_2_record(1, publish_year=math.nan)])
    assert "NaN" in text
    file.write_text(text, encoding="utf-8")
    assert is_release_file(file)
    (question,) = read_release(file, 2)
    assert (question.release or {})["publish_year"] is None


def test_every_record_of_the_reference_samples_is_read(shared: Path) -> None:
    for name, part in MECHANISM_PARTS.items():
        file = shared / "upstream" / f"sample_cat1_{part}.json"
        questions = read_release(file, 1)
        assert [q.id for q in questions] == [f"{name}-{number}" for number in (1, 2, 3, 4)]
        assert [q.label for q in questions] == ["yes", "no", "yes", "no"]
        assert [q.sibling for q in questions] == [None, f"{name}-1", None, f"{name}-3"]
    questions = read_release(shared / "upstream" / "sample_cat2.json", 2)
    raw = json.loads((shared / "upstream" / "sample_cat2.json").read_text(encoding="utf-8"))
    assert [q.question for q in questions] == [record["question_tex"] for record in raw]
    assert {q.id: q.sibling for q in questions if q.sibling} == {
        "cate_2-2": "cate_2-1",
        "cate_2-74": "cate_2-72",
    }


def test_the_facts_of_all_125_official_questions_agree_with_the_known_counts(shared: Path) -> None:
    index = json.loads((shared / "upstream" / "cat2_index.json").read_text(encoding="utf-8"))
    questions = release_questions([Part(None, [r | {"question_tex": "?"} for r in index], "index")])
    assert release_differences(questions, 2) == []
    assert not any("casa_token" in str(q.release) for q in questions)
    # Every whole number points to a claim of the same topic, every other one is a stale float.
    assert {q.id: q.sibling for q in questions if q.sibling} == {
        f"cate_2-{r['question_id']}": f"cate_2-{r['related_question']}"
        for r in index
        if isinstance(r["related_question"], int) and r["related_question"] != r["question_id"]
    }


@pytest.mark.parametrize("name", ["function_bank.json", "cat2_index.json", "hard_track.json"])
def test_files_without_questions_are_refused(shared: Path, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        read_release(shared / "upstream" / name, 2)
