"""Logs → tables, the paper's rows beside ours. arXiv:2604.15851, Tables 2 and 3."""

import io
import json
import math
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.summaries import AUDITED

CATEGORY_OF_TASK = {"dprivbench_cat1": 1, "dprivbench_cat2": 2}
PAPER_RESULTS = Path(__file__).parent / "data" / "paper_results.json"


class Run(NamedTuple):
    """What a table needs of one log."""

    location: str
    category: int
    model: str
    log: EvalLog  # its header
    metrics: dict[str, float]  # the names that `verdict` gives them


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
        category = CATEGORY_OF_TASK.get(log.eval.task.rsplit("/", 1)[-1])
        if category is None:
            notes.append(f"{location}: task {log.eval.task} is not of DPrivBench, left out")
            continue
        metrics = _metrics(log)
        if log.status != "success" or not metrics:
            notes.append(f"{location}: status {log.status}, without results; left out")
            continue
        run = Run(location, category, log.eval.model, log, metrics)
        earlier = runs.get(log.eval.task_id)
        if earlier is not None:
            first, run = sorted((earlier, run), key=_age)
            notes.append(f"{first.location}: the same run as {run.location}, which is shown")
        runs[log.eval.task_id] = run
    return list(runs.values()), notes


def accuracy_table(runs: Sequence[Run]) -> Table:
    """Category 1: accuracy per mechanism, ours and the paper's Table 2."""
    paper = _paper()["category_1_accuracy"]
    rows = [
        [
            _name(run, number),
            *(_estimate(run.metrics, f"mechanism {m}") for m in MECHANISMS),
            _number(run.metrics.get("mean over mechanisms", math.nan)),
            *_rates(run.metrics),
        ]
        for number, run in enumerate(runs, start=1)
    ]
    rows += [
        [f"{model} (paper)", *(_interval(*row[m]) for m in MECHANISMS), _number(row["average"])]
        + [""] * len(_RATES)
        for model, row in paper["models"].items()
    ]
    return Table(
        "DPrivBench Category 1: accuracy",
        ["model", *MECHANISMS, "mean", *_RATES],
        rows,
        [*_about(runs), f"(paper): {_paper()['source']}, Table {paper['table']}. {_PAPER_NOTE}"],
    )


def f1_table(runs: Sequence[Run]) -> Table:
    """Category 2: F1, precision, recall and accuracy, ours and the paper's Table 3."""
    paper = _paper()["category_2"]
    rows, notes = [], _about(runs)
    for number, run in enumerate(runs, start=1):
        rows.append([_name(run, number), *_claims(run.metrics), *_rates(run.metrics)])
        if f"{AUDITED}replies" in run.metrics:
            rows.append(_audited_row(run, number))
            notes.append(
                f"[{number}] audited labels: official labels found false are turned round, and "
                f"{run.metrics[f'{AUDITED}questions left out']:.0f} questions whose answer depends "
                "on a reading, or that ask nothing, are left out; each has its reason in "
                "label_audit.yaml."
            )
    rows += [
        [f"{model} (paper)", *(_interval(*row[n]) for n in ("f1", "precision", "recall"))]
        + [""] * (2 + len(_RATES))
        for model, row in paper["models"].items()
    ]
    return Table(
        "DPrivBench Category 2: does the claim hold? Positive class yes",
        ["model", "F1", "precision", "recall", "accuracy", "pair accuracy", *_RATES],
        rows,
        [*notes, f"(paper): {_paper()['source']}, Table {paper['table']}. {_PAPER_NOTE}"],
    )


def report(paths: Iterable[str]) -> str:
    """The tables of all runs in logs and folders of logs, as text.

    Raises:
        ValueError: There is no finished run of DPrivBench.
    """
    runs, notes = read_runs(paths)
    if not runs:
        raise ValueError("no finished run of DPrivBench in these logs. " + "; ".join(notes))
    parts = [
        as_text(table([run for run in runs if run.category == category]))
        for category, table in ((1, accuracy_table), (2, f1_table))
        if any(run.category == category for run in runs)
    ]
    return "\n".join([*parts, *notes])


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


