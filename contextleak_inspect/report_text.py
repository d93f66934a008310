"""One audit in words and aligned columns: settings, tables, and what must be told beside them."""

import math
from collections.abc import Sequence

import numpy as np

from contextleak_inspect.audit_row import TARGET_FPRS, RowAudit
from contextleak_inspect.audit_run import WORLDS, Run
from contextleak_inspect.audit_table import naive_calls
from contextleak_inspect.bounds import EpsilonBound, rounded_down
from contextleak_inspect.checks import tied_at_rank, trial_warnings
from contextleak_inspect.config import GAUSSIAN_DEFENSES, AuditConfig
from contextleak_inspect.embedding_step import embedding_step
from contextleak_inspect.possible import possible
from contextleak_inspect.rao_blackwell import flip_probability_upper
from contextleak_inspect.report_audits import AuditLog
from contextleak_inspect.roc import fpr_label
from contextleak_inspect.rows import epsilon_text
from contextleak_inspect.votes import NO_LABEL, REFUSED, error_rates

_DASH = "-"


def audit_text(audit: AuditLog, rows: Sequence[RowAudit]) -> str:
    """One audit and its rows: settings, tables, and what must be told of this one beside them."""
    run = audit.run
    lines = [*_settings(audit), ""]
    for level in dict.fromkeys(row.row.level for row in rows):
        of_level = [row for row in rows if row.row.level == level]
        lines += [_heading(of_level[0]), *_tables(run, of_level), ""]
    return "\n".join([*lines, *_below(run, rows)]).rstrip()


def legend(c: AuditConfig) -> str:
    """What the columns of `audit_text` mean; the same for audits that measure alike."""
    lines = ["ε in nats. 0.00 is no evidence of leakage, not a proof of privacy."]
    if c.calls == "frozen":
        lines += [
            "ε of these answers: exact for the mechanism with these answers frozen, no interval",
            "(scope conditional_on_answers); it may exceed the ε of one whose answers vary.",
        ]
        return "\n".join(lines)
    most = math.log((1 - c.delta) / c.target_fpr)
    lines += [
        "ε ≥, e-process, integrated: lower bounds, each valid alone; a claimed ε below is refuted.",
        "ceiling: the most that this many trials can show; a bound near it asks for more of them.",
        "e-process: valid at any time, noise as drawn; integrated: the known noise integrated out.",
        "if Gaussian: a test of the claimed μ, a bound only if answers never vary.",
        f"paper: plug-in ln((TPR - δ) / {c.target_fpr:g}), never above {most:.2f}, no bound.",
        "optimistic: threshold of the same trials. possible: most any attack can show if the model",
        "never errs; at q̂, r̂: with the error rates (and the distance of embeddings) measured here,",
        "as if exact.",
    ]
    return "\n".join(lines)


def _settings(audit: AuditLog) -> list[str]:
    run, evaluated = audit.run, audit.header.eval
    c, records = run.config, run.records
    arguments = ", ".join(f"{name}={value}" for name, value in evaluated.model_args.items())
    done = {world: int(run.arms[world].asked.sum()) for world in WORLDS}
    calls, guard = sum(r.calls for r in records), sum(r.guard_calls for r in records)
    canary = (evaluated.metadata or {}).get("canary", {})
    return [
        f"{audit.location}",
        f"{c.defense} on {evaluated.model}{f' ({arguments})' if arguments else ''}, "
        f"{c.task}, data {c.source}, status {audit.header.status}",
        f"canary {c.canary} with label {canary.get('label', c.canary_label)}, query {c.query}, "
        f"{c.n_exemplars} exemplars in {c.ensemble} shard{'s' * (c.ensemble > 1)}, "
        f"temperature {c.temperature}, seed {c.seed}",
        f"calls={c.calls}: {done['in']} trials with the canary of {len(run.arms['in'])} planned, "
        f"{done['out']} without of {len(run.arms['out'])}; {calls} model calls (null controls "
        f"included){f', {guard} of the guard' * bool(guard)}, naively {naive_calls(run)}",
        f"δ = {c.delta:g}, confidence {c.confidence:.0%}, neighbours replace_one (an exemplar is "
        f"replaced by the canary){_calibration(c)}",
        *_answers(run),
    ]


