import json
import math

import pytest
from inspect_ai import Task, eval, score
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import SampleScore, Score
from pytest_inspect_evals.metrics import run_metrics

from contextleak_inspect.arguments import ArgumentError
from contextleak_inspect.audit_table import row_values
from contextleak_inspect.config import audit_config
from contextleak_inspect.report_audits import read_audits
from contextleak_inspect.rows import audit_rows
from contextleak_inspect.scorers import (
    _keys,
    _run_of,
    _settings,
    audit,
    audited_answers,
    membership,
)
from contextleak_inspect.tasks import contextleak_classification
from tests.contextleak_inspect.audits import drawn_run, vote_record

RATES = {"hit": 0.9, "false_vote": 0.05}
ROW = [
    "ε ≥",
    "ε possible",
    "accuracy",
    "accuracy possible",
    "AUC",
    "TPR@10%FPR",
    "TPR@5%FPR",
    "TPR@1%FPR",
    "ε ≥ Clopper-Pearson",
    "its ceiling",
    "ε ≥ e-process",
    "ε ≥ e-process, noise integrated",
    "ε if Gaussian",
    "ε paper",
    "accuracy optimistic",
]


def run(log_dir, *, task: Task | None = None, rates=RATES, options=None, **fields) -> EvalLog:
    task = task or contextleak_classification(**({"trials": 12, "temperature": 1} | fields))
    [log] = eval(
        task,
        model="contextleak/simulated",
        model_args=rates,
        log_dir=str(log_dir),
        display="log",
        **(options or {}),
    )
    return log


@pytest.fixture(scope="module")
def two_claims(tmp_path_factory) -> EvalLog:
    return run(tmp_path_factory.mktemp("two_claims"), epsilon="1,inf")


@pytest.fixture(scope="module")
def eight(tmp_path_factory) -> EvalLog:
    return run(tmp_path_factory.mktemp("eight"), epsilon="8", trials=20)


def numbers(log: EvalLog) -> dict[str, dict[str, str]]:
    """Row → name → value, as text so that nan equals nan."""
    assert log.status == "success", log.error
    return {
        s.name: {m.name.rsplit("/", 1)[-1]: repr(float(m.value)) for m in s.metrics.values()}
        for s in log.results.scores
    }


def scores_of(log: EvalLog) -> list[SampleScore]:
    return [SampleScore(score=s.scores["membership"], sample_id=s.id) for s in log.samples]


def test_a_row_per_level_and_epsilon_with_readable_columns(two_claims):
    found = numbers(two_claims)
    rows = ["ε=1 histogram", "ε=inf histogram", "ε=1 label", "ε=inf label"]
    assert list(found) == ["membership", *rows]
    assert all(list(found[row]) == ROW for row in rows)
    shared = found["membership"]
    assert shared["trials planned"] == shared["trials"] == "12.0"
    assert shared["δ"] == "1e-05"
    assert float(shared["trials in"]) + float(shared["trials out"]) == 12
    assert shared["model calls"] == "130.0"  # 10 shards a trial, and 10 null controls
    assert shared["naive calls"] == "240.0"


def test_the_log_holds_what_a_reader_needs_to_recompute(two_claims):
    log = read_eval_log(two_claims.location)
    sample = log.samples[0]
    metadata = sample.scores["membership"].metadata
    assert json.loads(metadata["trial"])["votes"]
    assert json.loads(metadata["audit"])["delta"] == 1e-5
    assert sample.scores["membership"].value["ε=inf label"] == math.inf
    [world] = json.loads(metadata["trial"])["votes"]
    assert sample.scores["membership"].answer.startswith(f"{world}: objective ")
    assert "ε=1 label" in sample.scores["membership"].explanation
    assert audit_config(log.eval.metadata["config"]).epsilon == (1.0, math.inf)
    assert log.eval.metadata["canary"]["label"] == "objective"


def test_metrics_are_those_of_the_core(eight):
    audited = _run_of(scores_of(eight))
    for index, row in enumerate(audit_rows(audited.config)):
        expected = {k: repr(float(v)) for k, v in row_values(audited, index).items()}
        assert numbers(eight)[row.name] == expected


@pytest.mark.parametrize("defense", ["none", "label_rr", "rnm"])
def test_scoring_again_gives_the_same_numbers_and_asks_no_model(tmp_path, defense):
    log = run(tmp_path, defense=defense)
    again = score(log, membership(), model="none/none", action="overwrite", display="log")
    assert numbers(again) == numbers(log)
    assert again.eval.model == "contextleak/simulated"


def test_a_sample_without_its_store_is_read_from_its_events(eight):
    log = read_eval_log(eight.location)
    for sample in log.samples:
        sample.store = {}
    again = score(log, membership(), model="none/none", action="overwrite", display="log")
    assert numbers(again) == numbers(log)
    for sample in log.samples:
        sample.events = []
    lost = score(log, membership(), model="none/none", action="overwrite", display="log")
    assert lost.results.scores[0].unscored_samples == 20


def test_the_same_answers_under_another_claim(tmp_path):
    log = run(tmp_path, epsilon="2", trials=30)
    other = membership(
        epsilon="2,5",
        delta="1e-6",
        neighbouring="add_remove",
        threshold="holdout",
        confidence=0.9,
    )
    again = score(log, other, model="none/none", action="overwrite", display="log")
    fresh = run(
        tmp_path,
        epsilon="2,5",
        delta=1e-6,
        neighbouring="add_remove",
        threshold="holdout",
        confidence=0.9,
        trials=30,
    )
    assert list(numbers(again)) == list(numbers(fresh))
    assert numbers(again) == numbers(fresh)
    assert numbers(again)["ε=2 histogram"] != numbers(log)["ε=2 histogram"]


