import json
import re
from collections import Counter
from fractions import Fraction

import pytest

from dprivbench_inspect.functions import function_bank
from dprivbench_inspect.generate import (
    CATEGORY_1,
    category_1_claims,
    category_1_text,
    generate_category_1,
    write_category_1,
)
from dprivbench_inspect.mechanisms import MECHANISMS, noise_latex
from dprivbench_inspect.questions import DO_NOT_TRAIN, read_questions

VARIANTS = [("pairs", 0), ("graded", 0), ("graded", 1)]


def test_the_bundled_file_is_what_the_generator_writes(tmp_path):
    write_category_1(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == CATEGORY_1.read_bytes()
    assert CATEGORY_1.read_bytes() == category_1_text().encode()
    assert read_questions(CATEGORY_1) == generate_category_1()
    first = CATEGORY_1.read_text(encoding="utf-8").splitlines()[0]
    assert json.loads(first) == {"do_not_train": DO_NOT_TRAIN}


@pytest.mark.parametrize(("variant", "seed"), VARIANTS)
def test_each_mechanism_asks_of_each_function_one_true_and_one_false_claim(variant, seed):
    questions = generate_category_1(variant, seed)
    assert len({q.id for q in questions}) == len(questions) == 588
    counts = Counter((q.mechanism, q.function_id, q.label) for q in questions)
    assert set(counts.values()) == {1}
    assert [q.id for q in questions] == [f"{m}-{k}" for m in MECHANISMS for k in range(1, 99)]
    for q in questions:
        number = int(q.id.rsplit("-", 1)[1])
        assert q.label == ("yes" if number % 2 else "no")
        assert q.function_id == (number + 1) // 2
        assert q.sibling == (None if number % 2 else f"{q.mechanism}-{number - 1}")


@pytest.mark.parametrize(("variant", "seed"), VARIANTS)
def test_a_true_and_a_false_claim_differ_in_the_size_of_the_noise_only(variant, seed):
    texts = {}
    questions = {q.id: q.question for q in generate_category_1(variant, seed)}
    for claim in category_1_claims(variant, seed):
        noise = f"${noise_latex(claim.mechanism, claim.function, claim.amount)}$"
        text = questions[claim.id]
        quantity = claim.mechanism.quantity
        assert text.count(f"{quantity} {noise}") == 1
        key = (claim.mechanism.name, claim.function.id)
        texts.setdefault(key, set()).add(text.replace(f"{quantity} {noise}", "NOISE"))
    assert {len(different) for different in texts.values()} == {1}


def test_pairs_have_the_needed_noise_or_half_of_it():
    for q in generate_category_1("pairs"):
        half = 0.5**0.5 if q.mechanism.startswith("gaussian") else 0.5  # half the variance
        assert q.factor == pytest.approx(1 if q.label == "yes" else half, rel=1e-15)


def test_graded_factors_stay_in_their_ranges_and_follow_the_seed():
    questions = generate_category_1("graded", 0)
    assert questions == generate_category_1("graded", 0)
    for q in questions:
        assert (1 <= q.factor <= 2.5) if q.label == "yes" else (0.4 <= q.factor <= 0.9)
    for label in ("yes", "no"):
        factors = Counter(q.factor for q in questions if q.label == label)
        assert len(factors) >= 15
        assert max(factors.values()) < 0.15 * 294
    other = generate_category_1("graded", 1)
    assert sum(a.factor != b.factor for a, b in zip(questions, other, strict=True)) > 500
    assert any(q.factor == 1 for q in questions)  # exactly enough is enough


def test_an_unknown_variant_is_refused():
    with pytest.raises(ValueError, match="variant must be 'pairs' or 'graded', got 'hard'"):
        generate_category_1("hard")  # type: ignore[arg-type]


@pytest.mark.parametrize(("variant", "seed"), VARIANTS)
def test_texts_are_complete_and_say_what_the_label_rests_on(variant, seed):
    for q in generate_category_1(variant, seed):
        selects = not q.mechanism.startswith(("laplace-", "gaussian")) and q.mechanism != "laplace"
        assert q.question.count(r"for every $n \ge 3$") == 2
        assert q.question.count(r"every $d \ge 3$") == (2 if selects else 0)
        assert q.question.endswith("?")
        assert q.question.count("?") == 1
        assert not re.search(r"<[a-z]+>|cdot 1|2 ?\\cdot|\\argmax", q.question)
        assert q.question.count("{") == q.question.count("}")
        assert q.question.count("$") % 2 == 0
        conventions = function_bank()[q.function_id].conventions
        assert conventions is None or conventions in q.question


# Each of these sensitivities depends on something the text must fix.
FIXED = {
    10: "for every such $m$",
    21: r"$\lceil n/2 \rceil$-th smallest",
    22: r"$\lceil 3n/4 \rceil$-th smallest",
    24: "$0 < a < b < 1$",
    32: r"$0 \le \tau < 1$",
    34: "remainder, 0 or 1",
    36: "$x_{n+1}$ means $x_1$",
    44: "fixed public permutation",
    45: "fixed public index",
    48: "$a > 1$ is a public constant",
}


@pytest.mark.parametrize("number", FIXED)
def test_parameters_and_conventions_are_fixed(number):
    texts = [q.question for q in generate_category_1() if q.function_id == number]
    assert len(texts) == 12
    assert all(FIXED[number] in text for text in texts)


def test_no_letter_of_a_function_is_also_a_privacy_parameter():
    for f in function_bank().values():
        assert not re.search(r"\\(mu|rho|varepsilon|delta)\b", f.latex + (f.conventions or ""))


def test_no_run_of_seven_words_stands_in_the_public_release_too(shared):
    def runs(texts):
        for text in texts:
            # Words outside formulas; a formula breaks the run.
            for prose in re.split(r"\$+[^$]*\$+|[.,;:?()]", text):
                words = re.findall(r"[a-z]+", prose.lower())
                yield from (tuple(words[i : i + 7]) for i in range(len(words) - 6))

    theirs = [
        record["question"]
        for path in (shared / "upstream").glob("sample_cat1_*.json")
        for record in json.loads(path.read_text(encoding="utf-8"))
    ]
    assert theirs
    assert not set(runs(theirs)) & set(runs(q.question for q in generate_category_1()))


def test_the_amount_and_not_the_label_decides():
    for claim in category_1_claims("graded", 3):
        assert (claim.label == "yes") == (claim.amount >= 1)
        assert claim._replace(amount=Fraction(999, 1000)).label == "no"
