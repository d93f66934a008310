"""A log of another task version: told once when scored again, in its scores, and in reports."""

import pytest
from inspect_ai import eval, score
from inspect_ai.log import read_eval_log, write_eval_log

from contextleak_inspect import __version__, versions
from contextleak_inspect.report import make_report
from contextleak_inspect.scorers import membership
from contextleak_inspect.tasks import contextleak_classification
from contextleak_inspect.tasks_generation import contextleak_generation
from contextleak_inspect.tasks_utility import contextleak_utility
from contextleak_inspect.utility_scorers import utility

NEWER = (
    f"made by task version 2-B (inspect-dp 0.9.1), read by 1-A ({__version__}): not comparable "
    "with runs under version 1, and scoring again may not give the original numbers"
)


@pytest.fixture(autouse=True)
def nothing_told():
    """Each test is a process of its own, as for a user."""
    versions._tell.cache_clear()
    yield
    versions._tell.cache_clear()


def run(task, folder, limit=None):
    [log] = eval(
        task, model="contextleak/simulated", log_dir=str(folder), limit=limit, display="log"
    )
    return read_eval_log(log.location)


def made_by(log, task_version, package, path):
    """The log as another version of the package would have written it."""
    log.eval.task_version = int(task_version.split("-")[0])
    log.eval.metadata |= {
        "full_task_version": task_version,
        "task_comparability_version": log.eval.task_version,
        "package_version": package,
    }
    for sample in log.samples:
        sample.metadata |= {"task_version": task_version, "package_version": package}
    write_eval_log(log, str(path))
    return read_eval_log(str(path))


def metrics(log):
    return {f"{s.name} {n}": str(m.value) for s in log.results.scores for n, m in s.metrics.items()}


def notes(log):
    found = [score for sample in log.samples for score in sample.scores.values()]
    return {(score.metadata or {}).get("version_note") for score in found}


@pytest.mark.parametrize(
    ("task", "scorer", "limit"),
    [
        (lambda: contextleak_classification(trials=6, epsilon="8"), membership, None),
        (lambda: contextleak_generation(trials=4, embedding="hashing"), membership, None),
        (lambda: contextleak_utility(), utility, 2),
    ],
)
def test_both_scorers_tell_once_of_another_task_version_and_keep_the_numbers(
    task, scorer, limit, tmp_path, caplog
):
    log = run(task(), tmp_path, limit)
    assert notes(log) == {None}
    same = score(log, scorer(), model="none/none", action="overwrite", display="log")
    assert notes(same) == {None}
    other = made_by(log, "2-B", "0.9.1", tmp_path / "other.eval")
    scored = score(other, scorer(), model="none/none", action="overwrite", display="log")
    assert notes(scored) == {NEWER}
    assert metrics(scored) == metrics(same) == metrics(log)
    told = [r.getMessage() for r in caplog.records if r.name == versions.__name__]
    assert told == [f"This log was {NEWER}"]


def test_reports_say_it_for_audits_by_number_and_for_utilities_by_address(tmp_path):
    audit = contextleak_classification(trials=6, epsilon="8")
    place = tmp_path / "logs" / "utility.eval"
    run(audit, tmp_path / "logs")
    made_by(run(audit, tmp_path / "source"), "2-B", "0.9.1", tmp_path / "logs" / "audit.eval")
    made_by(run(contextleak_utility(), tmp_path / "source", 2), "2-B", "0.9.1", place)
    made = make_report([str(tmp_path / "logs")])
    [number] = [audit.number for audit in made.audits if audit.version == "2"]
    assert made.notes == [f"[{number}], {place}: {NEWER}"]
    assert {audit.version for audit in made.audits} == {"1", "2"}
