"""Logs → runs with their metrics; rows of text → tables."""

import io
import math
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

# Task → the scorer whose metrics a report shows.
SCORER_OF_TASK = {
    "dprivbench_cat1": "verdict",
    "dprivbench_cat2": "verdict",
    "dprivbench_calibrate": "noise_scale",
    "dprivbench_grader_check": "labelled_cause",
}


class Run(NamedTuple):
    """What a table needs of one log."""

    location: str
    task: str  # without its package
    model: str
    log: EvalLog  # its header
    metrics: dict[str, float]  # the names that the task's scorer gives them


class Table(NamedTuple):
    """Rows of text under a title; the first column names the model."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]


def read_runs(paths: Iterable[str]) -> tuple[list[Run], list[str]]:
    """The finished runs among logs and folders of logs, and a note on every log left out.

    Only headers are read, so names of files and their size do not matter. A run that was retried
    or scored again stands in several logs; the latest finished one counts.

    Raises:
        ValueError: A log cannot be read, or is of a newer Inspect.
    """
    runs: dict[str, Run] = {}
    notes: list[str] = []
    for location in _locations(paths):
        log = _read_header(location)
        task = log.eval.task.rsplit("/", 1)[-1]
        if task not in SCORER_OF_TASK:
            notes.append(f"{location}: task {log.eval.task} is not of DPrivBench, left out")
            continue
        metrics = metrics_of(log, SCORER_OF_TASK[task])
        if log.status != "success" or not metrics:
            notes.append(f"{location}: status {log.status}, without results; left out")
            continue
        run = Run(location, task, log.eval.model, log, metrics)
        earlier = runs.get(log.eval.task_id)
        if earlier is not None:
            first, run = sorted((earlier, run), key=_age)
            notes.append(f"{first.location}: the same run as {run.location}, which is shown")
        runs[log.eval.task_id] = run
    return list(runs.values()), notes


def as_text(table: Table) -> str:
    """The table in plain text, as wide as it needs to be."""
    from rich.console import Console
    from rich.table import Table as RichTable

    grid = RichTable(title=table.title, title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(table.columns):
        grid.add_column(column, justify="right" if index else "left", no_wrap=True)
    for row in table.rows:
        grid.add_row(*row)
    text = io.StringIO()
    console = Console(file=text, width=1000, markup=False, highlight=False, emoji=False)
    console.print(grid)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    return "\n".join([*lines, "", *table.notes, ""])


def run_name(run: Run, number: int) -> str:
    """The model, and the number of the note that says the rest."""
    return f"{run.model} [{number}]"


def estimate_text(metrics: dict[str, float], name: str) -> str:
    """A metric with its half-width over epochs; empty where the run has none."""
    if name not in metrics:
        return ""
    return interval_text(metrics[name], metrics.get(f"{name} ± over epochs", math.nan))


def interval_text(mean: float, half_width: float) -> str:
    """Mean ± half-width, which is left out where it is nan."""
    return number_text(mean) + ("" if math.isnan(half_width) else f" ± {half_width:.3f}")


def number_text(value: float) -> str:
    """Three decimals."""
    return "undefined" if math.isnan(value) else f"{value:.3f}"


def _locations(paths: Iterable[str]) -> list[str]:
    found: list[str] = []
    for path in paths:
        if not Path(path).exists():
            raise FileNotFoundError(f"no log or folder of logs at {path!r}")
        inside = [info.name for info in list_eval_logs(path)] if Path(path).is_dir() else [path]
        found += inside
    return list(dict.fromkeys(location.removeprefix("file://") for location in found))


def _read_header(location: str) -> EvalLog:
    try:
        log = read_eval_log(location, header_only=True)
    except (ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{location} cannot be read as a log of Inspect: {error}") from error
    readable = EvalLog.model_fields["version"].default
    if log.version > readable:
        raise ValueError(
            f"{location} is a log of version {log.version} from Inspect "
            f"{log.eval.packages.get('inspect_ai')}; the Inspect here reads up to {readable}"
        )
    return log


def metrics_of(log: EvalLog, scorer: str) -> dict[str, float]:
    """Metrics of one scorer by name; empty where the log has none."""
    scores = log.results.scores if log.results else []
    return {
        name: float(metric.value)
        for score in scores
        if score.scorer.rsplit("/", 1)[-1] == scorer
        for name, metric in score.metrics.items()
    }


def _age(run: Run) -> tuple[str, float]:
    return run.log.stats.completed_at, Path(run.location).stat().st_mtime
