"""Theorem records: linked, correct where a number can be checked, and no question's text."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy import integrate, stats

from dprivbench_inspect.dataset import load_questions
from dprivbench_inspect.questions import DO_NOT_TRAIN, TOPICS, Question
from dprivbench_inspect.theorems import (
    OFFICIAL_HARD_IDS,
    THEOREMS,
    Theorem,
    find_release_theorems,
    hard_questions,
    read_release_theorems,
    read_theorems,
)

LIBRARY = read_theorems()
QUESTIONS = {q.id: q for q in load_questions(2).questions}
each_theorem = pytest.mark.parametrize("theorem", LIBRARY.theorems.values(), ids=lambda t: t.id)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+|\d+", text.lower())


def runs_of(text: str, n: int) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[i : i + n]) for i in range(len(found) - n + 1)}


def test_the_file_begins_with_the_notice() -> None:
    assert yaml.safe_load(THEOREMS.read_text(encoding="utf-8"))["do_not_train"] == DO_NOT_TRAIN


def test_every_question_is_linked_and_siblings_rest_on_the_same() -> None:
    for question in QUESTIONS.values():
        link = LIBRARY.link(question)
        assert link is not None
        assert link.claim == (question.sibling or question.id)
    assert set(LIBRARY.links) == {q.id for q in QUESTIONS.values() if q.label == "yes"}


def test_a_work_is_cited_with_the_same_authors_and_year_everywhere() -> None:
    cited: dict[str, set[tuple[str, int]]] = {}
    for record in (*LIBRARY.theorems.values(), *QUESTIONS.values()):
        assert record.reference is not None
        about = record.reference.authors, record.reference.year
        cited.setdefault(record.reference.link, set()).add(about)
    assert {link: found for link, found in cited.items() if len(found) > 1} == {}


def test_every_topic_rests_on_two_records_and_every_record_serves_a_question() -> None:
    used = {
        topic: {
            name
            for link in LIBRARY.links.values()
            if QUESTIONS[link.claim].topic == topic
            for name in link.theorems
        }
        for topic in TOPICS
    }
    assert all(len(names) >= 2 for names in used.values())
    assert set.union(*used.values()) == set(LIBRARY.theorems)
    assert len(LIBRARY.theorems) >= 50
    assert sum(t.kind == "definition" for t in LIBRARY.theorems.values()) >= 5


def test_a_related_claim_is_true_and_of_another_family() -> None:
    for link in LIBRARY.links.values():
        assert link.related is not None
        assert QUESTIONS[link.related].label == "yes"
        assert link.related != link.claim


@each_theorem
def test_a_statement_is_well_formed_and_cited(theorem: Theorem) -> None:
    text = theorem.statement
    formulas = re.findall(r"\$\$(.*?)\$\$|\$(.*?)\$", text, flags=re.DOTALL)
    for formula in ("".join(pair) for pair in formulas):
        plain = re.sub(r"\\[{}]", "", formula)
        assert plain.count("{") == plain.count("}"), formula
        assert plain.count(r"\left") == plain.count(r"\right"), formula
    assert text.count("$") % 2 == 0
    reference = theorem.reference
    assert reference is not None
    assert re.match(r"(arXiv:\d{4}\.\d{4,5}|doi:10\.|https://)", reference.link)


@each_theorem
def test_a_statement_is_no_questions_text(theorem: Theorem) -> None:
    own = runs_of(theorem.statement, 20)
    assert not [q.id for q in QUESTIONS.values() if own & runs_of(q.question, 20)]
    assert not re.search(r"\b(claim|true|false|label)\b", theorem.statement)


def test_statements_share_no_long_sequence_with_the_releases(shared: Path) -> None:
    track = json.loads((shared / "upstream" / "hard_track.json").read_text(encoding="utf-8"))
    theirs = {n for text in track["theorem_text_samples"].values() for n in runs_of(text, 12)}
    assert theirs
    assert not [t.id for t in LIBRARY.theorems.values() if runs_of(t.statement, 12) & theirs]


def test_our_hard_questions_follow_the_rule() -> None:
    hard = hard_questions(list(QUESTIONS.values()), LIBRARY)
    assert len(hard) == 39
    assert sum(q.label == "yes" for q in hard) == 14
    # Below 0.8 in the paper's Table 10.
    below = {"dp_sgd", "parallel_composition", "hyperparameter_tuning", "ptr", "pate"}
    assert {q.topic for q in hard} == below | {"output_perturbation", "smooth_sensitivity"}
    ids = {q.id for q in hard}
    families = {q.sibling or q.id for q in hard}
    assert ids == {q.id for q in QUESTIONS.values() if (q.sibling or q.id) in families}
    assert "parallel_composition-01" not in ids  # general theorems only


def test_the_official_hard_ids_are_the_releases(shared: Path) -> None:
    track = json.loads((shared / "upstream" / "hard_track.json").read_text(encoding="utf-8"))
    assert tuple(f"cate_2-{n}" for n in track["hard_question_ids"]) == OFFICIAL_HARD_IDS


def test_theorems_in_the_releases_layout_are_read(release: Path) -> None:
    assert find_release_theorems(release) == release / "difficult_question"
    assert find_release_theorems(release / "data") == release / "difficult_question"
    assert find_release_theorems(release / "difficult_question") is not None
    assert find_release_theorems(release / "data" / "category_2") is None
    library = read_release_theorems(release / "difficult_question")
    assert list(library.theorems) == ["theorem-1", "definition-2", "theorem-3"]
    assert library.links["cate_2-124"].theorems == ("theorem-1", "definition-2")
    assert (
        library.theorems["theorem-3"].statement == r"Noise of scale $\Delta/\varepsilon$ suffices."
    )


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("theorem/3.tex", None, r"3\.tex is missing"),
        ("meta_info_theorem.json", None, r"meta_info_theorem\.json is missing"),
        ("question_theorem_link.json", "{", r"link\.json"),
        ("question_theorem_link.json", "{}", "expected a list, got dict"),
        ("question_theorem_link.json", '[{"question_id": 1}]', "not in the release's form"),
        (
            "question_theorem_link.json",
            '[{"question_id": 1, "theorem_id": "9"}]',
            r"cate_2-1 rests on \['theorem-9'\]",
        ),
    ],
)
def test_a_broken_release_folder_is_refused(
    file: str, text: str | None, message: str, release: Path
) -> None:
    folder = release / "difficult_question"
    (folder / file).unlink()
    if text is not None:
        (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        read_release_theorems(folder)


def test_a_broken_file_of_ours_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("theorems: []\nlinks: [{claim: a, theorems: [zcdp]}]", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a rests on \['zcdp'\]"):
        read_theorems(file)
    file.write_text("links: []", encoding="utf-8")
    with pytest.raises(ValueError, match=r"t\.yaml: 'theorems'"):
        read_theorems(file)


# Formulas of the records, typed again and checked against something slower.


def test_unequal_scales() -> None:
    a, s, b, t, alpha = 0.3, 1.2, -0.4, 0.9, 1.8
    v = alpha * t**2 + (1 - alpha) * s**2
    stated = math.log(t / s) + math.log(t**2 / v) / (2 * (alpha - 1)) + alpha * (a - b) ** 2 / 2 / v
    p, q = stats.norm(a, s), stats.norm(b, t)
    value, _ = integrate.quad(
        lambda y: math.exp(alpha * p.logpdf(y) + (1 - alpha) * q.logpdf(y)), -40, 40, limit=400
    )
    assert stated == pytest.approx(math.log(value) / (alpha - 1), abs=1e-8)
    infinite = s**2 / (s**2 - t**2)
    assert infinite * t**2 + (1 - infinite) * s**2 == pytest.approx(0)


def test_symmetric_noise_distance() -> None:
    shift = 1.4
    for law in (stats.laplace(0, 2), stats.norm(0, 0.7), stats.cauchy()):
        distance = integrate.quad(
            lambda y, law=law: abs(law.pdf(y) - law.pdf(y - shift)) / 2,
            -np.inf,
            np.inf,
            limit=400,
        )[0]
        stated = law.cdf(shift / 2) - law.cdf(-shift / 2)
        assert stated == pytest.approx(distance, abs=1e-6)
    a, odd = math.exp(-0.6), 3
    z = np.arange(-400, 401)
    p = (1 - a) / (1 + a) * a ** np.abs(z)
    moved = (1 - a) / (1 + a) * a ** np.abs(z - odd)
    assert p[np.abs(z) <= 1].sum() == pytest.approx(np.abs(p - moved).sum() / 2)
    assert (1 - a) / (1 + a) == pytest.approx(math.tanh(0.3))  # shift 1 attains tanh(ε/2)


def test_renyi_to_dp_is_attained_by_two_points() -> None:
    alpha, r, epsilon = 3.0, 0.5, 1.5
    log_delta = alpha * math.log(1 - 1 / alpha) - math.log(alpha - 1) - (alpha - 1) * (epsilon - r)
    p = np.linspace(1e-6, 1, 200_001)
    q = p ** (alpha / (alpha - 1)) * math.exp(-r)  # p^α q^(1-α) = e^((α-1)r)
    assert (p - math.exp(epsilon) * q).max() == pytest.approx(math.exp(log_delta), rel=1e-6)


def test_determinants_and_sorting_on_random_inputs() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        d, r, a, c = 4, int(rng.integers(1, 4)), 0.5, 2.0
        base = np.cov(rng.normal(size=(d, 9))) + a * np.eye(d)

        def low_rank(d: int = d, r: int = r, c: float = c) -> np.ndarray:
            frame, _ = np.linalg.qr(rng.normal(size=(d, r)))
            return frame @ np.diag(rng.uniform(0, c, r)) @ frame.T

        ratio = np.linalg.det(base + low_rank()) / np.linalg.det(base + low_rank())
        assert ratio <= (1 + c / a) ** r
        v, w = rng.normal(size=(2, 6))
        for p in (1, 2, 5):
            sorted_apart = np.linalg.norm(np.sort(v) - np.sort(w), p)
            assert sorted_apart <= np.linalg.norm(v - w, p) + 1e-12


def test_best_of_runs_and_the_truncated_negative_binomial() -> None:
    # Geometric K (η = 1): at most 3ε, and more than 2.9ε for small γ; logarithmic K: at most 2ε.
    epsilon, gamma = 0.4, 1e-4
    low = np.geomspace(1e-7, 0.5, 4000)
    laws = {
        3.0: lambda x: gamma * x / (1 - (1 - gamma) * x),
        2.0: lambda x: np.log1p(-(1 - gamma) * x) / math.log(gamma),
    }
    for multiple, f in laws.items():
        # The best of three outcomes has probabilities 1 - y; the middle one carries little.
        top, top_other = low, np.minimum(low * math.exp(epsilon), 1)
        mass, other = low * 1e-3, low * 1e-3 * math.exp(-epsilon)
        here = f(1 - top) - f(1 - top - mass)
        there = f(1 - top_other) - f(1 - top_other - other)
        loss = np.log(here / there).max()
        assert loss <= multiple * epsilon + 1e-6
        assert loss > (multiple - 0.1) * epsilon


def test_the_distance_test_and_the_threshold_for_occupied_bins() -> None:
    epsilon, delta = 0.7, 0.01
    law = stats.laplace(0, 1 / epsilon)
    for j in range(3):
        passes = law.sf(math.log(1 / delta) / epsilon - j)
        assert passes == pytest.approx(delta / 2 * math.exp(j * epsilon))
    assert law.sf(math.log(1 / (2 * delta)) / epsilon) == pytest.approx(delta)


def test_a_question_from_elsewhere_has_no_link() -> None:
    mine = Question(
        id="mine-1", category=2, question="$M$?", label="no", topic="pate", subject="DP-ML"
    )
    assert LIBRARY.link(mine) is None
    assert hard_questions([mine], LIBRARY) == []
