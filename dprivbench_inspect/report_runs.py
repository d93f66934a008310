"""Logs → finished runs with their replies, each once, and a note on every log left out."""

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from fsspec.core import url_to_fs
from inspect_ai.log import EvalLog

from dprivbench_inspect.metrics import GROUP_FIELDS, Outcome
from dprivbench_inspect.report_logs import (
    Progress,
    Replies,
    Unreadable,
    find_logs,
    read_headers,
    read_replies,
    silent,
)
from dprivbench_inspect.versions import grouped, header_note

# Task → the scorer whose numbers a report shows. Those of `verdict` come from the replies.
SCORER_OF_TASK = {
    "dprivbench_cat1": "verdict",
    "dprivbench_cat2": "verdict",
    "dprivbench_hard": "verdict",
    "dprivbench_calibrate": "noise_scale",
    "dprivbench_grader_check": "labelled_cause",
}


class Run(NamedTuple):
    """What a report needs of one log."""

    location: str
    task: str  # without its package
    model: str
    log: EvalLog  # its header
    metrics: dict[str, float]  # the names that the task's scorer gives them
    replies: Replies  # empty unless the scorer is `verdict`
    number: int = 0  # by which tables and notes name it

    @property
    def outcomes(self) -> list[Outcome]:
        """Replies, one a question and epoch."""
        return self.replies.outcomes

    @property
    def facts(self) -> dict[str, Any]:
        """What the task put into the log's metadata."""
        return self.log.eval.metadata or {}

    @property
    def arguments(self) -> dict[str, Any]:
        """The task's arguments."""
        arguments = self.facts.get("arguments")
        return arguments if isinstance(arguments, dict) else {}

    @property
    def epochs(self) -> int:
        """How often each question was asked."""
        return self.log.eval.config.epochs or 1

    @property
    def planned(self) -> int:
        """Replies that the run set out to get."""
        return self.log.results.total_samples if self.log.results else 0

    @property
    def version(self) -> str:
        """The part of the task's version that moves when scores stop being comparable."""
        return str(self.facts.get("task_comparability_version", self.log.eval.task_version))

    @property
    def question_set(self) -> str:
        """8 hex digits, the same for runs that asked the same texts with the same labels."""
        return self.replies.question_set


def read_runs(
    paths: Iterable[str], progress: Progress = silent, processes: int = 1
) -> tuple[list[Run], list[str]]:
    """The finished runs among logs and folders of logs, and a note on every log left out.

    Names of files do not matter, headers come first, and full samples are never read. A run that
    was retried or scored again stands in several logs; the latest finished one counts.

    Args:
        paths: Files, folders, patterns and remote addresses.
        progress: Is told how far this is.
        processes: Read many logs in so many processes.

    Raises:
        FileNotFoundError: Nothing is at one of the paths.
    """
    locations = find_logs(paths)
    headers, lost = read_headers(locations, progress)
    notes = [f"{log.location}: left out, {log.why}" for log in lost]
    candidates: dict[str, tuple[str, EvalLog]] = {}
    for location, log in headers.items():
        if (why := _unfit(log)) is not None:
            notes.append(f"{location}: left out, {why}")
            continue
        earlier = candidates.get(log.eval.task_id)
        if earlier is None:
            candidates[log.eval.task_id] = location, log
        else:
            first, last = sorted((earlier, (location, log)), key=_age)
            candidates[log.eval.task_id] = last
            notes.append(f"{first[0]}: left out, the same run as {last[0]}{_other(first, last)}")
    empty = Replies([], [], {}, "", 0, (), 0)
    with_replies = [at for at, log in candidates.values() if _scorer(log) == "verdict"]
    found = dict(zip(with_replies, read_replies(with_replies, progress, processes), strict=True))
    runs = []
    for location, log in candidates.values():
        replies = found.get(location, empty)
        why = replies.why if isinstance(replies, Unreadable) else _unfit_replies(log, replies)
        if isinstance(replies, Unreadable) or why is not None:
            notes.append(f"{location}: left out, {why}")
            continue
        run = Run(location, _task(log), log.eval.model, log, metrics_of(log, _scorer(log)), replies)
        notes += [f"{location}: {warning}" for warning in _warnings(run)]
        runs.append(run)
    order = list(SCORER_OF_TASK)
    runs.sort(key=lambda r: (order.index(r.task), r.model, r.log.eval.created, r.location))
    runs = [run._replace(number=number) for number, run in enumerate(runs, start=1)]
    versions = [(f"[{run.number}]", note) for run in runs for note in _version_notes(run)]
    return runs, notes + grouped(versions)


