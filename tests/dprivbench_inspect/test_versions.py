"""A log of another task version: told once when scored again, in its scores, and in reports."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval, score
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

from dprivbench_inspect import __version__, versions
from dprivbench_inspect.attribution_scorer import attribution, labelled_cause
from dprivbench_inspect.citation_scorer import citations
from dprivbench_inspect.noise_scorer import noise_scale
from dprivbench_inspect.report import make_report
from dprivbench_inspect.scorers import paper_verdict, verdict
from dprivbench_inspect.tasks import (
    dprivbench_calibrate,
    dprivbench_cat1,
    dprivbench_grader_check,
    dprivbench_hard,
)

NEWER = (
    f"made by task version 2-B (inspect-dp 0.9.1), read by 1-A ({__version__}): not comparable "
    "with runs under version 1, and scoring again may not give the original numbers"
)


@pytest.fixture(autouse=True)
def nothing_told() -> Iterator[None]:
    """Each test is a process of its own, as for a user."""
    versions._tell.cache_clear()
    yield
    versions._tell.cache_clear()


def run(task: Task, folder: Path, limit: int = 2) -> EvalLog:
    [log] = eval(
        task, model="dprivbench/always-yes", log_dir=str(folder), limit=limit, display="log"
    )
    return read_eval_log(log.location)


def made_by(log: EvalLog, task_version: str, package: str, path: Path) -> EvalLog:
    """The log as another version of the package would have written it."""
    log.eval.task_version = int(task_version.split("-")[0])
    assert log.eval.metadata
    log.eval.metadata |= {
        "full_task_version": task_version,
        "task_comparability_version": log.eval.task_version,
        "package_version": package,
    }
    for sample in log.samples or []:
        sample.metadata |= {"task_version": task_version, "package_version": package}
    write_eval_log(log, str(path))
    return read_eval_log(str(path))


def metrics(log: EvalLog) -> dict[str, str]:
    scores = log.results.scores if log.results else []
    return {f"{s.name} {n}": str(m.value) for s in scores for n, m in s.metrics.items()}


def notes(log: EvalLog) -> set[str | None]:
    return {
        (found.metadata or {}).get("version_note")
        for sample in log.samples or []
        for found in (sample.scores or {}).values()
    }


@pytest.mark.parametrize(
    ("task", "scorers"),
    [
        (lambda: dprivbench_cat1(paper_extraction=True), [verdict, paper_verdict]),
        (dprivbench_cat1, [attribution]),
        (dprivbench_calibrate, [noise_scale]),
        (dprivbench_hard, [verdict, citations]),
        (dprivbench_grader_check, [labelled_cause]),
    ],
)
def test_every_scorer_tells_once_of_another_task_version_and_keeps_the_numbers(
    task: Callable[[], Task],
    scorers: list[Callable[[], Any]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = run(task(), tmp_path)
    assert notes(log) == {None}
    again = [scorer() for scorer in scorers]
    same = score(log, again, model="none/none", action="overwrite", display="log")
    assert notes(same) == {None}
    assert versions.__name__ not in {record.name for record in caplog.records}
    other = made_by(log, "2-B", "0.9.1", tmp_path / "other.eval")
    scored = score(other, again, model="none/none", action="overwrite", display="log")
    assert notes(scored) == {NEWER}
    assert metrics(scored) == metrics(same)
    told = [r.getMessage() for r in caplog.records if r.name == versions.__name__]
    assert told == [f"This log was {NEWER}"]


def test_the_command_tells_it_on_the_console(tmp_path: Path) -> None:
    made_by(run(dprivbench_cat1(), tmp_path / "logs"), "2-B", "0.9.1", tmp_path / "old.eval")
    scored = tmp_path / "new.eval"
    end = ["--action", "overwrite", "--output-file", str(scored), "--display", "plain"]
    done = subprocess.run(
        [sys.executable, "-m", "inspect_ai", "score", str(tmp_path / "old.eval"), *end],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"COLUMNS": "400"},  # where rich breaks lines
    )
    said = " ".join((done.stdout + done.stderr).split())
    assert said.count(f"This log was {NEWER}") == 1
    assert notes(read_eval_log(str(scored))) == {NEWER}


def test_reports_say_it_for_all_such_runs_in_one_line(tmp_path: Path) -> None:
    run(dprivbench_cat1(), tmp_path / "logs")
    for number, task in enumerate((dprivbench_cat1, dprivbench_calibrate)):
        log = run(task(), tmp_path / "source")
        made_by(log, "2-B", "0.9.1", tmp_path / "logs" / f"{number}.eval")
    made = make_report([str(tmp_path / "logs")])
    new = [run.number for run in made.runs if run.version == "2"]
    assert len(made.runs) == 3
    assert made.notes == [f"[{new[0]}], [{new[1]}]: {NEWER}"]


def test_a_report_says_that_a_log_was_scored_elsewhere(tmp_path: Path) -> None:
    log = run(dprivbench_cat1(), tmp_path / "source")
    for sample in log.samples or []:
        for found in (sample.scores or {}).values():
            found.metadata = (found.metadata or {}) | {"version_note": "made by A, read by B"}
    write_eval_log(log, str(tmp_path / "a.eval"))
    assert make_report([str(tmp_path / "a.eval")]).notes == ["[1]: made by A, read by B"]


def test_the_number_of_inspects_own_header_counts_where_only_that_was_changed(
    tmp_path: Path,
) -> None:
    log = run(dprivbench_cat1(), tmp_path / "source")
    log.eval.task_version = 3
    write_eval_log(log, str(tmp_path / "a.eval"))
    [note] = make_report([str(tmp_path / "a.eval")]).notes
    assert note.startswith(f"[1]: made by task version 3 (inspect-dp {__version__}), read by 1-A")


@pytest.mark.parametrize(
    ("task_version", "package", "told"),
    [
        ("1-A", __version__, None),
        ("1-Q", f"{__version__.rsplit('.', 1)[0]}.99", None),  # arguments and fixes only
        ("1", None, None),
        (None, None, None),  # nobody knows: logs from before versions stood in samples
        ("1-A", "0.9.0", "comparable, but may be computed otherwise"),
        ("2-A", __version__, "not comparable with runs under version 1"),
        ("0", None, "made by task version 0 (inspect-dp unknown)"),
        ("10-A", __version__, "not comparable"),
    ],
)
def test_what_matters_is_the_number_and_the_release(
    task_version: str | None, package: str | None, told: str | None
) -> None:
    note = versions.version_note(task_version, package)
    assert (note is None) == (told is None)
    assert (told or "") in (note or "")
