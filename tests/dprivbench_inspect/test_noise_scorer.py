"""The calibrate task in real runs, on models that need no network."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval, score
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import GenerateConfig
from pydantic import ValidationError
from pytest_inspect_evals.metrics import run_metrics

from dprivbench_inspect.noise_results import NoiseAnswer, noise_summary
from dprivbench_inspect.noise_scorer import noise_rates, noise_scale
from dprivbench_inspect.prompts import EXAMPLE_START, NOISE_INSTRUCTION, noise_prompt, question_in
from dprivbench_inspect.solvers import ask_noise
from dprivbench_inspect.tasks import dprivbench_calibrate

HALF = 1.96 * 0.5  # half-width of two questions, one right: 1.96 · √(2 · ¼ · 2)/2 = 1.96 · ½


def run(task: Task, model: Any, log_dir: Path, **options: Any) -> EvalLog:
    (log,) = eval(task, model=model, log_dir=str(log_dir), display="log", **options)
    assert log.status == "success"
    return log


def rates(log: EvalLog) -> dict[str, float]:
    assert log.results is not None
    return {name: float(m.value) for name, m in log.results.scores[0].metrics.items()}


def test_the_symbolic_model_is_right_on_every_question_it_is_asked(tmp_path: Path) -> None:
    found = rates(
        run(dprivbench_calibrate(functions="9,36,41,48"), "dprivbench/symbolic", tmp_path)
    )
    assert (found["equal"], found["unreadable"], found["replies"]) == (1.0, 0.0, 24.0)
    assert found["permute_flip: equal"] == 1.0


def test_a_scripted_model_gets_what_its_formula_is_worth(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    def reply(prompt: str, seed: int | None) -> str:
        assert prompt.endswith(NOISE_INSTRUCTION)
        assert r"inside \boxed{}." in prompt  # no format template ate the braces
        if "Gumbel" in prompt:
            return r"So \boxed{\frac{1}{\varepsilon}}, no: \boxed{t = 2\epsilon^{-1}}."
        if "exponential distribution" in prompt:
            return r"The rate is \boxed{\text{rate} = \varepsilon/2}"
        return r"Noise of scale \boxed{1/\varepsilon}" if seed else "I would say 1/ε."

    task = dprivbench_calibrate(
        functions=1, mechanisms="laplace,laplace_rnm,expo_mech,permute_flip"
    )
    log = run(task, mock(reply).model, tmp_path, epochs=2)
    assert log.samples is not None
    got = {(s.id, s.epoch): s.scores["noise_scale"] for s in log.samples if s.scores}
    results = {key: (one.metadata or {})["result"] for key, one in got.items()}
    assert results == {
        ("laplace-noise-1", 1): "unreadable",
        ("laplace-noise-1", 2): "equal",
        ("laplace_rnm-noise-1", 1): "unreadable",
        ("laplace_rnm-noise-1", 2): "too_little",
        ("expo_mech-noise-1", 1): "equal",
        ("expo_mech-noise-1", 2): "equal",
        ("permute_flip-noise-1", 1): "unreadable",
        ("permute_flip-noise-1", 2): "unreadable",
    }
    assert got["laplace-noise-1", 1].explanation == "no box: invalid_format"
    assert got["expo_mech-noise-1", 1].answer == r"t = 2\epsilon^{-1}"
    found = rates(log)
    assert (found["equal"], found["too little"], found["unreadable"]) == (3 / 8, 1 / 8, 4 / 8)
    assert (found["expo_mech: equal"], found["laplace: equal"]) == (1.0, 0.5)
    assert found["equal ± over epochs"] == pytest.approx(1.96 * 0.125)  # means 1/4 and 1/2


def test_a_log_is_scored_again_without_a_model(tmp_path: Path) -> None:
    log = run(dprivbench_calibrate(functions="1,41"), "dprivbench/symbolic", tmp_path)
    for sample in log.samples or []:
        sample.output.choices[0].message.content = r"\boxed{\frac{1}{\varepsilon}}"
    again = score(log, noise_scale(), action="overwrite")
    found = rates(again)
    # Right for f1 with Laplace; e/(e+n-1) is less; mu and rho stand for ε elsewhere.
    assert (found["laplace: equal"], found["laplace: too much"]) == (0.5, 0.5)
    assert (found["gaussian_gdp: unreadable"], found["expo_mech: too little"]) == (1.0, 1.0)


def test_the_prompt_forms_differ_in_the_example_only(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    model = mock()
    run(dprivbench_calibrate(functions=2, prompt="one_shot"), model.model, tmp_path)
    for asked in model.asked:
        (message,) = asked.messages
        assert message.text.startswith(EXAMPLE_START)
        assert question_in(message.text).startswith(("Let $x", "Let $D"))
        assert question_in(message.text).endswith("the data.")
    with pytest.raises(ValueError, match="two_shot"):
        noise_prompt("two_shot", "Q", "laplace")  # type: ignore[arg-type]


def test_each_epoch_sends_its_own_seed_after_the_runs(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    model = mock(config=GenerateConfig(seed=7))
    task = dprivbench_calibrate(functions=1, mechanisms="laplace")
    task.solver = ask_noise("zero_shot")
    run(task, model.model, tmp_path, epochs=3)
    assert sorted(asked.config.seed for asked in model.asked) == [7, 8, 9]


@pytest.mark.parametrize(
    "wrong", [{"mechanisms": "gauss"}, {"functions": 50}, {"functions": "x"}, {"prompt": "few"}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((ValueError, ValidationError)):
        dprivbench_calibrate(**wrong)


def test_the_log_holds_what_scoring_needs_and_the_answer_reaches_no_prompt(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    model = mock()
    log = run(dprivbench_calibrate(functions=48), model.model, tmp_path)
    sample = (read_eval_log(log.location).samples or [])[0]
    assert (sample.metadata["parameter"], sample.metadata["constants"]) == (
        r"\varepsilon",
        {"a": [1.01, 2.0, 10.0]},
    )
    assert all(r"\ln(1+a)" not in asked.messages[-1].text for asked in model.asked)


def test_shares_and_intervals_are_those_worked_out_by_hand() -> None:
    two = [NoiseAnswer("a", "laplace", "equal"), NoiseAnswer("b", "laplace", "too_much")]
    found = noise_summary(two)
    assert (found["equal"], found["too much"], found["too little"]) == (0.5, 0.5, 0.0)
    assert found["equal ± over questions"] == pytest.approx(HALF)
    assert math.isnan(found["equal ± over epochs"])


def test_the_metric_takes_unfinished_runs() -> None:
    nothing = noise_summary([])
    assert math.isnan(nothing["equal"])
    assert nothing["replies"] == 0.0
    one = {"equal": 1.0, "too_little": 0.0, "too_much": 0.0, "unreadable": 0.0}
    found = run_metrics([noise_rates()], [[one]], metadata=[{"mechanism": "laplace"}])
    assert (found["equal"], found["laplace: equal"], found["replies"]) == (1.0, 1.0, 1.0)
