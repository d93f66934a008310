"""Bundled Category 2: every topic's file, its paraphrases and its certificates, as they land."""

import difflib
import functools
import json
import math
import re
from pathlib import Path

import pytest
import yaml

import dprivbench_inspect
from dprivbench_inspect.certificates import all_certificates
from dprivbench_inspect.divergences import Certificate
from dprivbench_inspect.questions import DO_NOT_TRAIN, TOPICS, Question, read_questions

DATA = Path(dprivbench_inspect.__file__).parent / "data"
FILES = sorted((DATA / "category_2").glob("*.yaml"))
PARAPHRASES = sorted((DATA / "paraphrases").glob("*.yaml"))
QUESTIONS: dict[str, Question] = {q.id: q for path in FILES for q in read_questions(path)}
TRUE_CLAIMS = [q for q in QUESTIONS.values() if q.label == "yes"]
FALSE_CLAIMS = [q for q in QUESTIONS.values() if q.label == "no"]
each_question = pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
each_file = pytest.mark.parametrize(
    "path", FILES + PARAPHRASES, ids=lambda p: f"{p.parent.name}-{p.stem}"
)
LONGEST_CHANGE = 50
each_certificate = pytest.mark.parametrize("id_", all_certificates())


@functools.cache
def certificate(id_: str) -> Certificate:
    return all_certificates()[id_]()


def tokens(text: str) -> list[str]:
    """LaTeX commands, words, numbers and single signs."""
    return re.findall(r"\\[A-Za-z]+|[A-Za-z]+|\d+|[^\sA-Za-z\d]", text)


def words(text: str) -> list[str]:
    """What two texts are compared by: lower-case words and numbers, LaTeX commands among them."""
    return re.findall(r"[a-z]+|\d+", text.lower())


@each_file
def test_file_begins_with_the_notice(path):
    first, *rest = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert first == {"do_not_train": DO_NOT_TRAIN}
    assert rest
    assert path.stem in TOPICS


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_topic_has_at_least_the_official_counts(path):
    labels = [q.label for q in read_questions(path)]
    assert labels.count("yes") >= TOPICS[path.stem].official_yes
    assert labels.count("no") >= TOPICS[path.stem].official_no


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_ids_follow_the_topic_and_count_up(path):
    ids = [q.id for q in read_questions(path)]
    assert ids == [f"{path.stem}-{number:02d}" for number in range(1, len(ids) + 1)]


@each_question
def test_every_field_is_filled(question):
    assert question.category == 2
    assert question.id.startswith(f"{question.topic}-")
    assert question.subject == TOPICS[question.topic].subject
    assert question.perturbation is not None
    assert question.explanation
    assert question.evidence
    assert question.reference is not None
    assert 1990 <= question.reference.year <= 2026
    assert re.match(
        r"(arXiv:\d{4}\.\d{4,5}|arXiv:[a-z-]+/\d{7}|doi:10\.\d{4,}/|https://)",
        question.reference.link,
    )
    if question.label == "yes":
        assert question.sibling is None
        assert question.perturbation == "none"
    else:
        assert question.error_pattern is not None
        assert question.perturbation != "none"


@each_question
def test_latex_is_balanced(question):
    text = question.question
    assert not re.search(r"[\x00-\x08\x0b-\x1f\t]", text), "a control character: \\f, \\b or \\t?"
    assert text.count("$$") % 2 == 0
    outside = re.split(r"\$\$.*?\$\$", text, flags=re.DOTALL)
    assert all(part.count("$") % 2 == 0 for part in outside)
    formulas = re.findall(r"\$\$(.*?)\$\$", text, flags=re.DOTALL)
    formulas += [f for part in outside for f in re.findall(r"\$(.*?)\$", part, flags=re.DOTALL)]
    assert formulas
    for formula in formulas:
        plain = re.sub(r"\\[{}]", "", formula)
        assert plain.count("{") == plain.count("}"), formula
        assert formula.count(r"\left") - formula.count(r"\leftarrow") == formula.count(
            r"\right"
        ) - formula.count(r"\rightarrow"), formula
        assert formula.isascii(), formula
    assert not re.search(r"\\[a-zA-Z]", re.sub(r"\$.*?\$", "", "".join(outside), flags=re.DOTALL))


