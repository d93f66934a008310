"""Audits through Inspect, on a model with known error rates: theory, kills, names."""

import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from inspect_ai import eval, eval_retry, score
from inspect_ai.log import EvalLog, read_eval_log

from contextleak_inspect.config import audit_config
from contextleak_inspect.possible import possible
from contextleak_inspect.rows import Row
from contextleak_inspect.scorers import membership
from contextleak_inspect.tasks import contextleak_classification

ROOT = Path(__file__).parents[2]
CLASSIFICATION = "tasks/contextleak_classification.py"


def run(log_dir, rates=None, **fields) -> EvalLog:
    [log] = eval(
        contextleak_classification(**fields),
        model="contextleak/simulated",
        model_args=rates or {},
        log_dir=str(log_dir),
        display="log",
        log_realtime=False,  # the copy of every event for live viewing, a third of the time
    )
    assert log.status == "success", log.error
    return log


def numbers(log: EvalLog) -> dict[str, dict[str, float]]:
    return {
        s.name: {m.name.rsplit("/", 1)[-1]: float(m.value) for m in s.metrics.values()}
        for s in log.results.scores
    }


def texts(log: EvalLog) -> dict[str, dict[str, str]]:
    """With nan equal to nan."""
    return {row: {k: repr(v) for k, v in found.items()} for row, found in numbers(log).items()}


# Issue: RNM at ε 1..10 within 4 standard errors of the curve; here 400 trials. The curve of a model
# that never errs is the same for any number of shards.
@pytest.mark.slow
def test_rnm_lies_on_the_curve(tmp_path):
    claimed = range(1, 11)
    found = numbers(
        run(
            tmp_path,
            epsilon=[float(e) for e in claimed],
            trials=400,
            ensemble=4,
            balanced=True,
            null_controls=0,
        )
    )
    for epsilon in claimed:
        row = found[f"ε={epsilon} histogram"]
        config = audit_config({"epsilon": epsilon, "ensemble": 4})
        ceiling = possible(config, Row("histogram", float(epsilon)))
        assert row["accuracy possible"] == ceiling.accuracy
        assert row["ε possible"] == pytest.approx(epsilon, rel=1e-6)
        # The hold-out threshold judges 70 % of the trials and may lie a little off the best.
        error = math.sqrt(ceiling.accuracy * (1 - ceiling.accuracy) / 280)
        assert -4 * error - 0.05 < row["accuracy"] - ceiling.accuracy < 4 * error
        # AUC of two unit Gaussians μ apart is Φ(μ/√2)
        mu = 2 * _z(ceiling.accuracy)
        auc = _cdf(mu / math.sqrt(2))
        assert abs(row["AUC"] - auc) < 4 * math.sqrt((auc * (1 - auc) + 0.02) / 200)
        for bound in ("ε ≥ Clopper-Pearson", "ε ≥ e-process", "ε ≥ e-process, noise integrated"):
            assert row[bound] <= epsilon
    assert config.delta == found["membership"]["δ"]
    assert found["membership"]["model calls"] == 1600
    assert found["membership"]["naive calls"] == 16_000


def _z(p: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(p))


def _cdf(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


# Harmless systems: no private data at all, or a canary that changes nothing.
def test_null_audits_through_inspect_show_nothing(tmp_path):
    positive = rows = 0
    same = {"hit": 0.3, "false_vote": 0.3}
    for seed, fields in enumerate((
        {"defense": "zero_shot", "trials": 60},
        {"defense": "none", "trials": 60},
        {"defense": "label_rr", "trials": 60, "epsilon": "1,inf"},
        {"calls": "paired", "trials": 40, "epsilon": "1,4,inf"},
    )):
        log = run(tmp_path, same, seed=seed, temperature=1, null_controls=0, **fields)
        for name, row in numbers(log).items():
            if name != "membership":
                for bound in ("ε ≥", "ε ≥ e-process"):
                    rows, positive = rows + 1, positive + (row[bound] > 0)
    assert rows == 2 * (1 + 1 + 2 + 6)
    assert positive <= 2  # 5 % each, from fixed seeds


# The counts that issue and spec promise for m = 10 and 7 values of ε: 1000, 550 and 220. They are
# the plan's for 100 trials (test_plan), of which the frozen ones need 20; here 20 are asked.
@pytest.mark.parametrize(("calls", "asked"), [("naive", 200), ("paired", 110), ("frozen", 220)])
def test_calls_for_seven_epsilons(tmp_path, calls, asked):
    fields = {"calls": calls, "trials": 20, "null_controls": 0}
    log = run(tmp_path, epsilon="0.5,1,2,4,8,10,inf", **fields)
    found = numbers(log)["membership"]
    assert found["model calls"] == asked
    assert found["naive calls"] == 7 * (400 if calls == "frozen" else 200)
    assert sum(
        sample.model_usage["contextleak/simulated"].total_tokens > 0 for sample in log.samples
    )


# Kind c and issue: kill -9 in mid-run, then eval-retry, gives the result of an unbroken run.
@pytest.mark.slow
def test_a_killed_run_that_is_retried_equals_an_unbroken_one(monkeypatch, tmp_path):
    rates = {"hit": 0.9, "false_vote": 0.1}
    arguments = ["-T", "trials=90", "-T", "temperature=1", "-T", "epsilon=4,inf"]
    model = ["--model", "contextleak/simulated", "-M", "hit=0.9", "-M", "false_vote=0.1"]
    command = [sys.executable, "-m", "inspect_ai", "eval", CLASSIFICATION, *arguments, *model]
    options = ["--display", "none", "--max-samples", "2", "--log-dir"]
    killed = tmp_path / "killed"
    process = subprocess.Popen(
        [*command, *options, str(killed)], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    try:
        file = _wait_for_log(killed, 60_000, process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    broken = read_eval_log(str(file))
    assert broken.status == "started"
    assert 5 < len(broken.samples) < 90
    monkeypatch.chdir(ROOT)
    [found] = eval_retry(broken, log_dir=str(killed), display="log")
    expected = run(tmp_path, rates, trials=90, temperature=1, epsilon="4,inf")
    assert found.eval.task_id == broken.eval.task_id
    assert texts(found) == texts(expected)
    # Samples that Inspect recovered from the killed run's buffer have lost their store.
    again = score(found, membership(), model="none/none", action="overwrite", display="log")
    assert texts(again) == texts(expected)


def _wait_for_log(folder: Path, size: int, process: "subprocess.Popen[bytes]") -> Path:
    """The log, once this many bytes of it are written."""
    for _ in range(6000):
        for file in folder.glob("*.eval"):
            if file.stat().st_size > size:
                return file
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.05)
    raise AssertionError("the run wrote no log within five minutes")
