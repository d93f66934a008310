"""A run's numbers under the names that log, viewer and report give them."""

import math
from collections.abc import Iterable

from contextleak_inspect.audit_row import TARGET_FPRS, RowAudit, audit_row, main_bound
from contextleak_inspect.audit_run import WORLDS, Run
from contextleak_inspect.bounds import EpsilonBound
from contextleak_inspect.embedding_step import embedding_step
from contextleak_inspect.plan import model_calls
from contextleak_inspect.roc import fpr_label
from contextleak_inspect.votes import EMPTY_AT_CAP, NO_LABEL, PROMPT_CUT, REFUSED, error_rates


def row_values(run: Run, index: int) -> dict[str, float]:
    """One row of the table, columns in order of interest; ε in nats, nan where there is no number.

    "ε ≥" is the bound that the configuration names, as `main_bound`. Only columns with ≥ are
    bounds.
    """
    audited = audit_row(run, index)
    return _values(run, audited, main_bound(run, audited))


def _values(run: Run, a: RowAudit, main: EpsilonBound | None) -> dict[str, float]:
    tpr = a.tpr or (math.nan,) * len(TARGET_FPRS)
    return {
        "ε ≥": _value(main),
        "ε possible": a.possible.epsilon,
        "accuracy": _or_nan(a.exact_accuracy if a.accuracy is None else a.accuracy.balanced),
        "accuracy possible": a.possible.accuracy,
        "AUC": _or_nan(a.auc),
        **dict(zip(map(fpr_label, TARGET_FPRS), tpr, strict=True)),
        "ε ≥ Clopper-Pearson": _value(a.bound),
        "its ceiling": math.nan if a.bound is None else a.bound.ceiling,
        "ε ≥ e-process": _value(a.e_process),
        "ε ≥ e-process, noise integrated": _value(a.integrated),
        "ε if Gaussian": _value(a.gaussian),
        "ε paper": _value(a.paper),
        "accuracy optimistic": _or_nan(a.accuracy_optimistic),
    }


def run_values(run: Run) -> dict[str, float]:
    """What all rows have in common."""
    rates, records = error_rates(run.records), run.records
    null = [r.null_changed for r in records if r.null_changed is not None]
    marks = {w: "".join(r.marks.get(w, "") for r in records) for w in WORLDS}
    values = {
        "trials": float(len(records)),
        "trials planned": float(run.n_planned),
        **{f"trials {world}": float(run.arms[world].asked.sum()) for world in WORLDS},
        "false votes": rates.q,
        "misses": rates.r,
    }
    for name, letters in (
        ("no label", NO_LABEL),
        ("refused", REFUSED),
        ("empty or cut", EMPTY_AT_CAP + PROMPT_CUT),
    ):
        for world in WORLDS:
            values[f"{name} {world}"] = _share(marks[world], letters)
    step = embedding_step(records)
    if step is not None:
        texts = [r.embedded for r in records if r.embedded is not None]
        values |= {
            **step._asdict(),
            "texts embedded": float(sum(r.texts for r in texts)),
            "texts cut": float(sum(r.truncated for r in texts)),
        }
    return values | {
        "null control changed": sum(null) / len(null) if null else math.nan,
        "model calls": float(sum(r.calls for r in records)),
        "naive calls": float(naive_calls(run)),
        "guard calls": float(sum(r.guard_calls for r in records)),
        "answers from cache": float(sum(r.cached for r in records)),
        "ε paper ceiling": math.log((1 - run.config.delta) / run.config.target_fpr),
        "δ": run.config.delta,
        "confidence": run.config.confidence,
    }


def naive_calls(run: Run) -> int:
    """Calls that would have been made if each ε had asked each world of each trial anew."""
    worlds = sum(len(record.votes) for record in run.records)
    if not worlds:
        return 0
    return model_calls(run.config.ensemble, worlds, max(1, len(run.config.epsilon))).naive


def _share(marks: str, letters: Iterable[str]) -> float:
    return sum(marks.count(letter) for letter in letters) / len(marks) if marks else math.nan


def _value(bound: EpsilonBound | None) -> float:
    return math.nan if bound is None else bound.value


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
