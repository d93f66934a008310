"""Runs → tables beside the paper's. arXiv:2604.15851, Tables 2, 3, 4 and 10, 5.

A cell holds a share: its mean over epochs, ± 1.96 standard errors over epochs where there are
several (as the paper prints); below, the 95 % interval over questions and the number of replies.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dprivbench_inspect.intervals import Share, pair_share, ratio_over_questions, share
from dprivbench_inspect.label_audit import with_audited_labels
from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.metrics import (
    GROUP_FIELDS,
    GroupField,
    Outcome,
    constant_rows,
    count,
    mean_of,
)
from dprivbench_inspect.questions import TOPICS
from dprivbench_inspect.report_formats import Cell, Table, number_text, printed
from dprivbench_inspect.report_runs import Run, run_name

PAPER_RESULTS = Path(__file__).parent / "data" / "paper_results.json"
CELLS = (
    "Value ± 1.96 standard errors over epochs (if several); [95 % interval over questions], n "
    "replies. No verdict is wrong for accuracy and recall."
)
_PAPER_NOTE = (
    "It asked the official questions five times and read replies by its own rule; ± is 1.96 "
    "standard errors over runs."
)
_CLAIMS = ("F1", "precision", "recall", "accuracy")
_RATES = ("no verdict", "cut short")
_BLOCK = 6  # runs that stand side by side


@cache
def paper() -> dict[str, Any]:
    """The paper's numbers as printed."""
    results: dict[str, Any] = json.loads(PAPER_RESULTS.read_text(encoding="utf-8"))
    return results


def runs_table(runs: Sequence[Run]) -> Table:
    """What was asked, and what became of each planned reply: the denominators of all numbers."""
    rows = []
    for run in runs:
        outcomes, config = run.outcomes, run.log.eval.config
        answered = [o for o in outcomes if o.verdict is not None]
        results = run.log.results
        rows.append([
            run_name(run),
            run.task.removeprefix("dprivbench_"),
            str(run.facts.get("full_task_version", run.version)),
            _asked(run),
            run.question_set,
            str(len(run.replies.texts)),
            str(config.epochs or 1),
            str(run.planned),
            str(results.completed_samples if results else 0),
            str(run.replies.errors),
            str(len(outcomes)),
            *(str(sum(o.how == how for o in answered)) for how in ("box", "judge")),
            str(len(outcomes) - len(answered)),
            str(sum(o.reason == "refusal" for o in outcomes if o.verdict is None)),
            str(sum(o.truncated for o in outcomes)),
        ])
    return Table(
        "Runs",
        [
            "model",
            "task",
            "version",
            "source",
            "set",
            "questions",
            "epochs",
            "planned",
            "done",
            "errors",
            "scored",
            "by box",
            "by judge",
            "no verdict",
            "refused",
            "cut short",
        ],
        rows,
        [
            "Planned = questions x epochs; scored = by box + by judge + no verdict; refusals are "
            "among those without verdict. Runs of one set asked the same texts under the same "
            "labels.",
            *(f"[{run.number}] {run.log.eval.created}, {run.location}" for run in runs),
        ],
    )


def accuracy_table(runs: Sequence[Run]) -> Table:
    """Category 1: accuracy per mechanism, ours and the paper's Table 2."""
    numbers = paper()["category_1_accuracy"]
    rows: list[list[Cell]] = []
    for run in runs:
        rows.append([run_name(run), *_mechanisms(run.outcomes), *_rates(run.outcomes)])
        if run.replies.published:
            name = f"{run_name(run)}, read as the paper's code does"
            rows.append([name, *_mechanisms(run.replies.published), "", ""])
    blank = [""] * (1 + len(_RATES))
    for model, row in numbers["models"].items():
        printed_row = [printed(*row[m]) for m in MECHANISMS]
        rows.append([f"{model} (paper)", *printed_row, printed(row["average"]), *blank])
    average = [printed(numbers["average_of_models"][m]) for m in MECHANISMS]
    rows.append(["average of models (paper)", *average, "", *blank])
    return Table(
        "DPrivBench Category 1: accuracy",
        ["model", *MECHANISMS, "mean", "accuracy", *_RATES],
        rows,
        [CELLS, "mean: every mechanism weighs the same.", _source(numbers["table"])],
    )


def f1_table(runs: Sequence[Run]) -> Table:
    """Category 2: F1, precision, recall and accuracy, ours and the paper's Table 3."""
    numbers = paper()["category_2"]
    rows: list[list[Cell]] = []
    notes = [CELLS, "Positive class yes. n of F1: claims that hold + claims said to hold."]
    for run in runs:
        rows.append([run_name(run), *_claims(run.outcomes), *_rates(run.outcomes)])
        if any(outcome.audit for outcome in run.outcomes):
            kept = with_audited_labels(run.outcomes)
            left_out = {o.question_id for o in run.outcomes} - {o.question_id for o in kept}
            rows.append([f"{run_name(run)} audited labels", *_claims(kept), "", ""])
            notes.append(
                f"[{run.number}] audited labels: official labels found false are turned round, and "
                f"{len(left_out)} questions whose answer depends on a reading, or that ask "
                "nothing, are left out; each has its reason in label_audit.yaml."
            )
        if run.replies.published:
            name = f"{run_name(run)}, read and counted as the paper's code does"
            rows.append([name, *_claims(_as_published(run.replies.published)), "", ""])
    rows += _constant_rows(runs[0].outcomes)
    blank = [""] * (2 + len(_RATES))
    for model, row in numbers["models"].items():
        printed_row = [printed(*row[name]) for name in ("f1", "precision", "recall")]
        rows.append([f"{model} (paper)", *printed_row, *blank])
    return Table(
        "DPrivBench Category 2: does the claim hold?",
        ["model", *_CLAIMS, "pair accuracy", *_RATES],
        rows,
        [*notes, _source(numbers["table"])],
    )


