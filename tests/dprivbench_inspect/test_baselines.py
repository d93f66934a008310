"""The models that need no network."""

import asyncio

import pytest
from inspect_ai.model import get_model

from dprivbench_inspect.dataset import load_questions
from dprivbench_inspect.exemplars import EXEMPLARS
from dprivbench_inspect.parsing import parse_verdict
from dprivbench_inspect.prompts import prompt_for


@pytest.mark.parametrize("verdict", ["yes", "no"])
def test_a_constant_model_says_the_same_to_everything_and_counts_its_tokens(verdict: str) -> None:
    output = asyncio.run(get_model(f"dprivbench/always-{verdict}").generate("Is it private?"))
    assert parse_verdict(output.completion) == verdict
    assert output.usage is not None
    assert (output.usage.input_tokens, output.stop_reason) == (3, "stop")


def test_an_unknown_offline_model_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no offline model 'always-maybe'; choose from \['always"):
        get_model("dprivbench/always-maybe")
    with pytest.raises(ValueError, match="takes no arguments"):
        get_model("dprivbench/always-yes", memoize=False, answer="no")


def test_the_symbolic_model_reads_the_question_and_not_the_example_before_it() -> None:
    questions = load_questions(1).questions[:2]  # one true, one false, the same function
    model = get_model("dprivbench/symbolic")
    for form in ("zero_shot", "one_shot"):
        verdicts = [
            parse_verdict(
                asyncio.run(
                    model.generate(
                        prompt_for(form, q.question, exemplars="laplace", pair="laplace-1")  # type: ignore[arg-type]
                    )
                ).completion
            )
            for q in questions
        ]
        assert verdicts == ["yes", "no"]


def test_the_symbolic_model_agrees_with_the_worked_examples_it_can_read() -> None:
    model = get_model("dprivbench/symbolic")
    read = 0
    for examples in (pair for name, pair in EXEMPLARS.items() if name != "category_2"):
        for example, verdict in zip(examples, ("yes", "no"), strict=True):
            found = parse_verdict(asyncio.run(model.generate(example.question)).completion)
            assert found in {None, verdict}
            read += found is not None
    assert read >= 6


def test_the_symbolic_model_gives_no_verdict_where_it_cannot_read() -> None:
    question = load_questions(2).questions[0].question
    output = asyncio.run(get_model("dprivbench/symbolic").generate(question))
    assert parse_verdict(output.completion) is None
    assert output.completion.strip()