def _calibration(c: AuditConfig) -> str:
    if c.defense == "ksa":
        mechanism = {"joint": "joint exponential mechanism", "ptr": "propose-test-release"}
        return f"; {c.n_keywords} words by {mechanism[c.keyword_mechanism]}, for {c.neighbouring}"
    if c.defense not in GAUSSIAN_DEFENSES:
        return ""
    return f"; σ for {c.neighbouring}, {c.noise_calibration}"


def _answers(run: Run) -> list[str]:
    rates = error_rates(run.records)
    null = [r.null_changed for r in run.records if r.null_changed is not None]
    marks = {w: "".join(r.marks.get(w, "") for r in run.records) for w in WORLDS}

    def of(letter: str) -> str:
        return ", ".join(f"{marks[w].count(letter)} of {len(marks[w])} {w}" for w in WORLDS)

    return [
        *_embeddings(run),
        f"answers: false votes q̂ = {_rate(rates.false_votes, rates.clean)}, misses r̂ = "
        f"{_rate(rates.misses, rates.planted)}; no label {of(NO_LABEL)}; refused {of(REFUSED)}; "
        f"null control changed {sum(null)} of {len(null)}",
    ]


def _embeddings(run: Run) -> list[str]:
    step = embedding_step(run.records)
    if step is None:
        return []
    texts = [r.embedded for r in run.records if r.embedded is not None]
    return [
        f"embeddings: {run.config.embedding}, {sum(t.texts for t in texts)} texts, "
        f"{sum(t.truncated for t in texts)} cut; replies with the canary lie {step.distance:.2f} "
        f"from those without, cos to the detector {step.cos_angle:.2f}"
    ]


def _rate(count: int, total: int) -> str:
    return f"{count}/{total} ({count / total:.1%})" if total else "none asked"


def _heading(row: RowAudit) -> str:
    said = {
        "histogram": "Noisy histogram",
        "label": "Released label",
        "embedding": "Noisy mean embedding",
        "text": "Released text",
        "keywords": "Released keywords",
        "reply": "Reply",
        "log-probability": "Log-probabilities of the model (grey-box)",
    }[row.row.level]
    scope = {"mechanism": "", "conditional_on_answers": ", answers frozen"}[row.setting.scope]
    return f"{said} (observation {row.setting.observation}{scope})"


def _tables(run: Run, rows: Sequence[RowAudit]) -> list[str]:
    if run.config.calls == "frozen":
        return _aligned([
            ("claimed ε", "ε of these answers", "accuracy", "ε possible", "accuracy possible"),
            *(
                (
                    _claimed(row),
                    _exact(row),
                    _number(row.exact_accuracy),
                    _number(row.possible.epsilon),
                    _number(row.possible.accuracy),
                )
                for row in rows
            ),
        ])
    rates = error_rates(run.records)
    n_labels = len(run.records[0].labels) if run.records else 2
    step = embedding_step(run.records)
    given = [
        possible(
            run.config,
            row.row,
            n_labels=n_labels,
            false_votes=rates.q,
            misses=rates.r,
            step=2.0 if step is None else step.step,
        )
        for row in rows
    ]
    epsilons = [
        (
            _claimed(row),
            _down(row.bound),
            _n(row.bound),
            _DASH if row.bound is None else rounded_down(row.bound.ceiling),
            _down(row.e_process),
            _down(row.integrated),
            _down(row.gaussian),
            _number(None if row.paper is None else row.paper.value),
            _number(row.possible.epsilon),
            _number(at_rates.epsilon),
        )
        for row, at_rates in zip(rows, given, strict=True)
    ]
    accuracies = [
        (
            _claimed(row),
            _number(None if row.accuracy is None else row.accuracy.balanced),
            _interval(row),
            _number(row.accuracy_optimistic),
            _number(row.possible.accuracy),
            _number(at_rates.accuracy),
            _number(row.auc),
            *(_number(tpr) for tpr in row.tpr or (None,) * len(TARGET_FPRS)),
        )
        for row, at_rates in zip(rows, given, strict=True)
    ]
    return [
        *_aligned([
            (
                "claimed ε",
                f"ε ≥ ({_rule(run, rows[0])})",
                "n in+out",
                "ceiling",
                "e-process",
                "integrated",
                "if Gaussian",
                "paper",
                "possible",
                "at q̂, r̂",
            ),
            *epsilons,
        ]),
        "",
        *_aligned([
            (
                "claimed ε",
                "accuracy",
                f"{run.config.confidence:.0%}",
                "optimistic",
                "possible",
                "at q̂, r̂",
                "AUC",
                *map(fpr_label, TARGET_FPRS),
            ),
            *accuracies,
        ]),
    ]


