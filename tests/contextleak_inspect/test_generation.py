"""Audits of texts run through Inspect: embeddings, keywords, and defenses without noise."""

import math
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import yaml
from inspect_ai import eval, score
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from contextleak_inspect import public_texts
from contextleak_inspect.audit_row import audit_row
from contextleak_inspect.audit_run import Run, gather
from contextleak_inspect.calibration import analytic_sigma, embedding_sensitivity, gdp_epsilon
from contextleak_inspect.config import audit_config
from contextleak_inspect.mechanisms import noisy_mean, projection
from contextleak_inspect.public_texts import Texts, unpacked
from contextleak_inspect.rao_blackwell import hit_probability
from contextleak_inspect.report import report
from contextleak_inspect.scorers import membership
from contextleak_inspect.scoring import release
from contextleak_inspect.solvers import Answers
from contextleak_inspect.tasks_generation import contextleak_generation
from contextleak_inspect.text_releases import clean_score
from contextleak_inspect.theory import esa_curve
from contextleak_inspect.vote_laws import vote_law
from contextleak_inspect.votes import TrialVotes
from tests.conftest import require_weights

EPSILONS = (1.0, 2.0, 4.0, 8.0, 10.0)


def run(folder, *, model="contextleak/simulated", model_args=None, eval_args=None, **settings):
    if settings.get("defense", "esa") == "esa":
        settings = {"embedding": "hashing"} | settings
    [log] = eval(
        contextleak_generation(**{"null_controls": 0, "trials": 4} | settings),
        model=model,
        model_args=model_args or {},
        log_dir=str(folder),
        display="log",
        log_realtime=False,  # the copy of every event for live viewing, a third of the time
        **(eval_args or {}),
    )
    assert log.status == "success", log.error
    return log


def records(log: EvalLog) -> list[TrialVotes]:
    return [sample.store_as(Answers).trial for sample in log.samples]


def gathered(log: EvalLog) -> Run:
    config = audit_config(log.eval.metadata["config"])
    return gather(config, [(r, release(r, config)) for r in records(log)], finished=True)


@pytest.fixture(scope="module")
def perfect(tmp_path_factory) -> EvalLog:
    """40 pairs of a model that never errs."""
    settings = {"trials": 80, "calls": "paired", "epsilon": "1,2,4,8,10,inf"}
    return run(tmp_path_factory.mktemp("perfect"), **settings)


def test_what_is_logged_is_what_the_embeddings_say(perfect):
    sample = perfect.samples[0]
    texts, record = sample.store_as(Texts), records(perfect)[0]
    assert texts.embedding == record.embedded.model == "hashing"
    direction, absent, *candidates = (unpacked(text) for text in texts.reference)
    assert len(candidates) == len(texts.candidates) == 10
    vectors = {key: unpacked(text) for key, text in texts.vectors.items()}
    for world in ("in", "out"):
        keys = [
            f"{shard}/{world}" if shard == record.canary_shard else str(shard)
            for shard in range(10)
        ]
        shards = np.array([vectors[key] for key in keys])
        assert record.embedded.along[world] == pytest.approx(shards @ direction, abs=1e-6)
        assert record.embedded.means[world] == pytest.approx(
            np.array(candidates) @ shards.mean(axis=0), abs=1e-6
        )
        full = noisy_mean(shards, 0.0, np.random.default_rng(0))
        expected = 10 * (projection(full, direction) - absent @ direction)
        assert clean_score(record.embedded, world) == pytest.approx(expected, abs=1e-5)


def test_candidates_and_calibration_are_asked_once_and_counted(perfect):
    made = [sample for sample in perfect.samples if sample.store_as(Texts).candidates]
    assert len(made) == 1
    # 40 pairs of 11 calls, 10 candidates, 8 pairs of calibration calls.
    calls = sum(len([e for e in s.events if e.event == "model"]) for s in perfect.samples)
    assert sum(r.calls for r in records(perfect)) == calls == 40 * 11 + 10 + 16
    assert sum(r.embedded.texts for r in records(perfect)) == calls
    temperatures = {e.config.temperature for e in made[0].events if e.event == "model"}
    assert temperatures == {0.0, 1.0}  # zero-shot texts are drawn, all else is as the audit says


