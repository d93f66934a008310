"""Where and why replies are wrong: accuracy by function and mechanism, and causes of wrong replies.

A bad row of the matrix is a sensitivity that a model does not find, a bad column a mechanism whose
rule it does not know; causes say the same of single replies.
"""

import math
from collections.abc import Collection, Sequence
from pathlib import Path

from inspect_ai.log import read_eval_log_sample_summaries
from inspect_ai.scorer import SampleScore

from dprivbench_inspect.attribution import accuracy_matrix
from dprivbench_inspect.attribution_sample import Category, rules_on_sample
from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.report_runs import Run, Table, metrics_of, number_text, run_name
from dprivbench_inspect.scorers import outcomes_of

Matrix = dict[int, dict[str, float]]
_CATEGORY: dict[str, Category] = {"dprivbench_cat1": 1, "dprivbench_cat2": 2}


def attribution_tables(runs: Sequence[Run], figures: Path | None) -> list[Table]:
    """Matrices and causes of runs of one task; empty for tasks without a verdict.

    Args:
        runs: Runs of one task.
        figures: Folder for the heat maps, one SVG file a run; None draws nothing.
    """
    category = _CATEGORY.get(runs[0].task)
    if category is None:
        return []
    tables = [_matrix_table(run, k, figures) for k, run in enumerate(runs, start=1)]
    return [*(tables if category == 1 else []), _causes_table(runs, category)]


def run_matrix(run: Run) -> Matrix:
    """Accuracy by function and mechanism, from the scores of each sample."""
    scores = [
        SampleScore(score=score, sample_id=sample.id, sample_metadata=sample.metadata)
        for sample in read_eval_log_sample_summaries(run.location)
        for name, score in (sample.scores or {}).items()
        if name == "verdict"
    ]
    return accuracy_matrix(outcomes_of(scores))


def draw_matrix(matrix: Matrix, title: str, path: Path) -> None:
    """Heat map of a matrix as an SVG file: functions down, mechanisms across."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    cells = [[row.get(m, math.nan) for m in MECHANISMS] for row in matrix.values()]
    figure = Figure(figsize=(5.5, 1.8 + 0.19 * len(cells)), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    image = axes.imshow(cells, vmin=0, vmax=1, cmap="cividis", aspect="auto")
    axes.set_xticks(range(len(MECHANISMS)), list(MECHANISMS), rotation=40, ha="right")
    axes.set_yticks(range(len(cells)), [str(function) for function in matrix], fontsize=7)
    axes.set_ylabel("function")
    axes.set_title(title, fontsize=9)
    figure.colorbar(image, label="accuracy", shrink=0.5)
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "dprivbench", "svg.fonttype": "none"}):  # same bytes again
        figure.savefig(path, format="svg", metadata={"Date": None})


def _matrix_table(run: Run, number: int, figures: Path | None) -> Table:
    matrix = run_matrix(run)
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
    notes = ["A low row speaks for a sensitivity not found, a low column for a rule not known."]
    if figures is not None:
        path = figures / f"accuracy_by_function_{run.log.eval.eval_id}.svg"
        draw_matrix(matrix, f"{run.model}: accuracy", path)
        notes.append(f"Heat map: {path}")
    return Table(
        f"{run_name(run, number)}: accuracy by function and mechanism",
        ["", *MECHANISMS, "mean"],
        [*rows, ["mean", *means, ""]],
        notes,
    )


def _causes_table(runs: Sequence[Run], category: Category) -> Table:
    found = {k: metrics_of(run.log, "attribution") for k, run in enumerate(runs, start=1)}
    names = list(dict.fromkeys(name for metrics in found.values() for name in metrics))
    scored = [(k, run) for k, run in enumerate(runs, start=1) if found[k]]
    rows = [
        [name, *(number_text(found[k][name]) if name in found[k] else "" for k, _ in scored)]
        for name in names
    ]
    missing = [run for k, run in enumerate(runs, start=1) if not found[k]]
    notes = [
        f"{run.location} has no causes yet: inspect score {run.location} "
        "--scorer dprivbench_inspect/attribution --action append"
        for run in missing
    ]
    rules = rules_on_sample(category)
    notes.append(
        f"Rules and hand agree on {rules['rules and hand: agreement']:.2f} of "
        f"{rules['rules and hand: replies']:.0f} labelled replies (kappa "
        f"{rules['rules and hand: kappa']:.2f}). They are synthetic, written and labelled for this "
        "project. For a grader: inspect eval dprivbench_inspect/dprivbench_grader_check."
    )
    return Table(
        f"Category {category}: why replies are wrong, as shares of the wrong ones",
        ["", *(run_name(run, k) for k, run in scored)],
        rows,
        notes,
    )


def _cell(row: dict[str, float], mechanism: str) -> str:
    return number_text(row[mechanism]) if mechanism in row else ""


def _mean(values: Collection[float]) -> float:
    return math.fsum(values) / len(values)
