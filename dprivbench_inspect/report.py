"""Logs → tables, the paper's rows beside ours. arXiv:2604.15851, Tables 2 and 3."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.report_attribution import attribution_tables
from dprivbench_inspect.report_runs import (
    Run,
    Table,
    as_text,
    estimate_text,
    interval_text,
    number_text,
    read_runs,
    run_name,
)
from dprivbench_inspect.summaries import AUDITED

PAPER_RESULTS = Path(__file__).parent / "data" / "paper_results.json"


def accuracy_table(runs: Sequence[Run]) -> Table:
    """Category 1: accuracy per mechanism, ours and the paper's Table 2."""
    paper = _paper()["category_1_accuracy"]
    rows = [
        [
            run_name(run, number),
            *(estimate_text(run.metrics, f"mechanism {m}") for m in MECHANISMS),
            number_text(run.metrics.get("mean over mechanisms", math.nan)),
            *_rates(run.metrics),
        ]
        for number, run in enumerate(runs, start=1)
    ]
    rows += [
        [
            f"{model} (paper)",
            *(interval_text(*row[m]) for m in MECHANISMS),
            number_text(row["average"]),
        ]
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
        rows.append([run_name(run, number), *_claims(run.metrics), *_rates(run.metrics)])
        if f"{AUDITED}replies" in run.metrics:
            rows.append(_audited_row(run, number))
            notes.append(
                f"[{number}] audited labels: official labels found false are turned round, and "
                f"{run.metrics[f'{AUDITED}questions left out']:.0f} questions whose answer depends "
                "on a reading, or that ask nothing, are left out; each has its reason in "
                "label_audit.yaml."
            )
    rows += [
        [f"{model} (paper)", *(interval_text(*row[n]) for n in ("f1", "precision", "recall"))]
        + [""] * (2 + len(_RATES))
        for model, row in paper["models"].items()
    ]
    return Table(
        "DPrivBench Category 2: does the claim hold? Positive class yes",
        ["model", "F1", "precision", "recall", "accuracy", "pair accuracy", *_RATES],
        rows,
        [*notes, f"(paper): {_paper()['source']}, Table {paper['table']}. {_PAPER_NOTE}"],
    )


def noise_table(runs: Sequence[Run]) -> Table:
    """The smallest noise: share of each result, and of right formulas per mechanism."""
    rows = [
        [
            run_name(run, number),
            *(
                interval_text(run.metrics[name], run.metrics[f"{name} ± over questions"])
                for name in _RESULTS
            ),
            *(number_text(run.metrics.get(f"{m}: equal", math.nan)) for m in MECHANISMS),
            f"{run.metrics['replies']:.0f}",
        ]
        for number, run in enumerate(runs, start=1)
    ]
    return Table(
        "DPrivBench: the smallest noise as a formula; per mechanism the share that is equal",
        ["model", *_RESULTS, *MECHANISMS, "replies"],
        rows,
        [*_about(runs, "equal"), "± is 1.96 standard errors over questions. Not in the paper."],
    )


def grader_table(runs: Sequence[Run]) -> Table:
    """Graders on hand-labelled wrong replies: agreement and Cohen's kappa by category."""
    columns = [
        f"category {c}, grader and hand: {n}" for c in (1, 2) for n in ("agreement", "kappa")
    ]
    rows = [
        [run_name(run, number), *(number_text(run.metrics[name]) for name in columns)]
        for number, run in enumerate(runs, start=1)
    ]
    notes = [f"[{number}] {run.location}" for number, run in enumerate(runs, start=1)]
    return Table(
        "DPrivBench: a grader's causes against those found by hand",
        ["grader", *columns],
        rows,
        notes,
    )


def report(paths: Iterable[str], *, attribution: bool = False, figures: Path | None = None) -> str:
    """The tables of all runs in logs and folders of logs, as text.

    Args:
        paths: Logs and folders of logs.
        attribution: Add where and why replies are wrong; this reads the scores of each sample.
        figures: Folder for the heat maps that belong to it.

    Raises:
        ValueError: There is no finished run of DPrivBench, or figures without attribution.
    """
    if figures and not attribution:
        raise ValueError(f"figures {str(figures)!r} belong to attribution, which is not asked for")
    runs, notes = read_runs(paths)
    if not runs:
        raise ValueError("no finished run of DPrivBench in these logs. " + "; ".join(notes))
    tables = []
    for task, table in _TABLES.items():
        if own := [run for run in runs if run.task == task]:
            tables.append(table(own))
            if attribution:
                tables += attribution_tables(own, figures)
    return "\n".join([*map(as_text, tables), *notes])


_TABLES: dict[str, Callable[[Sequence[Run]], Table]] = {
    "dprivbench_cat1": accuracy_table,
    "dprivbench_cat2": f1_table,
    "dprivbench_calibrate": noise_table,
    "dprivbench_grader_check": grader_table,
}
_RESULTS = ("equal", "too little", "too much", "unreadable")
_RATES = {"no verdict": "no verdict", "cut short": "truncated", "replies": "replies"}
_PAPER_NOTE = (
    "It asked the official questions five times and read replies by its own rule; "
    "± is 1.96 standard errors over runs."
)


def _about(runs: Sequence[Run], headline: str = "accuracy") -> list[str]:
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
            f"task version {facts.get('full_task_version')}; {headline} ± "
            f"{number_text(run.metrics[f'{headline} ± over questions'])} over questions; "
            f"{run.location}"
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


def _rates(metrics: dict[str, float]) -> list[str]:
    rates = [number_text(metrics[name]) for name in list(_RATES.values())[:-1]]
    return [*rates, f"{metrics['replies']:.0f}"]


def _claims(metrics: dict[str, float], before: str = "") -> list[str]:
    """The columns of Category 2, from metrics whose names start with `before`."""
    columns = [
        estimate_text(metrics, before + name) for name in ("F1", "precision", "recall", "accuracy")
    ]
    return [*columns, number_text(metrics[f"{before}pair accuracy"])]


def _audited_row(run: Run, number: int) -> list[str]:
    blank = [""] * (len(_RATES) - 1)
    replies = f"{run.metrics[f'{AUDITED}replies']:.0f}"
    return [
        f"{run_name(run, number)} audited labels",
        *_claims(run.metrics, AUDITED),
        *blank,
        replies,
    ]


def _at(revision: str | None) -> str:
    return f" at {revision}" if revision else ""


def _paper() -> dict[str, Any]:
    results: dict[str, Any] = json.loads(PAPER_RESULTS.read_text(encoding="utf-8"))
    return results
