"""Tables from logs: the right run, the right numbers, the paper's rows as printed."""

import json
import math
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval, eval_retry, task
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, write_eval_log

from dprivbench_inspect import baselines
from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.questions import TOPICS
from dprivbench_inspect.report import make_report, report
from dprivbench_inspect.report_runs import read_runs
from dprivbench_inspect.report_tables import PAPER_RESULTS
from dprivbench_inspect.tasks import dprivbench_cat1, dprivbench_cat2


def run(task: Task, model: Any, log_dir: Path, **options: Any) -> EvalLog:
    (log,) = eval(task, model=model, log_dir=str(log_dir), display="log", **options)
    return log


def lines(text: str, start: str) -> list[list[str]]:
    """Words of the lines that begin so, each with those of the line below it."""
    found = text.splitlines()
    return [
        line.split() + found[k + 1].split()
        for k, line in enumerate(found)
        if line.startswith(start)
    ]


def test_a_folder_gives_both_tables_with_our_rows_and_the_papers(tmp_path: Path) -> None:
    run(dprivbench_cat1(), "dprivbench/always-yes", tmp_path, limit=20, epochs=2)
    run(dprivbench_cat2(), "dprivbench/always-no", tmp_path, limit=6)
    text = report([str(tmp_path)])
    asked, ours = lines(text, "dprivbench/always-yes [1]")
    # Questions, epochs; planned, done, errors, scored; by box, by judge; none, refused, cut short.
    assert asked[6:17] == ["20", "2", "40", "40", "0", "40", "40", "0", "0", "0", "0"]
    assert ours[2:5] == ["0.500", "±", "0.000"]
    assert "[0.284, 0.716] n=40" in " ".join(ours)
    assert " ".join(lines(text, "GPT-5-High (paper)")[0][2:8]) == "1.000 ± 0.000 0.976 ± 0.014"
    claims = lines(text, "Gemini-3-Pro (paper)")[1]
    assert " ".join(claims[2:11]) == "0.748 ± 0.019 0.699 ± 0.018 0.805 ± 0.034"
    # Always no: nothing is said to hold, so precision has no denominator; recall and F1 are 0.
    theirs = lines(text, "dprivbench/always-no [2]")[1]
    assert theirs[2:5] == ["0.000", "undefined", "0.000"]


def test_the_header_names_the_task_whatever_the_file_is_called(tmp_path: Path) -> None:
    # A renamed log was once misread from its file name: inspect_ai#3587.
    log = run(dprivbench_cat1(), "dprivbench/always-yes", tmp_path, limit=2)
    renamed = tmp_path / "teamB final (2).eval"
    Path(log.location).rename(renamed)
    runs, notes = read_runs([str(tmp_path)])
    assert ([r.task for r in runs], notes) == (["dprivbench_cat1"], [])
    assert read_runs([str(renamed)])[0][0].location == str(renamed)


def test_a_retried_run_counts_once_and_the_note_says_which_log_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Failed and finished log in one folder counted samples twice: inspect_ai#1013.
    def fails(prompt: str) -> str:
        raise RuntimeError("lost")

    answer = baselines.ANSWERS["always-yes"]
    monkeypatch.setitem(baselines.ANSWERS, "always-yes", fails)
    broken = run(dprivbench_cat1(), "dprivbench/always-yes", tmp_path, limit=3)
    monkeypatch.setitem(baselines.ANSWERS, "always-yes", answer)
    (whole,) = eval_retry(broken, log_dir=str(tmp_path), display="log")
    runs, notes = read_runs([str(tmp_path)])
    assert [run.location for run in runs] == [whole.location]
    assert notes == [f"{broken.location}: left out, status error; `inspect eval-retry` finishes it"]
    write_eval_log(whole, str(tmp_path / "copy.eval"))
    runs, notes = read_runs([str(tmp_path)])
    assert len(runs) == 1
    assert any("the same run as" in note for note in notes)