# The curve of theory at ε 1..10: a perfect model meets it exactly once the noise is integrated
# out, and within 4 standard errors with the noise as drawn.
def test_a_perfect_model_meets_the_curve_of_theory(perfect):
    audited = gathered(perfect)
    for index, epsilon in enumerate(EPSILONS):
        row = audit_row(audited, index)
        assert row.row.epsilon == epsilon
        [point] = esa_curve([epsilon], delta=1e-5, law=vote_law(10), distance=math.sqrt(2))
        noise = 10 * point.sigma
        chance = {
            w: hit_probability(arm.clean[:, index], noise, math.sqrt(2) / 2).mean()
            for w, arm in audited.arms.items()
        }
        exact = 0.5 + (chance["in"] - chance["out"]) / 2
        assert exact == pytest.approx(point.accuracy, abs=1e-6)
        drawn = {w: (a.scores[:, index] > math.sqrt(2) / 2).mean() for w, a in audited.arms.items()}
        accuracy = 0.5 + (drawn["in"] - drawn["out"]) / 2
        assert abs(accuracy - point.accuracy) < 4 * math.sqrt(0.25 / 80)
        assert row.possible.accuracy > point.accuracy  # √2 is less than the 2 of the ceiling


def test_a_model_that_errs_meets_the_curve_of_its_error_rates(tmp_path):
    q, r = 0.03, 0.2
    log = run(
        tmp_path,
        model_args={"hit": 1 - r, "false_vote": q},
        trials=120,
        calls="paired",
        temperature=1.0,
        epsilon="2,10",
    )
    audited = gathered(log)
    for index, epsilon in enumerate((2.0, 10.0)):
        [point] = esa_curve(
            [epsilon],
            delta=1e-5,
            law=vote_law(10, false_votes=q, misses=r),
            distance=math.sqrt(2),
        )
        # The best threshold for this law, found on a grid; noise integrated out.
        cuts = np.linspace(-2, 12, 281)
        law = vote_law(10, false_votes=q, misses=r)
        k = math.sqrt(2) * np.arange(11)[:, None]
        gap = (law.canary_in - law.canary_out) @ hit_probability(k, 10 * point.sigma, cuts)
        cut = cuts[np.argmax(gap)]
        pairs = {
            w: hit_probability(a.clean[:, index], 10 * point.sigma, cut)
            for w, a in audited.arms.items()
        }
        differences = pairs["in"] - pairs["out"]
        error = differences.std(ddof=1) / math.sqrt(differences.size)
        assert abs(0.5 + differences.mean() / 2 - point.accuracy) < 2 * error + 1e-3


def test_scoring_again_needs_no_embedding_model(perfect, monkeypatch, tmp_path):
    def refuse(name):
        raise AssertionError(f"asked for {name}")

    monkeypatch.setattr(public_texts, "get_embedder", refuse)
    log = read_eval_log(perfect.location)
    again = score(log, membership(epsilon="3,inf"), action="overwrite", display="log")
    names = {row.name for row in again.results.scores}
    assert {"ε=3 embedding", "ε=inf text"} <= names


def test_the_report_tells_distance_angle_and_what_texts_show(perfect):
    text = report([perfect.location])
    assert "replies with the canary lie 1.41 from those without, cos to the detector 1.00" in text
    assert "Noisy mean embedding (observation noisy_aggregate)" in text
    assert "Released text (observation final_output)" in text
    # contextleak spec: nominal 4 shows at most 2.69 with orthogonal replies, 8 shows 5.30.
    assert " 2.69" in text
    assert " 5.30" in text


def test_frozen_answers_give_the_exact_epsilon_of_the_distance(tmp_path):
    log = run(tmp_path, calls="frozen", trials=2, epsilon="4,8", null_controls=None)
    rows = [audit_row(gathered(log), i) for i in range(4)]
    for row, epsilon in zip(rows[:2], (4.0, 8.0), strict=True):
        sigma = analytic_sigma(epsilon, 1e-5, embedding_sensitivity(10))
        assert row.exact.value == pytest.approx(gdp_epsilon(math.sqrt(2) / 10 / sigma, 1e-5))
    assert rows[2].exact is None  # the text's chance is estimated, not exact


