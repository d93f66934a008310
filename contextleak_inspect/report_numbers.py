"""One audit as a report needs it: its numbers without its trials, small enough for a thousand."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from inspect_ai.log import EvalLog

from contextleak_inspect.ablation import AblationPoint, ablation_points
from contextleak_inspect.audit_row import RowAudit, audited_rows, main_bound
from contextleak_inspect.audit_run import WORLDS, Run
from contextleak_inspect.audit_table import run_values
from contextleak_inspect.bounds import EpsilonBound
from contextleak_inspect.config import AuditConfig, World
from contextleak_inspect.report_audits import AuditLog, audits_of, is_audit
from contextleak_inspect.report_logs import (
    Progress,
    Unreadable,
    find_logs,
    read_each,
    read_headers,
    silent,
)
from contextleak_inspect.report_text import audit_text
from contextleak_inspect.roc import roc
from contextleak_inspect.thresholds import missing_against_auditor
from contextleak_inspect.utility_report import UtilityLog, read_utility
from contextleak_inspect.versions import grouped, header_note

_ROC_POINTS = 200  # of a curve that is drawn


class Curve(NamedTuple):
    """Corners of a measured ROC curve, from (0, 0) to (1, 1)."""

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]


class Worlds(NamedTuple):
    """Trials of one world: planned, asked, and those of them that failed or are lost."""

    planned: int
    done: int
    failed: int


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The numbers of one audit.

    Attributes:
        location: Address of its log.
        task_id: The same for a run and its retries.
        created: When it began.
        model: That was asked.
        status: Of the log.
        version: The part of the task's version that moves when scores stop being comparable.
        data: First digits of the hash of its private data.
        config: Its settings.
        canary_label: Answer of the canary.
        worlds: What became of its trials.
        values: What its rows have in common, as the log names it.
        rows: A row per level of observation and claimed ε.
        main: The bound that the settings name, for each row.
        points: Each row's accuracy, and the best at the error rates measured.
        curves: ROC of each row; None while a world is empty.
        text: All of it in words.
        number: By which tables and figures name it.
        version_note: What there is to say of the version that made it.
    """

    location: str
    task_id: str
    created: str
    model: str
    status: str
    version: str
    data: str
    config: AuditConfig
    canary_label: str
    worlds: dict[World, Worlds]
    values: dict[str, float]
    rows: list[RowAudit]
    main: list[EpsilonBound | None]
    points: list[AblationPoint]
    curves: list[Curve | None]
    text: str
    number: int = 0
    version_note: str | None = None

    @property
    def name(self) -> str:
        """Defense, model and number."""
        return f"{self.config.defense} on {self.model} [{self.number}]"


def read_numbers(
    paths: Iterable[str], progress: Progress = silent, processes: int = 1
) -> tuple[list[Audit], list[UtilityLog], list[str]]:
    """Audits and utilities among logs and folders of logs, and a note on every log left out.

    Where a run was retried, the log with the most trials counts; logs scored under other settings
    stand beside it. An unfinished audit is shown with its status: bounds that hold at any time are
    there, the others are not.

    Args:
        paths: Files, folders, patterns and remote addresses.
        progress: Is told how far this is.
        processes: Read many logs in so many processes.

    Raises:
        FileNotFoundError: Nothing is at one of the paths.
    """
    headers, lost = read_headers(find_logs(paths), progress)
    notes = [f"{log.location}: left out, {log.why}" for log in lost]
    utilities, scored = list[UtilityLog](), dict[str, EvalLog]()
    for location, header in headers.items():
        if (utility := read_utility(header, location)) is not None:
            utilities.append(utility)
        elif is_audit(header):
            scored[location] = header
        else:
            notes.append(
                f"{location}: left out, task {header.eval.task}, status {header.status}, holds no "
                "audit that was scored"
            )
    audits: dict[tuple[str, AuditConfig], Audit] = {}
    for found in read_each(numbers_of, scored, progress, processes):
        if isinstance(found, Unreadable):
            notes.append(f"{found.location}: left out, {found.why}")
            continue
        for audit in found:
            key = audit.task_id, audit.config
            earlier = audits.get(key)
            if earlier is not None:
                first, audit = sorted(
                    (earlier, audit), key=lambda a: (a.values["trials"], a.created)
                )
                notes.append(
                    f"{first.location}: left out, the same run as {audit.location}, which has "
                    f"{audit.values['trials']:.0f} trials to {first.values['trials']:.0f}"
                )
            audits[key] = audit
    ordered = sorted(audits.values(), key=lambda a: (a.config.task, a.model, a.created, a.location))
    numbered = [_numbered(a, k) for k, a in enumerate(ordered, start=1)]
    versions = [(f"[{a.number}]", a.version_note) for a in numbered]
    versions += [(utility.location, utility.version_note) for utility in utilities]
    return numbered, utilities, notes + grouped(versions)


def numbers_of(location: str, header: EvalLog) -> list[Audit]:
    """The audits in one log, one for each time that it was scored."""
    return [_numbers(audit) for audit in audits_of(location, header)]


def _numbers(audit: AuditLog) -> Audit:
    run, spec = audit.run, audit.header.eval
    facts: dict[str, Any] = spec.metadata or {}
    rows = audited_rows(run)
    return Audit(
        location=audit.location,
        task_id=spec.task_id,
        created=spec.created,
        model=spec.model,
        status=audit.header.status,
        version=str(facts.get("task_comparability_version", spec.task_version)),
        data=str(facts.get("data", {}).get("sha256", "?"))[:8],
        config=run.config,
        canary_label=str(facts.get("canary", {}).get("label", run.config.canary_label)),
        worlds={
            world: Worlds(len(arm), int(arm.asked.sum()), arm.failed)
            for world in WORLDS
            for arm in (run.arms[world],)
        },
        values=run_values(run),
        rows=rows,
        main=[main_bound(run, row) for row in rows],
        points=ablation_points(run, None, rows),
        curves=[measured_curve(run, index) for index in range(len(rows))],
        text=audit_text(audit, rows),
        version_note=header_note(spec.task_version, facts),
    )


def measured_curve(run: Run, index: int) -> Curve | None:
    """ROC of one row, failed trials against the auditor; None while a world is empty."""
    inside, outside = (run.arms[world] for world in WORLDS)
    if not (inside.asked.any() and outside.asked.any()):
        return None
    scores = [arm.scores[arm.asked, index] for arm in (inside, outside)]
    found = roc(*missing_against_auditor(*scores, planned=sum(map(len, scores))))
    at = np.unique(np.linspace(0, len(found.fpr) - 1, _ROC_POINTS).round().astype(int))
    return Curve(
        (0.0, *map(float, found.fpr[at])),
        (0.0, *map(float, found.tpr[at])),
    )


def _numbered(audit: Audit, number: int) -> Audit:
    return replace(audit, number=number)