def test_a_claim_that_does_not_fit_is_refused(tmp_path):
    log = run(tmp_path, defense="none", trials=4)
    with pytest.raises(ArgumentError, match="claims no ε"):
        score(log, membership(epsilon=[1]), model="none/none", display="log")


# Inspect calls metrics on whatever is there: none, one, one world, two audits, half a run.
def test_metrics_never_raise(eight, tmp_path):
    whole = scores_of(eight)
    worlds = [json.loads(s.score.metadata["trial"])["votes"] for s in whole]
    other = {"seed": 1, "delta": 1e-6, "options": {"limit": 2}}
    mixed = run(tmp_path, epsilon="8", trials=20, **other)
    for part in (
        [],
        whole[:1],
        [s for s, votes in zip(whole, worlds, strict=True) if "in" in votes],
        whole[:10],
        [*whole, whole[0]],
        [whole[0], scores_of(mixed)[1]],
    ):
        keyed = [s.model_copy(deep=True) for s in part]
        for s in keyed:
            s.score.value = s.score.value["ε=8 histogram"]
        found = audit("histogram")(keyed)
        assert found == {} or list(found) == ROW
        audited_answers()(part)


def test_a_partial_run_has_nan_where_all_trials_are_needed(tmp_path):
    found = numbers(run(tmp_path, epsilon="8", trials=40, options={"limit": 30}))["ε=8 histogram"]
    for name in ("ε ≥", "ε ≥ Clopper-Pearson", "its ceiling", "ε if Gaussian"):
        assert found[name] == "nan"
    for name in ("ε ≥ e-process", "ε ≥ e-process, noise integrated", "AUC", "ε possible"):
        assert found[name] != "nan"


def test_a_lost_trial_counts_once_it_is_scored_as_lost(eight):
    whole = scores_of(eight)
    lost = [s.model_copy(deep=True) for s in whole]
    settings = whole[3].score.metadata["audit"]
    lost[3].score = Score(value=_keys(settings), metadata={"audit": settings, "lost": 3})
    for s in lost:
        s.score.value = s.score.value["ε=8 histogram"]
    found = audit("histogram")(lost)
    assert not math.isnan(found["ε ≥"])
    assert audited_answers()(lost)["trials"] == 19


# auditing_math section 1, through Inspect: errors that are scored count against the auditor.
def test_errors_that_inspect_scores_are_lost_trials(tmp_path):
    asked = []

    def reply(messages, tools, choice, config):
        asked.append(config.seed)
        if len(asked) in {3, 8}:
            raise RuntimeError("the provider gave up")
        output = ModelOutput.from_content("m", "subjective")
        output.usage = ModelUsage(input_tokens=9999, output_tokens=1, total_tokens=1)
        return output

    task = contextleak_classification(defense="none", trials=12, null_controls=0)
    [log] = eval(
        task,
        model=get_model("mockllm/model", custom_outputs=reply, memoize=False),
        log_dir=str(tmp_path),
        display="log",
        fail_on_error=False,
        score_on_error=True,
        max_samples=1,
    )
    found = numbers(log)
    assert found["membership"]["trials"] == "10.0"
    assert found["membership"]["trials planned"] == "12.0"
    assert found["reply"]["ε ≥"] == "0.0"  # all trials are accounted for, so there is a bound
    [audit], _ = read_audits([log.location])
    assert sum(arm.failed for arm in audit.run.arms.values()) == 2


def test_run_metrics_of_the_suite_reads_them():
    settings = _settings(
        json.dumps(drawn_run(0, trials=4, epsilon="1").config.record()),
        "[null,null,null,null,null]",
    )
    config = drawn_run(0, trials=4, epsilon="1").config
    scores = [
        Score(
            value=_keys(settings),
            metadata={"audit": settings, "trial": vote_record(config, n).model_dump_json()},
        )
        for n in range(4)
    ]
    found = run_metrics([audited_answers(), {"ε=* label": [audit("label")]}], [[s] for s in scores])
    assert found


def test_a_heuristic_defense_shows_its_hits_and_no_epsilon(tmp_path):
    log = run(tmp_path, defense="faux_secrets", rates={"hit": 1.0, "false_vote": 0.0})
    assert list(numbers(log)) == ["membership", "reply"]
    assert numbers(log)["reply"]["accuracy"] == "1.0"
    assert numbers(log)["reply"]["ε possible"] == "nan"
    for sample in log.samples:
        hit = sample.scores["membership"].value["reply"]
        assert hit == float("in" in sample.metadata["canary"])


def test_log_probabilities_are_scored_without_an_epsilon(tmp_path):
    log = run(tmp_path, defense="none", membership="logprob", temperature=0, trials=20)
    assert list(numbers(log)) == ["membership", "log-probability"]
    assert numbers(log)["log-probability"]["AUC"] == "1.0"


def test_theory_gives_no_threshold_for_the_log_probability_of_a_text():
    with pytest.raises(ValueError, match="theory gives no threshold"):
        contextleak_classification(
            defense="none", membership="logprob", query="completion", threshold="fixed"
        )


# Case E01 at T > 0: a cache replays the run; its numbers are the same and say so.
def test_cached_answers_are_counted_and_never_new(tmp_path, monkeypatch):
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    first = numbers(run(tmp_path, epsilon="8", options={"cache": True}))
    again = numbers(run(tmp_path, epsilon="8", options={"cache": True}))
    assert first["membership"].pop("answers from cache") == "0.0"
    assert again["membership"].pop("answers from cache") == first["membership"]["model calls"]
    assert again == first
