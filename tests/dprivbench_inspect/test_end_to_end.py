"""Real runs, on models that need no network: what a log holds, and that it can be used again."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval, eval_retry, score
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import GenerateConfig

from dprivbench_inspect import __version__, baselines
from dprivbench_inspect.prompts import INSTRUCTION
from dprivbench_inspect.release import MECHANISM_PARTS
from dprivbench_inspect.scorers import paper_verdict, verdict
from dprivbench_inspect.tasks import dprivbench_cat1, dprivbench_cat2

ROOT = Path(__file__).parents[2]


def run(task: Task, model: Any, log_dir: Path, **options: Any) -> EvalLog:
    (log,) = eval(task, model=model, log_dir=str(log_dir), display="log", **options)
    return log


def numbers(log: EvalLog) -> dict[str, dict[str, str]]:
    """Scorer → metric → value, as a text, so that nan equals nan."""
    assert log.results is not None
    return {
        one.name.rsplit("/", 1)[-1]: {
            name: str(float(metric.value)) for name, metric in one.metrics.items()
        }
        for one in log.results.scores
    }


def test_a_mock_model_runs_through_both_tasks(mock: Callable[..., Any], tmp_path: Path) -> None:
    for task in (dprivbench_cat1, dprivbench_cat2):
        log = run(task(), mock().model, tmp_path, limit=3)
        assert log.status == "success"
    # Inspect's mock model as it is: it says nothing of privacy, so there is no verdict.
    (log,) = eval(
        dprivbench_cat1(functions=1), model="mockllm/model", log_dir=str(tmp_path), display="log"
    )
    assert numbers(log)["verdict"]["no verdict: invalid format"] == "1.0"
    assert numbers(log)["verdict"]["accuracy"] == "0.0"


def test_always_yes_is_right_on_every_true_claim_and_on_no_other(tmp_path: Path) -> None:
    log = run(dprivbench_cat1(functions="1,2"), "dprivbench/always-yes", tmp_path, epochs=2)
    found = numbers(log)["verdict"]
    assert found["accuracy"] == found["precision"] == found["balanced accuracy"] == "0.5"
    assert (found["recall"], found["pair accuracy"], found["replies"]) == ("1.0", "0.0", "48.0")
    assert {found[f"mechanism {mechanism}"] for mechanism in MECHANISM_PARTS} == {"0.5"}


# That its text is read as the label of each of the 588 questions is tested in test_symbolic.
def test_the_symbolic_model_is_right_on_every_pair(tmp_path: Path) -> None:
    log = run(dprivbench_cat1(functions="1,9,14,28,36,41,48"), "dprivbench/symbolic", tmp_path)
    found = numbers(log)["verdict"]
    assert (found["accuracy"], found["pair accuracy"]) == ("1.0", "1.0")
    assert (found["no verdict"], found["replies"]) == ("0.0", "84.0")


def test_the_log_says_everything_that_fixes_the_run(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    # Settings on the model object were once lost from logs: inspect_ai#1565.
    config = GenerateConfig(temperature=0.7, seed=42, max_tokens=4096)
    log = run(dprivbench_cat1(mechanisms="laplace"), mock(config=config).model, tmp_path, limit=2)
    header = read_eval_log(log.location, header_only=True)
    asked = header.eval.model_generate_config
    assert (asked.temperature, asked.seed, asked.max_tokens) == (0.7, 42, 4096)
    # Arguments in force, defaults included, also where a Task object was passed: #1976, #4194.
    metadata = header.eval.metadata or {}
    assert metadata["arguments"]["mechanisms"] == ["laplace"]
    assert metadata["arguments"]["prompt"] == header.eval.task_args["prompt"] == "zero_shot"
    assert (metadata["source"], metadata["n_questions"]) == ("bundled", 98)
    assert len(metadata["questions_hash"]) == 64
    assert metadata["package_version"] == __version__
    assert (header.eval.task_version, metadata["full_task_version"]) == (1, "1-A")


def test_a_retry_after_an_interruption_gives_the_same_numbers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    task = dprivbench_cat1(mechanisms="laplace", functions="1,2,3,4,5")
    whole = run(task, "dprivbench/symbolic", tmp_path / "whole", epochs=2, seed=3)
    calls = 0
    answer = baselines.ANSWERS["symbolic"]

    def breaks_down(prompt: str) -> str:
        nonlocal calls
        calls += 1
        if calls > 7:
            raise RuntimeError("the connection was lost")
        return answer(prompt)

    monkeypatch.setitem(baselines.ANSWERS, "symbolic", breaks_down)
    broken = run(task, "dprivbench/symbolic", tmp_path, epochs=2, seed=3, max_samples=1)
    assert broken.status == "error"
    monkeypatch.setitem(baselines.ANSWERS, "symbolic", answer)
    (again,) = eval_retry(broken, log_dir=str(tmp_path), display="log")
    assert again.status == "success"
    assert again.eval.task_id == broken.eval.task_id
    assert numbers(again) == numbers(whole)
    assert again.eval.metadata == whole.eval.metadata
    assert _seeds(again) == _seeds(whole) == {1: {3}, 2: {4}}


def test_a_retry_after_the_questions_were_changed_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # It gave one accuracy over replies to the old texts and to the new ones, under the new hash.
    file, calls = tmp_path / "own.jsonl", 0

    def write(word: str) -> None:
        own = [
            {"id": f"q-{i}", "category": 1, "mechanism": "laplace", "function_id": i + 1}
            | {"question": f"{word} question {i}?", "label": "yes"}
            for i in range(4)
        ]
        file.write_text("\n".join(map(json.dumps, own)), encoding="utf-8")

    def breaks_down(prompt: str) -> str:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise RuntimeError("the connection was lost")
        return r"\boxed{yes}"

    write("Former")
    answer = baselines.ANSWERS["always-yes"]
    monkeypatch.setitem(baselines.ANSWERS, "always-yes", breaks_down)
    task = dprivbench_cat1(source=str(file))
    broken = run(task, "dprivbench/always-yes", tmp_path, max_samples=1)
    monkeypatch.setitem(baselines.ANSWERS, "always-yes", answer)
    (unchanged,) = eval_retry(broken, log_dir=str(tmp_path), display="log")
    assert numbers(unchanged)["verdict"]["replies"] == "4.0"
    write("Later")
    (again,) = eval_retry(broken, log_dir=str(tmp_path), display="log")
    assert again.status == "error"
    assert again.error is not None
    assert "answers to 2 sets of questions" in again.error.message


def test_a_shuffle_changes_the_order_and_can_be_repeated(tmp_path: Path) -> None:
    # Once it did nothing: inspect_ai#476. Seed 0 still does nothing (0.3.285), the README says so.
    task = dprivbench_cat1(mechanisms="laplace", functions="1,2,3,4,5,6")
    ids = [
        run(task, "dprivbench/always-yes", tmp_path, sample_shuffle=1).eval.dataset.sample_ids
        for _ in range(2)
    ]
    assert ids[0] == ids[1] != [f"laplace-{number}" for number in range(1, 13)]
    assert len(ids[0] or []) == 12


def test_scoring_again_gives_the_same_numbers_and_adding_a_scorer_keeps_them(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    def reply(prompt: str, seed: int | None) -> str:
        box = ("\\boxed{yes}", "\\boxed{no}", "It does, I think.")[(len(prompt) + (seed or 0)) % 3]
        return f"Let us see. {box}"

    log = run(
        dprivbench_cat1(mechanisms="laplace"), mock(reply).model, tmp_path, epochs=3, limit=20
    )
    assert 0 < float(numbers(log)["verdict"]["no verdict"]) < 1
    again = score(log, verdict(), action="overwrite", display="log")
    assert numbers(again) == numbers(log)
    more = score(log, paper_verdict(), action="append", display="log")
    assert numbers(more)["verdict"] == numbers(log)["verdict"]
    assert set(numbers(more)) == {"verdict", "paper_verdict"}
    asked = run(
        dprivbench_cat1(mechanisms="laplace", paper_extraction=True),
        mock(reply).model,
        tmp_path,
        epochs=3,
        limit=20,
    )
    assert numbers(asked) == numbers(more)


def test_both_tasks_run_on_every_record_of_the_reference_samples(
    shared: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "release"
    (folder / "category_1").mkdir(parents=True)
    (folder / "category_2").mkdir()
    upstream = shared / "upstream"
    for part in MECHANISM_PARTS.values():
        shutil.copy(
            upstream / f"sample_cat1_{part}.json", folder / "category_1" / f"cate_1_{part}.json"
        )
    shutil.copy(upstream / "sample_cat2.json", folder / "category_2" / "cate_2.json")
    for task, text, n in ((dprivbench_cat1, "question", 24), (dprivbench_cat2, "question_tex", 16)):
        log = run(task(source=str(folder)), "dprivbench/always-yes", tmp_path)
        assert (log.status, len(log.samples or [])) == ("success", n)
        assert (log.eval.metadata or {})["differences_from_release"]
        raw = {
            record[text]: record.get("comments")
            for file in upstream.glob("sample_*.json")
            for record in json.loads(file.read_text(encoding="utf-8"))
            if text in record
        }
        sent = {sample.messages[0].text for sample in log.samples or []}
        assert sent == {f"{question}\n\n{INSTRUCTION}" for question in raw}
        assert not any(comment and comment in prompt for comment in raw.values() for prompt in sent)


def test_a_broken_record_stops_the_run_before_any_question_is_asked(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    record = {"id": "a-1", "category": 2, "question": "Is it?", "topic": "svt"}
    lines = [json.dumps(record | {"label": "yes"}), json.dumps(record | {"id": "a-2"})]
    file.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.jsonl, record 2: label"):
        run(dprivbench_cat2(source=str(file)), mock().model, tmp_path)


def _seeds(log: EvalLog) -> dict[int, set[int | None]]:
    seeds: dict[int, set[int | None]] = {}
    for sample in log.samples or []:
        for event in sample.events:
            if event.event == "model":
                seeds.setdefault(sample.epoch, set()).add(event.config.seed)
    return seeds
