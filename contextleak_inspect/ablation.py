"""Audits that differ in one setting → accuracy and bound against that setting."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contextleak_inspect.audit_row import RowAudit, audited_rows, main_bound
from contextleak_inspect.audit_run import Run
from contextleak_inspect.config import AuditConfig
from contextleak_inspect.embedding_step import embedding_step
from contextleak_inspect.possible import possible
from contextleak_inspect.rows import epsilon_text
from contextleak_inspect.votes import error_rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Beside the fields of AuditConfig.
DERIVED: dict[str, Callable[[AuditConfig], Any]] = {"shots": lambda config: config.shots}
# Settings that say nothing about what is audited, or follow from the others.
_ASIDE = frozenset({"seed", "trials", "null_controls"})


class AblationPoint(NamedTuple):
    """One row of one audit.

    Attributes:
        value: Of the setting.
        row: Level and claimed ε, as the tables name it.
        accuracy: Balanced accuracy, nan where the run has none.
        lower: Of its interval.
        upper: Of its interval.
        possible: Best accuracy at the measured error rates; nan without noise of known law.
        bound: The bound that the audit names, in nats; nan where there is none (yet).
        trials: Trials of both worlds.
    """

    value: Any
    row: str
    accuracy: float
    lower: float
    upper: float
    possible: float
    bound: float
    trials: int


def ablation(runs: Sequence[Run], setting: str) -> list[AblationPoint]:
    """A point per audit and row, sorted by the setting.

    Audits of one value under several seeds stay points of their own: bounds are not averaged.

    Args:
        runs: The audits.
        setting: A field of `AuditConfig`, such as ensemble, trials, temperature, embedding,
            placement, canary or query; or shots, the exemplars of a shard.

    Raises:
        ValueError: No such setting, or all audits have the same value of it.
    """
    known = [*AuditConfig.model_fields, *DERIVED]
    if setting not in known:
        raise ValueError(f"{setting!r} is no setting; choose from {sorted(known)}")
    values = [setting_value(run.config, setting) for run in runs]
    if len(set(values)) < 2:
        raise ValueError(
            f"all {len(runs)} audits have {setting} = {values[0] if values else 'nothing'}; "
            "give logs that differ in it"
        )
    points = [
        point
        for run, value in zip(runs, values, strict=True)
        for point in ablation_points(run, value, audited_rows(run))
    ]
    return sorted(points, key=lambda point: (point.row, _order(point.value)))


def also_differ(runs: Sequence[Run], setting: str) -> list[str]:
    """Other settings in which the audits differ, so that the figure may show their effect too.

    The number of exemplars is not told where the setting is the ensemble at a fixed number of
    shots, and the like: what follows from the setting alone.
    """
    records = [run.config.record() for run in runs]
    follow = {"shots": {"n_exemplars", "ensemble"}}.get(setting, set())
    return [
        name
        for name in AuditConfig.model_fields
        if name not in _ASIDE | follow | {setting} and len({str(r[name]) for r in records}) > 1
    ]


def ablation_text(points: Sequence[AblationPoint], setting: str) -> str:
    """The points as a table."""
    cells = [(setting, "row", "accuracy", "95 %", "at q̂, r̂", "ε ≥", "trials")]
    cells += [
        (
            _text(p.value),
            p.row,
            _number(p.accuracy),
            "-" if math.isnan(p.lower) else f"{p.lower:.2f}-{p.upper:.2f}",
            _number(p.possible),
            _number(p.bound),
            str(p.trials),
        )
        for p in points
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def save_ablation(points: Sequence[AblationPoint], setting: str, path: Path) -> None:
    """The figure as SVG, PNG or PDF."""
    ablation_figure(points, setting).savefig(path)


def ablation_figure(points: Sequence[AblationPoint], setting: str) -> "Figure":
    """Accuracy with interval and theory, and the bound, against the setting."""
    from matplotlib.figure import Figure

    values = sorted({point.value for point in points}, key=_order)
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    places = values if numeric else list(range(len(values)))
    at = dict(zip(values, places, strict=True))
    figure = Figure(figsize=(9.5, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for index, row in enumerate(dict.fromkeys(point.row for point in points)):
        of_row = [point for point in points if point.row == row]
        where = np.array([at[point.value] for point in of_row], dtype=float)
        measured = np.array([point.accuracy for point in of_row])
        errors = np.abs(measured - np.array([(p.lower, p.upper) for p in of_row]).T)
        color = f"C{index}"
        left.errorbar(where, measured, errors, fmt="o", color=color, capsize=2, label=row)
        left.plot(where, [p.possible for p in of_row], color=color, linestyle="--", linewidth=0.9)
        right.plot(where, [p.bound for p in of_row], "o-", color=color, label=row)
    left.set(xlabel=setting, ylabel="accuracy (dashed: best possible at q̂, r̂)", ylim=(0.4, 1.02))
    right.set(xlabel=setting, ylabel="ε ≥, nats", ylim=(0, None))
    for axes in (left, right):
        if not numeric:
            axes.set_xticks(places, [_text(value) for value in values])
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    return figure


def ablation_points(run: Run, value: Any, rows: Sequence[RowAudit]) -> list[AblationPoint]:
    """One audit's points, a row each; `value` is that of the setting."""
    rates, step = error_rates(run.records), embedding_step(run.records)
    n_labels = len(run.records[0].labels) if run.records else 2
    points = []
    for audited in rows:
        row = audited.row
        best = possible(
            run.config,
            row,
            n_labels=n_labels,
            false_votes=rates.q,
            misses=rates.r,
            step=2.0 if step is None else step.step,
        )
        found, bound = audited.accuracy, main_bound(run, audited)
        lower, upper = found.balanced_interval if found else (math.nan, math.nan)
        name = row.level if row.epsilon is None else f"{row.level}, ε = {epsilon_text(row.epsilon)}"
        points.append(
            AblationPoint(
                value,
                name,
                found.balanced if found else math.nan,
                lower,
                upper,
                best.accuracy,
                math.nan if bound is None else bound.value,
                audited.n_in + audited.n_out,
            )
        )
    return points


def setting_value(config: AuditConfig, setting: str) -> Any:
    """Value of a field of `AuditConfig`, or of what follows from them."""
    return DERIVED[setting](config) if setting in DERIVED else getattr(config, setting)


def _order(value: Any) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return not number, float(value) if number else 0.0, str(value)


def _text(value: Any) -> str:
    return "default" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"