# Cases E10 and E11: long replies are flagged, an empty one is a voter with the zero vector.
def test_cut_and_empty_replies_count_and_are_told(tmp_path):
    def reply(messages, tools, choice, config):
        seed = config.seed or 0
        text = "" if seed % 3 == 0 else "word " * 400 if seed % 3 == 1 else "short reply"
        output = ModelOutput.from_content("m", text)
        output.usage = ModelUsage(input_tokens=9999, output_tokens=1, total_tokens=1)
        return output

    require_weights("minilm-l6-v2", "minilm-l6-v2-tokenizer")
    model = get_model("mockllm/model", custom_outputs=reply, memoize=False)
    log = run(
        tmp_path,
        model=model,
        embedding="onnx/minilm-l6-v2",
        epsilon="4",
        n_exemplars=4,
        ensemble=4,
        candidates=2,
        reference_pairs=1,
    )
    for record in records(log):
        [along] = record.embedded.along.values()
        assert len(along) == 4
        assert np.all(np.isfinite(along))
    assert sum(r.embedded.truncated for r in records(log)) > 0
    assert "texts are longer than the embedding model reads" in report([log.location])


def test_keywords_leak_without_noise_and_the_mechanism_is_named(tmp_path):
    log = run(tmp_path, defense="ksa", trials=24, n_keywords=1, epsilon="1,inf")
    rows = [audit_row(gathered(log), i) for i in range(2)]
    assert rows[1].accuracy.balanced > 0.9
    assert rows[1].bound.value > 0.5
    assert rows[0].bound.value == 0
    assert rows[0].setting.observation == "noisy_aggregate"
    assert "1 words by joint exponential mechanism" in report([log.location])
    again = score(log, membership(epsilon="8"), action="overwrite", display="log")
    assert "ε=8 keywords" in {row.name for row in again.results.scores}


# A canary in one of ten replies never makes a gap that the test would let pass.
def test_propose_test_release_hides_a_single_reply(tmp_path):
    log = run(tmp_path, defense="ksa", keyword_mechanism="ptr", trials=12, epsilon="8")
    [row] = [audit_row(gathered(log), 0)]
    assert row.bound.value == 0
    assert row.accuracy.balanced == 0.5


@pytest.mark.parametrize(
    ("defense", "leaks"),
    [("none", True), ("faux_secrets", True), ("output_filter", False), ("zero_shot", False)],
)
def test_defenses_without_noise_leak_the_bracketed_canary_or_block_it(tmp_path, defense, leaks):
    log = run(tmp_path, defense=defense, trials=16, null_controls=2)
    for record in records(log):
        [world] = record.votes
        assert record.hit(world) is (leaks and world == "in")
        assert record.embedded is None
    audited = gathered(log)
    assert audit_row(audited, 0).accuracy.balanced == (1.0 if leaks else 0.5)


def test_the_papers_settings_make_an_audit(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    path = pathlib.Path(__file__).parents[2] / "tasks" / "contextleak_generation_paper.yaml"
    spec = yaml.safe_load(path.read_text(encoding="utf-8"))["task"]
    made = contextleak_generation(**spec["args"])
    config = made.metadata["config"]
    assert (config["defense"], config["ensemble"], config["n_exemplars"]) == ("esa", 10, 20)
    assert config["epsilon"][-1] == "Infinity"
    assert len(made.dataset) == 100


# Inspect imports every installed package's registry to list tasks.
def test_naming_the_tasks_loads_nothing_heavy():
    heavy = ["scipy", "sympy", "matplotlib", "pandas", "datasets", "gepa", "nltk", "onnxruntime"]
    code = f"import contextleak_inspect._registry, sys; print(set({heavy}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.local_model
def test_a_real_model_and_real_embeddings_go_all_the_way(tmp_path):
    require_weights("smollm2-135m", "minilm-l6-v2", "minilm-l6-v2-tokenizer")
    log = run(
        tmp_path,
        model="gguf/smollm2-135m",
        embedding="onnx/minilm-l6-v2",
        query="input_output",
        trials=2,
        calls="paired",
        n_exemplars=4,
        ensemble=2,
        candidates=2,
        reference_pairs=1,
        epsilon="4,inf",
        eval_args={"max_tokens": 12},
    )
    [record] = records(log)
    assert record.embedded.between > 0  # the canary's shard wrote another text
    assert -2 < clean_score(record.embedded, "out") < 2
    assert len(log.samples[0].store_as(Texts).candidates) == 2
