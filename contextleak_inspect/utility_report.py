"""Logs of contextleak_utility → a table: what each defense costs."""

import math
from typing import Any, NamedTuple

from inspect_ai.log import EvalLog

from contextleak_inspect.utility import Utility
from contextleak_inspect.versions import header_note


class UtilityLog(NamedTuple):
    """One run of contextleak_utility: a utility per defense and ε, and the settings behind it.

    `version_note` is what there is to say of the version that made it.
    """

    location: str
    model: str
    kind: str
    part: str
    rows: dict[str, Utility]
    settings: dict[str, Any]
    version_note: str | None = None


def read_utility(log: EvalLog, location: str) -> UtilityLog | None:
    """The utilities in a log's header; None if it is of another task or was not scored."""
    metadata = log.eval.metadata or {}
    if "utility" not in metadata or log.results is None:
        return None
    rows = {}
    for found in log.results.scores:
        values = {metric.name: metric.value for metric in found.metrics.values()}
        if found.scorer.rsplit("/", 1)[-1] == "utility" and "mean" in values:
            n = found.scored_samples or 0
            rows[found.name] = Utility(values["mean"], values["lower"], values["upper"], n)
    settings = metadata["utility"]
    kind, part = settings["task"], metadata["part"]
    note = header_note(log.eval.task_version, metadata)
    return UtilityLog(location, log.eval.model, kind, part, rows, settings, note)


def utility_text(utility: UtilityLog) -> str:
    """The table of one run, in the order in which things were asked."""
    measure = {"classification": "accuracy", "generation": "ROUGE-1"}[utility.kind]
    n = max((row.n for row in utility.rows.values()), default=0)
    width = max(map(len, utility.rows), default=0)
    lines = [
        utility.location,
        f"utility on {utility.model}, {utility.kind}, {utility.part}: {measure} over {n} "
        "questions, 95 % interval",
    ]
    for name, row in utility.rows.items():
        if math.isnan(row.mean):
            lines.append(f"  {name.ljust(width)}  -")
        else:
            lines.append(f"  {name.ljust(width)}  {row.mean:.3f}  {row.lower:.3f}-{row.upper:.3f}")
    return "\n".join(lines)