def topic_tables(runs: Sequence[Run]) -> list[Table]:
    """Category 2: accuracy per topic, ours and the paper's Table 10, of which Table 4 is a part."""
    numbers = paper()["category_2_topic_accuracy"]
    names = list(next(iter(numbers["topics"].values())))
    tables = []
    for block in _blocks(runs):
        rows: list[list[Cell]] = []
        for topic, row in numbers["topics"].items():
            ours = [
                share([o for o in run.outcomes if o.topic == topic], "accuracy") for run in block
            ]
            theirs = [f"{row[name]:.2f}" for name in names]
            rows.append([f"{TOPICS[topic].paper_name} ({topic})", *ours, *theirs])
        tables.append(
            Table(
                "DPrivBench Category 2: accuracy per topic",
                ["topic", *map(run_name, block), *(f"{name} (paper)" for name in names)],
                rows,
                [CELLS, _source(numbers["table"])],
            )
        )
    return tables


def group_tables(runs: Sequence[Run]) -> list[Table]:
    """Accuracy per subject, perturbation and error pattern; not in the paper."""
    tables = []
    for block in _blocks(runs):
        rows: list[list[Cell]] = []
        for field in GROUP_FIELDS:
            if field in {"mechanism", "topic"}:
                continue
            for group in _groups(block, field):
                ours = [
                    share([o for o in run.outcomes if getattr(o, field) == group], "accuracy")
                    for run in block
                ]
                rows.append([f"{field.replace('_', ' ')}: {group}", *ours])
        if rows:
            title = "DPrivBench Category 2: accuracy per subject, perturbation and error pattern"
            tables.append(Table(title, ["group", *map(run_name, block)], rows, [CELLS]))
    return tables


def _groups(runs: Iterable[Run], field: GroupField) -> list[str]:
    return sorted({v for run in runs for o in run.outcomes if (v := getattr(o, field)) is not None})


def _blocks(runs: Sequence[Run]) -> list[Sequence[Run]]:
    return [runs[start : start + _BLOCK] for start in range(0, len(runs), _BLOCK)]


def _mechanisms(outcomes: Sequence[Outcome]) -> list[Cell]:
    """Accuracy per mechanism, their mean, and over all replies; empty where nothing was asked."""
    own = [[o for o in outcomes if o.mechanism == mechanism] for mechanism in MECHANISMS]
    shares = [share(replies, "accuracy") if replies else None for replies in own]
    mean = mean_of([found.value for found in shares if found]).mean
    cells: list[Cell] = [found or "" for found in shares]
    return [*cells, printed(mean), share(outcomes, "accuracy")]


def _claims(outcomes: Sequence[Outcome]) -> list[Share]:
    return [*(share(outcomes, name) for name in _CLAIMS), pair_share(outcomes)]


def _rates(outcomes: Sequence[Outcome]) -> list[Share]:
    marks = (
        [(o.question_id, float(o.verdict is None), 1.0) for o in outcomes],
        [(o.question_id, float(o.truncated), 1.0) for o in outcomes],
    )
    return [ratio_over_questions(mark) for mark in marks]


def _as_published(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """No verdict becomes the verdict opposite to the label, as in the paper's code."""
    return [
        o if o.verdict else o._replace(verdict="no" if o.label == "yes" else "yes")
        for o in outcomes
    ]


def _constant_rows(outcomes: Sequence[Outcome]) -> list[list[Cell]]:
    """What a constant answer would have got on these questions; exact, so without interval."""
    rows: list[list[Cell]] = []
    first = {o.question_id: o for o in outcomes}.values()
    for answer, counts in constant_rows(count(first)).items():
        values = (counts.f1, counts.precision, counts.recall, counts.accuracy)
        rows.append([f"always {answer} (computed)", *map(number_text, values), "", "", ""])
    return rows


def _asked(run: Run) -> str:
    """Source, form and help of a run's questions, in a few words."""
    source = str(run.facts.get("source", "?"))
    parts = [Path(source).name if "/" in source else source]
    if run.facts.get("revision"):
        parts.append(f"at {str(run.facts['revision'])[:8]}")
    parts += [str(v) for k in ("variant", "prompt", "help") if (v := run.arguments.get(k))]
    return " ".join(part for part in parts if part not in {"pairs", "zero_shot"})


def _source(table: int) -> str:
    return f"(paper): {paper()['source']}, Table {table}. {_PAPER_NOTE}"
