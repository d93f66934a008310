"""The tables of the hard track and of paraphrases, on replies whose numbers are known."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai import eval

from dprivbench_inspect.report_formats import as_text
from dprivbench_inspect.report_runs import Run, read_runs
from dprivbench_inspect.report_tables import paper
from dprivbench_inspect.report_tracks import hard_table, is_paraphrase, paraphrase_table
from dprivbench_inspect.tasks import dprivbench_cat2, dprivbench_hard


def runs_of(log_dir: Path, *tasks: Any) -> list[Run]:
    for task, model, options in tasks:
        (log,) = eval(task, model=model, log_dir=str(log_dir), display="log", **options)
        assert log.status == "success", log.error
    return read_runs([str(log_dir)])[0]


def rows_of(runs: list[Run]) -> dict[str, list[str]]:
    numbers = paper()
    text = as_text(paraphrase_table(runs, numbers["paraphrase_recall"], numbers["source"]))
    table = text.split("\n\n")[0]
    return {line.split("  ")[0]: line.split() for line in table.splitlines()}


def test_true_claims_are_paired_by_id(mock: Callable[..., Any], tmp_path: Path) -> None:
    # Before: all 5 true claims of PATE, PTR and DP-Adam right. After: the two of PATE are lost.
    def after(prompt: str, seed: int | None) -> str:
        return f"\\boxed{{{'no' if 'expert' in prompt else 'yes'}}}"

    topics = "pate,ptr,dp_adam"
    runs = runs_of(
        tmp_path,
        (dprivbench_cat2(topics=topics), mock().model, {}),
        (dprivbench_cat2(topics=topics, variant="paraphrase"), mock(after).model, {}),
    )
    assert sorted(map(is_paraphrase, runs)) == [False, True]
    (ours,) = [row for name, row in rows_of(runs).items() if name.startswith("mockllm")]
    assert ours[2:5] == ["5", "1.000", "0.600"]
    # Differences -1, -1, 0, 0, 0: mean -0.4, half-width 1.96 · √(0.3 / 5).
    assert ours[5:8] == ["-0.400", "±", "0.480"]
    assert ours[8:10] == ["2", "0"]


def test_without_the_originals_the_row_says_so(mock: Callable[..., Any], tmp_path: Path) -> None:
    runs = runs_of(
        tmp_path,
        (dprivbench_cat2(topics="pate", variant="paraphrase"), mock().model, {}),
        (dprivbench_cat2(topics="pate"), "dprivbench/always-no", {}),
    )
    (ours,) = [row for name, row in rows_of(runs).items() if name.startswith("mockllm")]
    assert " ".join(ours[2:]) == "not among the logs 1.000"


def test_the_papers_rows_are_as_printed(mock: Callable[..., Any], tmp_path: Path) -> None:
    runs = runs_of(
        tmp_path, (dprivbench_cat2(topics="pate", variant="paraphrase"), mock().model, {})
    )
    row = rows_of(runs)["Gemini-3-Pro (paper)"]
    assert row[2:] == ["0.805", "±", "0.039", "0.810", "±", "0.024", "+0.005"]


def test_the_hard_table_has_the_help_and_the_citations(
    mock: Callable[..., Any], tmp_path: Path
) -> None:
    reply = "Used: teacher_votes\n\\boxed{yes}"
    runs = runs_of(
        tmp_path,
        (dprivbench_hard(), mock(reply).model, {"limit": 3}),
        (dprivbench_hard(help="none"), mock(reply).model, {"limit": 3}),
    )
    lines = as_text(hard_table(runs, [])).splitlines()
    ours = {line.split()[2]: line.split()[3:] for line in lines if line.startswith("mockllm")}
    assert set(ours) == {"theorems", "none"}
    assert len(ours["theorems"]) == 3 + 4
    assert len(ours["none"]) == 3  # nothing to cite
    assert ours["theorems"][3:] == ["0.000", "undefined", "0.000", "1.000"]
