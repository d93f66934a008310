"""Both packages by name on the command line, as a user types it: editable, and from a wheel."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from inspect_ai.log import EvalLog, read_eval_log

from dprivbench_inspect import __version__

ROOT = Path(__file__).parents[1]
HERE = sys.executable  # where the packages are installed as a plain folder
CONTEXTLEAK = ("--model", "contextleak/simulated", "-T", "trials=6", "-T", "epsilon=1,inf")
DPRIVBENCH = ("--model", "dprivbench/always-yes", "--limit", "4")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Python of an environment with our wheel first and what it depends on behind it."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [HERE, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q"]
    _call([*pip, "-w", str(folder), str(ROOT)], folder)
    (built,) = folder.glob("inspect_dp-*.whl")
    _call([HERE, "-m", "venv", "--without-pip", str(folder / "env")], folder)
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    zipfile.ZipFile(built).extractall(site)
    dependencies = Path(pytest.__file__).parents[1]
    (site / "dependencies.pth").write_text(f"{dependencies}\n", encoding="utf-8")
    python = str(folder / "env" / "bin" / "python")
    for package in ("contextleak_inspect", "dprivbench_inspect"):
        code = f"import {package}; print({package}.__file__)"
        assert _call([python, "-c", code], folder).startswith(str(site))
    return python


@pytest.mark.slow
def test_in_an_editable_install_contextleak_has_no_prefix(tmp_path: Path) -> None:
    by_name = _evaluated(HERE, "contextleak_classification", tmp_path, *CONTEXTLEAK)
    assert by_name.eval.task == "contextleak_classification"
    assert _numbers(_scored(HERE, by_name, "membership")) == _numbers(by_name)
    file = "tasks/contextleak_classification.py"
    by_file = _evaluated(HERE, file, tmp_path, *CONTEXTLEAK, "-T", "delta=1e-6")
    assert by_file.eval.task == "contextleak_classification"
    claim = ("-S", "epsilon=3", "-S", "threshold=holdout")
    assert "ε=3 histogram" in _numbers(_scored(HERE, by_file, "membership", *claim))


@pytest.mark.slow
def test_in_an_editable_install_dprivbench_has_no_prefix(tmp_path: Path) -> None:
    by_name = _evaluated(HERE, "dprivbench_cat1", tmp_path, *DPRIVBENCH)
    assert by_name.eval.task == "dprivbench_cat1"
    assert _numbers(_scored(HERE, by_name, "verdict")) == _numbers(by_name)
    by_file = _evaluated(HERE, "tasks/dprivbench_cat2.py", tmp_path, *DPRIVBENCH)
    assert by_file.eval.task == "dprivbench_cat2"


@pytest.mark.slow
def test_from_a_wheel_contextleak_has_the_packages_prefix(wheel: str, tmp_path: Path) -> None:
    package = "contextleak_inspect"
    log = _evaluated(wheel, f"{package}/contextleak_classification", tmp_path, *CONTEXTLEAK)
    assert log.eval.task == f"{package}/contextleak_classification"
    assert log.eval.packages["inspect-dp"] == __version__
    assert log.results is not None
    name = next(iter(log.results.scores[1].metrics))
    assert name.startswith(f"{package}/audit_")
    assert _numbers(_scored(wheel, log, f"{package}/membership")) == _numbers(log)
    said = _call([wheel, "-m", f"{package}.cli", "report", log.location], tmp_path)
    assert "Noisy histogram (observation noisy_aggregate)" in said


@pytest.mark.slow
def test_from_a_wheel_dprivbench_has_the_packages_prefix(wheel: str, tmp_path: Path) -> None:
    package = "dprivbench_inspect"
    log = _evaluated(wheel, f"{package}/dprivbench_cat1", tmp_path, *DPRIVBENCH)
    assert log.eval.task == f"{package}/dprivbench_cat1"
    assert log.eval.packages["inspect-dp"] == __version__
    assert _numbers(_scored(wheel, log, f"{package}/verdict")) == _numbers(log)
    said = _call([wheel, "-m", f"{package}.cli", "report", log.location], tmp_path)
    assert "dprivbench/always-yes [1]" in said


def _evaluated(python: str, task: str, tmp_path: Path, *options: str) -> EvalLog:
    folder = tmp_path / task.replace("/", "-")
    command = [python, "-m", "inspect_ai", "eval", task, *options, "--log-dir", str(folder)]
    _call([*command, "--display", "plain"], ROOT if task.startswith("tasks/") else tmp_path)
    (file,) = folder.glob("*.eval")
    return read_eval_log(str(file))


def _scored(python: str, log: EvalLog, scorer: str, *options: str) -> EvalLog:
    to = Path(log.location).parent / "again" / "scored.eval"
    command = [python, "-m", "inspect_ai", "score", log.location, "--scorer", scorer, *options]
    end = ["--action", "overwrite", "--output-file", str(to), "--model", "none/none"]
    _call([*command, *end, "--display", "plain"], to.parents[1])
    return read_eval_log(str(to))


def _call(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _numbers(log: EvalLog) -> dict[str, dict[str, str]]:
    """Scorer → metric → value, as a text, so that nan equals nan."""
    assert log.results is not None
    return {
        one.name.rsplit("/", 1)[-1]: {
            name.rsplit("/", 1)[-1]: repr(float(metric.value))
            for name, metric in one.metrics.items()
        }
        for one in log.results.scores
    }
