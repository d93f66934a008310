"""The audit of the official labels: its records, its counterexamples, and both sets of numbers."""

import itertools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inspect_ai import eval, score
from inspect_ai.log import EvalLog
from scipy import integrate, stats

from dprivbench_inspect.certificates import label_audit as programs
from dprivbench_inspect.certificates import label_audit_readings as readings
from dprivbench_inspect.certificates import label_audit_right as right
from dprivbench_inspect.dataset import question_to_sample
from dprivbench_inspect.intervals import Share
from dprivbench_inspect.label_audit import (
    LABEL_AUDIT,
    Audit,
    audit_of,
    read_label_audit,
    with_audited_labels,
)
from dprivbench_inspect.metrics import Outcome
from dprivbench_inspect.questions import DO_NOT_TRAIN, Question
from dprivbench_inspect.report import make_report, report
from dprivbench_inspect.scorers import verdict
from dprivbench_inspect.summaries import accuracy_summary, audited_summary
from dprivbench_inspect.tasks import dprivbench_cat1, dprivbench_cat2
from tests.dprivbench_inspect.test_end_to_end import numbers

AUDIT = read_label_audit()


def ids(text: str) -> set[str]:
    return {f"cate_2-{number}" for number in text.split()}


FALSE = ids("28 74 76 113 127 129")
READING = ids("6 23 39 46 47 48 49 50 51 53 73 87 91 92 99 100 101 102 103 108 111 125 131")
ILL_POSED = ids("14 71 80 105")
NO_QUESTION = ids("66 67 68 69 70")
COMMENT_WRONG = ids("7 9 15 27 30 37 42 44 67 68 69 86 94 96 97 98 99 116 121")


# --- the records ---


def test_every_question_known_to_be_at_fault_stands_under_its_fault():
    by_verdict = {
        verdict: {id for id, record in AUDIT.items() if record.verdict == verdict}
        for verdict in ("reading_dependent", "ill_posed", "no_question")
    }
    assert by_verdict["reading_dependent"] == READING
    assert by_verdict["ill_posed"] == ILL_POSED
    assert by_verdict["no_question"] == NO_QUESTION
    flipped = {id for id, r in AUDIT.items() if {r.verdict, r.upstream_label} == {"yes", "no"}}
    assert flipped == FALSE
    assert {id for id, record in AUDIT.items() if record.comment_wrong} >= COMMENT_WRONG


def test_the_file_tells_training_sets_and_names_only_programs_that_exist():
    assert DO_NOT_TRAIN in LABEL_AUDIT.read_text(encoding="utf-8")
    named = {evidence.name for record in AUDIT.values() for evidence in record.certificates}
    assert named == set(programs.CERTIFICATES)


def test_upstream_labels_are_those_of_the_release(shared: Path):
    index = json.loads((shared / "upstream" / "cat2_index.json").read_text(encoding="utf-8"))
    labels = {f"cate_2-{q['question_id']}": "yes" if q["label"] else "no" for q in index}
    assert {id: record.upstream_label for id, record in AUDIT.items()}.items() <= labels.items()
    kept = {id: AUDIT[id].verdict if id in AUDIT else label for id, label in labels.items()}
    counts = [list(kept.values()).count(label) for label in ("yes", "no")]
    assert (counts, len(labels) - sum(counts)) == ([22, 71], 32)


def test_no_sentence_comes_from_the_release(shared: Path):
    records = json.loads((shared / "upstream" / "sample_cat2.json").read_text(encoding="utf-8"))
    theirs = {
        sequence
        for record in records
        for text in (record["question_tex"], record["comments"])
        for sequence in _sequences(text, 8)
    }
    assert theirs
    for record in AUDIT.values():
        assert not theirs.intersection(_sequences(record.argument, 8)), record.id


def _sequences(text: str, length: int) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + length]) for i in range(len(words) - length + 1)}


