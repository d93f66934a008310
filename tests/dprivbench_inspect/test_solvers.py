"""The prompt that reached the model, and the seeds that went with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig

from dprivbench_inspect.dataset import load_questions
from dprivbench_inspect.exemplars import EXEMPLARS
from dprivbench_inspect.prompts import INSTRUCTION
from dprivbench_inspect.solvers import ask_verdict
from dprivbench_inspect.tasks import dprivbench_cat1, dprivbench_cat2

BRACES = r"$\frac{a_{i}}{b}$, {prompt}, {0}, {{x}}, \boxed{}"


def test_every_character_of_the_question_reaches_the_model(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    task = Task(dataset=[Sample(id="a", input=BRACES)], solver=ask_verdict())
    model, asked = mock()
    (log,) = eval(task, model=model, log_dir=str(tmp_path), display="log")
    assert log.status == "success"
    ((messages, _, tools),) = asked
    assert [message.role for message in messages] == ["user"]  # no system prompt
    assert messages[0].text == f"{BRACES}\n\n{INSTRUCTION}"
    assert tools == []


def test_a_task_sends_question_and_instruction_and_nothing_that_gives_the_answer_away(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    model, asked = mock()
    (log,) = eval(dprivbench_cat2(), model=model, log_dir=str(tmp_path), display="log", limit=5)
    assert log.status == "success"
    questions = load_questions(2).questions[:5]
    assert {call.messages[0].text for call in asked} == {
        f"{question.question}\n\n{INSTRUCTION}" for question in questions
    }


def test_one_shot_puts_an_example_for_the_same_mechanism_first(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    model, asked = mock()
    task = dprivbench_cat1(mechanisms="permute_flip", functions="1,2,3", prompt="one_shot")
    (log,) = eval(task, model=model, log_dir=str(tmp_path), display="log")
    assert log.status == "success"
    assert len(asked) == 6
    examples = {example.question: example.answer for example in EXEMPLARS["permute_flip"]}
    for call in asked:
        text = call.messages[0].text
        (question,) = (question for question in examples if question in text)
        assert text.index(question) < text.index(examples[question]) < text.index(INSTRUCTION)


@pytest.mark.parametrize(
    ("model_seed", "sent"), [(None, [0, 1, 2]), (7, [7, 8, 9]), (0, [0, 1, 2])]
)
def test_each_epoch_sends_its_own_seed(
    mock: Callable[..., Any],
    tmp_path: Path,
    model_seed: int | None,
    sent: list[int],
) -> None:
    model, asked = mock(config=GenerateConfig(seed=model_seed))
    task = dprivbench_cat1(mechanisms="laplace", functions=1)
    (log,) = eval(task, model=model, log_dir=str(tmp_path), display="log", epochs=3)
    assert log.status == "success"
    assert sorted({call.config.seed for call in asked}) == sent
    for sample in log.samples or []:
        (event,) = (event for event in sample.events if event.event == "model")
        assert event.config.seed == sent[sample.epoch - 1]


def test_the_seed_of_the_command_line_is_where_the_epochs_start(tmp_path: Path) -> None:
    task = dprivbench_cat1(mechanisms="laplace", functions=1)
    (log,) = eval(
        task,
        model="dprivbench/always-yes",
        log_dir=str(tmp_path),
        display="log",
        epochs=2,
        seed=41,
    )
    seeds = {
        sample.epoch: event.config.seed
        for sample in log.samples or []
        for event in sample.events
        if event.event == "model"
    }
    assert seeds == {1: 41, 2: 42}
