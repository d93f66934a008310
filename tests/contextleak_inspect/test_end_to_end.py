"""Audits through Inspect, on a model with known error rates: theory, kills, names."""

import math
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from inspect_ai import eval, score
from inspect_ai.log import EvalLog, read_eval_log

from contextleak_inspect import __version__
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
        display="none",
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


# Issue: RNM at ε 1..10 within 4 standard errors of the curve; here 400 trials.
@pytest.mark.slow
def test_rnm_lies_on_the_curve(tmp_path):
    claimed = range(1, 11)
    found = numbers(
        run(
            tmp_path,
            epsilon=[float(e) for e in claimed],
            trials=400,
            balanced=True,
            null_controls=0,
        )
    )
    config = audit_config({"epsilon": 1})
    for epsilon in claimed:
        row = found[f"ε={epsilon} histogram"]
        ceiling = possible(audit_config({"epsilon": epsilon}), Row("histogram", float(epsilon)))
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
    assert found["membership"]["model calls"] == 4000
    assert found["membership"]["naive calls"] == 40_000


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


# The counts that issue and spec promise for 100 trials, m = 10 and 7 values of ε.
@pytest.mark.slow
@pytest.mark.parametrize(("calls", "asked"), [("naive", 1000), ("paired", 550), ("frozen", 220)])
def test_calls_for_seven_epsilons(tmp_path, calls, asked):
    log = run(tmp_path, epsilon="0.5,1,2,4,8,10,inf", calls=calls, null_controls=0)
    found = numbers(log)["membership"]
    assert found["model calls"] == asked
    assert found["naive calls"] == (2800 if calls == "frozen" else 7000)
    assert sum(
        sample.model_usage["contextleak/simulated"].total_tokens > 0 for sample in log.samples
    )


# Kind c and issue: kill -9 in mid-run, then eval-retry, gives the result of an unbroken run.
@pytest.mark.slow
def test_a_killed_run_that_is_retried_equals_an_unbroken_one(tmp_path):
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
    retry = [sys.executable, "-m", "inspect_ai", "eval-retry", str(file), *options, str(killed)]
    subprocess.run(retry, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    [retried] = [f for f in killed.glob("*.eval") if f != file]
    whole = tmp_path / "whole"
    subprocess.run(
        [*command, *options, str(whole)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )
    [unbroken] = whole.glob("*.eval")
    found, expected = read_eval_log(str(retried)), read_eval_log(str(unbroken))
    assert found.eval.task_id == broken.eval.task_id
    assert texts(found) == texts(expected)
    # Samples that Inspect recovered from the killed run's buffer have lost their store.
    again = score(found, membership(), model="none/none", action="overwrite", display="none")
    assert texts(again) == texts(expected)


def _wait_for_log(folder: Path, size: int, process: "subprocess.Popen[bytes]") -> Path:
    """The log, once this many bytes of it are written."""
    for _ in range(1200):
        for file in folder.glob("*.eval"):
            if file.stat().st_size > size:
                return file
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.05)
    raise AssertionError("the run wrote no log within a minute")


@pytest.mark.slow
def test_in_an_editable_install_names_have_no_prefix(tmp_path):
    _command_line([sys.executable], "contextleak_classification", "membership", tmp_path)
    _command_line([sys.executable], CLASSIFICATION, "membership", tmp_path)


@pytest.mark.slow
def test_installed_from_a_wheel_names_have_the_packages_prefix(tmp_path):
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "-q", "-w", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("inspect_dp-*.whl")
    # An environment of its own, with the wheel first and what it depends on behind it.
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True
    )
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    dependencies = Path(pytest.__file__).parents[1]
    (site / "dependencies.pth").write_text(f"{dependencies}\n", encoding="utf-8")
    python = [str(tmp_path / "env" / "bin" / "python")]
    package = "contextleak_inspect"
    log = _command_line(
        python, f"{package}/contextleak_classification", f"{package}/membership", tmp_path
    )
    assert log.eval.packages["inspect-dp"] == __version__
    name = next(iter(log.results.scores[1].metrics))
    assert name.startswith(f"{package}/audit_")


def _command_line(python: list[str], task: str, scorer: str, tmp_path: Path) -> EvalLog:
    """Evaluates, scores again and reports by name, as a user types it."""
    folder = tmp_path / task.replace("/", "-")
    inspect, end = [*python, "-m", "inspect_ai"], ["--display", "plain"]
    arguments = ["-T", "trials=6", "-T", "epsilon=1,inf", "-T", "delta=1e-6"]
    options = ["--model", "contextleak/simulated", "--log-dir", str(folder)]
    here = ROOT if task.startswith("tasks/") else tmp_path
    _call([*inspect, "eval", task, *arguments, *options, *end], here)
    (file,) = folder.glob("*.eval")
    log = read_eval_log(str(file))
    assert log.eval.task == task.removesuffix(".py").removeprefix("tasks/")
    same, other = folder / "again" / "same.eval", folder / "again" / "other.eval"
    for to, claim in ((same, []), (other, ["-S", "epsilon=3", "-S", "threshold=holdout"])):
        output = ["--action", "overwrite", "--output-file", str(to), "--model", "none/none"]
        _call([*inspect, "score", str(file), "--scorer", scorer, *claim, *output, *end], here)
    assert texts(read_eval_log(str(same))) == texts(log)
    assert "ε=3 histogram" in numbers(read_eval_log(str(other)))
    said = _call([*python, "-m", "contextleak_inspect.cli", "report", str(file)], here)
    assert "Noisy histogram (observation noisy_aggregate)" in said
    return log


def _call(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
