"""Arguments as the command line gives them, and what the log says of the run."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from dprivbench_inspect import __version__, dprivbench_cat1, dprivbench_cat2
from dprivbench_inspect.dataset import load_questions
from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.questions import TOPICS, questions_hash
from dprivbench_inspect.release import MECHANISM_PARTS

TASKS = Path(__file__).parents[2] / "tasks"


def test_all_questions_are_asked_unless_some_are_chosen() -> None:
    assert len(dprivbench_cat1().dataset) == 588
    assert len(dprivbench_cat2().dataset) == len(load_questions(2).questions)
    assert list(MECHANISMS) == list(MECHANISM_PARTS)


@pytest.mark.parametrize("chosen", ["laplace,expo_mech", ["laplace", "expo_mech"]])
def test_names_come_as_a_string_or_as_a_list(chosen: Any) -> None:
    dataset = dprivbench_cat1(mechanisms=chosen).dataset
    assert {(sample.metadata or {})["mechanism"] for sample in dataset} == {"laplace", "expo_mech"}


@pytest.mark.parametrize("chosen", [7, "7", [7], ["7"]])
def test_numbers_come_as_numbers_or_as_strings(chosen: Any) -> None:
    assert [sample.id for sample in dprivbench_cat1(functions=chosen).dataset] == [
        f"{mechanism}-{number}" for mechanism in MECHANISMS for number in (13, 14)
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mechanisms": "lapalce"}, r"mechanisms \['lapalce'\] .*choose from \['expo_mech', "),
        ({"mechanisms": ""}, r"mechanisms \[''\] .*choose from"),
        ({"mechanisms": []}, "choose from"),
        ({"functions": 50}, r"functions \[50\] .*choose from \[1, 2, "),
        ({"functions": "one"}, "^functions: .*valid integer.*, got 'one'$"),
        ({"functions": True}, "^functions: Input should be a number, got True$"),
        ({"functions": [1, True]}, "^functions: .*got True$"),
        ({"functions": "7, 7"}, "^functions: 7 stands more than once; give each once"),
        ({"mechanisms": "laplace,laplace"}, "^mechanisms: laplace stands more than once"),
        ({"mechanisms": True}, "^mechanisms: Input should be a valid string, got True$"),
        ({"source": ""}, "^source: names nothing; give bundled, hub or a path, got ''$"),
        ({"source": None}, "^source: names nothing; give bundled, hub or a path, got None$"),
        ({"source": " "}, "^source: is empty"),
        ({"revision": ""}, "^revision: is empty; leave it out or give a value, got ''$"),
        ({"source": "nowhere"}, "neither bundled, hub nor a path"),
        ({"variant": "hard"}, "'pairs' or 'graded'"),
        ({"prompt": "few_shot"}, "'zero_shot' or 'one_shot'"),
        ({"revision": "main"}, "belongs to source=hub"),
        ({"paper_extraction": "perhaps"}, "paper_extraction"),
        ({"variant": "x", "prompt": "y"}, "^prompt: .*, got 'y'; variant: .*, got 'x'$"),
    ],
)
def test_other_values_are_refused_in_one_line_with_those_that_are_valid(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        dprivbench_cat1(**arguments)
    assert "\n" not in str(caught.value)
    # click prints it without a traceback: Inspect's command line is made with click.
    assert isinstance(caught.value, click.ClickException)


def test_unknown_topics_and_subjects_are_refused() -> None:
    with pytest.raises(ValueError, match=r"topics \['dpsgd'\] .*choose from \['accounting'"):
        dprivbench_cat2(topics="dpsgd")
    with pytest.raises(ValueError, match=r"subjects \['ML'\] .*choose from \['Accounting and"):
        dprivbench_cat2(subjects="ML")
    with pytest.raises(
        ValueError,
        match=r"no question has subjects \['DP-ML'\] together with topics \['svt', 'ptr'\]",
    ):
        dprivbench_cat2(topics="svt,ptr", subjects="DP-ML,Data-Adaptive,Accounting and Composition")
    topic = next(iter(TOPICS))
    chosen = dprivbench_cat2(topics=topic).dataset
    assert {(sample.metadata or {})["topic"] for sample in chosen} == {topic}
    chosen = dprivbench_cat2(subjects=TOPICS[topic].subject).dataset
    assert {(sample.metadata or {})["subject"] for sample in chosen} == {TOPICS[topic].subject}


def test_a_worked_example_is_there_for_every_question_or_the_run_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    text = "{id: a, category: 1, mechanism: staircase, function_id: 1, question: q, label: 'no'}"
    (tmp_path / "mine.yaml").write_text(f"- {text}", encoding="utf-8")
    assert len(dprivbench_cat1(source="~/mine.yaml").dataset) == 1
    with pytest.raises(ValueError, match=r"no worked example for mechanisms \['staircase'\]"):
        dprivbench_cat1(source="~/mine.yaml", prompt="one_shot")


def test_the_command_line_prints_one_line_and_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "inspect_ai", "eval", "tasks/dprivbench_hard.py"]
    command += ["--model", "none/none", "--log-dir", str(tmp_path), "-T", "source=[/nowhere]"]
    done = subprocess.run(command, cwd=TASKS.parent, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "Error: source: Input should be a valid string, got ['/nowhere']\n"


def test_the_metadata_says_what_is_asked_and_by_which_version() -> None:
    task = dprivbench_cat1(mechanisms="laplace", functions="1,2")
    questions = [
        q
        for q in load_questions(1).questions
        if q.mechanism == "laplace" and q.function_id in {1, 2}
    ]
    assert task.version == 1
    assert task.metadata == {
        "full_task_version": "1-A",
        "task_comparability_version": 1,
        "task_interface_version": "A",
        "package_version": __version__,
        "source": "bundled",
        "revision": None,
        "n_questions": 4,
        "questions_hash": questions_hash(questions),
        "arguments": {
            "mechanisms": ["laplace"],
            "functions": [1, 2],
            "variant": "pairs",
            "prompt": "zero_shot",
            "source": "bundled",
            "revision": None,
            "paper_extraction": False,
        },
    }


@pytest.mark.parametrize(
    "file", sorted(TASKS.glob("dprivbench_*.yaml")), ids=lambda file: file.stem
)
def test_the_papers_settings_ask_five_times_with_arguments_that_exist(file: Path) -> None:
    config = yaml.safe_load(file.read_text(encoding="utf-8"))
    path, name = config["task"]["task"].split("@")
    assert (TASKS.parent / path).is_file()
    task = {"dprivbench_cat1": dprivbench_cat1, "dprivbench_cat2": dprivbench_cat2}[name]
    assert len(task(**config["task"]["args"] | {"source": "bundled"}).dataset) > 0
    assert config["eval_config"] == {"epochs": 5}
