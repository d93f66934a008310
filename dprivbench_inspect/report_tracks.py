"""Runs → tables of the hard track, and of true claims before and after paraphrasing."""

from collections.abc import Sequence
from typing import Any

from dprivbench_inspect.comparison import compare
from dprivbench_inspect.intervals import pair_share, share
from dprivbench_inspect.metrics import Outcome
from dprivbench_inspect.report_formats import Cell, Table, number_text, printed
from dprivbench_inspect.report_runs import Run, metrics_of, run_name

_CITATIONS = (
    "recall of right theorems",
    "precision of citations",
    "no citation line",
    "right theorems shown",
)


def is_paraphrase(run: Run) -> bool:
    """Whether the run asked other wordings of questions with the same ids."""
    return bool(run.facts.get("paraphrase"))


def hard_table(runs: Sequence[Run], about: Sequence[str]) -> Table:
    """The hard track: one row a run, with the kind of help beside the numbers.

    Args:
        runs: Runs of `dprivbench_hard`.
        about: Notes.
    """
    rows: list[list[Cell]] = []
    for run in runs:
        cited = metrics_of(run.log, "citations")
        rows.append([
            run_name(run),
            str(run.arguments.get("help", "")),
            *(share(run.outcomes, name) for name in ("F1", "accuracy")),
            pair_share(run.outcomes),
            *(number_text(cited[name]) if cited else "" for name in _CITATIONS),
        ])
    return Table(
        "DPrivBench, hard questions of Category 2",
        ["model", "help", "F1", "accuracy", "pair accuracy", *_CITATIONS],
        rows,
        [
            *about,
            "help=none is the zero-shot control on the same questions. Right theorems shown: below "
            "1 where a search missed some. The paper's bars cannot be read as numbers; the best "
            "stands at 0.650, on the official 18.",
        ],
    )


def paraphrase_table(runs: Sequence[Run], paper: dict[str, Any], source: str) -> Table:
    """Accuracy on true claims before and after, paired by id and epoch, and the paper's Table 9.

    A paraphrased run is compared with the latest run of the same model, prompt and version on the
    questions themselves.

    Args:
        runs: Runs of Category 2.
        paper: `paraphrase_recall` of the paper's results.
        source: Where that stands.
    """
    rows: list[list[Cell]] = []
    notes = []
    for after in filter(is_paraphrase, runs):
        theirs = _true_claims(after)
        before = _original_of(after, runs)
        ours = _true_claims(before) if before else []
        if before is None or not _shared(ours, theirs):
            cells: list[Cell] = ["", "not among the logs", share(theirs, "accuracy")]
            rows.append([run_name(after), *cells, *[""] * 4])
            continue
        found = compare(ours, theirs)
        change, half_width = found.difference
        rows.append([
            run_name(after),
            str(found.questions),
            share(_shared(ours, theirs), "accuracy"),
            share(_shared(theirs, ours), "accuracy"),
            f"{change:+.3f} ± {half_width:.3f}",
            str(found.only_first),
            str(found.only_second),
            f"{found.p_value:.2g}",
        ])
        notes.append(f"{run_name(after)}: before {before.location}; after {after.location}")
    rows += [
        [
            f"{model} (paper)",
            "",
            *(printed(*row[when]) for when in ("before", "after")),
            f"{row['after'][0] - row['before'][0]:+.3f}",
            *[""] * 3,
        ]
        for model, row in paper["models"].items()
    ]
    return Table(
        "DPrivBench Category 2: accuracy on true claims before and after paraphrasing",
        ["model", "claims", "before", "after", "change", "lost", "gained", "p"],
        rows,
        [
            *notes,
            "Paired by question and epoch. change ± 1.96 standard errors clustered by question; "
            "lost and gained count replies that were right only before, or only after; p: exact "
            "two-sided sign-flip test over questions.",
            f"(paper): {source}, Table {paper['table']}; official questions, ± is the standard "
            "deviation over five runs.",
        ],
    )


def _true_claims(run: Run) -> list[Outcome]:
    return [outcome for outcome in run.outcomes if outcome.label == "yes"]


def _shared(outcomes: Sequence[Outcome], others: Sequence[Outcome]) -> list[Outcome]:
    keys = {(other.question_id, other.epoch) for other in others}
    return [outcome for outcome in outcomes if (outcome.question_id, outcome.epoch) in keys]


def _original_of(after: Run, runs: Sequence[Run]) -> Run | None:
    same = [
        run
        for run in runs
        if not is_paraphrase(run)
        and (run.model, run.version) == (after.model, after.version)
        and run.arguments.get("prompt") == after.arguments.get("prompt")
        and _shared(_true_claims(run), _true_claims(after))
    ]
    return max(same, key=lambda run: run.log.eval.created, default=None)
