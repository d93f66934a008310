"""Where and why replies are wrong: accuracy by function and mechanism, and causes of wrong replies.

A bad row of the matrix is a sensitivity that a model does not find, a bad column a mechanism whose
rule it does not know; causes say the same of single replies.
"""

import math
from collections.abc import Collection, Sequence

from dprivbench_inspect.attribution import accuracy_matrix
from dprivbench_inspect.attribution_sample import Category, rules_on_sample
from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.report_formats import Table, number_text
from dprivbench_inspect.report_runs import Run, metrics_of, run_name

_CATEGORY: dict[str, Category] = {"dprivbench_cat1": 1, "dprivbench_cat2": 2}


def attribution_tables(runs: Sequence[Run]) -> list[Table]:
    """Matrices and causes of runs of one task; empty for tasks without either.

    Args:
        runs: Runs of one task.
    """
    category = _CATEGORY.get(runs[0].task)
    if category is None:
        return []
    tables = [matrix_table(run) for run in runs] if category == 1 else []
    return [*tables, _causes_table(runs, category)]


def matrix_table(run: Run) -> Table:
    """Accuracy by function and mechanism, with the means of rows and columns."""
    matrix = accuracy_matrix(run.outcomes)
    rows = [
        [
            f"function {function}",
            *(_cell(row, m) for m in MECHANISMS),
            number_text(_mean(row.values())),
        ]
        for function, row in matrix.items()
    ]
    columns = [[row[m] for row in matrix.values() if m in row] for m in MECHANISMS]
    means = [number_text(_mean(column)) if column else "" for column in columns]
    replies = len(run.outcomes) / sum(len(row) for row in matrix.values()) if matrix else 0
    return Table(
        f"{run_name(run)}: accuracy by function and mechanism",
        ["", *MECHANISMS, "mean"],
        [*rows, ["mean", *means, ""]],
        [
            f"Each cell: {replies:.3g} replies.",
            "A low row speaks for a sensitivity not found, a low column for a rule not known.",
        ],
    )


def _causes_table(runs: Sequence[Run], category: Category) -> Table:
    found = {run.number: metrics_of(run.log, "attribution") for run in runs}
    names = list(dict.fromkeys(name for metrics in found.values() for name in metrics))
    scored = [(run.number, run) for run in runs if found[run.number]]
    rows = [
        [name, *(number_text(found[k][name]) if name in found[k] else "" for k, _ in scored)]
        for name in names
    ]
    missing = [run for run in runs if not found[run.number]]
    notes = [
        f"{run.location} has no causes yet: inspect score {run.location} --model none/none "
        "--scorer attribution --action append (dprivbench_inspect/attribution from a wheel)"
        for run in missing
    ]
    rules = rules_on_sample(category)
    notes.append(
        f"Rules and hand agree on {rules['rules and hand: agreement']:.2f} of "
        f"{rules['rules and hand: replies']:.0f} labelled replies (kappa "
        f"{rules['rules and hand: kappa']:.2f}). They are synthetic, written and labelled for this "
        "project. For a grader: inspect eval tasks/dprivbench_grader_check.py."
    )
    return Table(
        f"Category {category}: why replies are wrong, as shares of the wrong ones",
        ["", *(run_name(run) for _, run in scored)],
        rows or [["no run has causes yet"]],
        notes,
    )


def _cell(row: dict[str, float], mechanism: str) -> str:
    return number_text(row[mechanism]) if mechanism in row else ""


def _mean(values: Collection[float]) -> float:
    return math.fsum(values) / len(values)
