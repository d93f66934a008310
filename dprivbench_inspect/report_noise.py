"""Logs → tables of the smallest noise, and of graders on replies labelled by hand."""

import math
from collections.abc import Sequence

from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.report_formats import Table, number_text, printed
from dprivbench_inspect.report_runs import Run, run_name

_RESULTS = ("equal", "too little", "too much", "unreadable")


def noise_table(runs: Sequence[Run]) -> Table:
    """The smallest noise: share of each result, and of right formulas per mechanism."""
    rows = [
        [
            run_name(run),
            *(
                printed(run.metrics[name], run.metrics[f"{name} ± over questions"])
                for name in _RESULTS
            ),
            *(
                printed(run.metrics[name], run.metrics[f"{name} ± over questions"])
                if (name := f"{m}: equal") in run.metrics
                else ""
                for m in MECHANISMS
            ),
            f"{run.metrics['replies']:.0f}",
            str(run.planned),
        ]
        for run in runs
    ]
    return Table(
        "DPrivBench: the smallest noise as a formula; per mechanism the share that is equal",
        ["model", *_RESULTS, *MECHANISMS, "replies", "planned"],
        rows,
        [
            "± is 1.96 standard errors over questions. Not in the paper.",
            *(
                f"[{run.number}] task version {run.facts.get('full_task_version')}, "
                f"{run.epochs} epochs; {run.location}"
                for run in runs
            ),
        ],
    )


def grader_table(runs: Sequence[Run]) -> Table:
    """Graders on hand-labelled wrong replies: agreement and Cohen's kappa by category."""
    columns = [
        f"category {c}, grader and hand: {n}"
        for c in (1, 2)
        for n in ("agreement", "kappa", "replies")
    ]
    rows = [
        [
            run_name(run),
            *(_grader_cell(name, run.metrics.get(name, math.nan)) for name in columns),
        ]
        for run in runs
    ]
    return Table(
        "DPrivBench: a grader's causes against those found by hand",
        ["grader", *columns],
        rows,
        [f"[{run.number}] {run.location}" for run in runs],
    )


def _grader_cell(name: str, value: float) -> str:
    return f"{value:.0f}" if name.endswith("replies") else number_text(value)