def question_sets(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """Runs whose numbers may stand side by side, by task version and question set."""
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.version, run.question_set].append(run)
    return dict(groups)


def run_name(run: Run) -> str:
    """The model, and the number under which the table of runs says the rest."""
    return f"{run.model} [{run.number}]"


def metrics_of(log: EvalLog, scorer: str) -> dict[str, float]:
    """Metrics of one scorer by name; empty where the log has none."""
    scores = log.results.scores if log.results else []
    return {
        name: float(metric.value)
        for score in scores
        if score.scorer.rsplit("/", 1)[-1] == scorer
        for name, metric in score.metrics.items()
    }


def _task(log: EvalLog) -> str:
    return log.eval.task.rsplit("/", 1)[-1]


def _scorer(log: EvalLog) -> str:
    return SCORER_OF_TASK[_task(log)]


def _unfit(log: EvalLog) -> str | None:
    """Why a header says that there is nothing to show."""
    if _task(log) not in SCORER_OF_TASK:
        return f"task {log.eval.task} is not of DPrivBench"
    if log.status != "success":
        results = log.results
        done = f", {results.completed_samples} of {results.total_samples} done" if results else ""
        return f"status {log.status}{done}; `inspect eval-retry` finishes it"
    if not metrics_of(log, _scorer(log)):
        return f"without results of the scorer {_scorer(log)}"
    return None


def _unfit_replies(log: EvalLog, replies: Replies) -> str | None:
    """Why its replies make no numbers."""
    if _scorer(log) != "verdict":
        return None
    if not replies.outcomes:
        return f"no reply was scored, {replies.errors} ended with an error"
    if odd := [o.question_id for o in replies.outcomes if not _sound(o)]:
        return f"{len(odd)} scores were not written by the scorer verdict, first that of {odd[0]}"
    if len(replies.gradings) > 1:
        return (
            f"its replies were read by rules of versions {', '.join(replies.gradings)}; score all "
            "of it again with `inspect score`"
        )
    return None


def _sound(outcome: Outcome) -> bool:
    """Whether its label and groups are of the kind that tables count."""
    groups = (getattr(outcome, field) for field in (*GROUP_FIELDS, "sibling"))
    return (
        outcome.label in ("yes", "no")
        and isinstance(outcome.epoch, int)
        and all(isinstance(group, str | None) for group in groups)
    )


def _warnings(run: Run) -> list[str]:
    """What a reader must know of a run that is shown."""
    if not run.outcomes:
        return []
    found = []
    if run.replies.errors:
        found.append(f"{run.replies.errors} of {run.planned} replies had errors and are left out")
    if run.replies.rescored:
        found.append("scored again in addition; the last scores count")
    stated = run.metrics.get("accuracy", math.nan)
    pooled = sum(outcome.right for outcome in run.outcomes) / len(run.outcomes)
    if abs(pooled - stated) > 1e-9 and not run.replies.rescored:
        found.append(f"its header says accuracy {stated:.3f}, its replies {pooled:.3f}: shown")
    if run.log.invalidated:
        found.append("a person has marked samples of it as invalid; they are counted here")
    return found


def _version_notes(run: Run) -> set[str | None]:
    """What there is to say of the versions that made and scored a run."""
    return {header_note(run.log.eval.task_version, run.facts), *run.replies.told}


def _age(found: tuple[str, EvalLog]) -> tuple[str, float]:
    location, log = found
    system, inside = url_to_fs(location)
    return log.stats.completed_at, system.modified(inside).timestamp()


def _other(first: tuple[str, EvalLog], last: tuple[str, EvalLog]) -> str:
    old, new = (metrics_of(log, _scorer(log)).get("accuracy") for _, log in (first, last))
    return "" if old == new else f", with accuracy {old} there and {new} here"