def test_replies_with_errors_and_replies_cut_short_stand_beside_the_numbers(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    # A clean number although samples had failed, #5018; truncation unseen, #3582.
    def reply(prompt: str, seed: int | None) -> str:
        if seed == 1:
            raise RuntimeError("lost")
        return "Let us think about"

    model = mock(reply, stop_reason="max_tokens").model
    run(dprivbench_cat1(), model, tmp_path, limit=4, epochs=2, fail_on_error=False)
    text = report([str(tmp_path)])
    assert "4 of 8 replies had errors and are left out" in text
    asked, ours = lines(text, "mockllm/model [1]")
    # Planned, done, errors, scored; by box, by judge; no verdict, refused, cut short.
    assert " ".join(asked[8:17]) == "8 4 4 4 0 0 4 0 4"
    assert " ".join(ours[-6:]) == "[0.283, 1.000] n=4 [0.283, 1.000] n=4"


def test_logs_of_other_tasks_are_named_and_left_out(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    @task
    def other() -> Task:
        return Task(dataset=[Sample(id="a", input="?")])

    run(other(), mock().model, tmp_path)
    with pytest.raises(ValueError, match=r"no finished run .* task other is not of DPrivBench"):
        report([str(tmp_path)])
    with pytest.raises(FileNotFoundError, match="no log or folder of logs at 'nowhere'"):
        report(["nowhere"])


def test_a_log_of_a_newer_inspect_is_left_out_by_name(tmp_path: Path) -> None:
    # Deep validation errors, or a misread log, without a word on versions: inspect_ai#1777.
    log = run(dprivbench_cat1(), "dprivbench/always-yes", tmp_path, limit=1)
    newer = tmp_path / "newer.eval"
    with zipfile.ZipFile(log.location) as old, zipfile.ZipFile(newer, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name == "header.json":
                text = json.dumps(json.loads(text) | {"version": 99}).encode()
            new.writestr(name, text)
    runs, notes = read_runs([str(tmp_path)])
    assert [run.location for run in runs] == [log.location]
    assert len(notes) == 1
    assert re.search(r"newer\.eval: left out, .* version 99, from Inspect .* reads up to", notes[0])


def test_a_file_that_is_no_log_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.eval"
    broken.write_bytes(b"PK but no more")
    with pytest.raises(ValueError, match=r"broken\.eval: left out, cannot be read as a log"):
        report([str(broken)])


def test_runs_of_other_questions_are_not_passed_off_as_the_same(tmp_path: Path) -> None:
    run(dprivbench_cat1(functions=1), "dprivbench/always-yes", tmp_path)
    run(dprivbench_cat1(functions=2), "dprivbench/always-yes", tmp_path)
    titles = [table.title for table in make_report([str(tmp_path)]).tables]
    assert titles[0] == "Runs"
    assert len(set(titles)) == 3
    assert all(t.startswith("DPrivBench Category 1: accuracy, set ") for t in titles[1:])


def test_the_papers_tables_are_complete_and_consistent() -> None:
    paper = json.loads(PAPER_RESULTS.read_text(encoding="utf-8"))
    first, second = paper["category_1_accuracy"]["models"], paper["category_2"]["models"]
    assert len(first) == len(second) == len(paper["model_versions"]["models"]) == 11
    assert set(first) == set(second)
    for row in first.values():
        mean = math.fsum(row[mechanism][0] for mechanism in MECHANISMS) / 6
        assert mean == pytest.approx(row["average"], abs=0.0011)
    for row in second.values():
        precision, recall = row["precision"][0], row["recall"][0]
        harmonic = 2 * precision * recall / (precision + recall)
        assert row["f1"][0] == pytest.approx(harmonic, abs=0.005)
    assert set(paper["category_2_topic_accuracy"]["topics"]) == set(TOPICS)


def test_the_papers_numbers_are_those_of_the_reference(shared: Path) -> None:
    ours = json.loads(PAPER_RESULTS.read_text(encoding="utf-8"))
    file = shared / "reference" / "dprivbench_paper_results.json"
    theirs = json.loads(file.read_text(encoding="utf-8"))
    for row in theirs["table2_category1_accuracy"]:
        for mechanism in MECHANISMS:
            printed = row[mechanism]
            assert ours["category_1_accuracy"]["models"][row["model"]][mechanism] == [
                printed["mean"],
                printed["ci95_half_width"],
            ]
    for row in theirs["table3_category2"]:
        for name in ("f1", "precision", "recall"):
            printed = row[name]
            assert ours["category_2"]["models"][row["model"]][name] == [
                printed["mean"],
                printed["ci95_half_width"],
            ]