_RATES = {"no verdict": "no verdict", "cut short": "truncated", "replies": "replies"}
_PAPER_NOTE = (
    "It asked the official questions five times and read replies by its own rule; "
    "± is 1.96 standard errors over runs."
)


def _about(runs: Sequence[Run]) -> list[str]:
    """A note a run: what was asked, how often, where it lies; and what keeps runs apart."""
    notes = []
    for number, run in enumerate(runs, start=1):
        facts = run.log.eval.metadata or {}
        results, dataset = run.log.results, run.log.eval.dataset
        epochs = run.log.eval.config.epochs or 1
        given = facts.get("arguments", {})
        form = "".join(f", {given[key]}" for key in ("prompt", "variant") if key in given)
        n, of = facts.get("n_questions", dataset.samples), ""
        if results is not None and results.total_samples < (n or 0) * epochs:
            n, of = results.total_samples // epochs, f" of {n}"
        note = (
            f"[{number}] {n}{of} questions x {epochs} epochs from "
            f"{facts.get('source')}{_at(facts.get('revision'))} "
            f"(hash {str(facts.get('questions_hash'))[:8]}){form}; "
            f"task version {facts.get('full_task_version')}; accuracy ± "
            f"{_number(run.metrics['accuracy ± over questions'])} over questions; {run.location}"
        )
        if results is not None and results.completed_samples < results.total_samples:
            missing = results.total_samples - results.completed_samples
            note += f"; {missing} of {results.total_samples} replies had errors and are left out"
        notes.append(note)
    versions = {(run.log.eval.metadata or {}).get("full_task_version") for run in runs}
    asked = {(run.log.eval.metadata or {}).get("questions_hash") for run in runs}
    if len(versions) > 1:
        notes.append(f"These runs are of task versions {sorted(map(str, versions))}.")
    if len(asked) > 1:
        notes.append("These runs did not ask the same questions; see the hashes.")
    return notes


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


def _metrics(log: EvalLog) -> dict[str, float]:
    scores = log.results.scores if log.results else []
    return {
        name: float(metric.value)
        for score in scores
        if score.scorer.rsplit("/", 1)[-1] == "verdict"
        for name, metric in score.metrics.items()
    }


def _age(run: Run) -> tuple[str, float]:
    return run.log.stats.completed_at, Path(run.location).stat().st_mtime


def _name(run: Run, number: int) -> str:
    return f"{run.model} [{number}]"


def _rates(metrics: dict[str, float]) -> list[str]:
    rates = [_number(metrics[name]) for name in list(_RATES.values())[:-1]]
    return [*rates, f"{metrics['replies']:.0f}"]


def _claims(metrics: dict[str, float], before: str = "") -> list[str]:
    """The columns of Category 2, from metrics whose names start with `before`."""
    columns = [
        _estimate(metrics, before + name) for name in ("F1", "precision", "recall", "accuracy")
    ]
    return [*columns, _number(metrics[f"{before}pair accuracy"])]


def _audited_row(run: Run, number: int) -> list[str]:
    blank = [""] * (len(_RATES) - 1)
    replies = f"{run.metrics[f'{AUDITED}replies']:.0f}"
    return [
        f"{_name(run, number)} audited labels",
        *_claims(run.metrics, AUDITED),
        *blank,
        replies,
    ]


def _estimate(metrics: dict[str, float], name: str) -> str:
    if name not in metrics:
        return ""
    return _interval(metrics[name], metrics.get(f"{name} ± over epochs", math.nan))


def _interval(mean: float, half_width: float) -> str:
    return _number(mean) + ("" if math.isnan(half_width) else f" ± {half_width:.3f}")


def _number(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.3f}"


def _at(revision: str | None) -> str:
    return f" at {revision}" if revision else ""


def _paper() -> dict[str, Any]:
    results: dict[str, Any] = json.loads(PAPER_RESULTS.read_text(encoding="utf-8"))
    return results
