"""Two runs on the same questions: paired tests, changed verdicts, and the paper's Table 5."""

from collections.abc import Sequence

from dprivbench_inspect.comparison import Comparison, compare
from dprivbench_inspect.intervals import share
from dprivbench_inspect.mechanisms import MECHANISMS
from dprivbench_inspect.metrics import Outcome
from dprivbench_inspect.report_formats import Cell, Table, printed
from dprivbench_inspect.report_runs import Run, run_name
from dprivbench_inspect.report_tables import CELLS, paper

_TEST = (
    "p: exact two-sided sign-flip test over questions, which with one epoch is McNemar's exact "
    "test. Several comparisons need a stricter level than one."
)


def one_shot_table(runs: Sequence[Run]) -> Table | None:
    """Category 1 with and without a worked example, ours and the paper's Table 5.

    A one-shot run is paired with the latest zero-shot run of the same model and version, on the
    questions that both asked in the same words. None without a one-shot run.
    """
    numbers = paper()["one_shot_laplace_rnm_accuracy"]
    rows: list[list[Cell]] = []
    for after in runs:
        if after.arguments.get("prompt") != "one_shot":
            continue
        before = _zero_shot_of(after, runs)
        for mechanism in MECHANISMS:
            own = [o for o in after.outcomes if o.mechanism == mechanism]
            if not own:
                continue
            row: list[Cell] = [run_name(after), mechanism]
            if before is None:
                rows.append([*row, "not among the logs", share(own, "accuracy"), "", ""])
                continue
            theirs = [o for o in _same_text(before, after) if o.mechanism == mechanism]
            found = compare(theirs, own) if theirs else None
            cells = _difference(found) if found else ["", ""]
            rows.append([
                *row,
                share(theirs, "accuracy") if theirs else "other questions",
                share(own, "accuracy"),
                *cells,
            ])
    if not rows:
        return None
    for model, accuracy in numbers["models"].items():
        before_paper, after_paper = (printed(*accuracy[f]) for f in ("zero_shot", "one_shot"))
        change = f"{after_paper.value - before_paper.value:+.3f}"
        rows.append([f"{model} (paper)", "laplace_rnm", before_paper, after_paper, change, ""])
    return Table(
        "DPrivBench Category 1: accuracy without and with a worked example",
        ["model", "mechanism", "zero-shot", "one-shot", "change", "p"],
        rows,
        [
            CELLS,
            _TEST,
            f"(paper): {paper()['source']}, Table {numbers['table']}; its example had no answer, "
            "ours has one and a proof.",
        ],
    )


def comparison_tables(first: Run, second: Run) -> list[Table]:
    """What changed from one run to the other: counts with a test, and every changed verdict.

    Raises:
        ValueError: The runs are of other task versions, or share no question in the same words
            and with the same label.
    """
    if first.version != second.version:
        raise ValueError(
            f"{run_name(first)} has task version {first.version}, {run_name(second)} has "
            f"{second.version}: their scores are not comparable"
        )
    ours, theirs = _same_text(first, second), _same_text(second, first)
    found = compare(ours, theirs)
    names = f"{run_name(first)} and {run_name(second)}"
    counts = Table(
        f"Paired comparison of {names}",
        [
            "pairs",
            "questions",
            run_name(first),
            run_name(second),
            "both right",
            f"only [{first.number}]",
            f"only [{second.number}]",
            "both wrong",
            "change",
            "p",
        ],
        [
            [
                str(found.pairs),
                str(found.questions),
                share(_paired(ours, theirs), "accuracy"),
                share(_paired(theirs, ours), "accuracy"),
                str(found.both_right),
                str(found.only_first),
                str(found.only_second),
                str(found.both_wrong),
                *_difference(found),
            ]
        ],
        [
            CELLS,
            f"Paired by question and epoch; change: accuracy of [{second.number}] minus that of "
            f"[{first.number}], ± 1.96 standard errors clustered by question.",
            _TEST,
            f"Left out: {_left_out(first, second)} questions that only one run asked or that have "
            f"other words, {found.unpaired} replies without partner (another epoch, or an error).",
            *(f"[{run.number}] {run.location}" for run in (first, second)),
        ],
    )
    changes = Table(
        f"Changed verdicts between {names}",
        ["question", "epoch", "label", run_name(first), run_name(second), "change"],
        [
            [
                change.question_id,
                str(change.epoch),
                change.label,
                change.first or "no verdict",
                change.second or "no verdict",
                "gained"
                if change.second == change.label
                else "lost"
                if change.first == change.label
                else "both wrong",
            ]
            for change in found.changes
        ],
        [f"{len(found.changes)} of {found.pairs} verdicts changed."],
    )
    return [counts, changes]


def _zero_shot_of(after: Run, runs: Sequence[Run]) -> Run | None:
    same = [
        run
        for run in runs
        if run.model == after.model
        and run.version == after.version
        and run.arguments.get("prompt") == "zero_shot"
        and run.replies.texts.keys() & after.replies.texts.keys()
    ]
    return max(same, key=lambda run: run.log.eval.created, default=None)


def _same_text(run: Run, other: Run) -> list[Outcome]:
    """Replies of a run to the questions that the other run asked in the same words."""
    texts, theirs = run.replies.texts, other.replies.texts
    return [o for o in run.outcomes if theirs.get(o.question_id) == texts.get(o.question_id)]


def _paired(outcomes: Sequence[Outcome], others: Sequence[Outcome]) -> list[Outcome]:
    keys = {(o.question_id, o.epoch) for o in others}
    return [o for o in outcomes if (o.question_id, o.epoch) in keys]


def _left_out(first: Run, second: Run) -> int:
    ours, theirs = first.replies.texts, second.replies.texts
    shared = sum(theirs.get(question) == text for question, text in ours.items())
    return len(ours.keys() | theirs.keys()) - shared


def _difference(found: Comparison) -> list[Cell]:
    change, half_width = found.difference
    return [f"{change:+.3f} ± {half_width:.3f}", f"{found.p_value:.3g}"]
