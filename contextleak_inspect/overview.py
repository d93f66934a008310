"""Several audits → one table: what each defense let through, with its interval."""

from collections.abc import Sequence
from typing import NamedTuple

from contextleak_inspect.audit_row import RowAudit
from contextleak_inspect.bounds import EpsilonBound, rounded_down
from contextleak_inspect.config import AuditConfig
from contextleak_inspect.rows import epsilon_text

_DASH = "-"
_COLUMNS = (
    "",
    "defense",
    "query",
    "seen",
    "claimed ε",
    "n in+out",
    "accuracy",
    "interval",
    "AUC",
    "ε ≥",
    "ceiling",
    "ε ≥ anytime",
)
_LEFT = 4  # columns of words
_WIDEST = 16  # of a query, which may be a file


class Audited(NamedTuple):
    """An audit's settings and rows, and the model that was asked."""

    model: str
    config: AuditConfig
    rows: Sequence[RowAudit]


def overview(audits: Sequence[Audited]) -> str:
    """A line per audit, level of observation and claimed ε.

    Args:
        audits: Of one confidence or several, named below the table.
    """
    lines: list[tuple[str, ...]] = [_COLUMNS]
    models: dict[str, list[str]] = {}
    for number, (model, config, rows) in enumerate(audits, start=1):
        lines += [(f"[{number}]", *_line(config, row)) for row in rows]
        models.setdefault(model, []).append(f"[{number}]")
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    confidences = " or ".join(
        f"{c:.0%}" for c in sorted({audit.config.confidence for audit in audits})
    )
    return "\n".join([
        *(
            "  ".join(
                cell.ljust(width) if column < _LEFT else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ),
        "",
        *(f"{model}: {' '.join(numbers)}" for model, numbers in models.items()),
        f"Intervals and bounds hold with probability {confidences}, each alone.",
        "accuracy: at a threshold from other trials. ε ≥: the Clopper-Pearson lower bound in nats;",
        "ceiling: the most it can be with this many trials; anytime: the e-process, with known",
        "noise integrated out where there is any. A claimed ε below a bound is refuted; 0.00 is no",
        "evidence of leakage, not a proof of privacy.",
    ])


def _line(c: AuditConfig, row: RowAudit) -> tuple[str, ...]:
    bound, accuracy = row.bound, row.accuracy
    return (
        c.defense,
        c.query if len(c.query) <= _WIDEST else f"…{c.query[1 - _WIDEST :]}",
        row.row.level,
        _DASH if row.row.epsilon is None else epsilon_text(row.row.epsilon),
        f"{row.n_in}+{row.n_out}",
        _DASH if accuracy is None else f"{accuracy.balanced:.2f}",
        _DASH if accuracy is None else "{:.2f}-{:.2f}".format(*accuracy.balanced_interval),
        _DASH if row.auc is None else f"{row.auc:.2f}",
        _value(bound or row.exact),
        _DASH if bound is None else rounded_down(bound.ceiling),
        _value(row.integrated or row.e_process),
    )


def _value(bound: EpsilonBound | None) -> str:
    return _DASH if bound is None else rounded_down(bound.value)
