import inspect as python_inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from inspect_ai import eval

from contextleak_inspect import tasks
from contextleak_inspect.arguments import ArgumentError
from contextleak_inspect.config import AuditConfig, audit_config
from contextleak_inspect.tasks import contextleak_classification
from contextleak_inspect.tasks_generation import contextleak_generation
from contextleak_inspect.tasks_utility import contextleak_utility

ROOT = Path(__file__).parents[2]
# Settings of defenses that release texts; classification has none of them.
OF_TEXTS = {"embedding", "candidates", "reference_pairs", "keyword_mechanism", "n_keywords"}


def test_every_setting_of_an_audit_is_an_argument_and_nothing_else():
    arguments = set(python_inspect.signature(contextleak_classification).parameters)
    assert arguments == set(AuditConfig.model_fields) - {"task"} - OF_TEXTS


def test_arguments_left_out_are_the_defenses_own_defaults():
    for defense in ("rnm", "label_rr", "none", "output_filter"):
        task = contextleak_classification(defense=defense)
        assert audit_config(task.metadata["config"]) == audit_config({"defense": defense})


def test_every_argument_is_explained():
    text = python_inspect.getdoc(contextleak_classification) or ""
    for name in python_inspect.signature(contextleak_classification).parameters:
        assert f"\n    {name}: " in text


# `-T delta=1e-5` arrives as a string, `-T epsilon=1,inf` as strings, `-T temperature=null` as None.
def test_arguments_as_the_command_line_sends_them():
    task = contextleak_classification(delta="1e-6", epsilon=["1", "inf"], temperature=None)
    config = audit_config(task.metadata["config"])
    assert (config.delta, config.temperature) == (1e-6, None)
    assert task.config.temperature is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"defense": "dp"}, "defense"),
        ({"defense": "none", "epsilon": "1"}, "claims no ε"),
        ({"calls": "paired", "threshold": "fixed_rank"}, "needs worlds that share no answers"),
        ({"calls": "frozen", "temperature": 1}, "always answers alike"),
        ({"trials": 0}, "trials"),
        ({"defense": "none", "membership": "logprob", "threshold": "grid"}, "numbers of votes"),
        ({"defense": "esa"}, "releases texts"),
    ],
)
def test_wrong_arguments_stop_before_any_call(arguments, says):
    with pytest.raises(ValueError, match=says):
        contextleak_classification(**arguments)


def test_the_command_line_shows_a_refusal_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "inspect_ai", "eval", "tasks/contextleak_generation.py"]
    done = subprocess.run(
        [*command, "-T", "trials=0", "--model", "contextleak/simulated", "--log-dir", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip().startswith("Error: trials: ")
    assert "Traceback" not in done.stdout + done.stderr
    assert not list(tmp_path.iterdir())


def test_an_embedding_model_without_its_key_is_refused_in_the_same_way(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ArgumentError, match=r"^embedding model openai/x needs OPENAI_API_KEY"):
        contextleak_generation(embedding="openai/x")


@pytest.mark.parametrize("task", [contextleak_classification, contextleak_utility])
@pytest.mark.parametrize("labels", [("Yes", "yes"), ("**a**", "a"), ("good", "good\nnot bad")])
def test_labels_that_cannot_be_told_apart_stop_before_any_call(tmp_path, task, labels):
    path = tmp_path / "a.jsonl"
    rows = ({"text": f"text {i}", "label": labels[i % 2]} for i in range(60))
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(ValueError, match="rename"):
        task(source=str(path))


def test_a_task_says_its_version_and_package():
    task = contextleak_classification()
    assert task.version == tasks.COMPARABILITY
    assert task.metadata["full_task_version"] == "1-A"
    assert task.metadata["package_version"]


@pytest.mark.parametrize("file", sorted(ROOT.glob("tasks/contextleak_*_paper.yaml")))
def test_run_configs_name_arguments_that_exist(file):
    run = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert (ROOT / run["task"]["task"].split("@")[0]).is_file()
    if "classification" in run["task"]["task"]:
        contextleak_classification(**run["task"]["args"])


def test_more_than_one_epoch_is_refused(tmp_path):
    [log] = eval(
        contextleak_classification(trials=2, null_controls=0),
        model="contextleak/simulated",
        epochs=2,
        log_dir=str(tmp_path),
        display="log",
    )
    assert log.status == "error"
    assert "use -T trials=, not --epochs" in log.error.message