GOOD = {"id": "cate_2-28", "upstream_label": "yes", "verdict": "ill_posed", "argument": "So."}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "maybe"}, "verdict.*got 'maybe'"),
        ({"id": "28"}, "id: .*got '28'"),
        ({"verdict": "no"}, "called false without a certificate"),
        ({"verdict": "yes"}, "needs a wrong comment or a certificate"),
        (
            {"verdict": "no", "certificates": [{"name": "cate_2-28", "shows": "yes"}]},
            r"\['cate_2-28'\] do not show the verdict 'no'",
        ),
        ({"reason": "So."}, "reason: Extra inputs"),
    ],
)
def test_a_broken_record_is_refused_with_file_and_number(
    change: dict[str, Any], message: str, tmp_path: Path
):
    file = tmp_path / "audit.yaml"
    file.write_text(json.dumps([{"do_not_train": "x"}, GOOD | change]), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"audit\.yaml, record 2: .*{message}"):
        read_label_audit(file)


def test_a_record_twice_and_a_file_that_is_no_list_are_refused(tmp_path: Path):
    file = tmp_path / "audit.yaml"
    file.write_text(json.dumps([GOOD, GOOD]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"record 2: id 'cate_2-28' stands there already"):
        read_label_audit(file)
    file.write_text("id: cate_2-28", encoding="utf-8")
    with pytest.raises(ValueError, match="expected a list of records, got dict"):
        read_label_audit(file)
    file.write_text("- {", encoding="utf-8")
    with pytest.raises(ValueError, match=r"audit\.yaml: "):
        read_label_audit(file)


# --- the counterexamples ---


@pytest.mark.parametrize("id", [id for id, record in AUDIT.items() if record.certificates])
def test_certificates_come_to_what_the_record_says(id: str):
    for evidence in AUDIT[id].certificates:
        certificate = programs.CERTIFICATES[evidence.name]()
        assert certificate.verdict == evidence.shows, (evidence.name, certificate)
        assert math.isfinite(certificate.margin)


def test_unequal_noise_gives_the_known_deltas():
    small = programs.gradient_descent(3.0, 3, 1)
    assert (small.measured, small.claim) == pytest.approx((1.0e-2, 1.5e-3), rel=0.05)
    large = programs.gradient_descent(1.0, 10, 100)
    assert (large.measured, large.claim) == pytest.approx((0.334, 0.127), abs=5e-4)
    # Deviations 1 and 2/3 with the same mean: where log p/q > 3, by hand.
    edge = math.sqrt((3 - math.log(2 / 3)) / (9 / 8 - 1 / 2))
    delta = 2 * (stats.norm.sf(edge) - math.exp(3) * stats.norm.sf(1.5 * edge))
    assert small.measured == pytest.approx(delta, rel=1e-9)


def test_the_noisy_mean_loses_a_tenth_of_the_output():
    # 100/2.5 - 100/(10/3) = 10, less the logarithm of the ratio of the scales.
    assert programs.noisy_sum_over_n(100.0).measured == pytest.approx(10 - math.log(4 / 3))
    assert programs.noisy_sum_over_n(1000.0).measured == pytest.approx(100 - math.log(4 / 3))


def test_a_sum_over_all_but_the_last_moves_by_one_value_unless_lists_are_ordered_anew():
    certificate = programs.sum_of_all_but_the_last(4)
    assert (certificate.measured, certificate.verdict) == (1.0, "yes")
    for records in itertools.product((-1, 0, 1), repeat=4):
        moved = [
            abs(sum(records[:-1]) - sum((records[:i] + records[i + 1 :])[:-1])) for i in range(4)
        ]
        assert max(moved) <= 1
    # Free order: (1, 1, -1) sums to 2, (-1, 1, 1, -1) in another order, (1, -1, -1, 1), to -1.
    assert abs(sum((1, 1, -1)[:-1]) - sum((1, -1, -1, 1)[:-1])) == 3


def test_a_test_that_passes_below_the_typed_bound_leaves_nearly_everything():
    assert programs.generalised_propose_test_release(0.1, 9.0).measured == pytest.approx(
        0.988, abs=5e-4
    )
    # As typed for ε of at least 1 it holds: the local sensitivity is below Δ/ε <= Δε.
    assert programs.generalised_propose_test_release(1.0, 0.999).verdict == "yes"
    with pytest.raises(ValueError, match="must be below"):
        programs.generalised_propose_test_release(0.1, 10.0)


@pytest.mark.parametrize(
    ("program", "m", "divergences"),
    [
        (programs.trimmed_mean_sinh, 4, (8.32, 16.7)),
        (programs.trimmed_mean_sinh, 5, (13.0, 25.7)),
        (programs.trimmed_mean_laplace, 3, (2.34, 6.38)),
        (programs.trimmed_mean_laplace, 4, (4.39, 12.2)),
    ],
)
def test_a_scale_that_jumps_gives_the_known_divergences(
    program: Callable[[int, float], Any], m: int, divergences: tuple[float, float]
):
    for order, known in zip((1, 2), divergences, strict=True):
        certificate = program(m, order)
        assert certificate.measured == pytest.approx(known, rel=4e-3)
        assert certificate.verdict == "no"


def test_the_divergence_of_laplace_log_normal_noise_by_simulation():
    rng = np.random.default_rng(0)
    sizes = np.log(rng.exponential(size=8_000)) + rng.normal(size=8_000)
    normal = np.linspace(-14, 14, 1401)

    def log_pdf(u: np.ndarray) -> np.ndarray:
        rest = u[:, None] - normal
        return np.log((stats.norm.pdf(normal) * np.exp(rest - np.exp(rest))).sum(1) * 0.02)

    losses = log_pdf(sizes) - log_pdf(sizes + 3)
    spread = 4 * losses.std() / math.sqrt(len(losses))
    assert programs.trimmed_mean_laplace(3, 1).measured == pytest.approx(losses.mean(), abs=spread)


def test_objective_perturbation_breaks_the_claim_where_delta_is_small():
    assert programs.objective_perturbation(1e-10).measured == pytest.approx(2.7e-9, rel=0.02)
    assert programs.objective_perturbation(1e-12).measured == pytest.approx(2.27e-10, rel=0.02)
    assert programs.objective_perturbation(1e-6).verdict == "yes"  # none found at this pair


def test_objective_perturbation_by_plain_integration():
    sigma, center = math.sqrt(10 * math.log(1e10)), -5.05 * math.sqrt(10 * math.log(1e10)) / 20

    def density(t: float, huber: bool) -> float:
        slope = max(-1.0, min(1.0, 10 * (t - center))) if huber else -1.0
        change = 20 + (10 if huber and abs(t - center) < 0.1 else 0)
        return stats.norm.pdf((slope + 20 * t) / sigma) * change / sigma

    gain = lambda t: max(0.0, density(t, True) - math.e * density(t, False))  # noqa: E731
    inside = integrate.quad(gain, center - 0.1, center + 0.1, limit=400, epsabs=1e-16)[0]
    outside = integrate.quad(gain, center + 0.1, 0, limit=400, epsabs=1e-16)[0]
    assert programs.objective_perturbation(1e-10).measured == pytest.approx(
        inside + outside, rel=0.01
    )


def test_readings_give_the_known_numbers():
    general = readings.exponential_mechanism_zcdp(1.0)
    assert (general.measured, general.claim) == (pytest.approx(0.462, abs=5e-4), 0.125)
    # Counterexample for composition: 1/(1+e^-1.3) - e^{1.3/16} / (1+e^1.3) against its claim.
    composed = readings.exponential_mechanism_composed(1.3, 1.0)
    p = 1 / (1 + math.exp(-1.3))
    assert composed.measured == pytest.approx(p - math.exp(1.3 / 16) * (1 - p))
    assert composed.claim == pytest.approx(0.5175, abs=5e-5)


def test_one_threshold_for_all_queries_costs_less_than_one_for_each():
    kept = readings.sparse_vector_bottoms(12, fresh=False)
    fresh = readings.sparse_vector_bottoms(12, fresh=True)
    assert kept.measured < 1 / 2 < fresh.measured  # the threshold's noise has scale 2c/ε = 4
    one = [readings.sparse_vector_bottoms(1, fresh=how).measured for how in (True, False)]
    assert one[0] == pytest.approx(one[1], abs=1e-6)


def test_votes_win_as_often_as_in_a_simulation():
    votes, sigma = (12, 10, 7), 2.0
    noisy = np.random.default_rng(1).normal(votes, sigma, size=(200_000, 3))
    shares = np.bincount(noisy.argmax(1), minlength=3) / 200_000
    assert np.exp(readings.noisy_max_log_law(votes, sigma)) == pytest.approx(shares, abs=4e-3)
    bound = readings.data_dependent_bound((63, 50), 2.0, 3.0).value
    one, other = (readings.noisy_max_log_law(v, 2.0) for v in ((63, 50), (62, 51)))
    assert readings.renyi_of_log_laws(one, other, 3.0) < bound  # the direction that is proved
    with pytest.raises(ValueError, match="too close"):
        readings.data_dependent_bound((10, 10), 2.0, 3.0)
    with pytest.raises(ValueError, match="must be above μ₁"):
        right.votes_beyond_the_proof(5.0)


def test_the_published_noise_passes_where_a_quarter_of_it_fails():
    # In the pair of question 42 the test loses ε/4 under the published scale, and the rest little.
    from dprivbench_inspect.divergences import isotropic_gaussian_delta

    log_term = math.log(8e6)
    at = 8 * (math.sqrt(2 * log_term) + 2 * log_term) + 4 * math.log(1e6)
    rest = isotropic_gaussian_delta(0.75, 0.0, math.sqrt(at), math.sqrt(at - 1), 1)
    assert rest.value / 2 < 1e-6 < right.projection_with_a_quarter_of_the_noise(1).measured


# --- labels and numbers ---


def question(number: int, label: str, **fields: Any) -> Question:
    return Question(
        id=f"cate_2-{number}",
        category=2,
        question="Does it hold?",
        label=label,
        **({"topic": "dp_gd", "subject": "DP-ML", "release": {}} | fields),
    )


@pytest.mark.parametrize(
    ("asked", "audit"),
    [
        (question(28, "yes"), Audit("label_false", "no")),
        (question(76, "no"), Audit("label_false", "yes")),
        (question(7, "no"), Audit("label_right", "no")),
        (question(1, "yes"), Audit("unchallenged", "yes")),
        (question(87, "yes"), Audit("reading_dependent", None)),
        (question(14, "no"), Audit("ill_posed", None)),
        (question(66, "yes"), Audit("no_question", None)),
        (question(28, "no"), Audit("outdated", None)),
        (question(28, "yes", release=None), None),
    ],
)
def test_a_question_gets_its_audited_label_beside_its_own(asked: Question, audit: Audit | None):
    assert audit_of(asked) == audit
    sample = question_to_sample(asked)
    assert sample.target == asked.label
    told = sample.metadata or {}
    expected = {"audit": audit.status, "audited_label": audit.label} if audit else {}
    assert {key: told[key] for key in ("audit", "audited_label") if key in told} == expected


def test_disputed_questions_are_left_out_and_false_labels_turned_round():
    rows = [
        Outcome("cate_2-28", "yes", "no", audit="label_false", audited_label="no"),
        Outcome("cate_2-1", "yes", "yes", audit="unchallenged", audited_label="yes"),
        Outcome("cate_2-87", "yes", "no", audit="reading_dependent"),
        Outcome("cate_2-87", "yes", "yes", epoch=2, audit="reading_dependent"),
    ]
    assert [(o.question_id, o.label) for o in with_audited_labels(rows)] == [
        ("cate_2-28", "no"),
        ("cate_2-1", "yes"),
    ]
    assert accuracy_summary(rows)["accuracy"] == 0.5
    numbers = audited_summary(rows)
    assert numbers["audited labels: accuracy"] == numbers["audited labels: F1"] == 1.0
    assert numbers["audited labels: questions left out"] == 1.0
    assert numbers["audited labels: replies"] == 2.0
    assert audited_summary(rows[2:])["audited labels: replies"] == 0.0
    assert audited_summary([Outcome("svt-01", "yes", "yes")]) == {}


# Ids, labels and layout of the release; texts of ours.
RELEASE = {28: 1, 74: 1, 76: 0, 87: 1, 72: 1, 75: 0}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "release" / "category_2"
    folder.mkdir(parents=True)
    records = [
        {
            "question_id": number,
            "question_tex": f"Is the mechanism of number {number} private?",
            "label": label,
            "subject": "DP-statistics",
            "topic": "mean estimation",
            "negative_mode": "atom",
            "related_question": None,
            "comments": "It is so.",
        }
        for number, label in RELEASE.items()
    ]
    (folder / "cate_2.json").write_text(json.dumps(records), encoding="utf-8")
    return folder.parent


def run(source: Path, model: Any, log_dir: Path, **options: Any) -> EvalLog:
    (log,) = eval(
        dprivbench_cat2(source=str(source)),
        model=model,
        log_dir=str(log_dir),
        display="log",
        **options,
    )
    return log


def test_an_official_run_has_both_sets_of_numbers_and_keeps_them_when_scored_again(
    release: Path, mock: Callable[..., Any], tmp_path: Path
):
    def reply(prompt: str, seed: int | None) -> str:
        holds = any(f"number {number} " in prompt for number in (72, 76, 87))
        return "\\boxed{yes}" if holds else "\\boxed{no}"

    log = run(release, mock(reply).model, tmp_path / "logs", epochs=2)
    found = numbers(log)["verdict"]
    # Official: 28, 74 and 76 wrong of six. Audited: these three turned round, 87 left out.
    assert (found["accuracy"], found["replies"]) == ("0.5", "12.0")
    assert found["F1"] == str(2 * 2 / (3 + 4))
    assert (found["audited labels: accuracy"], found["audited labels: F1"]) == ("1.0", "1.0")
    assert (found["audited labels: precision"], found["audited labels: recall"]) == ("1.0", "1.0")
    assert found["audited labels: replies"] == "10.0"
    assert found["audited labels: questions left out"] == "1.0"
    assert {sample.target for sample in log.samples or [] if sample.id == "cate_2-28"} == {"yes"}
    again = score(log, verdict(), action="overwrite", display="log")
    assert numbers(again) == numbers(log)
    [table] = [
        table
        for table in make_report([str(tmp_path / "logs")]).tables
        if table.title == "DPrivBench Category 2: does the claim hold?"
    ]
    official, audited = (row[4] for row in table.rows[:2])  # accuracy
    assert isinstance(official, Share)
    assert isinstance(audited, Share)
    assert (official.value, official.n) == (0.5, 12)
    assert (audited.value, audited.half_width, audited.n) == (1.0, 0.0, 10)
    assert table.rows[1][0] == "mockllm/model [1] audited labels"
    assert "[1] audited labels: " in report([str(tmp_path / "logs")])


def test_a_log_from_before_the_audit_can_be_scored_again(
    release: Path, mock: Callable[..., Any], tmp_path: Path
):
    log = run(release, mock("\\boxed{no}").model, tmp_path)
    for sample in log.samples or []:
        for key in ("audit", "audited_label"):
            del sample.metadata[key]
    again = score(log, verdict(), action="overwrite", display="log")
    old, new = numbers(again)["verdict"], numbers(log)["verdict"]
    assert old == {name: new[name] for name in new if not name.startswith("audited labels")}


def test_questions_of_our_own_have_one_set_of_numbers(mock: Callable[..., Any], tmp_path: Path):
    for task in (dprivbench_cat1(), dprivbench_cat2()):
        (log,) = eval(task, model=mock().model, log_dir=str(tmp_path), display="log", limit=2)
        assert not any(name.startswith("audited") for name in numbers(log)["verdict"])
        assert all("audit" not in sample.metadata for sample in log.samples or [])
    assert "audited" not in report([str(tmp_path)])


def test_the_reference_samples_get_both_sets_of_numbers(shared: Path, tmp_path: Path):
    log = run(shared / "upstream" / "sample_cat2.json", "dprivbench/always-yes", tmp_path)
    found = numbers(log)["verdict"]
    # 16 of the release: 28, 74, 127 false, 39 and 91 dependent on a reading; 15, 98 and others no.
    labels = {s.id: (s.target, s.metadata["audited_label"]) for s in log.samples or []}
    assert labels["cate_2-28"] == ("yes", "no")
    assert labels["cate_2-39"] == ("yes", None)
    left = [audited for _, audited in labels.values() if audited]
    assert found["audited labels: replies"] == str(float(len(left)))
    assert float(found["audited labels: accuracy"]) == left.count("yes") / len(left)
    assert float(found["accuracy"]) == sum(o == "yes" for o, _ in labels.values()) / 16
    assert found["audited labels: questions left out"] == str(16.0 - len(left))
