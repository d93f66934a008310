"""Audits → tables: what was audited, ε and accuracy of each row, utility beside both."""

import math
from collections.abc import Sequence

from contextleak_inspect.audit_row import TARGET_FPRS, RowAudit
from contextleak_inspect.audit_run import WORLDS
from contextleak_inspect.bounds import EpsilonBound
from contextleak_inspect.report_formats import Cell, LowerBound, Table
from contextleak_inspect.report_numbers import Audit
from contextleak_inspect.roc import fpr_label
from contextleak_inspect.rows import epsilon_text
from contextleak_inspect.utility_report import UtilityLog

NO_PUBLISHED = (
    "The paper's tables and figures are not in our copy, so none of its numbers stand here."
)
_UNTOLD = "no ε claimed"


def audits_table(audits: Sequence[Audit]) -> Table:
    """Settings of each audit, and what became of its planned trials."""
    rows: list[list[Cell]] = []
    for audit in audits:
        c, values = audit.config, audit.values
        rows.append([
            audit.name,
            c.task,
            c.source,
            audit.data,
            audit.version,
            audit.status,
            c.canary,
            audit.canary_label,
            c.query,
            c.placement,
            c.ensemble,
            c.shots,
            "provider's" if c.temperature is None else c.temperature,
            c.embedding if c.defense == "esa" else "",
            c.calls,
            c.seed,
            *(number for world in WORLDS for number in audit.worlds[world]),
            *(values[f"{name} {world}"] for name in _SHARES for world in WORLDS),
            values["null control changed"],
            values["false votes"],
            values["misses"],
            int(values["model calls"]),
        ])
    return Table(
        "Audits",
        [
            *("audit", "task", "source", "data", "version", "status", "canary", "its label"),
            *("query", "placement", "shards", "shots", "temperature", "embedding", "calls", "seed"),
            *(f"{name} {world}" for world in WORLDS for name in ("planned", "done", "failed")),
            *(f"{name} {world}" for name in _SHARES for world in WORLDS),
            *("null changed", "false votes", "misses", "model calls"),
        ],
        rows,
        [
            "in: trials with the canary; out: without. Failed trials count against the auditor. "
            "Shares are of replies; false votes and misses are the model's error rates.",
            *(f"[{audit.number}] {audit.created}, {audit.location}" for audit in audits),
        ],
    )


def epsilon_table(audits: Sequence[Audit]) -> Table:
    """Lower bounds on ε beside the claim and the most that is possible, in nats."""
    rows: list[list[Cell]] = []
    for audit in audits:
        for row, main in zip(audit.rows, audit.main, strict=True):
            c = audit.config
            rows.append([
                *_of(audit, row),
                _value(main),
                "" if main is None else f"{main.method}, {main.threshold_rule}",
                math.nan if main is None else LowerBound(main.ceiling),
                c.confidence,
                f"{c.delta:g}",
                _value(row.e_process),
                _value(row.integrated),
                _value(row.gaussian),
                _value(row.paper),
                row.possible.epsilon,
            ])
    return Table(
        "Bounds on ε of each audit",
        [
            *("audit", "seen", "scope", "claimed ε", "n in", "n out", "ε ≥", "by", "its ceiling"),
            *("confidence", "δ", "ε ≥ e-process", "ε ≥ noise integrated", "ε if Gaussian"),
            *("ε paper", "ε possible"),
        ],
        rows,
        [
            "ε in nats; ≥ marks lower bounds, each valid alone with its confidence; 0.00 is no "
            "evidence of leakage, not a proof of privacy. A bound at its ceiling asks for more "
            "trials. ε if Gaussian is a bound only if answers never vary; ε paper is a plug-in, no "
            "bound, and has a ceiling of its own. ε possible: the most any attack can show if the "
            "model never errs.",
            NO_PUBLISHED,
        ],
    )


def accuracy_table(audits: Sequence[Audit]) -> Table:
    """Balanced accuracy with its interval, the best possible, AUC, TPR at fixed FPR."""
    rows: list[list[Cell]] = []
    for audit in audits:
        for row, point in zip(audit.rows, audit.points, strict=True):
            rows.append([
                *_of(audit, row),
                point.accuracy,
                point.lower,
                point.upper,
                math.nan if row.accuracy_optimistic is None else row.accuracy_optimistic,
                row.possible.accuracy,
                point.possible,
                math.nan if row.auc is None else row.auc,
                *(row.tpr or (math.nan,) * len(TARGET_FPRS)),
            ])
    return Table(
        "Accuracy of each audit",
        [
            *("audit", "seen", "scope", "claimed ε", "n in", "n out", "accuracy", "low", "high"),
            *("optimistic", "possible", "at its error rates", "AUC", *map(fpr_label, TARGET_FPRS)),
        ],
        rows,
        [
            "accuracy: balanced, at a threshold from other trials, with its interval at the "
            "audit's confidence; optimistic: threshold of the same trials. possible: best of any "
            "attack if the model never errs; at its error rates: with those measured, as if exact.",
        ],
    )


def utility_table(utilities: Sequence[UtilityLog]) -> Table:
    """Accuracy or ROUGE-1 of the task itself under each defense."""
    measure = {"classification": "accuracy", "generation": "ROUGE-1"}
    rows: list[list[Cell]] = [
        [log.model, log.kind, log.part, name, measure[log.kind], u.mean, u.lower, u.upper, u.n]
        for log in utilities
        for name, u in log.rows.items()
    ]
    return Table(
        "Utility of each defense",
        ["model", "task", "part", "defense", "measure", "mean", "low", "high", "questions"],
        rows,
        ["95 % intervals over questions.", *(log.location for log in utilities)],
    )


def seen_text(row: RowAudit) -> str:
    """Level and claimed ε of a row."""
    claimed = "" if row.row.epsilon is None else f", ε = {epsilon_text(row.row.epsilon)}"
    return f"{row.row.level}{claimed}"


def side_by_side(audits: Sequence[Audit]) -> dict[tuple[str, str], list[Audit]]:
    """Audits whose numbers may stand in one figure, by task version and private data."""
    groups: dict[tuple[str, str], list[Audit]] = {}
    for audit in audits:
        groups.setdefault((audit.version, audit.data), []).append(audit)
    return groups


_SHARES = ("no label", "refused", "empty or cut")


def _of(audit: Audit, row: RowAudit) -> list[Cell]:
    claimed = _UNTOLD if row.row.epsilon is None else epsilon_text(row.row.epsilon)
    scope = {"mechanism": "mechanism", "conditional_on_answers": "answers frozen"}
    return [
        audit.name,
        row.row.level,
        scope[row.setting.scope],
        claimed,
        row.n_in,
        row.n_out,
    ]


def _value(bound: EpsilonBound | None) -> float:
    if bound is None:
        return math.nan
    return bound.value if bound.kind == "plug_in" else LowerBound(bound.value)