@pytest.mark.parametrize("question", FALSE_CLAIMS, ids=lambda q: q.id)
def test_false_claim_comes_from_a_true_one_of_its_topic(question):
    assert question.sibling in QUESTIONS, question.sibling
    sibling = QUESTIONS[question.sibling]
    assert sibling.label == "yes"
    assert sibling.topic == question.topic


@pytest.mark.parametrize("question", FALSE_CLAIMS, ids=lambda q: q.id)
def test_false_claim_differs_from_its_sibling_in_one_place(question):
    """From the first changed token to the last it is a phrase or a formula, not more."""
    one, other = tokens(QUESTIONS[question.sibling].question), tokens(question.question)
    blocks = difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    changed = [(i, k, j, m) for tag, i, k, j, m in blocks if tag != "equal"]
    assert changed, "the same text as its sibling"
    span = max(changed[-1][1] - changed[0][0], changed[-1][3] - changed[0][2])
    assert span <= LONGEST_CHANGE, f"{span} tokens from the first change to the last"


def test_error_patterns_and_perturbations_vary():
    assert {q.perturbation for q in FALSE_CLAIMS} == {"algorithm", "assumption", "conclusion"}
    assert len({q.error_pattern for q in FALSE_CLAIMS}) >= 6


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_true_claims_have_paraphrases_and_nothing_else_has(path):
    _, *records = yaml.safe_load((DATA / "paraphrases" / path.name).read_text(encoding="utf-8"))
    assert all(set(record) == {"id", "question"} for record in records)
    true = [q.id for q in read_questions(path) if q.label == "yes"]
    assert [record["id"] for record in records] == true
    for record in records:
        original = words(QUESTIONS[record["id"]].question)
        assert not sequences(original, 12) & sequences(words(record["question"]), 12)


def sequences(of_words: list[str], length: int) -> set[tuple[str, ...]]:
    return set(zip(*(of_words[i:] for i in range(length)), strict=False))


def strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    return [text for item in value for text in strings(item)] if isinstance(value, list) else []


def test_no_long_word_sequence_stands_in_the_public_release(shared):
    official: set[tuple[str, ...]] = set()
    for path in sorted((shared / "upstream").glob("*.json")):
        for text in strings(json.loads(path.read_text(encoding="utf-8"))):
            official |= sequences(words(text), 12)
    assert official
    ours = {q.id: " ".join([q.question, q.explanation or ""]) for q in QUESTIONS.values()}
    for path in PARAPHRASES:
        for record in yaml.safe_load(path.read_text(encoding="utf-8"))[1:]:
            ours[f"paraphrase of {record['id']}"] = record["question"]
    found = {name: official & sequences(words(text), 12) for name, text in ours.items()}
    assert not {name: hits for name, hits in found.items() if hits}


def test_certificates_and_the_evidence_field_agree():
    certified = {q.id for q in QUESTIONS.values() if q.evidence == "certificate"}
    assert set(all_certificates()) == certified


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_topic_has_two_certificates_and_three_in_five(path):
    ids = [q.id for q in read_questions(path)]
    certified = [id_ for id_ in ids if QUESTIONS[id_].evidence == "certificate"]
    assert len(certified) >= 2
    assert {QUESTIONS[id_].label for id_ in certified} == {"yes", "no"}


def test_three_in_five_questions_have_a_certificate():
    assert len(all_certificates()) >= 0.6 * len(QUESTIONS)


@each_certificate
def test_certificate_recomputes_the_label(id_):
    found = certificate(id_)
    assert found.verdict == QUESTIONS[id_].label, found
    assert not math.isnan(found.measured)
    assert 0 <= found.error < math.inf
    assert found.claim < math.inf
    assert found.pair
    assert found.unit


@each_certificate
def test_certificate_is_decided_by_more_than_its_error(id_):
    """A "no" is clear of rounding, and the error does not hide a broken "yes"."""
    found = certificate(id_)
    if found.verdict == "no":
        assert found.measured - found.claim > 100 * found.error
    else:
        assert found.measured - found.error <= found.claim
        assert found.error <= 0.01 * found.claim


@pytest.mark.parametrize(
    "id_", [q.id for q in FALSE_CLAIMS if {q.id, q.sibling} <= set(all_certificates())]
)
def test_true_and_false_sibling_go_through_one_function(id_):
    programs = all_certificates()
    sibling = QUESTIONS[id_].sibling
    one, other = (getattr(programs[i], "func", programs[i]) for i in (id_, sibling))
    assert one is other
    assert {certificate(id_).verdict, certificate(sibling).verdict} == {"yes", "no"}