def _rule(run: Run, row: RowAudit) -> str:
    if row.bound is not None:
        return f"{row.bound.method}, {row.bound.threshold_rule}"
    return f"clopper_pearson, {'fixed' if row.row.one_bit else run.config.threshold}"


def _below(run: Run, rows: Sequence[RowAudit]) -> list[str]:
    c = run.config
    lines = []
    if c.calls == "frozen":
        return [*_frozen_notes(run), *_warnings(run)]
    if c.stop_at is not None:
        lines.append(
            "The run may stop early: the interval of the accuracy holds at any time; AUC, TPR, "
            "paper and optimistic are of a number of trials that depends on them."
        )
    if not run.complete:
        lines.append(
            "Unfinished: bounds for a fixed number of trials are left out, those valid at any "
            f"time use the first {run.prefix} trials."
        )
    if any(row.auc is not None and row.auc < 0.5 for row in rows if not row.row.one_bit):
        lines.append("An AUC below 0.5: by chance, or the score points the wrong way.")
    outside = rows[0].n_out
    if outside and min(TARGET_FPRS) < 1 / outside:
        lines.append(
            f"{outside} trials without the canary resolve FPR down to {1 / outside:.1%}; a finer "
            "target is read at no false alarm."
        )
    return [*lines, *_ties(run, rows), *_warnings(run)]


def _ties(run: Run, rows: Sequence[RowAudit]) -> list[str]:
    if run.config.threshold != "fixed_rank" or not run.complete:
        return []
    found = [
        tied_at_rank(
            row.row.name,
            np.nan_to_num(run.arms["in"].scores[:, index], nan=-np.inf),
            np.nan_to_num(run.arms["out"].scores[:, index], nan=np.inf),
            run.config.target_fpr,
        )
        for index, row in enumerate(rows)
        if not row.row.one_bit and row.bound is not None
    ]
    return [f"note: {text}" for text in found if text is not None]


def _frozen_notes(run: Run) -> list[str]:
    repeats = len(run.records)
    changed = len({(r.votes["in"], r.votes["out"]) for r in run.records}) > 1
    if changed:
        return ["Answers changed between repeats: calls='frozen' is not valid for this model."]
    if not repeats:
        return ["No repeat has run."]
    upper = flip_probability_upper(repeats, 1 - run.config.confidence)
    return [
        f"No answer changed in {repeats} repeats: a repeat changes with probability at most "
        f"{upper:.3f} at confidence {run.config.confidence:.0%}, which proves nothing about "
        "determinism.",
    ]


def _warnings(run: Run) -> list[str]:
    planned = {world: len(run.arms[world]) for world in WORLDS}
    if not run.complete:
        planned = {world: sum(world in r.votes for r in run.records) for world in WORLDS}
    return [f"warning: {text}" for text in trial_warnings(run.records, planned)]


def _claimed(row: RowAudit) -> str:
    return _DASH if row.row.epsilon is None else epsilon_text(row.row.epsilon)


def _exact(row: RowAudit) -> str:
    if row.exact is None and row.exact_accuracy is not None:
        return "inf"
    return _down(row.exact)


def _n(bound: EpsilonBound | None) -> str:
    return _DASH if bound is None else f"{bound.n_in}+{bound.n_out}"


def _interval(row: RowAudit) -> str:
    if row.accuracy is None:
        return _DASH
    return "{:.2f}-{:.2f}".format(*row.accuracy.balanced_interval)


def _number(value: float | None) -> str:
    return _DASH if value is None or math.isnan(value) else f"{value:.2f}"


def _down(bound: EpsilonBound | None) -> str:
    return _DASH if bound is None else rounded_down(bound.value)


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    ]
